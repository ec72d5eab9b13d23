"""A question to the user, its answer, and how it ended: one record for inbox, log and every frontend."""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

import msgspec

from planck.records.authority import Right
from planck.records.events import PermissionRequest, RequestKey
from planck.records.outcome import Err, ErrorKind
from planck.records.visible import fit_line


class Scope(StrEnum):
    ONCE = "once"
    SESSION = "session"
    RULE = "rule"


FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]


class FormChoice(msgspec.Struct, frozen=True):
    value: str
    label: str


class FormField(msgspec.Struct, frozen=True, kw_only=True):
    """One value that is asked for; `label` and `about` are on one line each, with nothing invisible."""

    name: str
    label: str
    kind: FieldKind
    about: str = ""
    required: bool = False
    default: str | int | float | bool | tuple[str, ...] | None = None
    choices: tuple[FormChoice, ...] = ()
    format: str = ""
    least: float | None = None
    """The smallest number, or the fewest characters or choices."""
    most: float | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    message: str
    fields: tuple[FormField, ...] = ()
    url: str = ""
    """A page that the person opens; "": the fields are asked for."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A permission request: in the log `permission_request`, over HTTP `Pending`.

    Example:

        print(question.agent, question.tool, question.text)
        print(question.preview)  # of a write or an edit: a diff
    """

    id: str
    agent_id: str
    agent: str
    """Who asks, and for whom it works."""
    tool: str
    text: str
    """The whole call, with nothing invisible in it."""
    adds: str
    """What a yes would allow beyond what the agent may do already."""
    reason: str
    digest: str
    rights: tuple[Right, ...] = ()
    """Of a command: what a yes lets it do beyond reading, each by its name; other tools have none."""
    rule: str = ""
    """What `session` and `rule` would allow from now on; empty: this call can only be allowed once.

    `bash git push origin` is that command and no other, `bash git commit *` all that begins so, and the
    name of any other tool every call of it.
    """
    wider: str = ""
    """The same with a `*`, where an answer may choose that instead."""
    written: str = ""
    """The rule as JSON, as `scope: rule` would write it; empty in an inbox."""
    place: str = ""
    """The file that it would be written to."""
    project: str = ""
    """The folder that a saved rule is for: it applies in no other."""
    folder: str = ""
    """The folder that a yes adds to the session, for all its agents; empty: it adds none."""
    session_id: str = ""
    call_id: str = ""
    """The call that waits; empty: none does."""
    preview: str = ""
    """What the tool's dry run says; of `edit` and `write` a diff."""
    hidden_lines: int = 0
    """Lines left out of the middle of `preview`, because it is long; `text` is whole."""
    preview_failed: bool = False
    """The dry run failed or did not finish: `preview` says why."""
    asks: Literal["permission", "form", "page"] = "permission"
    """`form` and `page`: what a server wants to know or have done. A yes to it permits nothing."""
    fields: tuple[FormField, ...] = ()
    """Of a form: what to fill in."""
    url: str = ""
    """Of a page: where the person goes; nothing opens it by itself."""
    asked: str = ""
    """When it was put."""
    deadline: str = ""
    """When the answer is no."""

    def as_fact(self) -> PermissionRequest:
        """Returns what the log keeps of it."""
        return msgspec.convert(self, PermissionRequest, from_attributes=True)


class Answer(msgspec.Struct, frozen=True):
    """What the user decides about one `Question`, which it names by id and digest.

    Example:

        answer = Answer(question.id, question.digest, allow=False, reason="Ask me tomorrow.")
    """

    question_id: str
    digest: str
    """Of the question that was seen: an answer fits no other."""
    allow: bool
    scope: Scope = Scope.ONCE
    reason: str = ""
    """Why not: the model reads it."""
    rule: str = ""
    """Another rule than the question's, in the same words; empty: that one."""
    request: RequestKey | None = None
    """What the client that answers called its request."""
    content: dict[str, Any] = {}
    """Of a form: the values."""
    unanswered: str = ""
    """Why there is no answer: the call is denied, and not by the user."""


class Settled(msgspec.Struct, frozen=True):
    """How a question ended: answered, by which request, or over without an answer."""

    answered: bool
    request: RequestKey | None = None

    def refuse(self, request: RequestKey | None) -> Err | None:
        """Returns why a later answer does not count; None: it is the first one, sent again."""
        if request and self.request and request.key == self.request.key:
            if request == self.request:
                return None
            return Err(
                ErrorKind.NOT_UNIQUE,
                f"the key {request.key!r} belongs to another answer to this question; use a new key",
            )
        how = (
            "was already answered"
            if self.answered
            else "has expired, because its call was stopped or timed out"
        )
        return Err(ErrorKind.WRITER_CONFLICT, f"this question {how}; list the pending questions")


def check_content(fields: Sequence[FormField], content: Mapping[str, Any]) -> dict[str, Any] | Err:
    """Returns the values that a server gets, in the order of its fields, or which of them does not fit."""
    known = {field.name for field in fields}
    if extra := [name for name in content if name not in known]:
        return _wrong(f"the form has no field {fit_line(str(extra[0]), 40)!r}")
    checked: dict[str, Any] = {}
    for field in fields:
        value = content.get(field.name)
        if value is None:
            if field.required:
                return _wrong(f"{field.label}: a value is required")
            continue
        if problem := find_problem(field, value):
            return _wrong(f"{field.label}: {problem}")
        whole = int(value) if field.kind == "integer" else value
        checked[field.name] = list(whole) if isinstance(whole, tuple) else whole
    return checked


def find_problem(field: FormField, value: Any) -> str:
    """The patterns of a server are not tried: one that never ends would hold up everything."""
    match field.kind:
        case "text" if isinstance(value, str) and len(value) <= _MAX_TEXT:
            return _find_bound(field, len(value), "characters")
        case "number" | "integer" if isinstance(value, int | float) and not isinstance(value, bool):
            if (isinstance(value, float) and not math.isfinite(value)) or (
                field.kind == "integer" and value % 1
            ):
                return f"{value} is not {describe_kind(field)}"
            return _find_bound(field, value, "")
        case "boolean" if isinstance(value, bool):
            return ""
        case "choice" if value in [choice.value for choice in field.choices]:
            return ""
        case "choices" if isinstance(value, list | tuple):
            known = [choice.value for choice in field.choices]
            if len(set(map(str, value))) == len(value) and all(one in known for one in value):
                return _find_bound(field, len(value), "choices")
    return f"this is not {describe_kind(field)}"


def _find_bound(field: FormField, size: float, unit: str) -> str:
    if field.least is not None and size < field.least:
        return f"at least {field.least:g} {unit}".rstrip()
    if field.most is not None and size > field.most:
        return f"at most {field.most:g} {unit}".rstrip()
    return ""


def describe_kind(field: FormField) -> str:
    names = {
        "text": field.format or "text",
        "number": "a number",
        "integer": "a whole number",
        "boolean": "yes or no",
        "choice": "one choice",
        "choices": "choices, separated by commas",
    }
    return names[field.kind]


def _wrong(why: str) -> Err:
    return Err(ErrorKind.INVALID_ARGS, why)


_MAX_TEXT = 10_000
"""Characters of one answer."""
