"""Every question that waits for the user, of all sessions of a `Planck`, answered in any order."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from planck.permissions.approver import Approver
from planck.records.approval import Answer, Question, Scope, Settled, check_content
from planck.records.events import RequestKey
from planck.records.outcome import Err, ErrorKind

_REMEMBERED = 10_000
"""Settled questions that are told from unknown ones; beyond that the oldest are forgotten."""


class Inbox:
    """An approver for any number of clients: the first answer to a question counts, a later one is told so.

    A question leaves it with its answer, and when the call that waits is interrupted or out of time.

    Example:

        async with Planck(approver=(inbox := Inbox())) as p:
            session = await p.start(mode="ask")
            await session.prompt("Write notes.md.")
            question = await inbox.next()
            inbox.answer(question.id, question.digest, allow=True)
            await session.settled()
    """

    def __init__(self) -> None:
        self._open: dict[str, _Waiting] = {}
        self._settled: OrderedDict[str, Settled] = OrderedDict()
        self._changes = 0
        self._watchers: list[asyncio.Future[None]] = []

    def pending(self, session_id: str | None = None) -> tuple[Question, ...]:
        """Those that wait, of one session or of all, the oldest first."""
        asked = (waiting.question for waiting in self._open.values() if waiting.is_waited_for)
        return tuple(one for one in asked if session_id in (None, one.session_id))

    def answer(
        self,
        id: str,
        digest: str,
        allow: bool,
        scope: Scope | str = Scope.ONCE,
        reason: str = "",
        *,
        rule: str = "",
        request: RequestKey | None = None,
        content: Mapping[str, Any] | None = None,
    ) -> Err | None:
        """Settles a question; `digest` says which was seen. `rule` replaces the offered one.

        `content` has the values of a form by the names of its fields.

        The same request again is the same answer: with a key it may be repeated.
        """
        if scope not in list(Scope):
            return Err(ErrorKind.INVALID_ARGS, f"{scope!r} is not a scope. Use one of {', '.join(Scope)}.")
        waiting = self._open.get(id)
        if waiting is None or not waiting.is_waited_for:
            return self._refuse_late(id, request)
        if digest != waiting.question.digest:
            return Err(
                ErrorKind.WRITER_CONFLICT,
                "This answer is for a different question. Read the pending question again.",
            )
        if allow and scope != Scope.ONCE and not waiting.question.rule:
            return Err(
                ErrorKind.INVALID_ARGS, "This call can only be allowed once. Answer with scope 'once'."
            )
        values = check_content(waiting.question.fields, content or {}) if allow else {}
        if isinstance(values, Err):
            return values
        del self._open[id]
        answer = Answer(id, digest, allow, Scope(scope), reason, rule, request, values)
        waiting.answer.set_result(answer)
        self._settle(id, Settled(True, request))
        return None

    async def decide(self, question: Question) -> Answer:
        """Puts the question; it is withdrawn when the call that waits is gone."""
        # Unlike its text, the rule as JSON may hold a key, which is not for every client.
        waiting = _Waiting(replace(question, written=""))
        self._open[question.id] = waiting
        self._tell()
        try:
            return await waiting.answer
        finally:
            if self._open.pop(question.id, None):
                self._settle(question.id, Settled(False))

    @property
    def changes(self) -> int:
        """Grows with each question that comes or is settled."""
        return self._changes

    async def wait_for_change(self, seen: int) -> int:
        """Returns the number of changes once it is another than `seen`: at once, where it already is."""
        while self._changes == seen:
            watcher = asyncio.get_running_loop().create_future()
            self._watchers.append(watcher)
            try:
                await watcher
            finally:
                if watcher in self._watchers:
                    self._watchers.remove(watcher)
        return self._changes

    async def next(self, session_id: str | None = None) -> Question:
        """Returns the oldest question of a session, or of all; waits until there is one."""
        seen = self._changes
        while not (waiting := self.pending(session_id)):
            seen = await self.wait_for_change(seen)
        return waiting[0]

    def _refuse_late(self, id: str, request: RequestKey | None) -> Err | None:
        if id in self._settled:
            return self._settled[id].refuse(request)
        if id in self._open:  # its asker was told to stop, and has not run since
            return Settled(False).refuse(request)
        return Err(ErrorKind.NOT_FOUND, f"Question {id!r} is not pending. List the pending questions.")

    def _settle(self, id: str, settled: Settled) -> None:
        self._settled[id] = settled
        while len(self._settled) > _REMEMBERED:
            self._settled.popitem(last=False)
        self._tell()

    def _tell(self) -> None:
        self._changes += 1
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            if not watcher.done():
                watcher.set_result(None)


class _Waiting:
    def __init__(self, question: Question) -> None:
        self.question = question
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    @property
    def is_waited_for(self) -> bool:
        """False once the asker was told to stop: that cancels what it awaits, before it runs again."""
        return not self.answer.done()


_: type[Approver] = Inbox
