"""`@tool`: a typed Python function as a `Tool`, its JSON Schema read from the signature and the docstring."""

import functools
import inspect
import typing
from collections.abc import Awaitable, Callable, Iterator
from enum import Enum
from typing import Any, Literal, Union, overload

import msgspec

from planck.records.outcome import Err, ErrorKind
from planck.toolkit.docstring import parse_docstring
from planck.toolkit.tool import (
    Closure,
    Effect,
    Execute,
    InvalidTool,
    Native,
    Outcome,
    Tool,
    ToolContext,
    is_async,
    outcome_of,
)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    dry_run: Native | Closure | None = None,
    effect: Effect = Effect.COMMAND,
    timeout: float = 300.0,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    dry_run: Native | Closure | None = None,
    effect: Effect = Effect.COMMAND,
    timeout: float = 300.0,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function; a parameter `ctx`, or one annotated `ToolContext`, gets the context."""

    def make(function: Callable[..., Any]) -> Tool:
        summary, parameter_texts = parse_docstring(inspect.getdoc(function) or "")
        label = name or getattr(function, "__name__", "")
        if not label:
            raise InvalidTool(f"{function!r} has no name; use @tool(name=...)")
        takes = _Parameters(function, label, parameter_texts)
        return Tool(
            label,
            description or summary,
            takes.schema,
            _execute(function, takes),
            dry_run,
            effect=effect,
            timeout=timeout,
        )

    return make if function is None else make(function)


def _execute(function: Callable[..., Any], takes: "_Parameters") -> Execute:
    def call(args: dict[str, Any], ctx: ToolContext) -> Outcome | Awaitable[Outcome]:
        bound = takes.bind(args, ctx)
        if isinstance(bound, Err):
            return bound
        value = function(*bound.args, **bound.kwargs)
        return _await_outcome(value) if inspect.isawaitable(value) else outcome_of(value)

    async def call_async(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        bound = takes.bind(args, ctx)
        return bound if isinstance(bound, Err) else outcome_of(await function(*bound.args, **bound.kwargs))

    return call_async if is_async(function) else call


async def _await_outcome(value: Awaitable[Any]) -> Outcome:
    return outcome_of(await value)


class _Parameters:
    """A signature read once: its schema, and arguments turned into what the function is annotated with."""

    def __init__(self, function: Callable[..., Any], label: str, texts: dict[str, str]) -> None:
        self._signature = inspect.signature(function)
        hints = _hints(function, label)
        self._context = next(
            (p.name for p in self._signature.parameters.values() if _is_context(p, hints)), ""
        )
        self._rest = ""
        named = []
        for parameter in self._signature.parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                raise InvalidTool(
                    f"{label}(*{parameter.name}): a tool's arguments must have names; declare each one"
                )
            if parameter.kind is parameter.VAR_KEYWORD:
                self._rest = parameter.name
            elif parameter.name != self._context:
                named.append(parameter)
        self._struct = _struct(label, named, hints, forbid_unknown=not self._rest)
        self.schema = _schema(self._struct, named, hints, texts)
        if self._rest:
            self.schema["additionalProperties"] = True

    def bind(self, args: dict[str, Any], ctx: ToolContext) -> inspect.BoundArguments | Err:
        """Absent arguments stay absent, so that the function's own defaults apply."""
        try:
            read = msgspec.convert(args, self._struct)
        except msgspec.ValidationError as problem:
            return Err(ErrorKind.INVALID_ARGS, str(problem))
        bound = self._signature.bind_partial()
        for name in self._signature.parameters:
            if name == self._context:
                bound.arguments[name] = ctx
            elif name == self._rest:
                known = self._struct.__struct_fields__
                bound.arguments[name] = {key: value for key, value in args.items() if key not in known}
            elif (value := getattr(read, name)) is not msgspec.UNSET:
                bound.arguments[name] = value
        bound.apply_defaults()
        return bound


def _hints(function: Callable[..., Any], label: str) -> dict[str, Any]:
    annotated = inspect.unwrap(function)
    while isinstance(annotated, functools.partial):
        annotated = annotated.func
    if not hasattr(annotated, "__annotations__"):
        annotated = type(annotated).__call__
    try:
        return typing.get_type_hints(annotated, include_extras=True)
    except NameError as problem:
        raise InvalidTool(
            f"an annotation in {label}() cannot be resolved ({problem}); define the type at module level"
        ) from problem


def _is_context(parameter: inspect.Parameter, hints: dict[str, Any]) -> bool:
    hint = hints.get(parameter.name)
    return ToolContext in (hint, *typing.get_args(hint)) or (parameter.name == "ctx" and hint is None)


def _struct(
    name: str, parameters: list[inspect.Parameter], hints: dict[str, Any], *, forbid_unknown: bool
) -> type[msgspec.Struct]:
    fields: list[Any] = []
    for parameter in parameters:
        hint = hints.get(parameter.name, Any)
        if parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, Union[hint, msgspec.UnsetType], msgspec.UNSET))  # noqa: UP007
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=forbid_unknown)


def _schema(
    struct: type[msgspec.Struct],
    parameters: list[inspect.Parameter],
    hints: dict[str, Any],
    texts: dict[str, str],
) -> dict[str, Any]:
    try:
        whole = msgspec.json.schema(struct)
    except TypeError as problem:
        raise InvalidTool(
            f"{struct.__name__}() has a parameter that JSON cannot represent ({problem}); change its type"
        ) from problem
    definitions = whole["$defs"]
    own = definitions.pop(whole["$ref"].removeprefix("#/$defs/"))
    properties = {}
    for parameter in parameters:
        entry = _inline(own["properties"][parameter.name], definitions)
        entry = _in_written_order(entry, list(_choices(hints.get(parameter.name))))
        if text := texts.get(parameter.name) or _annotated_text(hints.get(parameter.name)):
            entry = {**entry, "description": text}
        entry = {**entry, **_default(parameter)}
        properties[parameter.name] = entry
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": own.get("required", [])}
    if used := _reachable(properties, definitions, set()):
        schema["$defs"] = {name: definitions[name] for name in sorted(used)}
    return schema


def _choices(hint: Any) -> Iterator[list[Any]]:
    """The values of each `Literal` and `Enum` in an annotation, as they were written."""
    if isinstance(hint, type) and issubclass(hint, Enum):
        yield [member.value for member in hint]
    elif typing.get_origin(hint) is Literal:
        yield list(typing.get_args(hint))
    else:
        for inner in typing.get_args(hint):
            yield from _choices(inner)


def _in_written_order(schema: Any, choices: list[list[Any]]) -> Any:
    """msgspec sorts an enum; the author's order often says which is usual."""
    if isinstance(schema, list):
        return [_in_written_order(item, choices) for item in schema]
    if not isinstance(schema, dict):
        return schema
    ordered = {key: _in_written_order(value, choices) for key, value in schema.items()}
    if isinstance(found := schema.get("enum"), list):
        ordered["enum"] = next((c for c in choices if sorted(c, key=repr) == sorted(found, key=repr)), found)
    return ordered


def _default(parameter: inspect.Parameter) -> dict[str, Any]:
    if parameter.default is parameter.empty:
        return {}
    try:
        return {"default": msgspec.to_builtins(parameter.default)}
    except TypeError:  # a sentinel of the function's own
        return {}


def _inline(schema: Any, definitions: dict[str, Any]) -> Any:
    """Without references, which some vendors refuse; only a type that contains itself keeps one."""
    if isinstance(schema, list):
        return [_inline(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref", "").removeprefix("#/$defs/") if isinstance(schema.get("$ref"), str) else ""
    if not reference:
        plain = {key: _inline(value, definitions) for key, value in schema.items()}
        return {"type": "string", **plain} if _is_text_enum(plain) else plain
    if reference in _reachable(definitions[reference], definitions, set()):
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**_inline(definitions[reference], definitions), **rest}


def _is_text_enum(schema: dict[str, Any]) -> bool:
    choices = schema.get("enum")
    return isinstance(choices, list) and "type" not in schema and all(isinstance(c, str) for c in choices)


def _reachable(schema: Any, definitions: dict[str, Any], seen: set[str]) -> set[str]:
    if isinstance(schema, list):
        for item in schema:
            _reachable(item, definitions, seen)
    elif isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and (name := reference.removeprefix("#/$defs/")) not in seen:
            seen.add(name)
            _reachable(definitions[name], definitions, seen)
        for value in schema.values():
            _reachable(value, definitions, seen)
    return seen


def _annotated_text(hint: Any) -> str:
    return next((item for item in getattr(hint, "__metadata__", ()) if isinstance(item, str)), "")
