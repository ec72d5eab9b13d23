"""A question to the user and its answer: what a frontend shows, and what it hands back."""

from enum import StrEnum

import msgspec

from planck.records.events import RequestKey


class Scope(StrEnum):
    ONCE = "once"
    SESSION = "session"
    RULE = "rule"


class Question(msgspec.Struct, frozen=True, kw_only=True):
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
    rule: str = ""
    """What `session` and `rule` would allow from now on; empty: this call can only be allowed once.

    `bash git push origin` is that command and no other, `bash git commit *` all that begins so, and the
    name of any other tool every call of it.
    """
    wider: str = ""
    """The same with a `*`, where an answer may choose that instead."""
    written: str = ""
    """The rule as JSON, as `scope: rule` would write it."""
    place: str = ""
    """The file that it would be written to."""
    session_id: str = ""
    call_id: str = ""
    """The call that waits; empty: none does."""
    preview: str = ""
    """What the tool's dry run says; of `edit` and `write` a diff."""
    hidden_lines: int = 0
    """Lines left out of the middle of `preview`, because it is long; `text` is whole."""
    asked: str = ""
    """When it was put."""
    deadline: str = ""
    """When the answer is no."""


class Answer(msgspec.Struct, frozen=True):
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
