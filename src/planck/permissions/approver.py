"""The user is asked one question at a time, from any depth, and an answer fits no other question."""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

from planck.records import codec
from planck.records.approval import Answer, Question, Scope
from planck.records.authority import Confinement

PATIENCE = 3600.0
"""Seconds a question may wait; then the answer is no."""


class Approver(Protocol):
    """Somebody outside the team: agents can't reach it."""

    async def decide(self, question: Question) -> Answer:
        """Returns the user's answer; is cancelled when the call that waits is gone."""


class Approvals:
    """The one queue of a session, which puts questions in their order of arrival."""

    def __init__(self, approver: Approver, patience: float = PATIENCE) -> None:
        self._approver = approver
        self._patience = patience
        self._turn = asyncio.Lock()

    async def ask(self, question: Question) -> Answer:
        """Returns no for a late answer, and for one that was given to another question."""
        refused = Answer(question.id, question.digest, False)
        try:
            async with self._turn, asyncio.timeout(self._patience):
                answer = await self._approver.decide(question)
        except TimeoutError:
            return refused
        fits = (answer.question_id, answer.digest) == (question.id, question.digest)
        if not fits or (answer.scope is not Scope.ONCE and not question.rule):
            return refused
        return answer


def digest(agent_id: str, tool: str, args: Mapping[str, Any], rights: Confinement) -> str:
    """Returns one name for exactly this call with exactly these rights."""
    whole = codec.encode([agent_id, tool, sorted(args.items()), rights])
    return hashlib.sha256(whole).hexdigest()
