"""The one door: what contract.md §1 promises of the executor, and attacks T8-T18 of security.md §2.4."""

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from planck.records.messages import ToolCall
from planck.records.outcome import Err, ErrorKind, Ok, PlanckError
from planck.toolkit.journal import Unrecorded
from planck.toolkit.permit import Allowed
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext, ToolError
from planck.toolkit.toolset import ToolSet
from planck.toolkit.truncate import truncate
from planck.tools.executor import Executor, Site
from tests.ports import FixedClock
from tests.tools.room import Room, details, kind, until, value
from tests.virtual_time import run_virtual

Execute = Callable[[dict[str, Any], ToolContext], Any]

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "maxLength": 20, "pattern": "^[a-z/]+$"},
        "mode": {"enum": ["fast", "slow"]},
        "items": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["path"],
}


async def noop(args: dict[str, Any], ctx: ToolContext) -> Outcome:
    return Ok({"output": "done"})


def tool(execute: Execute = noop, name: str = "probe", schema: Any = None, **options: Any) -> Tool:
    return Tool(name, "A probe.", schema if schema is not None else {"type": "object"}, execute, **options)


class Recorder:
    """A tool that remembers what reached it."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    async def __call__(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        self.seen.append(args)
        return Ok({"output": "ran"})


# --- parse, find, validate -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a"',
        '{"path": "a"} trailing',
        '{"path": "a", /* no */ "mode": "fast"}',
        "{'path': 'a'}",
        '{"path": "a",}',
        '["path"]',
        '"path"',
        "null",
        "7",
        '{"path": "a", "path": "b"}',
        '{"path": "a", "items": [{"x": 1, "x": 2}]}',
        '{"path": NaN}',
        '{"items": [Infinity]}',
        '{"items": [-Infinity]}',
        '{"items": [1e999]}',
        '{"items": [' + "9" * 5000 + "]}",
        '{"items": [99999999999999999999]}',
        '{"items": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"items": ' + "[" * 65 + "]" * 65 + "}",
        '{"path": "\\ud800"}',
        '{"path": "a\x01"}',
        "\x00",
        '{"path": "a"}{"path": "b"}',
    ],
    ids=lambda text: text[:30],
)
async def test_malformed_arguments_reach_no_tool(text: str, tmp_path: Path) -> None:
    """T8, T9."""
    recorder = Recorder()
    room = Room(tmp_path, [tool(recorder, schema={"type": "object", "additionalProperties": True})])
    finished = await room.call("probe", text)
    assert kind(finished) == "invalid_args"
    assert recorder.seen == []
    assert json.loads(json.dumps(room.read(finished.call)[0].shown)) == ANY


@pytest.mark.parametrize("text", ["", "  \n", "{}"])
async def test_no_arguments_are_an_empty_object(text: str, tmp_path: Path) -> None:
    recorder = Recorder()
    await Room(tmp_path, [tool(recorder)]).call("probe", text)
    assert recorder.seen == [{}]


async def test_fifty_megabytes_of_arguments_are_refused_before_they_are_parsed(tmp_path: Path) -> None:
    """T11, and what goes into the log of it is short."""
    room = Room(tmp_path, [tool(schema=SCHEMA)])
    finished = await room.call("probe", '{"path": "' + "a" * 50_000_000 + '"}')
    assert kind(finished) == "limit_exceeded"
    assert details(finished) == {"bytes": 50_000_012, "limit": 1 << 20}
    assert len(finished.output) < 1000
    assert len(room.read(finished.call)[0].shown) < 17_000


async def test_a_tool_may_take_larger_arguments_than_the_default(tmp_path: Path) -> None:
    room = Room(tmp_path)
    assert kind(await room.call("write", {"path": "big", "content": "x" * 2_000_000})) == "ok"
    assert kind(await room.call("write", {"path": "big", "content": "x" * (8 << 20)})) == "limit_exceeded"


@pytest.mark.parametrize(
    ("args", "path", "expected"),
    [
        ({"path": 1}, "path", "string"),
        ({"path": "UPPER"}, "path", "match"),
        ({"path": "a" * 21}, "path", "20"),
        ({"path": "a", "mode": "medium"}, "mode", "fast"),
        ({"path": "a", "items": [1, "2"]}, "items/1", "integer"),
        ({}, "", "path"),
    ],
)
async def test_a_violation_names_the_path_and_the_expectation(
    args: dict[str, Any], path: str, expected: str, tmp_path: Path
) -> None:
    """T10."""
    recorder = Recorder()
    finished = await Room(tmp_path, [tool(recorder, schema=SCHEMA)]).call("probe", args)
    assert kind(finished) == "invalid_args"
    assert details(finished)["errors"][0]["path"] == path
    assert expected in details(finished)["errors"][0]["message"]
    assert recorder.seen == []


async def test_an_unknown_key_is_refused_with_the_near_name(tmp_path: Path) -> None:
    room = Room(tmp_path, [tool(schema=SCHEMA)])
    finished = await room.call("probe", {"path": "a", "itmes": []})
    assert kind(finished) == "invalid_args"
    assert "Did you mean 'items'?" in finished.output


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": {}}])
async def test_a_key_for_a_tool_without_arguments_is_named(schema: dict[str, Any], tmp_path: Path) -> None:
    finished = await Room(tmp_path, [tool(schema=schema)]).call("probe", {"x": 5})
    unexpected = "Additional properties are not allowed ('x' was unexpected)"
    assert finished.output.startswith(f"invalid_args: probe: {unexpected}; this tool takes no arguments")


async def test_additional_properties_are_the_schemas_own_decision(tmp_path: Path) -> None:
    open_schema = {**SCHEMA, "additionalProperties": {"type": "integer"}}
    room = Room(tmp_path, [tool(schema=open_schema)])
    assert kind(await room.call("probe", {"path": "a", "more": 1})) == "ok"
    assert kind(await room.call("probe", {"path": "a", "more": "x"})) == "invalid_args"


async def test_a_plain_schema_lets_unknown_keys_pass(tmp_path: Path) -> None:
    recorder = Recorder()
    room = Room(tmp_path, [tool(recorder, schema=SCHEMA, plain_schema=True)])
    await room.call("probe", {"path": "a", "more": 1})
    assert recorder.seen == [{"path": "a", "more": 1}]


async def test_runtime_keys_pass_a_closed_schema(tmp_path: Path) -> None:
    recorder = Recorder()
    closed = {**SCHEMA, "additionalProperties": False}
    room = Room(tmp_path, [tool(recorder, schema=closed, extra_arguments=["cwd", "timeout"])])
    await room.call("probe", {"path": "a", "cwd": ".", "timeout": 5})
    assert recorder.seen == [{"path": "a", "cwd": ".", "timeout": 5}]


async def test_a_pattern_that_would_backtrack_for_ever_does_not(tmp_path: Path) -> None:
    """T10: the schema is third-party text; both engines are bounded."""
    for pattern in (r"^(a+)+$", r"^(?=(a+)+$)(a|aa)+$"):
        schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}
        finished = await Room(tmp_path, [tool(schema=schema)]).call("probe", {"x": "a" * 50_000 + "!"})
        assert kind(finished) == "invalid_args"


@pytest.mark.parametrize("reference", ["http://127.0.0.1:9/schema", "file:///etc/passwd", "#/nowhere"])
def test_a_schema_fetches_nothing(reference: str) -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": reference}}}
    with pytest.raises(PlanckError) as refused:
        tool(Recorder(), schema=schema)
    assert refused.value.err.kind == "invalid_args"


@pytest.mark.parametrize(
    "name", ["reed", "Read", " read", "READ ", "read_file", "", "x" * 100_000, "read\x00"]
)
async def test_an_unknown_tool_is_a_result_that_names_the_near_ones(name: str, tmp_path: Path) -> None:
    """T12."""
    finished = await Room(tmp_path).call(name, {"path": "x"})
    assert kind(finished) == "unknown_tool"
    assert "read" in details(finished)["tools"]
    assert len(finished.output) < 1_000


async def test_arguments_that_can_not_be_read_come_before_an_unknown_tool(tmp_path: Path) -> None:
    finished = await Room(tmp_path).call("nope", "{")
    assert kind(finished) == "invalid_args"


async def test_a_tool_removed_meanwhile_is_unknown(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.tools.remove("read")
    assert kind(await room.call("read", {"path": "x"})) == "unknown_tool"


# --- permit ----------------------------------------------------------------------------------------------


async def test_permission_comes_after_validation_and_before_running(tmp_path: Path) -> None:
    asked: list[str] = []

    async def refuse(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Err | None:
        asked.append(f"{tool.name} {args} {ctx.call_id}")
        return Err(ErrorKind.PERMISSION_DENIED, "no")

    recorder = Recorder()
    room = Room(tmp_path, [tool(recorder, schema=SCHEMA)], permit=refuse)
    kinds = [
        kind(await room.call(*call))
        for call in [("nope", {}), ("probe", {"path": 1}), ("probe", {"path": "a"})]
    ]
    assert kinds == ["unknown_tool", "invalid_args", "permission_denied"]
    assert asked == ["probe {'path': 'a'} c3"]
    assert recorder.seen == []


async def test_a_dry_run_is_validated_and_needs_no_permission(tmp_path: Path) -> None:
    async def never(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Err | None:
        raise AssertionError("asked")

    recorder = Recorder()
    room = Room(tmp_path, [tool(recorder, schema=SCHEMA)], permit=never, dry_run=True)
    planned = await room.call("probe", {"path": "a"})
    assert value(planned) == {"output": ANY, "dry_run": True, "tool": "probe", "args": {"path": "a"}}
    assert kind(await room.call("probe", {"path": 1})) == "invalid_args"
    assert recorder.seen == []


async def test_a_permission_hook_that_breaks_lets_nothing_through(tmp_path: Path) -> None:
    async def broken(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Err | None:
        raise ValueError("hook")

    recorder = Recorder()
    assert kind(await Room(tmp_path, [tool(recorder)], permit=broken).call("probe")) == "internal_error"
    assert recorder.seen == []


# --- run in time -----------------------------------------------------------------------------------------


def in_virtual_time(tools: list[Tool], calls: list[tuple[str, Any]], tmp_path: Path) -> list[Any]:
    async def main() -> list[Any]:
        room = Room(tmp_path, tools)
        begun = asyncio.get_running_loop().time()
        step = await room.step(*calls)
        return [*step, asyncio.get_running_loop().time() - begun]

    return run_virtual(main())


def test_a_tool_that_never_returns_ends_at_its_deadline(tmp_path: Path) -> None:
    """T14, with what it said so far."""

    async def forever(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        ctx.progress("half ")
        ctx.progress("way")
        await asyncio.Event().wait()
        raise AssertionError

    finished, took = in_virtual_time([tool(forever, timeout=300.0)], [("probe", {})], tmp_path)
    assert kind(finished) == "timeout"
    assert details(finished) == {"timeout_ms": 300_000, "output": "half way"}
    assert took == pytest.approx(300.0)


def test_a_tool_that_swallows_its_cancellation_is_left_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """T15: its late result is dropped and logged, and the slot is free."""

    async def stubborn(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        while True:
            try:
                await asyncio.sleep(1000)
                return Ok({"output": "late"})
            except asyncio.CancelledError:
                continue

    async def main() -> list[Any]:
        room = Room(tmp_path, [tool(stubborn, timeout=5.0), tool(name="quick")], concurrency=1)
        results = await room.step(("probe", {}), ("quick", {}))
        begun = asyncio.get_running_loop().time()
        await asyncio.sleep(2000)
        return [*results, begun]

    with caplog.at_level(logging.WARNING):
        first, second, took = run_virtual(main())
    assert (kind(first), kind(second)) == ("timeout", "ok")
    assert took < 10
    assert "dropped a late result from probe" in caplog.text


async def test_a_tool_that_blocks_in_its_thread_is_left_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """T14: the loop goes on, the caller gets its result, the late one is dropped and logged."""
    release = threading.Event()

    def blocking(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        release.wait(30)
        return Ok({"output": "late"})

    room = Room(tmp_path, [tool(blocking, timeout=0.05), tool(name="quick")])
    with caplog.at_level(logging.WARNING):
        first, second = await room.step(("probe", {}), ("quick", {}))
        release.set()
        await until(lambda: "late result" in caplog.text)
    assert (kind(first), kind(second)) == ("timeout", "ok")


async def test_too_many_tools_left_behind_are_refused(tmp_path: Path) -> None:
    release = threading.Event()

    def blocking(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        release.wait(30)
        return Ok({"output": "late"})

    room = Room(tmp_path, [tool(blocking, timeout=0.01)], concurrency=80)
    try:
        kinds = [kind(result) for result in await room.step(*[("probe", {})] * 64)]
        assert kinds == ["timeout"] * 64
        assert kind(await room.call("probe")) == "limit_exceeded"
    finally:
        release.set()


def test_closing_the_step_cancels_what_runs_and_waits_for_its_cleanup(tmp_path: Path) -> None:
    cleaned: list[str] = []

    async def tidy(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            cleaned.append(ctx.call_id)
        raise AssertionError

    async def main() -> int:
        room = Room(tmp_path, [tool(name="quick"), tool(tidy)])
        calls = [room.tool_call("quick"), room.tool_call("probe"), room.tool_call("probe")]
        count = 0
        async with aclosing(room.executor.run(room.read(*calls))) as results:
            async for _ in results:
                count += 1
                break
        return count

    assert run_virtual(main()) == 1
    assert sorted(cleaned) == ["c2", "c3"]


def test_a_cancelled_step_is_cancelled_even_if_a_tool_does_not_care(tmp_path: Path) -> None:
    over = False

    async def stubborn(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        while not over:
            try:
                await asyncio.sleep(10_000)
            except asyncio.CancelledError:
                continue
        return Ok({"output": "over"})

    async def main() -> float:
        nonlocal over
        room = Room(tmp_path, [tool(stubborn, timeout=100.0)])
        step = asyncio.ensure_future(room.step(("probe", {})))
        await asyncio.sleep(1)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        took = asyncio.get_running_loop().time()
        over = True
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            await asyncio.wait({task})
        return took

    assert run_virtual(main()) < 10


# --- the barrier -----------------------------------------------------------------------------------------


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text of me")

    __repr__ = __str__


class HostileError(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


@pytest.mark.parametrize("threaded", [False, True], ids=["async", "thread"])
@pytest.mark.parametrize(
    "problem",
    [
        SystemExit(1),
        KeyboardInterrupt(),
        GeneratorExit(),
        MemoryError(),
        RecursionError("deep"),
        StopIteration(1),
        StopAsyncIteration(),
        asyncio.CancelledError(),
        ValueError("plain"),
        HostileError(),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"),
        BaseExceptionGroup("g", [KeyboardInterrupt()]),
    ],
    ids=lambda problem: type(problem).__name__,
)
async def test_whatever_a_tool_raises_becomes_its_result(
    problem: BaseException, threaded: bool, tmp_path: Path
) -> None:
    """T16."""

    def sync(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        raise problem

    async def asynchronous(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        raise problem

    room = Room(tmp_path, [tool(sync if threaded else asynchronous), tool(name="quick")])
    first, second = await room.step(("probe", {}), ("quick", {}))
    assert (kind(first), kind(second)) == ("internal_error", "ok")
    assert type(problem).__name__ in first.output


async def test_an_expected_failure_keeps_its_kind(tmp_path: Path) -> None:
    async def failing(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        raise ToolError(ErrorKind.NO_MATCH, "nothing there", {"line": 3})

    finished = await Room(tmp_path, [tool(failing)]).call("probe")
    assert finished.outcome == Err(ErrorKind.NO_MATCH, "nothing there", {"line": 3})
    assert finished.output == 'no_match: nothing there\n{"line":3}'
    assert finished.ok is False


async def test_details_of_several_lines_are_shown_as_text(tmp_path: Path) -> None:
    async def failing(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return Err(ErrorKind.TIMEOUT, "too slow", {"timeout_ms": 5, "output": "one\ntwo\n", "diff": ""})

    finished = await Room(tmp_path, [tool(failing)]).call("probe")
    assert finished.output == "timeout: too slow\noutput:\none\ntwo\n"


async def test_a_hint_follows_the_message(tmp_path: Path) -> None:
    async def failing(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return Err(ErrorKind.NOT_FOUND, "Agent not found.", {"hint": "The team has bob.", "names": ["bob"]})

    finished = await Room(tmp_path, [tool(failing)]).call("probe")
    assert finished.output == 'not_found: Agent not found. The team has bob.\n{"names":["bob"]}'


def cyclic() -> dict[str, Any]:
    loop: dict[str, Any] = {"output": "text"}
    loop["self"] = loop
    return loop


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, "ok"),  # JSON null, as in the closure form
        (Ok(None), "ok"),
        (object(), "internal_error"),
        (Hostile(), "internal_error"),
        (Ok(Hostile()), "internal_error"),
        (Ok({"output": Hostile()}), "internal_error"),
        (Ok({"output": "text", "more": Hostile()}), "ok"),
        (Ok(cyclic()), "ok"),
        (Ok({1: "x", "output": "text"}), "ok"),
        (Ok({"output": 7}), "ok"),
        (Ok({"n": 1}), "ok"),
        (Ok([1, 2]), "ok"),
        ("plain text", "ok"),
        (7, "ok"),
        (Err(ErrorKind.NO_MATCH, "x", {"bad": Hostile()}), "no_match"),
        (Err(ErrorKind.NO_MATCH, "x" * 1_000_000, {"long": "y" * 1_000_000}), "no_match"),
        (Ok({"output": "lone \ud800 surrogate"}), "ok"),
        (Ok({"output": "x" * 50_000_000}), "ok"),
        (Ok({"output": "text", "exit_code": True, "images": ["no image"]}), "ok"),
    ],
)
async def test_whatever_a_tool_returns_can_be_stored_and_is_bounded(
    returned: Any, expected: str, tmp_path: Path
) -> None:
    """T17."""

    async def strange(args: dict[str, Any], ctx: ToolContext) -> Any:
        return returned

    finished = await Room(tmp_path, [tool(strange)]).call("probe")
    assert kind(finished) == expected
    assert len(finished.output.encode()) <= 16_000 + 1_024
    stored = value(finished) if finished.ok else details(finished)
    assert json.loads(json.dumps(stored)) == stored
    assert (finished.exit_code, finished.images) == (None, ())


@pytest.mark.parametrize("total", [16_001, 17_000, 100_000])
async def test_long_output_is_cut_once_with_the_marker_of_the_contract(total: int, tmp_path: Path) -> None:
    async def long(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return Ok({"output": "x" * total})

    finished = await Room(tmp_path, [tool(long)]).call("probe")
    assert finished.output == "x" * 16_000 + f"\n…[truncated, showing up to 16000 of {total} bytes]"
    assert value(finished)["output"] == finished.output


async def test_output_that_its_tool_has_bounded_is_not_cut_again(tmp_path: Path) -> None:
    bounded = truncate("é" * 20_000) + "\n[full output (1 line): read path output:1]"

    async def told(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return Ok({"output": bounded})

    assert (await Room(tmp_path, [tool(told)]).call("probe")).output == bounded


# --- one result per call, in order -----------------------------------------------------------------------


def test_two_hundred_calls_in_one_step_run_eight_at_a_time_and_answer_in_order(tmp_path: Path) -> None:
    """T18."""
    running = 0
    most = 0

    async def busy(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep((args["n"] * 7919) % 13 + 1)
        running -= 1
        return Ok({"output": str(args["n"])})

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    calls = [("probe", {"n": n}) for n in range(200)]
    *results, _ = in_virtual_time([tool(busy, schema=schema)], calls, tmp_path)
    assert [result.output for result in results] == [str(n) for n in range(200)]
    assert most == 8


async def test_calls_with_the_same_id_each_run_once(tmp_path: Path) -> None:
    """T13: ids are minted above; what arrives here is run, once each."""
    recorder = Recorder()
    room = Room(tmp_path, [tool(recorder)])
    calls = [
        ToolCall(id=call_id, provider_id="p", name="probe", arguments="{}") for call_id in ("a", "a", "")
    ]
    assert [finished.call.id async for finished in room.executor.run(room.read(*calls))] == ["a", "a", ""]
    assert len(recorder.seen) == 3


async def test_a_waiting_permission_holds_no_slot(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def slow(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Err | None:
        if tool.name == "probe":
            await gate.wait()
        return None

    async def opens(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        gate.set()
        return Ok({"output": "open"})

    room = Room(tmp_path, [tool(), tool(opens, name="opener")], permit=slow, concurrency=1)
    assert [result.output for result in await room.step(("probe", {}), ("opener", {}))] == ["done", "open"]


async def test_the_context_says_who_calls_and_until_when(tmp_path: Path) -> None:
    seen: list[ToolContext] = []

    async def look(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        seen.append(ctx)
        return Ok({"output": ""})

    room = Room(tmp_path, [tool(look, timeout=42.0)])
    begun = asyncio.get_running_loop().time()
    await room.call("probe")
    (ctx,) = seen
    assert (ctx.session_id, ctx.agent_id, ctx.call_id) == ("session-1", "agent-1", "c1")
    assert (ctx.workspace, ctx.dry_run) == (room.ws, False)
    assert ctx.deadline is not None
    assert begun + 42 <= ctx.deadline <= asyncio.get_running_loop().time() + 42


async def test_progress_from_a_thread_arrives_on_the_loop_and_not_after_the_end(tmp_path: Path) -> None:
    said: list[tuple[str, str, int]] = []
    kept: list[ToolContext] = []

    def talking(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        ctx.progress("one")
        kept.append(ctx)
        return Ok({"output": ""})

    room = Room(
        tmp_path,
        [tool(talking)],
    )
    journal = Unrecorded(lambda call_id, text: said.append((call_id, text, threading.get_ident())))
    executor = Executor(
        room.tools,
        Site("s", room.ws),
        permit=Allowed(),
        scribe=Scribe(journal, "a"),
        clock=FixedClock(),
    )
    await room.call("probe", by=executor)
    kept[0].progress("after the end")
    assert said == [("c1", "one", threading.get_ident())]


async def test_a_sync_function_runs_in_a_thread_and_an_awaitable_it_returns_is_awaited(
    tmp_path: Path,
) -> None:
    threads: list[int] = []

    def sync(args: dict[str, Any], ctx: ToolContext) -> Awaitable[Outcome]:
        threads.append(threading.get_ident())
        return noop(args, ctx)

    assert (await Room(tmp_path, [tool(sync)]).call("probe")).output == "done"
    assert threads != [threading.get_ident()]


# --- the set ---------------------------------------------------------------------------------------------


def test_names_are_unique_in_a_set() -> None:
    tools = ToolSet([tool(name="a")])
    with pytest.raises(ToolError) as refusal:
        tools.add(tool(name="a"))
    assert refusal.value.err.kind is ErrorKind.NOT_UNIQUE


def test_specs_stay_the_same_object_until_the_set_changes() -> None:
    tools = ToolSet([tool(name="a"), tool(name="b")])
    before = tools.specs
    assert tools.specs is before
    tools.remove("nobody")
    assert tools.specs is before
    tools.remove("a")
    assert [spec.name for spec in tools.specs] == ["b"]
    tools.add(tool(name="c", effect=Effect.NONE))
    assert (tools.names(), len(tools), tools.get("a")) == (["b", "c"], 2, None)
