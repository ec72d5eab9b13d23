"""Seed 000 (`Planck.Agent.Sidecar`), statement by statement; the process boundary is in tests/sidecar."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import planck
from planck import Err, ErrorKind, Ok, Tool, ToolContext, tool
from planck.records.specs import ToolSpec
from planck.sidecar import Sidecar, execute_tool, list_tools

RUN_TESTS = {
    "type": "object",
    "properties": {
        "timeout_ms": {"type": "integer", "description": "Max milliseconds to wait (default 120000)"}
    },
}
calls: list[tuple[str, str, dict[str, Any]]] = []


def run_tests(agent_id: str, call_id: str, args: dict[str, Any]) -> tuple[bool, str]:
    calls.append((agent_id, call_id, args))
    return (True, "42 passed") if args.get("timeout_ms", 120_000) > 1 else (False, "1 failed")


@tool
async def later(text: str) -> str:
    """Answer after a while."""
    return text[::-1]


class MySidecar(Sidecar):
    def tools(self) -> Sequence[Tool]:
        description = "Run the test suite. Pass timeout_ms to override the default."
        return [Tool("run_tests", description, RUN_TESTS, run_tests), later]


def test_the_default_of_tools_is_empty() -> None:
    class Bare(Sidecar):
        pass

    assert list_tools(Bare) == []
    assert execute_tool(Bare, "x", "a", "c", {}) == Err(ErrorKind.UNKNOWN_TOOL, "unknown tool: x")


def test_list_tools_gives_name_description_and_parameters_without_functions() -> None:
    first, second = list_tools(MySidecar)
    assert first == ToolSpec(
        "run_tests", "Run the test suite. Pass timeout_ms to override the default.", RUN_TESTS
    )
    assert second.name == "later"


def test_execute_tool_hands_agent_id_call_id_and_args_to_the_closure() -> None:
    calls.clear()
    outcome = execute_tool(MySidecar, "run_tests", "agent-1", "call-7", {"timeout_ms": 5})
    assert outcome == Ok({"output": "42 passed"})
    assert calls == [("agent-1", "call-7", {"timeout_ms": 5})]


def test_an_error_of_the_closure_is_an_error() -> None:
    outcome = execute_tool(MySidecar, "run_tests", "a", "c", {"timeout_ms": 1})
    assert outcome == Err(ErrorKind.COMMAND_FAILED, "1 failed")


def test_an_unknown_tool_is_named() -> None:
    assert execute_tool(MySidecar, "nope", "a", "c", {}) == Err(ErrorKind.UNKNOWN_TOOL, "unknown tool: nope")


async def test_an_async_tool_is_awaited() -> None:
    outcome = execute_tool(MySidecar, "later", "a", "c", {"text": "abc"})
    assert not isinstance(outcome, Ok | Err)
    assert await outcome == Ok({"output": "cba"})


def test_the_sidecar_is_importable_from_planck() -> None:
    assert planck.Sidecar is Sidecar


def test_tools_are_read_at_every_call() -> None:
    class Growing(Sidecar):
        def __init__(self) -> None:
            self.reads = 0

        def tools(self) -> Sequence[Tool]:
            self.reads += 1
            name = f"tool_{self.reads}"
            return [Tool(name, "", {"type": "object"}, lambda agent, call, args: name)]

    assert [spec.name for spec in list_tools(Growing)] == ["tool_1"]
    assert execute_tool(Growing, "tool_2", "a", "c", {}) == Ok({"output": "tool_2"})
    assert execute_tool(Growing, "tool_1", "a", "c", {}) == Err(
        ErrorKind.UNKNOWN_TOOL, "unknown tool: tool_1"
    )


def test_a_tool_that_raises_is_an_internal_error() -> None:
    class Raising(Sidecar):
        def tools(self) -> Sequence[Tool]:
            return [
                Tool("bad", "", {"type": "object"}, lambda agent, call, args: 1 / 0),
                Tool("leaves", "", {"type": "object"}, lambda agent, call, args: sys.exit(3)),
            ]

    for name, raised in (("bad", "ZeroDivisionError"), ("leaves", "SystemExit")):
        outcome = execute_tool(Raising, name, agent_id="a", call_id="c", args={})
        assert isinstance(outcome, Err)
        assert outcome.kind is ErrorKind.INTERNAL_ERROR
        assert raised in outcome.message


def test_the_native_form_gets_a_context() -> None:
    seen: list[ToolContext] = []

    def native(args: dict[str, Any], ctx: ToolContext) -> Ok[dict[str, Any]]:
        seen.append(ctx)
        return Ok({"output": "done"})

    class Native(Sidecar):
        def tools(self) -> Sequence[Tool]:
            return [Tool("native", "", {"type": "object"}, native)]

    execute_tool(Native, "native", "agent", "call", {})
    assert (seen[0].agent_id, seen[0].call_id) == ("agent", "call")


def alone(script: str) -> Any:
    """What a script prints as JSON in a process of its own: discovery looks at a whole process."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PRELUDE = """
import json
from planck import Tool
from planck.sidecar import Sidecar, discover, list_tools, execute_tool, SidecarError
echo = Tool("echo", "", {"type": "object"}, lambda agent, call, args: f"{agent}/{call}/{args['x']}")
"""


def test_a_miss_is_not_kept_and_a_find_is() -> None:
    seen = alone(
        PRELUDE
        + """
before = [discover(), list_tools(), str(execute_tool("echo", "a", "c", {}))]
class One(Sidecar):
    def tools(self): return [echo]
found = discover() is One
class Two(Sidecar): pass
kept = discover() is One
ran = execute_tool("echo", "a", "c", {"x": 1}).value["output"]
print(json.dumps([before, found, kept, [spec.name for spec in list_tools()], ran]))
"""
    )
    assert seen == [[None, [], "not_found: no sidecar entry module found"], True, True, ["echo"], "a/c/1"]


def test_two_entry_classes_are_an_error_that_names_both() -> None:
    seen = alone(
        PRELUDE
        + """
class One(Sidecar): pass
class Two(Sidecar): pass
try: discover()
except SidecarError as problem: print(json.dumps(str(problem)))
"""
    )
    assert "__main__.One" in seen
    assert "__main__.Two" in seen


def test_a_class_that_others_derive_from_is_no_entry_and_a_redefined_one_is_replaced() -> None:
    seen = alone(
        PRELUDE
        + """
class Shared(Sidecar): pass
class Mine(Shared):
    def tools(self): return []
class Mine(Shared):
    def tools(self): return [echo]
print(json.dumps([discover().__name__, [spec.name for spec in list_tools()]]))
"""
    )
    assert seen == ["Mine", ["echo"]]
