"""The user is asked, from any depth, until a deadline; an answer fits no other question."""

import asyncio
import hashlib
import inspect
from collections.abc import Mapping
from typing import Any, Protocol

from msgspec.structs import replace

from planck.records import codec
from planck.records.approval import Answer, Question, Scope
from planck.records.authority import Confinement
from planck.records.outcome import ErrorKind, PlanckError, name_exception
from planck.records.ports import Clock, add_seconds
from planck.toolkit.clock import SystemClock

PATIENCE = 3600.0
"""Seconds a question may wait; then the answer is no."""


class Approver(Protocol):
    """Answers the permission requests of agents; pass it as `Planck(approver=...)`.

    Example:

        class Nobody:
            async def decide(self, question: Question) -> Answer:
                return Answer(question.id, question.digest, allow=False, reason="Ask me tomorrow.")

        planck.run("Say hello.", approver=Nobody())
    """

    async def decide(self, question: Question) -> Answer:
        """Returns the user's answer; is cancelled when the call that waits is gone.

        Several questions may wait at once: who can show only one lets the others wait.
        """


class Approvals:
    """The questions of a session: each is put at once, and out of time the answer is no."""

    def __init__(
        self,
        approver: Approver,
        patience: float = PATIENCE,
        *,
        session_id: str = "",
        clock: Clock | None = None,
    ) -> None:
        self.session_id = session_id
        self._approver = approver
        self._patience = patience
        self._clock = clock or SystemClock()

    def find_deadline(self, most: float = PATIENCE) -> str:
        """When the answer to a question that is put now would be no; `most`: seconds that its asker waits."""
        return add_seconds(self._clock.now(), min(self._patience, most))

    async def ask(self, question: Question) -> Answer:
        """Returns no for a late answer, and for one that was given to another question.

        Raises `PlanckError` where the approver raised, or returned something else.
        """
        question = replace(question, asked=self._clock.now())
        try:
            async with asyncio.timeout(self._patience) as patience:
                deciding: Any = self._approver.decide(question)
                answer = await deciding if inspect.isawaitable(deciding) else deciding
        except Exception as problem:  # a `TimeoutError` may also be the approver's own
            if patience.expired():
                return give_up(question, "nobody answered in time")
            why = f"the approver failed: {name_exception(problem)}"
            raise PlanckError(ErrorKind.INTERNAL_ERROR, why) from problem
        if not isinstance(answer, Answer):
            why = "the approver failed: its decide() must be async and return an Answer"
            raise PlanckError(ErrorKind.INTERNAL_ERROR, f"{why}, not {answer!r}")
        if (answer.question_id, answer.digest) != (question.id, question.digest):
            return give_up(question, "the answer was for another question")
        if answer.allow and answer.scope is not Scope.ONCE and not question.rule:
            return give_up(question, "this call can be allowed only once, and the answer was for longer")
        return answer


def give_up(question: Question, why: str) -> Answer:
    """Returns the answer to a question that nobody answers."""
    return Answer(question.id, question.digest, False, unanswered=why)


def digest(agent_id: str, tool: str, args: Mapping[str, Any], rights: Confinement) -> str:
    """Returns one name for exactly this call with exactly these rights."""
    whole = codec.encode([agent_id, tool, sorted(args.items()), rights])
    return hashlib.sha256(whole).hexdigest()
