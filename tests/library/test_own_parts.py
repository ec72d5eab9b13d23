"""A compactor and a tracer that the program has itself."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from planck import Member, PlanckError, Team, tool
from planck.testing import ScriptedProvider
from tests.library.program import make_planck

LONG = "word " * 10_000


def write_short(messages: Any) -> str:
    return f"{len(messages)} messages were here."


async def write_short_later(messages: Any) -> str:
    await asyncio.sleep(0)
    return write_short(messages)


def fail(messages: Any) -> str:
    raise ZeroDivisionError


def write_nothing(messages: Any) -> Any:
    return 3


@pytest.mark.parametrize("write", [write_short, write_short_later])
async def test_a_function_of_the_program_writes_the_summary(tmp_path: Path, write: Any) -> None:
    provider = ScriptedProvider([LONG, LONG, "three", "four"])
    async with make_planck(tmp_path, [], providers={"double": provider}, compactors={"brief": write}) as p:
        session = await p.start(compactor="brief")
        for _ in range(3):
            await session.run("go")
        assert await session.compact() is not None
        await session.run("on")
        assert "messages were here." in str(provider.asked[-1].messages)
        assert len(provider.asked) == 4  # no model wrote it


@pytest.mark.parametrize("write", [fail, write_nothing])
async def test_a_compactor_that_fails_leaves_the_summary_to_the_model(tmp_path: Path, write: Any) -> None:
    answers = iter([LONG, LONG, "three", "four"])
    provider = ScriptedProvider(lambda request: next(answers) if request.tools else "The model's summary.")
    async with make_planck(tmp_path, [], providers={"double": provider}, compactors={"brief": write}) as p:
        session = await p.start(compactor="brief")
        for _ in range(3):
            await session.run("go")
        assert await session.compact() is not None
        await session.run("on")
        assert "The model's summary." in str(provider.asked[-1].messages)


async def test_a_member_names_a_compactor_of_the_program(tmp_path: Path) -> None:
    members = [Member(type="orchestrator", compactor="brief")]
    async with make_planck(tmp_path, [LONG, LONG, "x", "y"], compactors={"brief": write_short}) as p:
        session = await p.start(Team(members=members))
        for _ in range(3):
            await session.run("go")
        assert "messages were here." in str(await session.compact())


@pytest.mark.parametrize("given", [{"summary": write_short}, {"": write_short}, {"x": 3}, [write_short]])
def test_a_wrong_compactor_is_an_error_at_once(tmp_path: Path, given: Any) -> None:
    with pytest.raises(PlanckError) as refused:
        make_planck(tmp_path, [], compactors=given)
    assert refused.value.err.kind == "invalid_args"


async def test_spans_go_to_the_tracer_of_the_program(tmp_path: Path) -> None:
    @tool(effect="none")
    def look() -> str:
        return "seen"

    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("mine")
    async with make_planck(tmp_path, [[("look", {})], "done"], tracer=tracer) as p:
        with tracer.start_as_current_span("order 7"):
            session = await p.start(tools=[look])
            await session.run("go")
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert {"planck session", "execute_tool look", "order 7"} <= set(spans)
    parent, own = spans["planck session"].parent, spans["order 7"].context
    assert parent is not None
    assert own is not None
    assert parent.span_id == own.span_id
    exporter.clear()
    tracer.start_span("still open").end()  # the program's tracer was not shut down
    assert len(exporter.get_finished_spans()) == 1


def test_a_tracer_that_cannot_make_spans_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(PlanckError) as refused:
        make_planck(tmp_path, [], tracer="mine")
    assert refused.value.err.kind == "invalid_args"
