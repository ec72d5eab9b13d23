"""Asking the user: one question at a time from any depth, and an answer that fits no other question."""

import asyncio
import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from planck.permissions.rules import Rule
from planck.records import codec
from planck.records.authority import Confinement

PATIENCE = 3600.0
"""Seconds a question may wait; then the answer is no."""


class Scope(StrEnum):
    ONCE = "once"
    SESSION = "session"
    RULE = "rule"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    agent_id: str
    agent: str
    """Who asks: its name and, behind it, who it works for."""
    tool: str
    text: str
    """The whole call, with nothing invisible in it."""
    adds: str
    reason: str
    digest: str
    rule: Rule | None = None
    """What `session` and `rule` would allow from now on; None: this call can only be allowed once."""


class Answer(msgspec.Struct, frozen=True):
    question_id: str
    digest: str
    """Of the question that was seen."""
    allow: bool
    scope: Scope = Scope.ONCE


class Approver(Protocol):
    """Somebody outside the team: agents can't reach it."""

    async def decide(self, question: Question) -> Answer:
        """Cancelled when the call that waits is gone."""


class Approvals:
    """The one queue of a session; questions are put in order of arrival."""

    def __init__(self, approver: Approver, patience: float = PATIENCE) -> None:
        self._approver = approver
        self._patience = patience
        self._turn = asyncio.Lock()

    async def ask(self, question: Question) -> Answer:
        """A late answer, and one that was given to another question, is no."""
        refused = Answer(question.id, question.digest, False)
        try:
            async with self._turn, asyncio.timeout(self._patience):
                answer = await self._approver.decide(question)
        except TimeoutError:
            return refused
        fits = (answer.question_id, answer.digest) == (question.id, question.digest)
        if not fits or (answer.scope is not Scope.ONCE and question.rule is None):
            return refused
        return answer


def digest(agent_id: str, tool: str, args: Mapping[str, Any], rights: Confinement) -> str:
    """One name for exactly this call with exactly these rights."""
    whole = codec.encode([agent_id, tool, sorted(args.items()), rights])
    return hashlib.sha256(whole).hexdigest()


def visible(text: str) -> str:
    """Controls, bidi marks, invisible and blank characters written out; lines stay lines."""
    return _HIDDEN.sub(lambda found: _written(found[0]), text)


# Printable to Python and blank to a reader: fillers, joiners, variation selectors, the empty braille cell.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
_HIDDEN = re.compile(rf"[{_BLANK}]|[^ -~\n]")


def _written(char: str) -> str:
    if char.isprintable() and not _is_blank(char):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def _is_blank(char: str) -> bool:
    return re.fullmatch(f"[{_BLANK}]", char) is not None
