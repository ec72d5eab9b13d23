"""JSON as most commands print it, for programs and for who looks at it."""

import json
from typing import Any

import msgspec

from planck.records.visible import escape_json


def print_json(value: Any, indent: int | None = 2) -> None:
    print(escape_json(json.dumps(msgspec.to_builtins(value), indent=indent, ensure_ascii=False)))
