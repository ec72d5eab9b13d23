"""A server's form, filled in one line at a time."""

from collections.abc import Sequence
from typing import Any

from planck.records.approval import FormField, Question, describe_kind, find_problem
from planck.records.outcome import Err, ErrorKind
from planck.records.visible import fit_line

SKIP = "-"
"""Leaves an optional field out, also one that has a default."""


class FormFill:
    def __init__(self, fields: Sequence[FormField]) -> None:
        self.content: dict[str, Any] = {}
        self._left = list(fields)

    @property
    def field(self) -> FormField | None:
        """The one to fill in now; None: all are."""
        return self._left[0] if self._left else None

    @property
    def draft(self) -> str:
        """What Enter alone would mean."""
        return write_typed(self._left[0]) if self._left else ""

    def ask(self) -> str:
        """Returns the line that asks for the value."""
        field = self._left[0]
        skip = "" if field.required else f"; {SKIP} leaves it out"
        return f"{field.label} ({describe_field(field)}{skip})"

    def take(self, text: str) -> str:
        """Takes a line for the field, Enter alone as its default; returns what is wrong with it."""
        field = self._left[0]
        if text.strip() == SKIP and not field.required:
            text = ""
        elif not text.strip():
            text = self.draft
        value = read_typed(field, text)
        if isinstance(value, Err):
            return f"{field.label}: {value.message}."
        if value is None and field.required:
            return f"{field.label}: a value is required."
        if value is not None:
            self.content[field.name] = value
        self._left.pop(0)
        return ""


def list_rows(question: Question) -> list[str]:
    """Returns the page's address, or each field with its choices."""
    rows = [f"page: {question.url}"] if question.url else []
    for number, field in enumerate(question.fields, 1):
        rows.append(f"{number}. {field.label} ({describe_field(field)})")
        if field.about:
            rows.append(f"   {field.about}")
        rows += [f"   {at} {choice.label}" for at, choice in enumerate(field.choices, 1)]
    return rows


def read_typed(field: FormField, text: str) -> Any | Err:
    """Returns the value that a line of text stands for; None: it was left empty."""
    text = text.strip()
    if not text:
        return None
    value: Any = text
    if field.kind in ("number", "integer"):
        try:
            value = int(text) if field.kind == "integer" else float(text)
        except ValueError:
            return _wrong(f"{text[:40]!r} is not {describe_kind(field)}")
    elif field.kind == "boolean":
        word = text.lower()
        if word not in _WORDS:
            return _wrong("type yes or no")
        value = _WORDS[word]
    elif field.kind in ("choice", "choices"):
        words = [text] if field.kind == "choice" else [word.strip() for word in text.split(",")]
        found = [_find_choice(field, word) for word in words if word]
        if None in found:
            return _wrong(f"choose from 1 to {len(field.choices)}")
        value = found[0] if field.kind == "choice" else tuple(map(str, found))
    problem = find_problem(field, value)
    return _wrong(problem) if problem else value


def write_typed(field: FormField) -> str:
    """Returns the line that stands for the default."""
    value = field.default
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def describe_field(field: FormField) -> str:
    """Returns what may be entered, in a few words."""
    words = [describe_kind(field), "required" if field.required else "optional"]
    if field.least is not None or field.most is not None:
        unit = {"text": " characters", "choices": " choices"}.get(field.kind, "")
        if field.least is not None and field.most is not None:
            words.append(f"{field.least:g} to {field.most:g}{unit}")
        elif field.least is not None:
            words.append(f"at least {field.least:g}{unit}")
        else:
            words.append(f"at most {field.most:g}{unit}")
    if field.default is not None:
        words.append(f"default {fit_line(write_typed(field), 60)}")
    return ", ".join(words)


_WORDS = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


def _find_choice(field: FormField, word: str) -> str | None:
    for number, choice in enumerate(field.choices, 1):
        if word in (choice.value, choice.label, str(number)):
            return choice.value
    return None


def _wrong(why: str) -> Err:
    return Err(ErrorKind.INVALID_ARGS, why)
