"""A server's question to the person, on its way from the SDK to whoever can show it, and the answer back."""

import re
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from planck.records.approval import Asked, FieldKind, FormChoice, FormField, find_problem
from planck.records.outcome import Err, ErrorKind
from planck.records.visible import fit_line, spell_out

MAX_FIELDS = 20
_MAX_CHOICES = 50
_MAX_MESSAGE = 4_000
_MAX_LABEL = 200
_MAX_NAME = 100
_MAX_URL = 2_000
_MAX_BOUND = 10**15
_FORMATS = ("email", "uri", "date", "date-time")
MAX_QUESTIONS = 10
"""Of one call: what it asks beyond that is declined."""


class Reply(msgspec.Struct, frozen=True):
    """`content` is None where nobody agreed; `dismissed` says that nobody refused either."""

    content: dict[str, Any] | None = None
    dismissed: bool = False


DECLINED, DISMISSED = Reply(), Reply(dismissed=True)


class Person(Protocol):
    """Who is asked on behalf of one call."""

    session_id: str

    async def ask(self, asked: Asked) -> Reply:
        """Returns the answer by the call's deadline; is cancelled when the call is over."""

    def note(self, why: str) -> None:
        """Hears of a question that was declined without being shown, and why."""


def read_question(params: Any) -> Asked | Err:
    """Reads the SDK's parameters of `elicitation/create`."""
    if getattr(params, "mode", "form") == "url":
        return read_page(params.message, params.url)
    return read_form(params.message, params.requested_schema)


def read_form(message: str, schema: Any) -> Asked | Err:
    """Refuses what a person could not be shown whole; nothing of it is cut."""
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(properties) > MAX_FIELDS:
        return _refuse(f"a form must be an object with at most {MAX_FIELDS} fields")
    if len(message) > _MAX_MESSAGE:
        return _refuse(f"the message is longer than {_MAX_MESSAGE} characters")
    required = schema.get("required")
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    fields = []
    for name, raw in properties.items():
        field = _read_field(name, raw, required=name in needed)
        if isinstance(field, Err):
            return field
        fields.append(field)
    if unknown := [name for name in needed if name not in properties]:
        return _refuse(f"it requires the field {fit_line(unknown[0], 40)!r}, and does not describe it")
    return Asked(message=spell_out(message), fields=tuple(fields))


def read_page(message: str, url: str) -> Asked | Err:
    """Refuses an address that does not look like where it leads."""
    if len(message) > _MAX_MESSAGE or len(url) > _MAX_URL:
        return _refuse("the message or the URL is too long")
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    # A user name looks like the host, and letters of other scripts look like ours.
    plain = url.isascii() and url.isprintable() and not re.search(r"[\s\\]", url)
    if not host or not plain or parts.scheme not in ("http", "https") or "@" in parts.netloc:
        return _refuse("the URL is not a plain http or https address in ASCII without a user name")
    return Asked(message=spell_out(message), url=url)


def _read_field(name: Any, raw: Any, *, required: bool) -> FormField | Err:
    if not isinstance(raw, dict) or not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME:
        return _refuse("a field has no name or no description of its type")
    shown = fit_line(name, 40)
    texts = [raw.get(key) for key in ("title", "description")]
    if any(isinstance(text, str) and len(text) > _MAX_MESSAGE for text in texts):
        return _refuse(f"the description of the field {shown!r} is too long")
    title, about = (fit_line(text) if isinstance(text, str) else "" for text in texts)
    values: Any = raw
    type = raw.get("type")
    kind = _KINDS.get(type) if isinstance(type, str) else None
    if type == "array" and isinstance(raw.get("items"), dict):
        kind, values = "choices", raw["items"]
    choices = _read_choices(values)
    if kind == "text" and choices:
        kind = "choice"
    if kind is None or (kind == "choices" and not choices) or len(choices) > _MAX_CHOICES:
        return _refuse(f"the field {shown!r} is not one that a form may have")
    least, most = (_read_number(raw, key) for key in _BOUNDS[kind])
    field = FormField(
        name=name,
        label=title[:_MAX_LABEL] or fit_line(name),
        kind=kind,
        about=about,
        required=required,
        choices=choices,
        format=raw["format"] if raw.get("format") in _FORMATS else "",
        least=least,
        most=most,
    )
    default = raw.get("default")
    if isinstance(default, list):
        default = tuple(default)
    if default is not None and not find_problem(field, default):
        return msgspec.structs.replace(field, default=default)
    return field


_KINDS: dict[Any, FieldKind] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}
_NUMBERS, _LENGTHS, _COUNTS = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
)
_NONE = ("", "")
_BOUNDS: dict[FieldKind, tuple[str, str]] = {
    "text": _LENGTHS,
    "number": _NUMBERS,
    "integer": _NUMBERS,
    "boolean": _NONE,
    "choice": _NONE,
    "choices": _COUNTS,
}


def _read_number(raw: Mapping[str, Any], key: str) -> float | None:
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MAX_BOUND:
        return None
    return value


def _read_choices(raw: Mapping[str, Any]) -> tuple[FormChoice, ...]:
    values, names = raw.get("enum"), raw.get("enumNames")
    if isinstance(values, list):
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        pairs: list[tuple[Any, Any]] = list(zip(values, labels, strict=True))
    else:
        titled = raw.get("oneOf") or raw.get("anyOf")
        rows = titled if isinstance(titled, list) else []
        pairs = [(row.get("const"), row.get("title")) for row in rows if isinstance(row, dict)]
    return tuple(
        FormChoice(value, fit_line(label if isinstance(label, str) else value)[:_MAX_LABEL])
        for value, label in pairs
        if isinstance(value, str) and len(value) <= _MAX_LABEL
    )


def _refuse(why: str) -> Err:
    return Err(ErrorKind.PEER_PROTOCOL, why)
