"""The OpenAPI 3.1 document, made of the table of operations."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

import planck
from planck.api import shapes
from planck.api.errors import status_of
from planck.api.exchange import JSON
from planck.api.operations import OPERATIONS, PREFIX, UNSAFE, Operation
from planck.records import codec
from planck.records.outcome import ErrorKind

_REF = "#/components/schemas/{name}"
_WHY = {
    400: "The request is invalid.",
    401: "The token is missing or invalid.",
    403: "Permission denied, or the request comes from a page with another origin.",
    404: "Not found.",
    405: "The path does not support this method.",
    408: "The request took too long to arrive.",
    409: "Conflict: another process has the session open, or another request came first.",
    413: "The request body is too large.",
    415: "The request body is not `application/json`.",
    421: "The `Host` header does not name this server.",
    429: "Too many requests, or the agent's inbox is full. See `Retry-After`.",
    431: "The request headers are too large, or there are too many.",
    503: "Too many sessions or clients, or the server is shutting down. See `Retry-After`.",
    507: "The disk is full.",
}
_ANY = (400, 401, 403, 408, 421, 429, 431, 503)
"""What any request may be answered with."""


@cache
def make_document() -> dict[str, Any]:
    kinds = [*_list_types()]
    schemas, found = msgspec.json.schema_components(kinds, ref_template=_REF)
    components = codec.drop_examples(found)
    by_type = dict(zip(map(repr, kinds), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        entry = paths.setdefault(PREFIX + operation.path, {})
        entry[operation.method.lower()] = _describe(operation, by_type, components)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Planck",
            "version": planck.__version__,
            "description": "Run and manage coding-agent sessions. All errors have the same format.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "The server that returned this document"}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "responses": {str(status): _describe_error(status, by_type) for status in _list_statuses()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }
    plain: dict[str, Any] = codec.decode(codec.encode(document))
    _type_enums(plain)
    return plain


_TYPES = {str: "string", bool: "boolean", int: "integer"}


def _type_enums(node: Any) -> None:
    """Adds the type that msgspec leaves out of an enum; many generators of clients reject one without it."""
    if isinstance(node, dict):
        values = node.get("enum")
        if isinstance(values, list) and "type" not in node:
            [node["type"]] = {_TYPES[type(value)] for value in values}
        for value in node.values():
            _type_enums(value)
    elif isinstance(node, list):
        for value in node:
            _type_enums(value)


def _list_types() -> Iterable[Any]:
    found: dict[str, Any] = {repr(shapes.Failure): shapes.Failure}
    for operation in OPERATIONS:
        for kind in (operation.query, operation.body, operation.returns):
            if kind is not None:
                found[repr(kind)] = kind
    return found.values()


def _list_statuses() -> list[int]:
    return sorted({status for operation in OPERATIONS for status in list_error_statuses(operation)})


def _describe_error(status: int, by_type: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": _WHY.get(status, "The request failed. The error kind gives the reason."),
        "content": {JSON: {"schema": by_type[repr(shapes.Failure)]}},
    }


def _describe(operation: Operation, by_type: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.about,
        "x-role": operation.role,
        "parameters": [*_list_parameters(operation, components)],
        "responses": _list_responses(operation, by_type),
    }
    if operation.body is not None:
        described["requestBody"] = {
            "required": any(field.required for field in msgspec.structs.fields(operation.body)),
            "content": {JSON: {"schema": by_type[repr(operation.body)]}},
        }
    if operation.open:
        described["security"] = []
    return described


def _list_parameters(operation: Operation, components: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for segment in operation.path.split("/"):
        if segment.startswith("{"):
            yield {"name": segment[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
    if operation.query is not None:
        properties = components[operation.query.__name__]["properties"]
        required = components[operation.query.__name__].get("required", ())
        for name, schema in properties.items():
            yield {"name": name, "in": "query", "required": name in required, "schema": schema}
    if operation.keyed:
        schema = {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,128}$"}
        yield {"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema}


def _list_responses(operation: Operation, by_type: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Success."}
    if operation.returns is not None:
        schema = by_type[repr(operation.returns)]
        answer["content"] = {kind: {"schema": schema} for kind in operation.content_types}
    responses = {str(operation.status): answer}
    if operation.empty:
        responses["204"] = {"description": "No content: no result yet, or the stream has ended."}
    if operation.method == "GET" and not operation.stream:
        responses["304"] = {"description": "Not modified."}
    for status in sorted(list_error_statuses(operation)):
        responses[str(status)] = {"$ref": f"#/components/responses/{status}"}
    return responses


def list_common_statuses() -> set[int]:
    return set(_ANY)


def list_error_statuses(operation: Operation) -> set[int]:
    found = set(_ANY)
    if operation.method in UNSAFE:
        found |= {413, 415}
    for kind in operation.errors:
        found.add(status_of(kind))
        if kind is ErrorKind.LOG_WRITE_FAILED:
            found.add(507)
    return found
