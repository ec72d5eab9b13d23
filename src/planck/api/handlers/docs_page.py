"""The API as one web page, made from the OpenAPI document; it needs no script and no other server."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from planck.api.exchange import Reply
from planck.api.openapi import make_document

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}"
    "h2{border-top:1px solid #8888;padding-top:1rem}h3{font-size:1rem;margin:1.5rem 0 .25rem}"
    "code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}p{margin:.25rem 0}"
    "table{border-collapse:collapse}td{padding:.1rem 1rem .1rem 0;vertical-align:top}"
)
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}


def make_docs_page() -> Reply:
    page = "".join(_write(make_document()))
    return Reply(200, page.encode(), "text/html; charset=utf-8", _HEADERS)


def _write(document: Mapping[str, Any]) -> Iterator[str]:
    info = document["info"]
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<title>{escape(info['title'])} HTTP API</title><style>{_STYLE}</style></head><body><main>"
    yield f"<h1>{escape(info['title'])} HTTP API {escape(info['version'])}</h1>"
    yield f"<p>{escape(info['description'])} As OpenAPI: <a href='openapi.json'>openapi.json</a></p>"
    yield "<h2>Requests</h2>"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield from _write_operation(method.upper(), path, operation, document)
    yield "<h2>Schemas</h2>"
    for name, schema in document["components"]["schemas"].items():
        yield f'<h3 id="{escape(name)}"><code>{escape(name)}</code></h3>'
        yield f"<p>{escape(schema['description'])}</p>" if "description" in schema else ""
        yield from _write_fields(schema)
    yield "</main></body></html>"


def _write_operation(
    method: str, path: str, operation: Mapping[str, Any], document: Mapping[str, Any]
) -> Iterator[str]:
    yield f'<h3 id="{operation["operationId"]}"><code>{method} {escape(path)}</code></h3>'
    yield f"<p>{escape(operation['summary'])}. Role: {operation['x-role']}.</p>"
    parameters = [
        (one["name"], one["schema"], one["required"], f"in the {one['in']}")
        for one in operation["parameters"]
    ]
    yield from _write_table(parameters)
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"<p>Body: {_name_type(content['schema'])}, <code>{kind}</code></p>"
    errors = []
    for status, answer in operation["responses"].items():
        if "$ref" in answer:
            errors.append(status)
            continue
        content = " or ".join(
            f"{_name_type(one['schema'])}, <code>{kind}</code>"
            for kind, one in answer.get("content", {}).items()
        )
        yield f"<p>{status}: {content or escape(answer['description'])}</p>"
    yield f"<p>Errors: {', '.join(errors)}: {_name_type(_find_failure(document))}</p>"


def _find_failure(document: Mapping[str, Any]) -> Mapping[str, Any]:
    [content] = next(iter(document["components"]["responses"].values()))["content"].values()
    schema: Mapping[str, Any] = content["schema"]
    return schema


def _write_fields(schema: Mapping[str, Any]) -> Iterable[str]:
    required = schema.get("required", ())
    fields = [
        (name, one, name in required, one.get("description", ""))
        for name, one in schema.get("properties", {}).items()
    ]
    return _write_table(fields) if fields else [f"<p>{_name_type(schema)}</p>"]


def _write_table(rows: Iterable[tuple[str, Mapping[str, Any], bool, str]]) -> Iterator[str]:
    yield "<table>"
    for name, schema, required, about in rows:
        need = "required" if required else "optional"
        yield f"<tr><td><code>{escape(name)}</code><td>{_name_type(schema)}<td>{need}<td>{escape(about)}"
    yield "</table>"


def _name_type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_name_type, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(value)) or '(empty)'}</code>" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_name_type(schema.get('items', {}))}"
    return escape(str(schema.get("type", "any")))
