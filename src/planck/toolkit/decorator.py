"""`@tool`: a typed Python function as a `Tool`, its JSON Schema read from the signature and the docstring."""

import functools
import inspect
import sys
import typing
from collections.abc import Awaitable, Callable, Iterator, Mapping
from enum import Enum
from pathlib import PurePath
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    Union,
    overload,
)

import msgspec

from planck.records.outcome import Err, ErrorKind
from planck.toolkit.docstring import parse_docstring
from planck.toolkit.tool import (
    Closure,
    Effect,
    EffectName,
    Execute,
    InvalidTool,
    Native,
    Outcome,
    Tool,
    ToolContext,
    is_async,
    outcome_of,
)

if TYPE_CHECKING:
    from planck.toolkit.models import Model

F = TypeVar("F", bound=Callable[..., Any])
F_co = TypeVar("F_co", covariant=True)
"""Without a bound, so that a checker sees a list of several tools as one of tools."""


class FunctionTool(Tool, Generic[F_co]):
    """A tool made of a function by `@tool`; it can still be called as that function.

    Of a method, it needs an object: `Shop().find` has one, and `Shop.find` has none.
    """

    def __init__(self, function: Callable[..., Any], options: "_Options") -> None:
        self.function = function
        self._options = options
        summary, parameter_texts = parse_docstring(inspect.getdoc(function) or "")
        label = options.name or getattr(function, "__name__", "")
        if not label:
            raise InvalidTool(f"{function!r} has no name; use @tool(name=...)")
        takes = _Parameters(function, label, parameter_texts)
        self.needs_object: bool = takes.needs_object
        super().__init__(
            label,
            options.description or summary,
            takes.schema,
            _execute(function, takes),
            options.dry_run,
            effect=options.effect,
            timeout=options.timeout,
        )
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function

    if TYPE_CHECKING:

        @property
        def __call__(self) -> F_co: ...

    else:

        def __call__(self, *args, **kwargs):
            return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> "FunctionTool[Any]":
        if instance is None or not self.needs_object:
            return self
        return FunctionTool(MethodType(self.function, instance), self._options)


class _Options(NamedTuple):
    name: str
    description: str
    dry_run: Native | Closure | None
    effect: Effect | EffectName
    timeout: float


class ToolShape(Protocol):
    """A class of the shape of Pixir: `__tool__()` has name, description and parameters."""

    def __tool__(self) -> Mapping[str, Any]: ...

    def execute(self, args: dict[str, Any], context: ToolContext, /) -> Any: ...


class _Decorate(Protocol):
    @overload
    def __call__(self, shape: type[ToolShape], /) -> Tool: ...
    @overload
    def __call__(self, function: F, /) -> FunctionTool[F]: ...


@overload
def tool(shape: type[ToolShape] | ToolShape, /) -> Tool: ...
@overload
def tool(function: F, /) -> FunctionTool[F]: ...
@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    dry_run: Native | Closure | None = None,
    effect: Effect | EffectName = Effect.COMMAND,
    timeout: float = 300.0,
) -> _Decorate: ...


def tool(
    function: Any = None,
    /,
    *,
    name: str = "",
    description: str = "",
    dry_run: Native | Closure | None = None,
    effect: Effect | EffectName = Effect.COMMAND,
    timeout: float = 300.0,
) -> Any:
    """Makes a tool of a typed function; a parameter `ctx`, or one annotated `ToolContext`, gets the context.

    `effect` says what a call can change. Without it the function is taken to change anything, so modes
    `read-only` and `plan` refuse it; a function with `effect="none"` runs in every mode. `timeout` is in
    seconds; a function that is not async may still be running after it. A class, or an object of one, that
    has `__tool__`, `execute` and perhaps `dry_run` becomes a tool, too.

        @tool(effect="none")
        def weather(city: str) -> str:
            "Report the weather in a city."
            return f"Rain in {city}."
    """

    def make(function: Any) -> Tool:
        options = _Options(name, description, dry_run, effect, timeout)
        if hasattr(function, "__tool__"):
            return _adapt(function, options)
        return FunctionTool(function.__func__ if isinstance(function, staticmethod) else function, options)

    return make if function is None else make(function)


def _adapt(shape: Any, options: _Options) -> Tool:
    """Makes a tool of a class that declares itself by `__tool__`, or of an object of it."""
    try:
        made = shape() if isinstance(shape, type) else shape
        spec = made.__tool__() if callable(made.__tool__) else made.__tool__
        told = {key: spec[key] for key in ("name", "description", "parameters")}
    except (TypeError, KeyError) as problem:
        raise InvalidTool(
            f"{shape!r} cannot be made a tool: {problem}. `__tool__()` must return a map with name, "
            "description and parameters, and the class must take no arguments (or pass an object of it)"
        ) from None
    if not callable(getattr(made, "execute", None)):
        raise InvalidTool(f"{shape!r} has no execute(args, context); define it")
    return Tool(
        options.name or told["name"],
        options.description or told["description"],
        told["parameters"],
        made.execute,
        options.dry_run or getattr(made, "dry_run", None),
        effect=options.effect,
        timeout=options.timeout,
    )


def _execute(function: Callable[..., Any], takes: "_Parameters") -> Execute:
    if takes.needs_object:
        return _refuse_unbound(takes.label)

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


def _refuse_unbound(label: str) -> Execute:
    def call(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return Err(ErrorKind.INVALID_ARGS, f"{label} is a method without its object; pass that of an object")

    return call


async def _await_outcome(value: Awaitable[Any]) -> Outcome:
    return outcome_of(await value)


class _Parameters:
    """A signature read once: its schema, and arguments turned into what the function is annotated with."""

    def __init__(self, function: Callable[..., Any], label: str, texts: dict[str, str]) -> None:
        signature = inspect.signature(function)
        hints = _hints(function, label)
        self.label = label
        first = next(iter(signature.parameters), "")
        self.needs_object = first in ("self", "cls") and first not in hints
        """It is a method, read from no object."""
        kept = [p for name, p in signature.parameters.items() if not (self.needs_object and name == first)]
        self._models: dict[str, Model] = {}
        if "pydantic" in sys.modules:  # else no annotation has anything of it
            from planck.toolkit.models import read_pydantic

            try:
                kept, self._models = read_pydantic(kept, hints)
            except TypeError as problem:
                raise InvalidTool(
                    f"{label}() has a parameter that pydantic cannot represent ({problem}); change its type"
                ) from problem
        self._signature = signature.replace(parameters=kept)
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
        plain = {name: hint for name, hint in hints.items() if name not in self._models}
        self._struct = _struct(label, named, plain, forbid_unknown=not self._rest)
        schemas = {name: model.schema for name, model in self._models.items()}
        self.schema = _schema(self._struct, named, hints, texts, schemas)
        if self._rest:
            self.schema["additionalProperties"] = True

    def bind(self, args: dict[str, Any], ctx: ToolContext) -> inspect.BoundArguments | Err:
        """Absent arguments stay absent, so that the function's own defaults apply."""
        try:
            read = msgspec.convert(args, self._struct, str_keys=True, dec_hook=decode_path)
            models = {name: one.read(args[name]) for name, one in self._models.items() if name in args}
        except ValueError as problem:  # of msgspec and of pydantic
            return Err(ErrorKind.INVALID_ARGS, str(problem))
        bound = self._signature.bind_partial()
        for name in self._signature.parameters:
            if name == self._context:
                bound.arguments[name] = ctx
            elif name == self._rest:
                known = self._struct.__struct_fields__
                bound.arguments[name] = {key: value for key, value in args.items() if key not in known}
            elif name in models:
                bound.arguments[name] = models[name]
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
    kinds = (hint, *typing.get_args(hint))
    given = any(kind is ToolContext or typing.get_origin(kind) is ToolContext for kind in kinds)
    return given or (parameter.name == "ctx" and hint is None)


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
    models: Mapping[str, dict[str, Any]],
) -> dict[str, Any]:
    """`models` are the schemas that somebody else makes, by parameter."""
    try:
        whole = msgspec.json.schema(struct, schema_hook=describe_path)
    except TypeError as problem:
        raise InvalidTool(
            f"{struct.__name__}() has a parameter that JSON cannot represent ({problem}); change its type"
        ) from problem
    definitions = whole["$defs"]
    own = definitions.pop(whole["$ref"].removeprefix("#/$defs/"))
    properties = {}
    for parameter in parameters:
        found = dict(models.get(parameter.name) or own["properties"][parameter.name])
        definitions.update(found.pop("$defs", {}))
        entry = _inline(found, definitions)
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


def describe_path(kind: type) -> dict[str, Any]:
    """Returns the schema of a path, which JSON has as text."""
    if issubclass(kind, PurePath):
        return {"type": "string"}
    raise TypeError(f"{kind.__name__} is not supported")


def decode_path(kind: type, value: Any) -> Any:
    if issubclass(kind, PurePath) and isinstance(value, str):
        return kind(value)
    raise ValueError(f"Expected a path as text, got {value!r}")


def _annotated_text(hint: Any) -> str:
    return next((item for item in getattr(hint, "__metadata__", ()) if isinstance(item, str)), "")
