import functools
import inspect
import threading
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck import Err, ErrorKind, Ok, Tool, ToolContext, error, tool
from planck.records.outcome import PlanckError
from planck.records.specs import ToolSpec
from planck.toolkit.tool import Outcome, closure, outcome_of

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


async def find_nothing(args: dict[str, Any]) -> str:
    return ""


def test_a_dry_run_that_is_a_method_of_a_subclass_is_used() -> None:
    class Rename(Tool):
        def __init__(self) -> None:
            super().__init__("rename", "Rename a file.", {}, lambda args, ctx: "renamed")

        def dry_run(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
            return Ok({"output": "would rename"})

    rename = Rename()
    assert rename.dry_run({}, CTX) == Ok({"output": "would rename"})
    assert rename.has_preview


def test_earlier_names_of_keywords_and_attributes_still_work() -> None:
    def act(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return Ok({"output": ""})

    make = functools.partial(Tool, "look", "", PARAMETERS, act, made(act).dry_run)
    new = make(extra_arguments=["cwd"], probe_in_sandbox=True, find_unknown_address=find_nothing)
    for one in (make(always=["cwd"], tried=True, stranger=find_nothing), new):
        assert one.extra_arguments == one.always == {"cwd": {}}
        assert one.probe_in_sandbox is one.tried is True
        assert one.find_unknown_address is one.stranger is find_nothing
        assert one.has_preview is one.plans is True
        one.stranger = None
        assert one.find_unknown_address is None
    plain = made(act)
    assert [plain.always, plain.tried, plain.stranger, plain.plans] == [{}, False, None, False]


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
        (b"text \xff", Ok({"output": "text \N{REPLACEMENT CHARACTER}"})),
        ({"output": b"text"}, Ok({"output": "text"})),
        ((False, b"no"), Err(ErrorKind.COMMAND_FAILED, "no")),
        (("error", "no such thing"), Err(ErrorKind.COMMAND_FAILED, "no such thing")),
        ((False, "no such thing"), Err(ErrorKind.COMMAND_FAILED, "no such thing")),
        (("error", {"why": 1}), Err(ErrorKind.COMMAND_FAILED, '{"why":1}')),
        (error("not_found", "gone", {"id": 7}), Err(ErrorKind.NOT_FOUND, "gone", {"id": 7})),
        (("error", error("timeout", "slow")), Err(ErrorKind.TIMEOUT, "slow")),
        ({"output": "text", "lines": 2}, Ok({"output": "text", "lines": 2})),
        ({"output": {"a": 1}}, Ok({"output": '{"a":1}'})),
        ({"a": 1}, Ok({"output": '{"a":1}'})),
        (error("not_found", "gone", {"id": 7}).envelope(), Err(ErrorKind.NOT_FOUND, "gone", {"id": 7})),
        (Ok(error("not_found", "gone").envelope()), Err(ErrorKind.NOT_FOUND, "gone")),
        (("error", error("not_found", "gone").envelope()), Err(ErrorKind.NOT_FOUND, "gone")),
        (("ok", error("not_found", "gone").envelope()), Err(ErrorKind.NOT_FOUND, "gone")),
        ({"ok": False, "error": "broken"}, Err(ErrorKind.COMMAND_FAILED, "broken")),
        ({"ok": False, "error": {"message": "m"}}, Err(ErrorKind.COMMAND_FAILED, "m")),
        (
            {"ok": False, "error": {"kind": "made_up", "message": "m", "details": {"a": 1}}},
            Err(ErrorKind.COMMAND_FAILED, "m", {"a": 1, "kind": "made_up"}),
        ),
        (
            {"output": "1 failed", "ok": False, "exit_code": 1},
            Ok({"output": "1 failed", "ok": False, "exit_code": 1}),
        ),
    ],
)
async def test_what_either_form_returns_becomes_the_same_result(returned: Any, outcome: Outcome) -> None:
    async def later(agent_id: str, call_id: str, args: dict[str, Any]) -> Any:
        return returned

    async def later_native(args: dict[str, Any], ctx: ToolContext) -> Any:
        return returned

    assert await ran(made(lambda args, ctx: returned)) == outcome
    assert await ran(made(later_native)) == outcome
    assert await ran(made(lambda args, ctx: later_native(args, ctx))) == outcome

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


class Forms:
    def two(self, args: Any, ctx: Any) -> str:
        return "native"

    def three(self, agent_id: Any, call_id: Any, args: Any = None) -> str:
        return "closure"

    @classmethod
    def of_class(cls, agent_id: Any, call_id: Any, args: Any) -> str:
        return "closure"

    @staticmethod
    def alone(args: Any, ctx: Any = None) -> str:
        return "native"

    def __call__(self, agent_id: Any, call_id: Any, args: Any) -> str:
        return "closure"


def four(first: str, agent_id: Any, call_id: Any, args: Any) -> str:
    return first


def keyed(args: Any, ctx: Any, *, more: str = "native") -> str:
    return more


def rest(agent_id: Any, call_id: Any, args: Any, **more: Any) -> str:
    return "closure"


@functools.wraps(keyed)
def wrapped(*given: Any) -> str:
    return f"native {len(given)}"


async def later(agent_id: Any, call_id: Any, args: Any = None) -> str:
    return "closure"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda args, ctx: "native", "native"),
        (lambda args, ctx=None: "native", "native"),
        (lambda agent_id, call_id, args: "closure", "closure"),
        (lambda agent_id, call_id, args=None: "closure", "closure"),
        (lambda agent_id="", call_id="", args=None: str(agent_id), "agent"),
        (lambda args, ctx, third=0: str(args), "agent"),  # three are the closure form, whatever their names
        (Forms().two, "native"),
        (Forms().three, "closure"),
        (Forms().of_class, "closure"),
        (Forms.alone, "native"),
        (Forms(), "closure"),
        (functools.partial(four, "bound"), "bound"),
        (functools.partial(keyed, more="bound"), "bound"),
        (keyed, "native"),
        (rest, "closure"),
        (wrapped, "native 2"),
        (later, "closure"),
        (functools.partial(later), "closure"),
    ],
)
async def test_two_parameters_are_args_and_ctx_and_three_the_closure_form_defaults_included(
    function: Any, said: str
) -> None:
    result = await ran(made(function))
    assert outcome_of(result) == Ok({"output": said})


def _refused() -> list[Any]:
    def any_number(*given: Any) -> None: ...
    def two_and_more(args: Any, ctx: Any, *more: Any) -> None: ...
    def needs(args: Any, ctx: Any, *, must: Any) -> None: ...
    def captured(agent_id: Any, call_id: Any, args: Any, name: str = "x") -> None: ...
    async def one(only: Any) -> None: ...

    none = [lambda: "", lambda only: "", any_number, two_and_more, needs, captured, four, one]
    return [*none, functools.partial(four, "1", 2, 3), print, len]


@pytest.mark.parametrize("function", [*_refused(), dict, "text", None])
@pytest.mark.parametrize("place", ["execute", "dry_run"])
def test_a_function_of_another_form_is_refused_when_the_tool_is_made(function: Any, place: str) -> None:
    functions = {"execute": lambda args, ctx: "", "dry_run": lambda args, ctx: "", place: function}
    if place == "dry_run" and function is None:
        return  # the default plan
    with pytest.raises(PlanckError, match=r"\(args, ctx\) or \(agent_id, call_id, args\)") as refused:
        Tool("look", "", PARAMETERS, **functions)
    assert refused.value.err.kind is ErrorKind.INVALID_ARGS


@pytest.mark.parametrize("name", ["", "a b", "é", "a.b", "x" * 65, "a\n", "a/b", "٣", None, 7])
def test_a_name_that_a_vendor_would_refuse_is_refused_when_the_tool_is_made(name: Any) -> None:
    with pytest.raises(PlanckError, match="must have 1 to 64 characters") as refused:
        Tool(name, "", {}, lambda args, ctx: "")
    assert refused.value.err.kind is ErrorKind.INVALID_ARGS
    assert Tool("a-B_" + "9" * 60, "", {}, lambda args, ctx: "").name.startswith("a-B_")


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        "object",
        {"type": "array"},
        {"type": ["object", "null"]},
        {"type": "objekt"},
        {"properties": []},
        {"properties": {"x": {"type": "strin"}}},
        {"properties": {"x": {"pattern": "("}}},
        {"required": "x"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.invalid/schema"},
    ],
)
def test_a_schema_of_no_object_is_refused_when_the_tool_is_made(schema: Any) -> None:
    with pytest.raises(PlanckError) as refused:
        Tool("look", "", schema, lambda args, ctx: "")
    assert refused.value.err.kind is ErrorKind.INVALID_ARGS
    assert "'look'" in refused.value.err.message


def test_a_schema_that_says_no_type_is_sent_as_that_of_an_object() -> None:
    assert Tool("look", "", {}, lambda args, ctx: "").to_ai_tool().parameters == {"type": "object"}


def test_a_typed_function_whose_name_no_vendor_takes_is_refused() -> None:
    def größe(text: str) -> str:
        return text

    with pytest.raises(PlanckError, match="must have 1 to 64 characters"):
        tool(größe)


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
