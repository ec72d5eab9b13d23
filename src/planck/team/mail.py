"""How agents reach each other: durable envelopes, asks that are answered once, tasks that always report."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from planck.agent.actor import Ended
from planck.records.events import USER, Delivery, Envelope, Kind, Origin, View, Wait
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.ports import Clock, Ids, add_seconds
from planck.records.specs import Limits
from planck.team.member import Member
from planck.team.settlement import Answer, Settlement, answer_ask, join_settlements, report_task
from planck.team.waits import Waits
from planck.toolkit.journal import Entry, Journal
from planck.toolkit.tool import Outcome

GONE = Err(ErrorKind.NOT_FOUND, "Agent not found.")
NO_DELEGATOR = Err(ErrorKind.NOT_FOUND, "No delegator to respond to.")


class Ledger:
    """Keeps the tasks and asks that somebody waits for, and how many there were: a fold over the log."""

    def __init__(self) -> None:
        self.open: dict[str, Envelope] = {}
        self.sent: Counter[str | None] = Counter()
        """Asks and tasks by the user's message that they descend from; reports are not among them."""

    def apply(self, fact: View) -> None:
        match fact:
            case Envelope(kind=Kind.ASK | Kind.TASK):
                self.open[fact.id] = fact
                self.sent[fact.root] += 1
            case Envelope(kind=Kind.RESPONSE, correlation_id=str() as answered):
                self.open.pop(answered, None)
            case Delivery(state="answered" | "expired" | "dead"):
                for id in fact.ids:
                    self.open.pop(id, None)


class Mail:
    def __init__(
        self, journal: Journal, ids: Ids, clock: Clock, limits: Limits, members: Mapping[str, Member]
    ) -> None:
        """`members` are the live ones by id, as the team keeps them."""
        self.waits = Waits()
        self.ledger = Ledger()
        self._journal = journal
        self._ids = ids
        self._clock = clock
        self._limits = limits
        self._members = members
        self._answers: dict[str, asyncio.Future[Outcome]] = {}
        self._posting: Counter[str | None] = Counter()
        """Asks and tasks by root that are being recorded now: they count before anybody sees them."""
        self._answered: set[str] = set()
        """Asks at hand that `send_response` has answered: the end of the turn does not answer them again."""
        self._newest_root: str | None = None
        """The user's newest message: what is sent for no message at hand descends from it."""

    async def prompt(
        self, target: Member, text: str, *, steer: bool = False, origin: Origin = Origin.USER
    ) -> Err | None:
        """Send what the user says; returns once it would survive a power cut. Steering joins a turn.

        What a hook or the runtime says in the user's place goes on with the user's newest message.
        """
        id = self._ids.new()
        envelope = Envelope(
            id=id,
            kind=Kind.RESPONSE if steer else Kind.PROMPT,
            sender=USER,
            receiver=target.id,
            text=text,
            root=id if origin is Origin.USER else self._newest_root or id,
            origin=origin,
        )
        return await self._post(envelope, target, barrier=True)

    async def ask(
        self, caller: Member, target: Member, question: str, timeout: float, call_id: str | None = None
    ) -> Outcome:
        """Returns the target's answer to this question, or why there is none; in time, whatever it does."""
        ring = self.waits.waiting(caller.id, on=target.id)
        if ring:
            return self._refuse_ring(ring)
        deadline = add_seconds(self._clock.now(), timeout)
        made = self._make_envelope(Kind.ASK, caller, target, question, call_id=call_id)
        envelope = replace(made, deadline=deadline)
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._answers[envelope.id] = answer
        wait = Wait(on=target.id, message_id=envelope.id, deadline=deadline, call_id=call_id)
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

    async def delegate(
        self, caller: Member, target: Member, task: str, call_id: str | None = None
    ) -> Err | None:
        return await self._post(self._make_envelope(Kind.TASK, caller, target, task, call_id=call_id), target)

    async def respond(
        self, caller: Member, text: str, delegator_id: str, call_id: str | None = None
    ) -> Outcome:
        """Answer whoever sent the ask or task at hand, else the delegator."""
        at_hand = caller.actor.opening
        if at_hand and at_hand.kind is Kind.ASK:
            return await self._answer_now(caller, at_hand, text, call_id)
        task = at_hand if at_hand and at_hand.kind is Kind.TASK else None
        receiver = self._members.get(task.sender if task else delegator_id)
        if receiver is None or receiver is caller:
            return NO_DELEGATOR
        envelope = self._make_envelope(Kind.RESPONSE, caller, receiver, text, answers=task, call_id=call_id)
        return await self._post(envelope, receiver) or Ok({"output": "Response sent."})

    def settle_turn(self, member: Member, ended: Ended) -> Settlement:
        """Returns what the end of a turn owes: an ask its answer, a task its report."""
        opening = ended.opening
        if opening.kind is Kind.ASK:
            if opening.id in self._answered:
                self._answered.discard(opening.id)
                return Settlement()
            answered = Delivery(ids=(opening.id,), state="answered")
            return Settlement(
                (Entry(member.id, member.actor.agent.turn, answered),),
                (Answer(opening.id, answer_ask(member, ended)),),
            )
        if opening.kind is Kind.TASK and opening.id in self.ledger.open:
            return self._report(member, opening, report_task(member, ended))
        return Settlement()

    def settle_unfinished(self, member: Member, opening: Envelope, why: str) -> Settlement:
        """Returns the same for an envelope that its receiver will not finish."""
        if opening.kind is Kind.ASK:
            gone = Err(ErrorKind.TARGET_GONE, f"{member.name} {why}")
            return Settlement(dues=(Answer(opening.id, gone),))
        if opening.kind is Kind.TASK and opening.id in self.ledger.open:
            return self._report(member, opening, f"The task was not finished: {member.name} {why}.")
        return Settlement()

    def settle_unread(self, member: Member, why: str) -> Settlement:
        """Returns the same for everything in the mailbox of an agent that ends."""
        unread = member.actor.agent.history.unread.values()
        return join_settlements(self.settle_unfinished(member, envelope, why) for envelope in unread)

    def notify(self, sender: Member, receiver: Member, text: str) -> Settlement:
        """Returns a response that nobody asked for: what a delegator must know of its worker."""
        return self._owe(self._make_envelope(Kind.RESPONSE, sender, receiver, text))

    @contextmanager
    def pay_after_commit(self, settlement: Settlement) -> Iterator[None]:
        """Tell whoever waits, once the commit inside is durable; a commit that failed pays nothing."""
        try:
            yield
        except asyncio.CancelledError:
            self._pay(settlement)  # the journal commits what it took, whoever still waits for it
            raise
        self._pay(settlement)

    def _pay(self, settlement: Settlement) -> None:
        for due in settlement.dues:
            match due:
                case Answer():
                    self._resolve(due.ask_id, due.outcome)
                case Envelope():
                    self._hand_over(due)
                case Delivery():
                    self.ledger.apply(due)

    def remember(self, facts: Iterable[View]) -> None:
        """Rebuild from the log what is still expected of whom."""
        # Agent by agent, an answer may come before what it answers: so whatever expects one goes first.
        facts = list(facts)
        for asked in (True, False):
            for fact in facts:
                if (isinstance(fact, Envelope) and fact.kind in (Kind.ASK, Kind.TASK)) is asked:
                    self.ledger.apply(fact)
        for fact in facts:
            self._follow_root(fact)

    async def forget_asks(self, member: Member) -> None:
        """Expire the questions that came before a restart: nobody waits for their answers any more."""
        unread = member.actor.agent.history.unread.values()
        asks = tuple(envelope.id for envelope in unread if envelope.kind is Kind.ASK)
        if asks:
            expired = Delivery(ids=asks, state="expired")
            self.ledger.apply(expired)
            await member.actor.agent.scribe.record(expired)

    def _report(self, member: Member, task: Envelope, text: str) -> Settlement:
        receiver = self._members.get(task.sender)
        if receiver is None:
            dead = Delivery(ids=(task.id,), state="dead")
            return Settlement((Entry(member.id, member.actor.agent.turn, dead),), (dead,))
        return self._owe(self._make_envelope(Kind.RESPONSE, member, receiver, text, answers=task))

    def _owe(self, envelope: Envelope) -> Settlement:
        return Settlement((Entry(envelope.receiver, 0, envelope),), (envelope,))

    async def _post(
        self, envelope: Envelope, target: Member, *, also: Sequence[Entry] = (), barrier: bool = False
    ) -> Err | None:
        refused = self._refuse(envelope, target)
        if refused:
            return refused
        # No await since the check: of many that are sent at once only as many pass as the limits allow.
        asked = envelope.kind in (Kind.ASK, Kind.TASK)
        self._posting[envelope.root] += asked
        target.incoming += 1
        try:
            await self._journal.record_all([Entry(target.id, 0, envelope), *also], barrier=barrier)
        except asyncio.CancelledError:
            self._hand_over(envelope)  # the journal commits what it took: it is sent, whoever still waits
            raise
        finally:
            target.incoming -= 1
            self._posting[envelope.root] -= asked
        if not self._hand_over(envelope):
            await self._journal.record(target.id, 0, Delivery(ids=(envelope.id,), state="dead"))
            return GONE
        return None

    def _refuse(self, envelope: Envelope, target: Member) -> Err | None:
        limits, size = self._limits, len(envelope.text.encode(errors="replace"))
        details: dict[str, Any]
        if size > limits.envelope_bytes:
            details = {"bytes": size, "limit": limits.envelope_bytes}
            text = (
                f"the message has {size} bytes, at most {limits.envelope_bytes} are taken; "
                "write it to a file and send its path"
            )
        elif envelope.hops > limits.hops:
            details = {"hops": envelope.hops, "limit": limits.hops}
            text = (
                f"this would be message {envelope.hops} in a row between agents since the user's last word, "
                f"the limit is {limits.hops}; report to the user what you have"
            )
        elif envelope.kind in (Kind.ASK, Kind.TASK) and self._count(envelope.root) >= limits.messages:
            details = {"pattern": "messages", "limit": limits.messages}
            text = (
                f"agents have sent each other {limits.messages} messages for one of the user, which is the "
                "limit (limits.messages); do the rest yourself, or report what you have"
            )
        elif len(target.actor.agent.history.unread) + target.incoming >= limits.inbox:
            details = {"limit": limits.inbox}
            text = f"{target.name} has {limits.inbox} unread messages; wait until it has worked on them"
        else:
            return None
        return Err(ErrorKind.LIMIT_EXCEEDED, text, details)

    def _count(self, root: str | None) -> int:
        return self.ledger.sent[root] + self._posting[root]

    def _refuse_ring(self, ring: tuple[str, ...]) -> Err:
        names = [self._members[id].name if id in self._members else id for id in ring]
        return Err(
            ErrorKind.DEADLOCK,
            f"Deadlock detected: {' waits for '.join(names)}. "
            "Use send_response or delegate_task to communicate without blocking.",
            {"cycle": list(ring)},
        )

    def _hand_over(self, envelope: Envelope) -> bool:
        """Give a recorded envelope to its receiver; False where that ended meanwhile."""
        self.ledger.apply(envelope)
        self._follow_root(envelope)
        target = self._members.get(envelope.receiver)
        if target:
            target.actor.accept(envelope)
        else:
            self._resolve(
                envelope.id, Err(ErrorKind.TARGET_GONE, "the agent ended before it read the question")
            )
        return target is not None

    def _follow_root(self, fact: View) -> None:
        if isinstance(fact, Envelope) and fact.sender == USER:
            self._newest_root = fact.root or fact.id

    async def _answer_now(self, caller: Member, ask: Envelope, text: str, call_id: str | None) -> Outcome:
        answer = self._answers.get(ask.id)
        if answer is None or answer.done() or ask.id in self._answered:
            return NO_DELEGATOR
        self._answered.add(ask.id)  # a second call of the same step must not be told that it was sent
        try:
            answered = Delivery(ids=(ask.id,), state="answered", call_id=call_id)
            await self._journal.record(caller.id, caller.actor.agent.turn, answered)
        except asyncio.CancelledError:
            self._resolve(ask.id, Ok({"output": text}))  # the journal commits what it took
            raise
        except BaseException:
            self._answered.discard(ask.id)
            raise
        self._resolve(ask.id, Ok({"output": text}))
        return Ok({"output": "Response sent."})

    def _resolve(self, ask_id: str, outcome: Outcome) -> None:
        self.ledger.open.pop(ask_id, None)
        answer = self._answers.get(ask_id)
        if answer and not answer.done():
            answer.set_result(outcome)

    async def _expire(self, ask: Envelope, target: Member) -> None:
        """Take back a question whose answer nobody waits for: not yet read, it is never worked on."""
        self.ledger.open.pop(ask.id, None)
        if ask.id in target.actor.agent.history.unread:
            expired = Delivery(ids=(ask.id,), state="expired")
            target.actor.agent.history.apply(expired)
            await self._journal.record(target.id, 0, expired)

    def _make_envelope(
        self,
        kind: Kind,
        sender: Member,
        receiver: Member,
        text: str,
        *,
        answers: Envelope | None = None,
        call_id: str | None = None,
    ) -> Envelope:
        id = self._ids.new()
        correlation = answers.id if answers else id if kind in (Kind.ASK, Kind.TASK) else None
        return Envelope(
            id=id,
            kind=kind,
            sender=sender.id,
            sender_name=sender.name,
            receiver=receiver.id,
            text=text,
            correlation_id=correlation,
            hops=(answers or sender).hops + 1,
            call_id=call_id,
            root=(answers or sender).root or self._newest_root,
            origin=Origin.PLANCK,
        )
