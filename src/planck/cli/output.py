"""JSON as most commands print it, for programs and for who looks at it."""

import json
from typing import Any

import msgspec


def print_json(value: Any, indent: int | None = 2) -> None:
    print(json.dumps(msgspec.to_builtins(value), indent=indent, ensure_ascii=False))
