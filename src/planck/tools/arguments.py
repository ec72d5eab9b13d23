"""From a model's argument text to values a tool may trust: parsed under guard, then validated in full."""

import json
from collections.abc import Mapping
from typing import Any

from planck.records import codec
from planck.records.nearest import did_you_mean_one_of
from planck.records.outcome import ErrorKind
from planck.toolkit.tool import ArgumentError, Tool, ToolError, make_validator

MAX_BYTES = 1 << 20
"""Of the arguments' text, where the tool says nothing else or is not known yet."""
MAX_DEPTH = 64
_TOO_DEEP = f"the arguments are nested deeper than {MAX_DEPTH} levels; send a flatter value"
_MAX_DIGITS = 19
"""What 64 bits hold; longer integers can't be stored or sent on by most programs."""
_MAX_ERRORS = 5
_CORRECT = "correct this and call the tool again"
_MAX_MESSAGE = 500


def parse(text: str, limit: int = MAX_BYTES) -> dict[str, Any]:
    """The object, or `ToolError`: nothing is repaired, because a repair could change a value."""
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    if size > limit:
        raise ToolError(
            ErrorKind.LIMIT_EXCEEDED,
            f"the arguments have {size} bytes, and at most {limit} are accepted; send less at a time",
            {"bytes": size, "limit": limit},
        )
    if not text or text.isspace():
        return {}
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ArgumentError(_TOO_DEEP) from None
    except json.JSONDecodeError as problem:
        around = text[max(0, problem.pos - 20) : problem.pos + 20]
        cut = problem.msg != "Extra data" and not text.rstrip().endswith("}")
        way_out = "they were probably cut off, so send less at a time" if cut else "send one JSON object"
        why = problem.msg.removesuffix(" at")  # some of Python's own messages end so
        raise ArgumentError(
            f"the arguments are not valid JSON: {why} at character {problem.pos}, near {around!r}; {way_out}"
        ) from None
    if not isinstance(value, dict):
        raise ArgumentError(
            f"the arguments must be a JSON object, not {text[:80]!r}; pass each argument by name"
        )
    if text.count("{") + text.count("[") > MAX_DEPTH:
        _check_depth(value)
    if "\\u" in text or not text.isascii():
        try:
            codec.encode(value)
        except UnicodeEncodeError:
            raise ArgumentError(
                "the arguments contain half of a surrogate pair; send the whole character"
            ) from None
    return value


def validate(tool: Tool, args: dict[str, Any]) -> None:
    """`ToolError` with every path that is wrong, what was expected there, and near names for a typo."""
    validator = compile_schema(tool)
    extra = tool.extra_arguments
    checked = {key: value for key, value in args.items() if key not in extra} if extra else args
    for key in extra.keys() & args:
        for problem in make_validator(dict(extra[key])).iter_errors(args[key]):
            raise ArgumentError(
                f"{tool.name}: {key}: {problem.message[:500]}; {_CORRECT}",
                {"errors": [{"path": key, "message": problem.message[:500]}]},
            )
    if not validator.is_valid(checked):
        problems = [
            _explain(problem, tool)
            for problem, _ in zip(validator.iter_errors(checked), range(_MAX_ERRORS), strict=False)
        ]
        problems.sort(key=lambda problem: bool(problem[1]))  # a hint ends the sentence
        way_out = "" if any(hint for _, hint, _ in problems) else f"; {_CORRECT}"
        raise ArgumentError(
            f"{tool.name}: " + "; ".join(text + hint for text, hint, _ in problems) + way_out,
            {"errors": [where for *_, where in problems]},
        )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ArgumentError(f"the key {twice[:100]!r} occurs twice; send it once")
    return found


def _constant(text: str) -> Any:
    raise ArgumentError(f"{text} is not a JSON number; send a finite number")


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS + 1:
        raise ArgumentError(
            f"the integer {text[:30]}… has {len(text.lstrip('-'))} digits, and at most {_MAX_DIGITS} are "
            "accepted; send a smaller one"
        )
    value = int(text)
    if not -(1 << 63) <= value < 1 << 64:
        raise ArgumentError(f"the integer {text} does not fit into 64 bits; send a smaller one")
    return value


def _number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ArgumentError(f"the number {text[:30]} is too large; send a smaller one")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_constant, parse_int=_integer, parse_float=_number
)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise ArgumentError(_TOO_DEEP)


def compile_schema(tool: Tool) -> Any:
    """Returns the validator of a tool's parameters; `ToolError` where they are no JSON Schema."""
    cached = _VALIDATORS.get(id(tool.parameters))
    if cached is None or cached[0] is not tool.parameters:
        if len(_VALIDATORS) > 4096:
            _VALIDATORS.clear()
        cached = (tool.parameters, _compile(tool))
        _VALIDATORS[id(tool.parameters)] = cached
    return cached[1]


_VALIDATORS: dict[int, tuple[Mapping[str, Any], Any]] = {}
"""By identity of the schema, which is held, so that the number can't be another's."""


def _compile(tool: Tool) -> Any:
    schema = dict(tool.parameters)
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})  # without it the validator says "False schema" of a key too many
    if not tool.plain_schema and "additionalProperties" not in schema:
        schema["additionalProperties"] = False
    try:
        return make_validator(schema)
    except (ValueError, TypeError) as problem:
        raise ToolError(
            ErrorKind.INTERNAL_ERROR,
            f"the parameters of {tool.name!r} are not a valid JSON Schema: {problem}; correct the schema",
        ) from None


def _explain(problem: Any, tool: Tool) -> tuple[str, str, dict[str, Any]]:
    """Returns what is wrong, the way out if there is a narrow one, and both for programs."""
    path = "/".join(str(step) for step in problem.instance_path)
    message = problem.message
    if len(message) > _MAX_MESSAGE:  # the value comes first, the bound that it breaks last
        message = f"{message[: _MAX_MESSAGE // 2]} … {message[-_MAX_MESSAGE // 2 :]}"
    hint = ""
    unexpected = getattr(problem.kind, "unexpected", None)
    if unexpected and not path:
        known = list(dict.fromkeys([*tool.parameters.get("properties", {}), *sorted(tool.extra_arguments)]))
        there = f"; known arguments: {', '.join(known)}" if known else "; this tool takes no arguments"
        asked = [did_you_mean_one_of(str(name), known).removeprefix(".") for name in unexpected[:3]]
        hint = f".{''.join(asked)}" if any(asked) else there
    return f"{path}: {message}" if path else message, hint, {"path": path, "message": message}
