"""An event in other JSON types than the vendor's: read where that can mean only one thing.

Servers that copy a vendor write a text as a list of parts, a number as a text, an empty object as `[]`. Only
an event that the strict reader refused comes here.
"""

from collections.abc import Callable
from typing import Any

from msgspec import inspect

from planck.records import codec

_OBJECTS = frozenset({"arguments", "partial_json"})
"""Fields whose text is JSON: a server that sends the object itself means the same."""
_SILENT = frozenset({"reference"})
"""Parts that say nothing to read: Mistral's pointers into its sources."""


def reread(data: bytes, shape: type, prepare: Callable[[Any], None]) -> bytes:
    """Returns the event in the types of `shape`; raises `codec.DecodeError` for one that is not JSON."""
    event = codec.decode(data)
    prepare(event)
    return codec.encode(_fit(event, inspect.type_info(shape), ""))


def _fit(value: Any, wanted: inspect.Type, name: str) -> Any:
    """The value as `wanted`, or unchanged: the strict reader then says what is wrong with it."""
    if isinstance(wanted, inspect.UnionType):
        if value is None:
            return None
        wanted = next(one for one in wanted.types if not isinstance(one, inspect.NoneType))
    match wanted:
        case inspect.StructType():
            return _fit_object(value, wanted)
        case inspect.ListType():
            return _fit_list(value, wanted, name)
        case inspect.StrType():
            return _fit_text(value, name)
        case inspect.IntType():
            return _fit_number(value)
        case inspect.BoolType():
            return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
    return value


def _fit_object(value: Any, wanted: inspect.StructType) -> Any:
    types = {field.encode_name: field.type for field in wanted.fields}
    if value is None or value == []:
        return {}  # as PHP writes an empty object
    if isinstance(value, str) and "text" in types:
        return {"text": value}
    if not isinstance(value, dict):
        return value
    fitted = {key: _fit(inner, types[key], key) if key in types else inner for key, inner in value.items()}
    # Null is absent also where the vendor never writes it.
    return {key: inner for key, inner in fitted.items() if inner is not None}


def _fit_list(value: Any, wanted: inspect.ListType, name: str) -> Any:
    if isinstance(value, dict | str):
        value = [value] if value else []
    if not isinstance(value, list):
        return value
    return [_fit(inner, wanted.item_type, name) for inner in value if inner is not None]


def _fit_text(value: Any, name: str) -> Any:
    if isinstance(value, str) or value is None or name == "type":
        return value  # no server makes anything but a word of what an event is
    if name in _OBJECTS and isinstance(value, dict):
        return codec.encode_str(value)
    if isinstance(value, list):
        texts = [_fit_text(part, name) for part in value]
        return "".join(texts) if all(isinstance(text, str) for text in texts) else value
    if isinstance(value, dict):
        if not value or value.get("type") in _SILENT:
            return ""
        said = [value[key] for key in ("text", "thinking") if value.get(key) is not None]
        return _fit_text(said[0], name) if len(said) == 1 else value
    return value if isinstance(value, bool) else codec.encode_str(value)


def _fit_number(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < _MOST_DIGITS:
        return int(value)
    return value


_MOST_DIGITS = 16
