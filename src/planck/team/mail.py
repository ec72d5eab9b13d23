"""How agents reach each other: durable envelopes, asks that are answered once, tasks that always report."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from planck.agent.actor import Ended
from planck.records.events import USER, Delivery, Envelope, Kind, TurnStatus, View, Wait
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.ports import Clock, Ids, add_seconds
from planck.records.specs import Limits
from planck.team.ledger import Ledger
from planck.team.member import Member
from planck.team.waits import Waits
from planck.toolkit.journal import Entry, Journal
from planck.toolkit.tool import Outcome

GONE = Err(ErrorKind.NOT_FOUND, "Agent not found.")
NO_DELEGATOR = Err(ErrorKind.NOT_FOUND, "No delegator to respond to.")


class Mail:
    def __init__(
        self,
        journal: Journal,
        ids: Ids,
        clock: Clock,
        limits: Limits,
        live: Callable[[str], Member | None],
    ) -> None:
        self.waits = Waits()
        self.ledger = Ledger()
        self._journal = journal
        self._ids = ids
        self._clock = clock
        self._limits = limits
        self._live = live
        self._answers: dict[str, asyncio.Future[Outcome]] = {}
        self._answering: set[str] = set()

    async def prompt(self, target: Member, text: str, *, steer: bool = False) -> Err | None:
        """From the user; returns once it would survive a power cut. Steering joins a running turn."""
        kind = Kind.RESPONSE if steer else Kind.PROMPT
        envelope = Envelope(id=self._ids.new(), kind=kind, sender=USER, receiver=target.id, text=text)
        return await self._post(envelope, target, barrier=True)

    async def ask(self, caller: Member, target: Member, question: str, timeout: float) -> Outcome:
        """The target's answer to this question, or why there is none; in time, whatever the target does."""
        ring = self.waits.waiting(caller.id, on=target.id)
        if ring:
            return _deadlock(ring, self._live)
        deadline = add_seconds(self._clock.now(), timeout)
        envelope = self._envelope(Kind.ASK, caller, target, question, deadline=deadline)
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._answers[envelope.id] = answer
        wait = Wait(on=target.id, message_id=envelope.id, deadline=deadline)
        try:
            refused = await self._post(
                envelope, target, also=[Entry(caller.id, caller.actor.agent.turn, wait)]
            )
            if refused:
                return answer.result() if answer.done() else refused
            await asyncio.wait({answer}, timeout=timeout)
            if answer.done():
                return answer.result()
            return Err(
                ErrorKind.TIMEOUT,
                f"{target.name} did not answer within {timeout:g} s; a later answer is dropped",
                {"timeout_ms": round(timeout * 1000)},
            )
        finally:
            self.waits.done(caller.id, on=target.id)
            del self._answers[envelope.id]
            if not answer.done():
                await self._expire(envelope, target)

    async def delegate(self, caller: Member, target: Member, task: str) -> Err | None:
        return await self._post(self._envelope(Kind.TASK, caller, target, task), target)

    async def respond(self, caller: Member, text: str, delegator_id: str) -> Outcome:
        """To whoever sent the ask or task at hand, else to the delegator."""
        at_hand = caller.actor.opening
        if at_hand and at_hand.kind is Kind.ASK:
            return await self._answer_now(caller, at_hand, text)
        correlation = at_hand.id if at_hand and at_hand.kind is Kind.TASK else None
        receiver = self._live(at_hand.sender if at_hand and correlation else delegator_id)
        if receiver is None or receiver is caller:
            return NO_DELEGATOR
        envelope = self._envelope(Kind.RESPONSE, caller, receiver, text, correlation=correlation)
        return await self._post(envelope, receiver) or Ok({"output": "Response sent."})

    def closing(self, member: Member, ended: Ended) -> Sequence[Entry]:
        """What the end of a turn owes: an ask its answer, a task its report, in the turn's own commit."""
        opening, end = ended.opening, ended.end
        if opening.kind is Kind.ASK:
            member.after.append(lambda: self._resolve(opening.id, _answer(member, ended)))
            return [Entry(member.id, member.actor.agent.turn, Delivery(ids=(opening.id,), state="answered"))]
        if opening.kind is Kind.TASK and opening.id in self.ledger.open:
            text = end.text if end.status is TurnStatus.COMPLETED else _lost(member, ended)
            return self._report(member, opening, text)
        return []

    def lost(self, member: Member, opening: Envelope, why: str) -> Sequence[Entry]:
        """The same for an envelope that its receiver will not finish."""
        if opening.kind is Kind.ASK:
            member.after.append(
                lambda: self._resolve(opening.id, Err(ErrorKind.TARGET_GONE, f"{member.name} {why}"))
            )
        if opening.kind is Kind.TASK and opening.id in self.ledger.open:
            return self._report(member, opening, f"The task was not finished: {member.name} {why}.")
        return []

    def remember(self, facts: Iterable[View]) -> None:
        """Rebuild from the log what is still expected of whom; ids are unique, so answers may come first."""
        facts = list(facts)
        for asked in (True, False):
            for fact in facts:
                if (isinstance(fact, Envelope) and fact.kind in (Kind.ASK, Kind.TASK)) is asked:
                    self.ledger.apply(fact)

    async def forget_asks(self, member: Member) -> None:
        """After a restart nobody waits for the answers to questions from before."""
        unread = member.actor.agent.history.unread.values()
        asks = tuple(envelope.id for envelope in unread if envelope.kind is Kind.ASK)
        if asks:
            expired = Delivery(ids=asks, state="expired")
            self.ledger.apply(expired)
            await member.actor.agent.record(expired)

    def settle(self, member: Member) -> None:
        """The end of a turn is in the log: tell whoever waited for it."""
        after, member.after = member.after, []
        for tell in after:
            tell()

    def tell(self, sender: Member, receiver: Member, text: str) -> Entry:
        """A response that nobody asked for: what a delegator must know of its worker."""
        envelope = self._envelope(Kind.RESPONSE, sender, receiver, text)
        sender.after.append(lambda: self._arrived(envelope))
        return Entry(receiver.id, 0, envelope)

    def _report(self, member: Member, task: Envelope, text: str) -> Sequence[Entry]:
        receiver = self._live(task.sender)
        if receiver is None:
            dead = Delivery(ids=(task.id,), state="dead")
            member.after.append(lambda: self.ledger.apply(dead))
            return [Entry(member.id, member.actor.agent.turn, dead)]
        report = self._envelope(
            Kind.RESPONSE, member, receiver, text, correlation=task.id, hops=task.hops + 1
        )
        member.after.append(lambda: self._arrived(report))
        return [Entry(receiver.id, 0, report)]

    async def _post(
        self,
        envelope: Envelope,
        target: Member,
        *,
        also: Sequence[Entry] = (),
        barrier: bool = False,
    ) -> Err | None:
        refused = self._refuse(envelope, target)
        if refused:
            return refused
        target.arriving += 1
        try:
            await self._journal.record_all([Entry(target.id, 0, envelope), *also], barrier=barrier)
        except asyncio.CancelledError:
            self._arrived(envelope)  # the journal commits what it took: it is sent, whoever still waits
            raise
        finally:
            target.arriving -= 1
        if not self._arrived(envelope):
            await self._journal.record(target.id, 0, Delivery(ids=(envelope.id,), state="dead"))
            return GONE
        return None

    def _refuse(self, envelope: Envelope, target: Member) -> Err | None:
        size = len(envelope.text.encode(errors="replace"))
        if size > self._limits.envelope_bytes:
            return Err(
                ErrorKind.LIMIT_EXCEEDED,
                f"the message has {size} bytes, at most {self._limits.envelope_bytes} are taken; "
                "write it to a file and send its path",
                {"bytes": size, "limit": self._limits.envelope_bytes},
            )
        if envelope.hops > self._limits.hops:
            return Err(
                ErrorKind.LIMIT_EXCEEDED,
                f"this would be message {envelope.hops} in a row between agents since the user's last word, "
                f"the limit is {self._limits.hops}; report to the user what you have",
                {"hops": envelope.hops, "limit": self._limits.hops},
            )
        if len(target.actor.agent.history.unread) + target.arriving >= self._limits.inbox:
            return Err(
                ErrorKind.LIMIT_EXCEEDED,
                f"{target.name} has {self._limits.inbox} unread messages; wait until it has worked on them",
                {"limit": self._limits.inbox},
            )
        return None

    def _arrived(self, envelope: Envelope) -> bool:
        """It is in the log: hand it over, unless its receiver ended meanwhile."""
        self.ledger.apply(envelope)
        target = self._live(envelope.receiver)
        if target:
            target.actor.accept(envelope)
        else:
            self._resolve(
                envelope.id, Err(ErrorKind.TARGET_GONE, "the agent ended before it read the question")
            )
        return target is not None

    async def _answer_now(self, caller: Member, ask: Envelope, text: str) -> Outcome:
        answer = self._answers.get(ask.id)
        if answer is None or answer.done() or ask.id in self._answering:
            return NO_DELEGATOR
        self._answering.add(ask.id)  # a second call of the same step must not be told that it was sent
        try:
            answered = Delivery(ids=(ask.id,), state="answered")
            await self._journal.record(caller.id, caller.actor.agent.turn, answered)
        finally:
            self._answering.discard(ask.id)
        self._resolve(ask.id, Ok({"output": text}))
        return Ok({"output": "Response sent."})

    def _resolve(self, ask_id: str, outcome: Outcome) -> None:
        self.ledger.open.pop(ask_id, None)
        answer = self._answers.get(ask_id)
        if answer and not answer.done():
            answer.set_result(outcome)

    async def _expire(self, ask: Envelope, target: Member) -> None:
        """Nobody waits for the answer any more: a question not yet read is never worked on."""
        self.ledger.open.pop(ask.id, None)
        if ask.id in target.actor.agent.history.unread:
            expired = Delivery(ids=(ask.id,), state="expired")
            target.actor.agent.history.apply(expired)
            await self._journal.record(target.id, 0, expired)

    def _envelope(
        self,
        kind: Kind,
        sender: Member,
        receiver: Member,
        text: str,
        *,
        correlation: str | None = None,
        deadline: str | None = None,
        hops: int | None = None,
    ) -> Envelope:
        id = self._ids.new()
        return Envelope(
            id=id,
            kind=kind,
            sender=sender.id,
            sender_name=sender.name,
            receiver=receiver.id,
            text=text,
            correlation_id=correlation or (id if kind in (Kind.ASK, Kind.TASK) else None),
            deadline=deadline,
            hops=sender.hops + 1 if hops is None else hops,
        )


def _answer(member: Member, ended: Ended) -> Outcome:
    if member.ending:
        return Err(ErrorKind.TARGET_GONE, f"{member.name} {member.ending}")
    if ended.end.status is TurnStatus.COMPLETED:
        return Ok({"output": ended.end.text})
    if ended.error:
        return Err(ended.error.kind, ended.error.message, ended.error.details)
    kind = ErrorKind.TIMEOUT if ended.end.status is TurnStatus.TIMED_OUT else ErrorKind.INTERRUPTED
    return Err(kind, f"{member.name} was stopped before it answered")


def _lost(member: Member, ended: Ended) -> str:
    why = str(ended.error) if ended.error else member.ending or f"its turn was {ended.end.status.value}"
    said = f"\nIts last words: {ended.end.text}" if ended.end.text else ""
    return f"The task was not finished: {member.name}: {why}.{said}"


def _deadlock(ring: tuple[str, ...], live: Callable[[str], Member | None]) -> Err:
    names = [member.name if (member := live(id)) else id for id in ring]
    return Err(
        ErrorKind.DEADLOCK,
        f"Deadlock detected: {' waits for '.join(names)}. "
        "Use send_response or delegate_task to communicate without blocking.",
        {"cycle": list(ring)},
    )
