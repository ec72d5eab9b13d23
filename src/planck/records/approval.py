"""A question to the user, its answer, and how it ended: one record for inbox, log and every frontend."""

from enum import StrEnum

import msgspec

from planck.records.authority import Right
from planck.records.events import PermissionRequest, RequestKey
from planck.records.outcome import Err, ErrorKind


class Scope(StrEnum):
    ONCE = "once"
    SESSION = "session"
    RULE = "rule"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the user is asked: in the log `permission_request`, on a board a row, over HTTP `Pending`."""

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
    asked: str = ""
    """When it was put."""
    deadline: str = ""
    """When the answer is no."""

    def as_fact(self) -> PermissionRequest:
        """Returns what the log keeps of it."""
        return msgspec.convert(self, PermissionRequest, from_attributes=True)


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
