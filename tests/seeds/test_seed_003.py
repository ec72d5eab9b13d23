"""Every statement of seed 003 (a tool as a function with a spec), each in our words."""

import json
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck import Err, ErrorKind, Ok, Tool
from planck.records.specs import ToolSpec
from planck.toolkit.tool import ToolError
from planck.toolkit.toolset import ToolSet
from tests.tools.external_bench import called, finished

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def read_file(function: Any) -> Tool:
    return Tool(name="read_file", description="Read a file", parameters=PARAMETERS, execute=function)


async def test_a_tool_is_a_spec_and_the_function_that_runs_when_the_model_calls_it(tmp_path: Path) -> None:
    """name, description, parameters and execute_fn; the seed's own example."""
    (tmp_path / "a.txt").write_text("content")
    tool = read_file(lambda agent_id, id, args: ("ok", (tmp_path / args["path"]).read_text()))
    assert (tool.name, tool.description, tool.parameters) == ("read_file", "Read a file", PARAMETERS)
    assert await called(tool, tmp_path, path="a.txt") == Ok({"output": "content"})


async def test_the_function_gets_the_calling_agent_the_id_of_the_call_and_the_decoded_arguments(
    tmp_path: Path,
) -> None:
    """(agent_id, id, args); args is the JSON-decoded map."""
    got: list[Any] = []

    def note(agent_id: str, id: str, args: dict[str, Any]) -> str:
        got.append((agent_id, id, args))
        return ""

    await finished([read_file(note)], tmp_path, [("read_file", '{"path": "\\u00e9"}')])
    assert got == [("agent", "c0", {"path": "é"})]


async def test_both_ok_and_error_values_are_text_for_the_model(tmp_path: Path) -> None:
    """They are placed directly into the model's context as the tool's result."""
    ok = read_file(lambda agent_id, id, args: ("ok", "fine"))
    bad = read_file(lambda agent_id, id, args: ("error", "no such file"))
    [fine] = await finished([ok], tmp_path, [("read_file", '{"path": "a"}')])
    [failed] = await finished([bad], tmp_path, [("read_file", '{"path": "a"}')])
    assert (fine.ok, fine.output) == (True, "fine")
    assert (failed.ok, failed.output) == (False, "command_failed: no such file")
    assert failed.outcome == Err(ErrorKind.COMMAND_FAILED, "no such file")


@pytest.mark.parametrize(
    "raised",
    [
        ValueError("bad"),
        KeyError("k"),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        MemoryError(),
        RecursionError(),
        StopIteration(),
    ],
    ids=lambda raised: type(raised).__name__,
)
async def test_exceptions_and_exits_are_caught_and_become_error_text(
    tmp_path: Path, raised: BaseException
) -> None:
    """Exceptions and exit signals never reach the agent."""

    def explode(agent_id: str, id: str, args: dict[str, Any]) -> str:
        raise raised

    async def explode_later(agent_id: str, id: str, args: dict[str, Any]) -> str:
        raise raised

    for function in (explode, explode_later):
        outcome = await called(read_file(function), tmp_path, path="a")
        assert isinstance(outcome, Err)
        assert outcome.kind is ErrorKind.INTERNAL_ERROR


def test_a_name_is_unique_within_an_agents_tool_set() -> None:
    """The model calls a tool by its name."""
    with pytest.raises(ToolError) as caught:
        ToolSet([read_file(lambda a, b, c: ""), read_file(lambda a, b, c: "")])
    assert caught.value.err.kind is ErrorKind.NOT_UNIQUE


async def test_the_description_and_the_schema_are_what_the_model_is_sent(tmp_path: Path) -> None:
    """parameters is a JSON Schema object that describes the accepted arguments, and it is enforced."""
    tool = read_file(lambda agent_id, id, args: "ran")
    assert ToolSet([tool]).specs == (ToolSpec("read_file", "Read a file", PARAMETERS),)
    refused = await called(tool, tmp_path, path=7)
    assert isinstance(refused, Err)
    assert refused.kind is ErrorKind.INVALID_ARGS


def test_every_field_is_required() -> None:
    """The seed enforces the four keys."""
    with pytest.raises(TypeError):
        Tool(name="x", description="d", parameters={})  # type: ignore[call-arg]


def test_to_ai_tool_drops_the_function() -> None:
    """What crosses to a provider, or to another process, is the spec alone."""
    spec = read_file(lambda agent_id, id, args: "").to_ai_tool()
    assert isinstance(spec, ToolSpec)
    assert json.loads(msgspec.json.encode(spec)) == {
        "name": "read_file",
        "description": "Read a file",
        "parameters": PARAMETERS,
    }


async def test_a_sync_function_runs_in_a_thread(tmp_path: Path) -> None:
    """Ours: a function that blocks must not stop the other agents."""
    where: list[str] = []

    def note(agent_id: str, id: str, args: dict[str, Any]) -> str:
        where.append(threading.current_thread().name)
        return ""

    await called(read_file(note), tmp_path, path="a")
    assert where != [threading.main_thread().name]
    assert len(where) == 1


async def test_an_ok_value_that_is_no_string_becomes_json(tmp_path: Path) -> None:
    """Ours, where the seed would crash."""
    tool = read_file(lambda agent_id, id, args: ("ok", {"lines": [1, 2]}))
    assert await called(tool, tmp_path, path="a") == Ok({"output": '{"lines":[1,2]}'})
