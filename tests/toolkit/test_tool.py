import functools
import inspect
import threading
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck import Err, ErrorKind, Ok, Tool, ToolContext, error
from planck.records.specs import ToolSpec
from planck.toolkit.tool import Outcome, closure

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CTX = ToolContext("session", "agent", "call", Path("/nowhere"))


def made(execute: Any, dry_run: Any = None) -> Tool:
    return Tool("look", "Look at a file.", PARAMETERS, execute, dry_run)


async def ran(tool: Tool, **args: Any) -> Outcome:
    result = tool.execute(args, CTX)
    return await result if inspect.isawaitable(result) else result


def test_the_default_dry_run_is_the_plan_and_touches_nothing() -> None:
    def explode(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        raise AssertionError("a dry run must not execute")

    plan = made(explode).dry_run({"path": "a.py"}, CTX)
    assert plan == Ok(
        {
            "output": 'Would call look with {"path":"a.py"}.',
            "dry_run": True,
            "tool": "look",
            "args": {"path": "a.py"},
        }
    )


def test_a_tool_with_effects_gives_its_own_plan() -> None:
    tool = made(lambda args, ctx: Ok({"output": ""}), lambda args, ctx: Ok({"output": "would look"}))
    assert tool.dry_run({}, CTX) == Ok({"output": "would look"})


def test_the_spec_for_a_model_has_no_function() -> None:
    spec = made(lambda args, ctx: Ok({"output": ""})).to_ai_tool()
    assert spec == ToolSpec("look", "Look at a file.", PARAMETERS)
    assert msgspec.json.decode(msgspec.json.encode(spec)) == {
        "name": "look",
        "description": "Look at a file.",
        "parameters": PARAMETERS,
    }


async def test_a_closure_gets_the_agent_the_call_and_the_arguments() -> None:
    tool = made(lambda agent_id, call_id, args: f"{agent_id} {call_id} {args['path']}")
    assert await ran(tool, path="x") == Ok({"output": "agent call x"})


@pytest.mark.parametrize(
    ("returned", "outcome"),
    [
        ("text", Ok({"output": "text"})),
        (("ok", "text"), Ok({"output": "text"})),
        (["ok", "text"], Ok({"output": '["ok","text"]'})),
        ([True, 1], Ok({"output": "[true,1]"})),
        ((True, "text"), Ok({"output": "text"})),
        (Ok("text"), Ok({"output": "text"})),
        (Ok({"output": "text", "exit_code": 1}), Ok({"output": "text", "exit_code": 1})),
        (("ok", {"a": [1, None]}), Ok({"output": '{"a":[1,null]}'})),
        (Ok(1.5), Ok({"output": "1.5"})),
        ([1, 2, 3], Ok({"output": "[1,2,3]"})),
        (("no", "text"), Ok({"output": '["no","text"]'})),
        (None, Ok({"output": "null"})),
        (("error", "no such thing"), Err(ErrorKind.COMMAND_FAILED, "no such thing")),
        ((False, "no such thing"), Err(ErrorKind.COMMAND_FAILED, "no such thing")),
        (("error", {"why": 1}), Err(ErrorKind.COMMAND_FAILED, '{"why":1}')),
        (error("not_found", "gone", {"id": 7}), Err(ErrorKind.NOT_FOUND, "gone", {"id": 7})),
        (("error", error("timeout", "slow")), Err(ErrorKind.TIMEOUT, "slow")),
    ],
)
async def test_what_a_closure_returns_becomes_a_result(returned: Any, outcome: Outcome) -> None:
    async def later(agent_id: str, call_id: str, args: dict[str, Any]) -> Any:
        return returned

    assert await ran(made(lambda agent_id, call_id, args: returned)) == outcome
    assert await ran(made(later)) == outcome
    assert await ran(made(lambda agent_id, call_id, args: later(agent_id, call_id, args))) == outcome


def test_a_coroutine_closure_stays_a_coroutine_function_and_any_other_does_not() -> None:
    async def later(agent_id: str, call_id: str, args: dict[str, Any]) -> str:
        return ""

    class Later:
        async def __call__(self, agent_id: str, call_id: str, args: dict[str, Any]) -> str:
            return ""

    for function in (later, functools.partial(later), Later()):
        assert inspect.iscoroutinefunction(made(function).execute)
    assert not inspect.iscoroutinefunction(made(lambda a, b, c: "").execute)


def test_the_form_of_a_function_is_told_by_how_many_arguments_it_takes() -> None:
    def native(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return Ok({"output": "native"})

    def defaulted(args: dict[str, Any], ctx: ToolContext, more: int = 0) -> Outcome:
        return Ok({"output": "native"})

    class Bound:
        def method(self, agent_id: str, call_id: str, args: dict[str, Any]) -> str:
            return "closure"

    assert made(native).execute is native
    assert made(defaulted).execute is defaulted
    assert made(Bound().method).execute({}, CTX) == Ok({"output": "closure"})
    with pytest.raises(TypeError, match=r"\(args, ctx\), or \(agent_id, call_id, args\)"):
        made(lambda only: "")


def _forms() -> list[Any]:
    class Odd:
        def two(self, args: Any, ctx: Any) -> None: ...

        @classmethod
        def three(cls, agent_id: Any, call_id: Any, args: Any) -> None: ...

        @staticmethod
        def one(only: Any) -> None: ...

        def __call__(self, args: Any, ctx: Any) -> None: ...

    def keyed(args: Any, ctx: Any, *, must: Any) -> None: ...
    def keyed_default(args: Any, ctx: Any, *, may: Any = 0) -> None: ...
    def any_number(*given: Any) -> None: ...
    def third_default(agent_id: Any, call_id: Any, args: Any = 0, more: Any = 0) -> None: ...
    def four(a: Any, b: Any, c: Any, d: Any) -> None: ...
    def positional(args: Any, ctx: Any, /, **rest: Any) -> None: ...
    @functools.wraps(four)
    def wrapped(*given: Any) -> None: ...

    plain = [keyed, keyed_default, any_number, third_default, four, positional, wrapped]
    return [*plain, Odd().two, Odd().three, Odd.one, Odd(), functools.partial(four, 1), print, len, dict]


@pytest.mark.parametrize("function", _forms())
def test_the_form_that_is_told_is_the_one_that_the_signature_has(function: Any) -> None:
    def takes(count: int) -> bool:
        try:
            inspect.signature(function).bind(*range(count))
        except TypeError:
            return False
        except ValueError:
            return count == 2
        return True

    if takes(2):
        assert made(function).execute is function
    elif takes(3):
        assert made(function).execute is not function
    else:
        with pytest.raises(TypeError, match="must take"):
            made(function)


def test_closure_says_the_form_where_the_signature_does_not() -> None:
    def any_number(*given: Any) -> str:
        return str(len(given))

    assert made(closure(any_number)).execute({}, CTX) == Ok({"output": "3"})


def test_an_error_kind_outside_the_vocabulary_can_not_be_built() -> None:
    with pytest.raises(ValueError, match="made_up"):
        error("made_up", "no")
    with pytest.raises(ValueError, match="made_up"):
        Err("made_up", "no")  # type: ignore[arg-type]


def test_a_sync_function_is_called_where_it_is_run() -> None:
    where: list[threading.Thread] = []

    def note(agent_id: str, call_id: str, args: dict[str, Any]) -> str:
        where.append(threading.current_thread())
        return ""

    result: list[Outcome | Awaitable[Outcome]] = []
    thread = threading.Thread(target=lambda: result.append(made(note).execute({}, CTX)))
    thread.start()
    thread.join()
    assert where == [thread]
