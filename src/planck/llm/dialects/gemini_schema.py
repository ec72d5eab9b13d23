"""A tool's JSON Schema in the subset that Gemini takes for a function declaration."""

from typing import Any

from planck.records.specs import ToolSpec

_KEPT = frozenset(
    {"default", "description", "enum", "format", "nullable", "pattern", "required", "title", "type"}
    | {"minItems", "maxItems", "minLength", "maxLength"}
    | {"minimum", "maximum", "minProperties", "maxProperties"}
)
_FORMATS = frozenset({"enum", "date-time", "float", "double", "int32", "int64"})


class _Inexpressible(Exception):
    """Recursive, or an object of any keys: the subset has no word for it."""


def declare(tool: ToolSpec) -> dict[str, Any]:
    """The function as the API wants it; the executor still checks the arguments against the full schema."""
    declared: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if not tool.parameters.get("properties"):
        return declared
    try:
        return {**declared, "parameters": _clean(tool.parameters, tool.parameters, ())}
    except _Inexpressible:
        return {**declared, "parametersJsonSchema": tool.parameters}


def _clean(schema: Any, root: dict[str, Any], seen: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(schema, dict):  # `true`: anything goes
        raise _Inexpressible
    schema, seen = _resolve(schema, root, seen)
    out = {key: value for key, value in schema.items() if key in _KEPT}
    _alternatives(schema, root, seen, out)
    _type(out)
    _values(schema, out)
    if out.get("format") not in _FORMATS:
        out.pop("format", None)
    if "items" in schema or out.get("type") == "array":
        out["items"] = _clean(schema.get("items", {"type": "string"}), root, seen)
    if properties := schema.get("properties"):
        out["properties"] = {name: _clean(value, root, seen) for name, value in properties.items()}
        out["required"] = [name for name in out.get("required", ()) if name in properties]
    if not out.get("required"):
        out.pop("required", None)
    if out.get("type") == "object" and not out.get("properties"):
        raise _Inexpressible
    if "type" not in out and "anyOf" not in out:
        raise _Inexpressible
    return out


def _resolve(
    schema: dict[str, Any], root: dict[str, Any], seen: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """References and `allOf` written out in place."""
    if isinstance(ref := schema.get("$ref"), str):
        if ref in seen:
            raise _Inexpressible
        target, seen = _target(ref, root), (*seen, ref)
        return _resolve({**target, **{k: v for k, v in schema.items() if k != "$ref"}}, root, seen)
    for branch in schema.get("allOf", ()):
        merged, seen = _resolve(branch, root, seen)
        own = {key: value for key, value in schema.items() if key != "allOf"}
        properties = {**merged.get("properties", {}), **own.get("properties", {})}
        required = [*merged.get("required", ()), *own.get("required", ())]
        schema = {**merged, **own, "properties": properties, "required": required}
    return schema, seen


def _target(ref: str, root: dict[str, Any]) -> dict[str, Any]:
    node: Any = root
    for step in ref.removeprefix("#").split("/")[1:]:
        node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
    if not isinstance(node, dict):
        raise _Inexpressible
    return node


def _alternatives(
    schema: dict[str, Any], root: dict[str, Any], seen: tuple[str, ...], out: dict[str, Any]
) -> None:
    branches = schema.get("anyOf") or schema.get("oneOf") or ()
    real = [branch for branch in branches if not (isinstance(branch, dict) and branch.get("type") == "null")]
    if len(real) < len(branches):
        out["nullable"] = True
    if len(real) == 1:
        out.update({**_clean(real[0], root, seen), **out})
    elif real:
        out["anyOf"] = [_clean(branch, root, seen) for branch in real]
        out.pop("type", None)


def _type(out: dict[str, Any]) -> None:
    if not isinstance(kinds := out.get("type"), list):
        return
    real = [kind for kind in kinds if kind != "null"]
    if len(real) < len(kinds):
        out["nullable"] = True
    if len(real) == 1:
        out["type"] = real[0]
    else:
        out["anyOf"] = [{"type": kind} for kind in real]
        del out["type"]


def _values(schema: dict[str, Any], out: dict[str, Any]) -> None:
    """Enumerations are of strings only."""
    values = [schema["const"]] if "const" in schema else out.get("enum")
    if values is None:
        return
    if all(isinstance(value, str) for value in values):
        out["enum"], out["type"] = values, "string"
    else:
        out.pop("enum", None)
        known = "one of " + ", ".join(map(repr, values))
        out["description"] = f"{out['description']} ({known})" if out.get("description") else known
        out.setdefault("type", _JSON_TYPES.get(type(values[0]), "string"))


_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
