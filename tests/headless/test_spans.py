"""Spans, as a collector gets them by OTLP: session, turn, model call, tool call; no word of what was said."""

import sys
from pathlib import Path
from typing import Any

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
        request = ExportTraceServiceRequest.FromString(one.body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    values = {
                        item.key: item.value.string_value or item.value.int_value for item in span.attributes
                    }
                    found.append(
                        {
                            "name": span.name,
                            "id": span.span_id,
                            "parent": span.parent_span_id,
                            "failed": span.status.code == 2,
                            "attributes": values,
                        }
                    )
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
    assert {asked.path for asked in collector.asked} == {"/v1/traces"}
    assert collector.asked[0].headers["x-tenant"] == "crew"
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
    bash, read = by_name["execute_tool bash"], by_name["execute_tool read"]
    assert (bash["parent"], bash["failed"]) == (turn["id"], False)
    assert (read["failed"], read["attributes"]["error.type"]) == (True, "not_found")
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
