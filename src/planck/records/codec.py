"""Our JSON: the only place that encodes or decodes what we store and send."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

DecodeError = msgspec.DecodeError  # ValidationError included

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()

encode: Callable[[Any], bytes] = _encoder.encode


def trimmed(data: bytes | msgspec.Raw) -> bytes:
    """For bytes that stay: what the encoder gives holds up to half as much again in spare room."""
    return memoryview(data).tobytes()


def encode_str(value: Any) -> str:
    return _encoder.encode(value).decode()


def decode(data: bytes | str) -> Any:
    """Raises `DecodeError` alone, also for bytes that are no UTF-8 and for what is nested too deep."""
    try:
        return _decoder.decode(data)
    except (UnicodeError, RecursionError) as e:
        raise _unreadable(e) from None


def decode_as(data: bytes | str, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=type_)
    except (UnicodeError, RecursionError) as e:
        raise _unreadable(e) from None


def _unreadable(problem: Exception) -> DecodeError:
    return DecodeError("it is nested too deeply" if isinstance(problem, RecursionError) else str(problem))


def drop_examples(schemas: dict[str, Any]) -> dict[str, Any]:
    """Returns schemas of classes without the examples of their docstrings, which are in Python."""
    return {name: _drop_example(schema) for name, schema in schemas.items()}


def _drop_example(schema: dict[str, Any]) -> dict[str, Any]:
    text, example, _ = schema.get("description", "").partition("Example:\n")
    return {**schema, "description": text.strip()} if example else schema
