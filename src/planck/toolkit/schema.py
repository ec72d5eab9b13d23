"""JSON Schema of a tool's arguments, as our own tools write it."""

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]
_NOTHING: Mapping[str, Schema] = {}


class OwnSchema(dict[str, Any]):
    """Written with the functions below: a test has checked it, so no start of Planck does."""


def arguments(
    required: Mapping[str, Schema] = _NOTHING, optional: Mapping[str, Schema] = _NOTHING
) -> OwnSchema:
    """Returns the schema of an object; a model is shown the required ones first."""
    schema = OwnSchema(type="object", properties={**required, **optional})
    if required:
        schema["required"] = list(required)
    return schema


def text(description: str, **limits: Any) -> Schema:
    return {"type": "string", **limits, "description": description}


def texts(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def integer(description: str, **limits: Any) -> Schema:
    return {"type": "integer", **limits, "description": description}


def flag(description: str) -> Schema:
    return {"type": "boolean", "description": description}
