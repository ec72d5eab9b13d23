"""How settings are told to a person: where a value or a key comes from, and how a check ended."""

from collections.abc import Iterable, Mapping
from typing import Any

MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "error": ("✗", "red")}
"""By the state of a check: its mark and that one's style."""


def name_key_source(source: str) -> str:
    """Returns where a key comes from, in words: a variable, or one of the places where Planck keeps keys."""
    return {"file": "your credential file", "sign-in": "your sign-in"}.get(source, source)


def tell_variable(rows: Iterable[Mapping[str, Any]], provider: str) -> str:
    """Says that a variable hides the key that was just stored; empty where none does."""
    variable = next((row["source"] for row in rows if row["provider"] == provider), "")
    if variable in ("", "file", "sign-in"):
        return ""
    return f"{variable} is set and is used instead. Unset it to use what you entered."


def name_value_source(source: str) -> str:
    """Returns where a value of the configuration comes from as a person reads it."""
    return "the built-in default" if source == "built-in" else source
