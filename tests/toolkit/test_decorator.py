import dataclasses
import datetime
import enum
import functools
import inspect
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import msgspec
import pytest

from planck import Err, ErrorKind, Ok, Tool, ToolContext, tool
from planck.toolkit.tool import Effect, Outcome

CTX = ToolContext("session", "agent", "call", Path("/nowhere"))


class Point(msgspec.Struct):
    x: int
    y: int = 0


@dataclasses.dataclass
class Size:
    width: float


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Tree(msgspec.Struct):
    name: str
    children: "list[Tree]" = []


def schema_of(function: Any) -> dict[str, Any]:
    return tool(function).parameters["properties"]  # type: ignore[no-any-return]


async def ran(made: Tool, args: dict[str, Any]) -> Outcome:
    result = made.execute(args, CTX)
    return await result if inspect.isawaitable(result) else result


def test_a_function_becomes_a_tool_with_its_name_and_docstring() -> None:
    @tool
    def shout(text: str, times: int = 1) -> str:
        """Say it loudly.

        Twice if need be.
        """
        return (text.upper() + "!") * times

    assert (shout.name, shout.description) == ("shout", "Say it loudly.\n\nTwice if need be.")
    assert shout.parameters == {
        "type": "object",
        "properties": {"text": {"type": "string"}, "times": {"type": "integer", "default": 1}},
        "required": ["text"],
    }
    assert shout.execute({"text": "hi"}, CTX) == Ok({"output": "HI!"})
    assert shout.execute({"text": "hi", "times": 2}, CTX) == Ok({"output": "HI!HI!"})


async def test_an_async_function_and_one_with_a_context_work_too() -> None:
    @tool(name="where", description="Where am I?", effect=Effect.NONE, timeout=5)
    async def anything(ctx: ToolContext) -> dict[str, str]:
        return {"workspace": str(ctx.workspace)}

    assert (anything.name, anything.effect, anything.timeout) == ("where", Effect.NONE, 5)
    assert anything.parameters == {"type": "object", "properties": {}, "required": []}
    assert inspect.iscoroutinefunction(anything.execute)
    assert await ran(anything, {}) == Ok({"output": '{"workspace":"/nowhere"}'})


def test_a_context_is_known_by_its_annotation_or_the_name_ctx() -> None:
    @tool
    def by_name(ctx, text: str):  # type: ignore[no-untyped-def]
        return ctx.call_id + text

    @tool
    def by_type(text: str, context: ToolContext) -> str:
        return context.call_id + text

    @tool
    def optional(text: str, context: ToolContext | None = None) -> str:
        assert context is not None
        return context.call_id + text

    for made in (by_name, by_type, optional):
        assert list(made.parameters["properties"]) == ["text"]
        assert made.execute({"text": "!"}, CTX) == Ok({"output": "call!"})


def test_a_callable_without_a_name_needs_one() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    class Add:
        def __call__(self, a: int, b: int) -> int:
            return a + b

    for function in (functools.partial(add, b=2), Add()):
        with pytest.raises(TypeError, match="@tool\\(name="):
            tool(function)
        made = tool(name="add")(function)
        assert made.parameters["properties"]["a"] == {"type": "integer"}
        assert made.execute({"a": 1, "b": 3}, CTX) == Ok({"output": "4"})
    assert tool(name="add")(functools.partial(add, b=2)).execute({"a": 1}, CTX) == Ok({"output": "3"})


def test_types_become_schemas() -> None:
    def everything(  # type: ignore[no-untyped-def]
        mode: Literal["slow", "fast"],
        modes: list[Literal["y", "x"]],
        count: Optional[int],  # noqa: UP045  both spellings are read
        names: list[str],
        limits: dict[str, float],
        point: Point,
        size: Size,
        colour: Colour,
        when: datetime.date,
        either: int | str,
        anything: Any,
        untyped,
    ) -> None: ...

    assert schema_of(everything) == {
        "mode": {"type": "string", "enum": ["slow", "fast"]},
        "modes": {"type": "array", "items": {"type": "string", "enum": ["y", "x"]}},
        "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "names": {"type": "array", "items": {"type": "string"}},
        "limits": {"type": "object", "additionalProperties": {"type": "number"}},
        "point": {
            "title": "Point",
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
            "required": ["x"],
        },
        "size": {
            "title": "Size",
            "type": "object",
            "properties": {"width": {"type": "number"}},
            "required": ["width"],
        },
        "colour": {"type": "string", "title": "Colour", "enum": ["red", "blue"]},
        "when": {"type": "string", "format": "date"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "anything": {},
        "untyped": {},
    }


def test_arguments_arrive_as_what_the_function_is_annotated_with() -> None:
    @tool
    def area(points: list[Point], size: Size, colour: Colour = Colour.RED) -> str:
        return f"{points!r} {size!r} {colour!r}"

    assert area.execute({"points": [{"x": 1}], "size": {"width": 2}}, CTX) == Ok(
        {"output": "[Point(x=1, y=0)] Size(width=2.0) <Colour.RED: 'red'>"}
    )
    assert area.parameters["properties"]["colour"]["default"] == "red"


@pytest.mark.parametrize(
    "args", [{}, {"point": {"x": "1"}}, {"point": {"x": 1}, "other": 1}, {"point": None}, {"point": []}]
)
def test_arguments_that_do_not_fit_are_refused_before_the_function_runs(args: dict[str, Any]) -> None:
    @tool
    def never(point: Point) -> str:
        raise AssertionError("must not run")

    result = never.execute(args, CTX)
    assert isinstance(result, Err)
    assert result.kind is ErrorKind.INVALID_ARGS


def test_defaults_are_the_functions_own_even_where_json_can_not_say_them() -> None:
    missing = object()

    @tool
    def look(what: Any = missing, where: dict[str, int] = {"a": 1}) -> bool:  # noqa: B006
        return what is missing and where == {"a": 1}

    assert look.parameters["properties"] == {
        "what": {},
        "where": {"type": "object", "additionalProperties": {"type": "integer"}, "default": {"a": 1}},
    }
    assert look.execute({}, CTX) == Ok({"output": "true"})


def test_more_keyword_arguments_open_the_schema() -> None:
    @tool
    def loose(name: str, /, **more: int) -> dict[str, Any]:
        return {name: more}

    assert loose.parameters["additionalProperties"] is True
    assert loose.execute({"name": "n", "a": 1}, CTX) == Ok({"output": '{"n":{"a":1}}'})


def test_a_type_that_contains_itself_keeps_a_definition() -> None:
    @tool
    def walk(tree: Tree) -> str:
        return tree.children[0].name

    assert walk.parameters["properties"] == {"tree": {"$ref": "#/$defs/Tree"}}
    assert list(walk.parameters["$defs"]) == ["Tree"]
    assert walk.execute({"tree": {"name": "a", "children": [{"name": "b"}]}}, CTX) == Ok({"output": "b"})


GOOGLE = """Do it.

Args:
    first: The first,
        which goes on.
    second (int): The second: with a colon.

Returns:
    third: nothing of a parameter.
"""
SPHINX = """Do it.

:param first: The first,
    which goes on.
:param int second: The second: with a colon.
:returns: nothing
"""
NUMPY = """Do it.

Parameters
----------
first : str
    The first,
    which goes on.
second : int, optional
    The second: with a colon.

Returns
-------
third
    nothing of a parameter.
"""


@pytest.mark.parametrize("doc", [GOOGLE, SPHINX, NUMPY])
def test_parameter_descriptions_come_from_the_docstring(doc: str) -> None:
    def do(first: str, second: int, third: int = 0) -> None: ...

    do.__doc__ = doc
    made = tool(do)
    assert made.description == "Do it."
    assert [entry.get("description") for entry in made.parameters["properties"].values()] == [
        "The first, which goes on.",
        "The second: with a colon.",
        None,
    ]


def test_parameter_descriptions_come_from_annotations_too() -> None:
    def do(
        first: Annotated[str, "The first."], second: Annotated[int, msgspec.Meta(description="2nd", ge=1)]
    ) -> None: ...

    assert schema_of(do) == {
        "first": {"type": "string", "description": "The first."},
        "second": {"type": "integer", "description": "2nd", "minimum": 1},
    }


def test_a_result_may_be_text_json_ok_or_err() -> None:
    @tool
    def give(what: str) -> Any:
        return {
            "text": "plain",
            "json": [Point(1)],
            "ok": Ok({"output": "o", "exit_code": 0}),
            "err": Err(ErrorKind.NOT_FOUND, "gone"),
            "pair": (True, "is data here"),
        }[what]

    assert give.execute({"what": "text"}, CTX) == Ok({"output": "plain"})
    assert give.execute({"what": "json"}, CTX) == Ok({"output": '[{"x":1,"y":0}]'})
    assert give.execute({"what": "ok"}, CTX) == Ok({"output": "o", "exit_code": 0})
    assert give.execute({"what": "err"}, CTX) == Err(ErrorKind.NOT_FOUND, "gone")
    assert give.execute({"what": "pair"}, CTX) == Ok({"output": '[true,"is data here"]'})


def test_what_can_not_be_a_tool_is_refused_where_it_is_written() -> None:
    def many(*texts: str) -> None: ...
    def odd(it: Path | object) -> None: ...
    def unknown(it: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(TypeError, match="have names"):
        tool(many)
    with pytest.raises(TypeError, match=r"odd\(\) has a parameter"):
        tool(odd)
    with pytest.raises(TypeError, match="define the type at module level"):
        tool(unknown)
