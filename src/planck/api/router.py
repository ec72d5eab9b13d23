"""From a request's target to its operation, and from its bytes to what a handler is given."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec

from planck.api.errors import ApiError
from planck.api.exchange import JSON, Scope
from planck.api.operations import PREFIX, UNSAFE, Operation
from planck.records import codec
from planck.records.outcome import ErrorKind, PlanckError

_FIELDS = 50
"""Parameters that a query may have."""
_KEY = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_KNOWN, _SHORT = 256, 128
"""So many paths are kept, up to so many bytes each."""
_Tree = dict[str, Any]


class BadRequest(PlanckError):
    """What was sent can't be understood."""


class Found:
    """Where a path leads: its operations by method, and the segments that are names."""

    def __init__(self, methods: Mapping[str, Operation], path: Mapping[str, str]) -> None:
        self.methods = methods
        self.path = path


class Router:
    def __init__(self, operations: Iterable[Operation]) -> None:
        self._tree: _Tree = {}
        self._known: dict[bytes, Found] = {}
        """Where paths led: a client asks the same ones again and again."""
        for operation in operations:
            node = self._tree
            for segment in (PREFIX + operation.path).split("/")[1:]:
                node = node.setdefault("{}" if segment.startswith("{") else segment, {})
            node.setdefault("", {})[operation.method] = operation

    def find(self, raw_path: bytes) -> Found | None:
        """Reads the path as it was sent: an escaped slash or dot is part of a name."""
        known = self._known.get(raw_path)
        if known is None and (known := self._read(raw_path)) and len(raw_path) <= _SHORT:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            self._known[raw_path] = known
        return known

    def _read(self, raw_path: bytes) -> Found | None:
        node, names = self._tree, []
        for segment in raw_path.decode("latin-1").split("/")[1:]:
            if segment in node and segment not in ("", "{}"):
                node = node[segment]
            elif "{}" in node and segment and "\0" not in (name := unquote(segment, errors="replace")):
                names.append(name)
                node = node["{}"]
            else:
                return None
        methods = node.get("")
        if not methods:
            return None
        template = next(iter(methods.values())).path
        keys = (part[1:-1] for part in template.split("/") if part.startswith("{"))
        return Found(methods, dict(zip(keys, names, strict=True)))


def choose(found: Found | None, method: str) -> Operation:
    if found is None:
        raise BadRequest(ErrorKind.NOT_FOUND, f"Route not found. {PREFIX}/openapi.json lists all routes.")
    if method not in found.methods:
        allowed = " or ".join(sorted(found.methods))
        raise ApiError(405, ErrorKind.INVALID_ARGS, f"Method not allowed. Use {allowed}.")
    return found.methods[method]


def check_content_type(scope: Scope) -> None:
    """An unsafe request is JSON, or has no body at all: no form of a foreign page can make one."""
    if scope["method"] not in UNSAFE:
        return
    headers = scope["headers"]
    said = [value for key, value in headers if key == b"content-type"]
    length = [value for key, value in headers if key == b"content-length"]
    chunked = any(key == b"transfer-encoding" for key, _ in headers)
    if not said and not chunked and length in ([], [b"0"]):
        return
    if len(said) != 1 or said[0].split(b";")[0].strip().lower() != JSON.encode():
        raise ApiError(415, ErrorKind.INVALID_ARGS, f"Send the body with `Content-Type: {JSON}`.")


def decode_query(operation: Operation, query: bytes) -> Any:
    if operation.query is None:
        return None
    try:
        text = query.decode("latin-1")
        pairs = (
            parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS, errors="strict") if text else []
        )
        given = dict(pairs)
        if len(given) < len(pairs):
            raise BadRequest(ErrorKind.INVALID_ARGS, "Send each query parameter only once.")
        return msgspec.convert(given, operation.query, strict=False)
    except msgspec.ValidationError as problem:
        raise BadRequest(
            ErrorKind.INVALID_ARGS, f"Invalid query: {problem}. See {PREFIX}/openapi.json."
        ) from None
    except ValueError:  # too many, or no UTF-8
        raise BadRequest(
            ErrorKind.INVALID_ARGS,
            f"Invalid query. Percent-encode it as UTF-8, and send at most {_FIELDS} parameters.",
        ) from None


def decode_body(operation: Operation, body: bytes) -> Any:
    if operation.body is None:
        return None
    try:
        return codec.decode_as(body or b"{}", operation.body)
    except msgspec.ValidationError as problem:
        raise BadRequest(
            ErrorKind.INVALID_ARGS, f"Invalid request body: {problem}. See {PREFIX}/openapi.json."
        ) from None
    except codec.DecodeError as problem:
        raise BadRequest(
            ErrorKind.INVALID_ARGS, f"The request body is not valid JSON: {problem}. Correct it."
        ) from None


def check_text(*given: Any) -> None:
    """Raises for a NUL in any text of a request: no database takes one, and no file's name has one."""
    waiting = [*given]
    while waiting:
        match waiting.pop():
            case str(text) if "\0" in text:
                raise BadRequest(ErrorKind.INVALID_ARGS, "The request contains a NUL character. Remove it.")
            case Mapping() as values:
                waiting += (*values, *values.values())
            case list() | tuple() as values:
                waiting += values
            case msgspec.Struct() as values:
                waiting += (getattr(values, name) for name in values.__struct_fields__)


def check_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise BadRequest(
            ErrorKind.INVALID_ARGS,
            "Invalid Idempotency-Key. Use 1 to 128 characters: letters, digits, `_`, `.`, `:` and `-`.",
        )
    return key
