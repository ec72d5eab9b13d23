"""Spans, as a collector gets them by OTLP: session, turn, model call, tool call; no word of what was said."""

import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from planck import Planck, Tool
from planck.testing import Say, ScriptedProvider
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

SECRET = "sk-live-0123456789abcdef"
WORD = "rhubarb"
"""No key: nobody takes it out of the facts."""


def collect(asked: list[Asked]) -> list[dict[str, Any]]:
    """Every span that was received, with its attributes as a map."""
    found = []
    for one in asked:
        if one.path != "/v1/traces":
            continue
        request = ExportTraceServiceRequest.FromString(one.body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    values = {item.key: read(item.value) for item in span.attributes}
                    found.append(
                        {
                            "name": span.name,
                            "schema": scope.schema_url,
                            "id": span.span_id,
                            "parent": span.parent_span_id,
                            "failed": span.status.code == 2,
                            "attributes": values,
                        }
                    )
    return found


def read(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))


def measure(asked: list[Asked]) -> dict[tuple[str, str], Any]:
    """Every point of the metrics that was received, by the metric's name and the kind of token."""
    found = {}
    for one in asked:
        if one.path != "/v1/metrics":
            continue
        for resource in ExportMetricsServiceRequest.FromString(one.body).resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.histogram.data_points:
                        about = {item.key: read(item.value) for item in point.attributes}
                        kind = about.get("gen_ai.token.type", about.get("error.type", ""))
                        found[metric.name, kind] = (metric.unit, scope.schema_url, about, point)
    return found


async def test_a_collector_gets_session_turn_model_and_tool_calls_and_no_word_of_them(tmp_path: Path) -> None:
    replies = [
        chat.calls(("bash", {"command": f"echo {SECRET} {WORD}"}), ("read", {"path": f"no/{WORD}{SECRET}"})),
        chat.calls((f"tell them {WORD}", {})),
        chat.text(f"It is {SECRET} {WORD}."),
    ]
    async with WireServer(replies) as model, WireServer([Reply()]) as collector:
        bench = Bench(tmp_path, model.url)
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=crew",
            "LOCAL_API_KEY": SECRET,
        }
        done = await bench.run("run", f"say {SECRET} {WORD}", "--permission-mode", "full", env=env)
    assert done.code == 0, done.err
    assert {asked.path for asked in collector.asked} == {"/v1/traces", "/v1/metrics"}
    assert {asked.headers["x-tenant"] for asked in collector.asked} == {"crew"}
    spans = collect(collector.asked)
    by_name = {span["name"]: span for span in spans}
    session, turn = by_name["planck session"], by_name["invoke_agent orchestrator"]
    calls = [span for span in spans if span["name"] == "chat m"]
    assert session["parent"] == b""
    assert turn["parent"] == session["id"]
    assert [call["parent"] for call in calls] == [turn["id"]] * 3
    assert calls[0]["attributes"]["gen_ai.operation.name"] == "chat"
    assert calls[0]["attributes"]["gen_ai.request.model"] == "m"
    assert calls[0]["attributes"]["gen_ai.usage.output_tokens"] == 5
    bash, reading = by_name["execute_tool bash"], by_name["execute_tool read"]
    assert (bash["parent"], bash["failed"]) == (turn["id"], False)
    assert (reading["failed"], reading["attributes"]["error.type"]) == (True, "not_found")
    assert by_name["execute_tool unknown"]["failed"]
    assert not any(word.encode() in asked.body for asked in collector.asked for word in (SECRET, WORD))


async def test_without_its_variables_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    async with WireServer([chat.text("hi")]) as model:
        bench = Bench(tmp_path, model.url)
        done = await bench.run("run", "hi", env={"PYTHONVERBOSE": "1"})
        off = await bench.run(
            *("run", "hi"),
            env={
                "PYTHONVERBOSE": "1",
                "OTEL_SDK_DISABLED": "true",
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
            },
        )
    assert (done.code, off.code) == (0, 0)
    assert "opentelemetry" not in done.err + off.err


async def test_a_collector_that_is_away_changes_nothing(tmp_path: Path) -> None:
    async with WireServer([chat.text("hi")]) as model:
        bench = Bench(tmp_path, model.url)
        done = await bench.run("run", "hi", env={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    assert (done.code, done.out) == (0, "hi\n")
    assert "Traceback" not in done.err
    assert "opentelemetry" not in done.err


async def test_a_turn_that_fails_says_its_kind(tmp_path: Path) -> None:
    def fail(args: dict[str, Any], ctx: Any) -> str:
        raise RuntimeError(f"{SECRET} {WORD}")

    double = ScriptedProvider([Say(calls=[("broken", {})]), Say(text="well")])
    (tmp_path / "work").mkdir()
    async with WireServer([Reply()]) as collector:
        environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        }
        async with Planck(
            tmp_path / "home", tmp_path / "work", environ=environ, providers={"local": double}
        ) as planck:
            tool = Tool("broken", "Breaks.", {"type": "object"}, fail)
            session = await planck.start(model="local/m", mode="full", tools=[tool], stored=False)
            await session.run("go")
    spans = {span["name"]: span for span in collect(collector.asked)}
    assert spans["execute_tool broken"]["attributes"]["error.type"] == "internal_error"
    assert not any(SECRET.encode() in asked.body for asked in collector.asked)
    assert "opentelemetry" in sys.modules


CACHED = {
    **chat.USAGE,
    "prompt_tokens": 120,
    "completion_tokens": 34,
    "prompt_tokens_details": {"cached_tokens": 80},
    "completion_tokens_details": {"reasoning_tokens": 12},
}


async def run_once(tmp_path: Path, replies: list[Reply], **env: str) -> tuple[list[Asked], int]:
    async with WireServer(replies) as model, WireServer([Reply()]) as collector:
        bench = Bench(tmp_path, model.url)
        named = {name: collector.url + path for name, path in env.items()}
        await bench.run("run", "hi", env=named)
        return collector.asked, model.port


async def test_a_model_call_says_what_the_conventions_ask_for(tmp_path: Path) -> None:
    replies = [chat.text("well", usage=CACHED)]
    asked, port = await run_once(tmp_path, replies, OTEL_EXPORTER_OTLP_ENDPOINT="")
    spans = {span["name"]: span for span in collect(asked)}
    said = spans["chat m"]["attributes"]
    assert said.pop("gen_ai.response.time_to_first_chunk") >= 0
    assert said["gen_ai.response.id"] == "chatcmpl-1"
    counts = {name.removeprefix("gen_ai.usage."): said[name] for name in said if ".usage." in name}
    assert counts == {
        "input_tokens": 120,
        "output_tokens": 34,
        "cache_read.input_tokens": 80,
        "cache_creation.input_tokens": 0,
        "reasoning.output_tokens": 12,
    }
    asks = {
        "gen_ai.request.model": "m",
        "gen_ai.provider.name": "local",
        "server.address": "127.0.0.1",
        "server.port": port,
    }
    assert asks.items() <= said.items()
    assert asks.items() <= spans["invoke_agent orchestrator"]["attributes"].items()
    assert {span["schema"] for span in spans.values()} == {"https://opentelemetry.io/schemas/1.44.0"}
    points = measure(asked)
    for kind, count in (("input", 120), ("output", 34)):
        unit, schema, about, point = points["gen_ai.client.token.usage", kind]
        assert (unit, point.count, point.sum) == ("{token}", 1, count)
        assert asks.items() <= about.items()
        assert schema == spans["chat m"]["schema"]
        assert list(point.explicit_bounds)[:3] == [1, 4, 16]
    unit, _, about, point = points["gen_ai.client.operation.duration", ""]
    assert (unit, point.count, about["gen_ai.operation.name"]) == ("s", 1, "chat")


async def test_a_call_that_fails_counts_its_seconds_under_its_kind(tmp_path: Path) -> None:
    asked, _ = await run_once(tmp_path, [chat.error(401, "no")], OTEL_EXPORTER_OTLP_ENDPOINT="")
    assert set(measure(asked)) == {("gen_ai.client.operation.duration", "not_authenticated")}


@pytest.mark.parametrize("signal", ["traces", "metrics"])
async def test_a_collector_of_one_signal_gets_that_one(tmp_path: Path, signal: str) -> None:
    variable = f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"
    asked, _ = await run_once(tmp_path, [chat.text("hi")], **{variable: "/own"})
    assert {one.path for one in asked} == {"/own"}


VENDORS = {
    ("openai", "https://api.openai.com/v1"): "openai",
    ("google", "https://generativelanguage.googleapis.com"): "gcp.gemini",
    ("google", "https://proxy.example"): "gcp.gemini",
    ("anthropic", "https://api.anthropic.com"): "anthropic",
    ("openai", "https://api.mistral.ai/v1"): "mistral_ai",
    ("openai", "https://crew.openai.azure.com/openai/v1"): "azure.ai.openai",
    ("openai", "https://api.mistral.ai.example/v1"): "mine",
    ("openai", "http://[broken"): "mine",
    ("", ""): "mine",
}


@pytest.mark.parametrize(("place", "vendor"), VENDORS.items(), ids=lambda value: str(value))
def test_a_provider_is_named_by_its_vendor(place: tuple[str, str], vendor: str) -> None:
    from planck.headless.services.spans import name_vendor

    assert name_vendor("mine", *place) == vendor
