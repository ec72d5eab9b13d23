"""How settings are told to a person: where a value or a key comes from, and how a check ended."""

MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "error": ("✗", "red")}
"""By the state of a check: its mark and that one's style."""


def name_key_source(source: str) -> str:
    """Returns where a key comes from, in words: a variable, or one of the places where Planck keeps keys."""
    return {"file": "your credential file", "sign-in": "your sign-in"}.get(source, source)


def name_value_source(source: str) -> str:
    """Returns where a value of the configuration comes from as a person reads it."""
    return "the built-in default" if source == "built-in" else source
