"""Every question that waits for the user, of all sessions of a `Planck`, answered in any order."""

import asyncio
from collections import OrderedDict

import msgspec

from planck.permissions.approver import Approver
from planck.records.approval import Answer, Question, Scope
from planck.records.events import RequestKey
from planck.records.outcome import Err, ErrorKind

_REMEMBERED = 10_000
"""Settled questions that are told from unknown ones; beyond that the oldest are forgotten."""


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A question that waits: what its recorded `permission_request` says, and whose it is."""

    session_id: str
    agent_id: str
    id: str
    call_id: str
    tool: str
    agent: str
    text: str
    adds: str
    reason: str
    rule: str
    preview: str
    hidden_lines: int = 0
    """Lines left out of the middle of `preview`; `text` is whole."""
    asked: str
    """When it was put: so long somebody waits."""
    deadline: str
    digest: str
    wider: str
    """The rule with a `*`, where an answer may choose that instead."""
    place: str
    """The file that scope `rule` writes to."""


class Inbox:
    """An approver for any number of clients: the first answer to a question counts, a later one is told so.

    A question leaves it with its answer, and when the call that waits is interrupted or out of time.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Waiting] = {}
        self._settled: OrderedDict[str, Answer | None] = OrderedDict()
        self._changes = 0
        self._watchers: list[asyncio.Future[None]] = []

    def pending(self, session_id: str | None = None) -> tuple[Pending, ...]:
        """Those that wait, of one session or of all, the oldest first."""
        asked = (waiting.question for waiting in self._open.values() if waiting.is_waited_for)
        return tuple(_show(one) for one in asked if session_id in (None, one.session_id))

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
    ) -> Err | None:
        """Settles a question; `digest` says which was seen. `rule` stands in the place of the offered one.

        The same request again is the same answer: with a key it may be repeated.
        """
        if scope not in list(Scope):
            return Err(ErrorKind.INVALID_ARGS, f"{scope!r} is no scope; use one of {', '.join(Scope)}")
        answer = Answer(id, digest, allow, Scope(scope), reason, rule, request)
        waiting = self._open.get(id)
        if waiting is None or not waiting.is_waited_for:
            return self._refuse_late(answer)
        if digest != waiting.question.digest:
            return Err(
                ErrorKind.WRITER_CONFLICT,
                "this is the answer to another question than the one that waits; look at it again",
            )
        if allow and answer.scope is not Scope.ONCE and not waiting.question.rule:
            return Err(ErrorKind.INVALID_ARGS, "this call can only be allowed once; answer with scope 'once'")
        del self._open[id]
        waiting.answer.set_result(answer)
        self._settle(id, answer)
        return None

    async def decide(self, question: Question) -> Answer:
        """Puts the question to whoever answers; it is withdrawn when the call that waits is gone."""
        waiting = _Waiting(question)
        self._open[question.id] = waiting
        self._tell()
        try:
            return await waiting.answer
        finally:
            if self._open.pop(question.id, None):
                self._settle(question.id, None)

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

    def _refuse_late(self, answer: Answer) -> Err | None:
        id = answer.question_id
        if id not in self._settled and id not in self._open:
            return Err(ErrorKind.NOT_FOUND, f"no question {id!r} waits for an answer; list those that do")
        first = self._settled.get(id)
        if first is not None and answer.request and first.request and answer.request.key == first.request.key:
            if answer.request == first.request:
                return None
            return Err(
                ErrorKind.NOT_UNIQUE,
                f"the key {answer.request.key!r} belongs to another answer to this question; use a new key",
            )
        how = "was answered already" if first else "is over: its call was stopped, or out of time"
        return Err(ErrorKind.WRITER_CONFLICT, f"this question {how}; list those that wait")

    def _settle(self, id: str, answer: Answer | None) -> None:
        self._settled[id] = answer
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


def _show(question: Question) -> Pending:
    return Pending(**{field: getattr(question, field) for field in Pending.__struct_fields__})


_: type[Approver] = Inbox
