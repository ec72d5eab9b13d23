"""JSON Schema of a tool's arguments, as our own tools write it."""

from collections.abc import Collection, Mapping
from typing import Any

Schema = dict[str, Any]
_NOTHING: Mapping[str, Schema] = {}
_BOUNDS = frozenset({"minLength", "minimum", "maximum", "maxItems"})


class OwnSchema(dict[str, Any]):
    """Written with the functions below: a test has checked it, so no start of Planck does."""

    def __init__(self, schema: Schema, unshown: Collection[str]) -> None:
        super().__init__(schema)
        self.shown: Schema = _show(schema, unshown)
        """What a model is shown of it: no bounds, and not the `unshown` arguments. Validation checks all."""


def arguments(
    required: Mapping[str, Schema] = _NOTHING,
    optional: Mapping[str, Schema] = _NOTHING,
    unshown: Mapping[str, Schema] = _NOTHING,
) -> OwnSchema:
    """Returns the schema of an object; a model is shown the required ones first.

    `unshown` arguments are optional and are validated, but a model is not told of them.
    """
    schema: Schema = {"type": "object", "properties": {**required, **optional, **unshown}}
    if required:
        schema["required"] = list(required)
    return OwnSchema(schema, unshown)


def _show(schema: Mapping[str, Any], unshown: Collection[str] = ()) -> Schema:
    """Leaves out the bounds: the error for a value that breaks one names it."""
    shown = {key: value for key, value in schema.items() if key not in _BOUNDS}
    if "properties" in shown:
        properties = shown["properties"].items()
        shown["properties"] = {name: _show(value) for name, value in properties if name not in unshown}
    if "items" in shown:
        shown["items"] = _show(shown["items"])
    return shown


def text(description: str, **limits: Any) -> Schema:
    return {"type": "string", **limits, "description": description}


def texts(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def integer(description: str, **limits: Any) -> Schema:
    return {"type": "integer", **limits, "description": description}


def flag(description: str) -> Schema:
    return {"type": "boolean", "description": description}
