"""How agents reach each other: durable envelopes, asks that are answered once, tasks that always report."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from planck.agent.actor import Ended
from planck.budget.accounts import Accounts, GiveBack
from planck.records.amounts import Allowance
from planck.records.events import (
    IN_PROGRESS,
    USER,
    Claim,
    Delivery,
    Envelope,
    Kind,
    Origin,
    RequestKey,
    View,
    Wait,
)
from planck.records.history import INTERRUPTED, is_news, make_news
from planck.records.messages import Image, UserMessage, user_text
from planck.records.outcome import Err, ErrorKind, Ok, PlanckError
from planck.records.ports import Clock, Ids, add_seconds
from planck.records.specs import Limits
from planck.team.member import Member
from planck.team.proof import Proof
from planck.team.settlement import (
    GONE,
    SAME_AGAIN,
    Report,
    answer_ask,
    refuse_gone,
    refuse_response,
    refuse_ring,
    report_task,
    report_unfinished,
    say_briefly,
)
from planck.team.waits import NOTICE, REFUSE, Echoes, find_ring
from planck.toolkit.journal import Entry, Journal
from planck.toolkit.landing import Lander, Refused
from planck.toolkit.tool import Outcome

_LEAD_ALONE = "Nobody is waiting for an answer. End your turn: your final text goes to the user."
_END_ALONE = "The agent that gave you this work has ended. Put the answer into your final text."
_SENT_EARLY = (
    "Response sent as a note on work in progress. The checks of this task run when your turn ends; then your "
    "final text is sent as the report."
)
_ANSWERED = "The question has already been answered, or nobody is waiting for the answer. End your turn."


class Accepted(msgspec.Struct, frozen=True):
    """A message of the user's that is in the log; also a pair."""

    message_id: str
    seq: int

    def __iter__(self) -> Iterator[str | int]:
        return iter((self.message_id, self.seq))


class Sent:
    """The tasks without a report, and how many messages agents have sent each other: a fold over the log."""

    def __init__(self) -> None:
        self.tasks: dict[str, Envelope] = {}
        self.counts: Counter[str | None] = Counter()
        """Asks and tasks by the user's message that they descend from; reports are not among them."""

    def apply(self, fact: View) -> None:
        match fact:
            case Envelope(kind=Kind.ASK | Kind.TASK):
                self.counts[fact.root] += 1
                if fact.kind is Kind.TASK:
                    self.tasks[fact.id] = fact
            case Envelope(kind=Kind.RESPONSE, correlation_id=str() as answered):
                if fact.outcome != IN_PROGRESS:  # its checks have not run: the report is still owed
                    self.tasks.pop(answered, None)
            case Delivery(state="answered" | "expired" | "dead"):
                for id in fact.ids:
                    self.tasks.pop(id, None)


class Mail:
    def __init__(
        self,
        journal: Journal,
        ids: Ids,
        clock: Clock,
        limits: Limits,
        members: Mapping[str, Member],
        accounts: Accounts,
        proof: Proof,
        lander: Lander | None = None,
    ) -> None:
        """`members` are the live ones by id, as the team keeps them."""
        self.asks: dict[str, Ask] = {}
        """Those that are not settled, by the id of their envelope."""
        self.sent: Sent = Sent()
        self.accounts = accounts
        self._echoes = Echoes()
        self._journal = journal
        self._ids = ids
        self._clock = clock
        self._limits = limits
        self._members = members
        self._proof = proof
        self._lander = lander
        self.under_way: _UnderWay = _UnderWay()
        """Envelopes handed to the log that are not in it yet: they count before anybody sees them."""
        self._newest_root: str | None = None
        """The user's newest message: what is sent for no message at hand descends from it."""

    async def prompt(
        self,
        target: Member,
        said: str | UserMessage,
        *,
        steer: bool = False,
        origin: Origin = Origin.USER,
        request: RequestKey | None = None,
        id: str = "",
    ) -> Accepted | Err:
        """Send what the user says; returns once it would survive a power cut. Steering joins a turn.

        What a hook or the runtime says in the user's place goes on with the user's newest message.
        The key of a request is the message's id; `id` is one of `new_id`.
        """
        id = request.key if request else id or self.new_id(origin)
        message = user_text(said) if isinstance(said, str) else said
        images = tuple(part for part in message.parts if isinstance(part, Image))
        envelope = Envelope(
            id=id,
            kind=Kind.RESPONSE if steer else Kind.PROMPT,
            sender=USER,
            receiver=target.id,
            text=message.text,
            images=images or msgspec.UNSET,
            typed=message.typed or msgspec.UNSET,
            root=id if origin is Origin.USER else self._newest_root or id,
            origin=origin,
            request=request or msgspec.UNSET,
        )
        posting = _Posting(self, envelope, target, held=True)
        refused = await self._post(posting, barrier=True)
        if refused is GONE:
            text = f"{target.name} ended before it received the message. Send it to another agent."
            return Err(ErrorKind.TARGET_GONE, text)
        return refused or Accepted(id, posting.seq)

    def new_id(self, origin: Origin) -> str:
        """Returns an id for a prompt that its sender may withdraw."""
        return self._ids.new(origin.value)

    async def withdraw(self, id: str, target: Member) -> None:
        """Takes back a prompt of that id: not yet read, it is never worked on."""
        if id in target.actor.agent.history.unread:
            await self._drop(id, target)

    async def announce(self, text: str, receivers: Iterable[Member]) -> None:
        """Tell agents what the user changed around them; it wakes nobody, and nobody answers it."""
        for member in receivers:
            news = make_news(self._ids.new(), member.id, text, self._newest_root, user_knows=True)
            await member.actor.agent.tell(news)

    def note_change(self, text: str, receivers: Iterable[Member], call_id: str | None) -> None:
        """Tell agents of one that a call brought or took away, once they work again."""
        for member in receivers:
            news = make_news(self._ids.new(), member.id, text, self._newest_root)
            member.actor.agent.note(replace(news, call_id=call_id))

    async def ask(
        self,
        caller: Member,
        target: Member,
        question: str,
        timeout: float,
        call_id: str | None = None,
        *,
        reset: bool = False,
    ) -> Outcome:
        """Returns the target's answer to this question, or why there is none; in time, whatever it does."""
        if caller.actor.stopping:  # the fact that says so is handed in: from there on it waits for nobody
            return INTERRUPTED
        deadline = add_seconds(self._clock.now(), timeout)
        made = self._make_envelope(Kind.ASK, caller, target, question, call_id=call_id)
        envelope = replace(made, deadline=deadline, reset=reset or msgspec.UNSET)
        # No await between the check and the insert: on one event loop that makes the pair atomic.
        if ring := self._find_ring(envelope):
            names = [self._members[id].name if id in self._members else id for id in ring]
            return refuse_ring(names, ring)
        ask = self.asks[envelope.id] = Ask(self, envelope, target)
        wait = Wait(on=target.id, message_id=envelope.id, deadline=deadline, call_id=call_id)
        try:
            refused = await self._post(ask, also=[Entry(caller.id, caller.actor.agent.turn, wait)])
            if refused:
                return ask.answer.result() if ask.answer.done() else refused
            if await self._clock.within(ask.answer, timeout, envelope.id):
                return ask.answer.result()
            return Err(
                ErrorKind.TIMEOUT,
                f"{target.name} did not answer within {timeout:g} s, and a late answer will be ignored; "
                "delegate the question instead of asking again, or continue without the answer",
                {"timeout_ms": round(timeout * 1000)},
            )
        finally:
            if ask.settle(None) and ask.recorded:
                await self._expire(ask)

    async def delegate(
        self,
        caller: Member,
        target: Member,
        task: str,
        call_id: str | None = None,
        budget: Allowance | None = None,
        *,
        reset: bool = False,
        done_when: Sequence[str] = (),
    ) -> Err | str:
        """Hand a task over and return its id; its budget is lent by whatever pays for the caller's turn now.

        `done_when`: commands that the runtime runs before the report is delivered.
        """
        made = self._make_envelope(Kind.TASK, caller, target, task, call_id=call_id)
        envelope = replace(made, reset=reset or msgspec.UNSET, done_when=tuple(done_when) or msgspec.UNSET)
        if budget is None:
            return await self._post(_Posting(self, envelope, target)) or envelope.id
        agent = caller.actor.agent
        lent = self.accounts.lend(agent.purse.paying, envelope.id, budget.amount)
        if isinstance(lent, Err):
            return lent
        posting = _Posting(self, replace(envelope, budget=budget), target)
        loan = Entry(caller.id, agent.turn, self.accounts.describe(lent, "lent"))
        try:
            return await self._post(posting, also=[loan]) or envelope.id
        finally:
            if not posting.arrived:
                self.accounts.close(envelope.id)

    async def respond(
        self,
        caller: Member,
        text: str,
        delegator_id: str,
        call_id: str | None = None,
        claims: Sequence[Claim] = (),
    ) -> Outcome:
        """Answer the sender of the ask or task at hand, else the delegator.

        A task with checks stays open: it is reported when they have run, at the end of the turn.
        """
        at_hand = caller.actor.opening
        if at_hand and at_hand.kind is Kind.ASK:
            return await self._answer_now(caller, at_hand, text, call_id)
        task = at_hand if at_hand and at_hand.kind is Kind.TASK else None
        receiver = self._members.get(task.sender if task else delegator_id)
        if receiver is None or receiver is caller:
            return refuse_response(_END_ALONE if caller.spec.delegator_id else _LEAD_ALONE)
        if task and (refused := await self._land(caller, task)):
            return Err(ErrorKind.EDIT_CONFLICT, refused.text, {"landing": refused.landing})
        text = self._say_unlanded(caller, text)
        made = self._make_envelope(Kind.RESPONSE, caller, receiver, text, answers=task, call_id=call_id)
        judged = self._proof.judge(caller.id, claims)
        checked = task is not None and task.id in self.sent.tasks and self._proof.has_checks(caller, task)
        facts = (*self._proof.describe_work(caller.id), *map(_say_claim, judged)) if task else ()
        envelope = replace(
            made,
            outcome=IN_PROGRESS if checked else msgspec.UNSET,
            facts=facts or msgspec.UNSET,
            claims=judged or msgspec.UNSET,
        )
        sent = _SENT_EARLY if checked else "Response sent."
        return await self._post(_Posting(self, envelope, receiver)) or Ok({"output": sent})

    async def bring_back(self, member: Member, opening: Envelope) -> Envelope | None:
        """Lands what a turn changed in the agent's own view, before the turn may end and report.

        Returns what the agent reads where it has to do more first. An answer to a question brings nothing
        back: the changes stay in the view, and land with the next task.
        """
        if opening.kind is not Kind.ASK and (refused := await self._land(member, opening)):
            return make_news(self._ids.new(member.id), member.id, refused.text, opening.root)
        return None

    async def _land(self, member: Member, opening: Envelope) -> Refused | None:
        if self._lander is None or member.spec.workspace != "own":
            return None
        outcome = await self._lander.propose(member.id, opening.id)
        if isinstance(outcome, Refused) and not outcome.final:
            return outcome
        member.unlanded = outcome.text if isinstance(outcome, Refused) else ""
        return None

    def _say_unlanded(self, member: Member, text: str) -> str:
        """Adds to a report that its work did not land, and why."""
        why, member.unlanded = member.unlanded, ""
        return f"{text}\n\n[planck: {why}]" if why else text

    def apply(self, fact: View) -> None:
        """Takes in a fact of the log: a letter reaches its receiver, a dead task gets no report."""
        match fact:
            case Envelope():
                self.hand_over(fact)
            case Delivery():
                self.sent.apply(fact)

    def settle_turn(self, member: Member, ended: Ended) -> tuple[Entry, ...]:
        """Returns what the end of a turn owes: an ask its answer, a task its report.

        They take effect with the commit of that end; one that fails pays nothing.
        """
        opening = ended.opening
        if opening.kind is Kind.ASK:
            ask = self.asks.get(opening.id)
            if ask and ask.state == "answered":
                del self.asks[opening.id]
                return ()
            return (self._settle_ask(member, opening, "answered", answer_ask(member, ended)),)
        returned = self.give_back(member, opening.id)
        if opening.kind is Kind.TASK and opening.id in self.sent.tasks:
            report = report_task(member, ended, self._proof.find_red(member, opening))
            report = replace(report, text=self._say_unlanded(member, report.text))
            return (self._report(member, opening, report), *returned)
        return returned

    def give_back(self, member: Member, account: str) -> tuple[Entry, ...]:
        """Returns what says that a loan ended with its work; the rest is its lender's with that commit."""
        fact = self.accounts.return_loan(account) if self.accounts.limited else None
        if fact is None:
            return ()
        return (Entry(member.id, member.actor.agent.turn, fact, GiveBack(self.accounts, account)),)

    def settle_unfinished(self, member: Member, opening: Envelope, why: str) -> tuple[Entry, ...]:
        """Returns the same for an envelope that its receiver will not finish."""
        if opening.kind is Kind.ASK:
            gone = refuse_gone(member.name, why)
            return (self._settle_ask(member, opening, "dead", gone),)
        returned = self.give_back(member, opening.id)
        if opening.kind is Kind.TASK and opening.id in self.sent.tasks:
            return (self._report(member, opening, report_unfinished(member, why)), *returned)
        return returned

    def settle_unread(self, member: Member, why: str) -> tuple[Entry, ...]:
        """Returns the same for everything in the mailbox of an agent that ends."""
        unread = member.actor.agent.history.unread.values()
        return tuple(due for envelope in unread for due in self.settle_unfinished(member, envelope, why))

    def notify(self, sender: Member, receiver: Member, text: str) -> Entry:
        """Returns a response that nobody asked for: what a delegator must know of its worker."""
        made = self._make_envelope(Kind.RESPONSE, sender, receiver, text)
        told = replace(made, origin=Origin.PLANCK, outcome="the agent has failed", cause="agent_end")
        return Entry(receiver.id, 0, told, self)

    def stop_waiting(self, member: Member) -> None:
        """Expect no answer to what its turn asked: it is being stopped, and no await may come before that."""
        for ask in self.asks.values():
            if ask.waiting and ask.envelope.sender == member.id:
                ask.state = "stopped"

    def hand_over(self, envelope: Envelope, *, held: bool = False) -> bool:
        """Give a recorded envelope to its receiver; False where that ended meanwhile."""
        self.sent.apply(envelope)
        self._follow_root(envelope)
        target = self._members.get(envelope.receiver)
        if (pair := self._find_pair(envelope)) and self._echoes.add(envelope, pair) == NOTICE:
            told = SAME_AGAIN.format(NOTICE, self._members[envelope.receiver].name)
            self.note_change(told, [self._members[envelope.sender]], envelope.call_id)
        if target:
            target.actor.accept(envelope, held=held)
        return target is not None

    def count_incoming(self, member: Member) -> int:
        """Returns how many envelopes are on their way to it."""
        return self.under_way.by_receiver[member.id]

    def list_unanswered(self) -> list[Envelope]:
        """Returns what somebody waits for: questions, then tasks."""
        asks = (ask.envelope for ask in self.asks.values() if ask.waiting and ask.recorded)
        return [*asks, *self.sent.tasks.values()]

    def remember(self, facts: Iterable[View]) -> None:
        """Rebuild from the log which tasks are open; nobody waits for an ask of an earlier process."""
        # Agent by agent, an answer may come before what it answers: so whatever expects one goes first.
        mail = [fact for fact in facts if isinstance(fact, Envelope | Delivery)]
        for asked in (True, False):
            for fact in mail:
                if (isinstance(fact, Envelope) and fact.kind in (Kind.ASK, Kind.TASK)) is asked:
                    self.sent.apply(fact)
        for fact in mail:
            self._follow_root(fact)

    async def forget_asks(self, member: Member) -> None:
        """Expire the questions that came before a restart: nobody waits for their answers any more."""
        unread = member.actor.agent.history.unread.values()
        asks = tuple(envelope.id for envelope in unread if envelope.kind is Kind.ASK)
        if asks:
            await member.actor.agent.scribe.record(Delivery(ids=asks, state="expired"))

    def _settle_ask(
        self, member: Member, ask: Envelope, state: Literal["answered", "dead"], outcome: Outcome
    ) -> Entry:
        settled, asked = Delivery(ids=(ask.id,), state=state), self.asks.get(ask.id)
        follower = _Settled(asked, outcome) if asked else None
        return Entry(member.id, member.actor.agent.turn, settled, follower)

    def _report(self, member: Member, task: Envelope, report: Report) -> Entry:
        receiver = self._members.get(task.sender)
        if receiver is None:
            dead = Delivery(ids=(task.id,), state="dead")
            return Entry(member.id, member.actor.agent.turn, dead, self)
        made = self._make_envelope(Kind.RESPONSE, member, receiver, report.text, answers=task)
        envelope = replace(
            made,
            origin=report.origin,
            outcome=report.outcome,
            cause=report.cause,
            facts=self._proof.describe_work(member.id) or msgspec.UNSET,
        )
        return Entry(receiver.id, 0, envelope, self)

    async def _post(
        self, posting: "_Posting", *, also: Sequence[Entry] = (), barrier: bool = False
    ) -> Err | None:
        envelope, target = posting.envelope, posting.target
        refused = self._refuse(envelope, target)
        if refused:
            return refused
        dead = Delivery(ids=(envelope.id,), state="dead")
        # No await since the check: of many that are sent at once only as many pass as the limits allow.
        self.under_way.add(posting)
        try:
            entries = [Entry(target.id, 0, envelope, posting), *also]
            events = await self._journal.record_all(entries, barrier=barrier)
            posting.seq = (events[0].seq or 0) if events else 0
        except PlanckError:
            if posting.arrived:  # in the log, but its sender is told that it was not taken
                with suppress(PlanckError):
                    await target.actor.agent.scribe.record(dead)
            raise
        except asyncio.CancelledError:
            if posting.recorded and not posting.arrived:  # the end of its receiver settles it
                self.sent.tasks.pop(envelope.id, None)
            raise
        finally:
            self.under_way.discard(posting)
            target.actor.release(envelope.id)
        if not posting.arrived:
            gone = refuse_gone(target.name, "ended before it read the question")
            follower = _Settled(posting, gone) if isinstance(posting, Ask) else self
            await self._journal.record_all([Entry(target.id, 0, dead, follower)])
            return GONE
        return None

    def _refuse(self, envelope: Envelope, target: Member) -> Err | None:
        limits, size = self._limits, len(envelope.text.encode(errors="replace"))
        sent = self.sent.counts[envelope.root] + self.under_way.by_root[envelope.root or ""]
        details: dict[str, Any]
        if size > limits.envelope_bytes:
            details = {"bytes": size, "limit": limits.envelope_bytes}
            text = (
                f"the message has {size} bytes, and the limit is {limits.envelope_bytes}; "
                "write it to a file and send its path"
            )
        elif envelope.hops > limits.hops:
            details = {"hops": envelope.hops, "limit": limits.hops}
            text = (
                f"this would be message {envelope.hops} in a row between agents, and the limit is "
                f"{limits.hops}; finish with what you have, and report it"
            )
        elif envelope.kind in (Kind.ASK, Kind.TASK) and sent >= limits.messages:
            details = {"pattern": "messages", "limit": limits.messages}
            text = (
                f"agents have sent each other {limits.messages} messages for one request, which is the limit "
                "(limits.messages); do the rest yourself, or report what you have"
            )
        elif (pair := self._find_pair(envelope)) and self._echoes.measure(envelope, pair) >= REFUSE:
            details = {"pattern": "ping_pong", "limit": REFUSE}
            text = SAME_AGAIN.format(REFUSE - 1, target.name)
        elif len(target.actor.agent.history.unread) + self.count_incoming(target) >= limits.inbox:
            details = {"limit": limits.inbox}
            text = (
                f"{target.name} has {limits.inbox} unread messages, which is the limit; "
                "continue with other work, and try again later"
            )
        else:
            return None
        return Err(ErrorKind.LIMIT_EXCEEDED, text, details)

    def _find_pair(self, envelope: Envelope) -> tuple[int, int] | None:
        """What both have done so far; None: it is none that one live agent sent to another by a call."""
        if envelope.call_id is None:
            return None
        pair = self._members.get(envelope.sender), self._members.get(envelope.receiver)
        return (pair[0].actor.agent.effects, pair[1].actor.agent.effects) if pair[0] and pair[1] else None

    def _follow_root(self, fact: View) -> None:
        if isinstance(fact, Envelope) and fact.sender == USER and not is_news(fact):
            self._newest_root = fact.root or fact.id

    def _find_ring(self, ask: Envelope) -> tuple[str, ...]:
        edges = [(one.envelope.sender, one.target.id) for one in self.asks.values() if one.waiting]
        return find_ring(edges, ask.sender, ask.receiver)

    async def _answer_now(self, caller: Member, at_hand: Envelope, text: str, call_id: str | None) -> Outcome:
        ask = self.asks.get(at_hand.id)
        if ask is None or ask.answer.done() or ask.state == "answered":
            return refuse_response(_ANSWERED)
        # Before the await: a second call of the same step must not be told that it was sent, and what this
        # agent hands in next comes after the answer in the log, and closes no ring.
        ask.state = "answered"
        try:
            answered = Delivery(ids=(at_hand.id,), state="answered", call_id=call_id)
            effect = _Settled(ask, Ok({"output": text}))
            await self._journal.record_all([Entry(caller.id, caller.actor.agent.turn, answered, effect)])
        except PlanckError:
            # The end of the turn owes it again; a ring that closed meanwhile ends by its deadline.
            ask.state = "stopped" if self._find_ring(at_hand) else "waiting"
            if ask.answer.done():
                ask.settle(None)
            raise
        return Ok({"output": "Response sent. Your final text will not be sent again."})

    async def _expire(self, ask: "Ask") -> None:
        """Take back a question whose answer nobody waits for: not yet read, it is never worked on."""
        await self._drop(ask.envelope.id, ask.target)

    async def _drop(self, id: str, target: Member) -> None:
        expired = Delivery(ids=(id,), state="expired")
        target.actor.agent.held.add(id)  # its turn must not begin before that is in the log
        try:
            await self._journal.record_all([Entry(target.id, 0, expired, target.actor.agent.history)])
        finally:
            target.actor.release(id)

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
        id = self._ids.new(call_id or (answers.id if answers else sender.id))
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
            origin=Origin.AGENT,
        )


def _say_claim(claim: Claim) -> str:
    """Says what the log knows of a claim, with nothing of it that could end the runtime's own line."""
    shown = f" (`{say_briefly(claim.command)}`)" if claim.command else ""
    return f'claim "{say_briefly(claim.text)}"{shown}: {claim.verdict}'


class _UnderWay:
    """The envelopes that are on their way into the log: as many at once as agents may send."""

    def __init__(self) -> None:
        self.by_receiver: Counter[str] = Counter[str]()
        self.by_root: Counter[str] = Counter[str]()
        """Those that count for `limits.messages`."""
        self._postings: set[_Posting] = set()

    def __contains__(self, posting: "_Posting") -> bool:
        return posting in self._postings

    def add(self, posting: "_Posting") -> None:
        self._postings.add(posting)
        self._count(posting, 1)

    def discard(self, posting: "_Posting") -> None:
        if posting in self._postings:
            self._postings.remove(posting)
            self._count(posting, -1)

    def _count(self, posting: "_Posting", change: int) -> None:
        envelope = posting.envelope
        _add(self.by_receiver, posting.target.id, change)
        if envelope.kind in (Kind.ASK, Kind.TASK):
            _add(self.by_root, envelope.root or "", change)


def _add(counts: Counter[str], key: str, change: int) -> None:
    counts[key] += change
    if not counts[key]:
        del counts[key]


class _Posting:
    """One envelope on its way into the log, and from there to its receiver."""

    def __init__(self, mail: Mail, envelope: Envelope, target: Member, *, held: bool = False) -> None:
        """`held`: in its place in the mailbox from the commit on, but not worked on before the barrier."""
        self.envelope = envelope
        self.target = target
        self.recorded: bool = False
        self.seq = 0
        self.arrived: bool = False
        """At its receiver, which may end before."""
        self._mail = mail
        self._held = held

    def apply(self, fact: View) -> None:
        self.recorded = True
        held = self._held and self in self._mail.under_way  # the sender that would release it may have gone
        self._mail.under_way.discard(self)
        self.arrived = self._mail.hand_over(self.envelope, held=held)


class Ask(_Posting):
    """A question from its call to its one outcome: an agent waits, and the turn of another answers."""

    def __init__(self, mail: Mail, envelope: Envelope, target: Member) -> None:
        super().__init__(mail, envelope, target)
        self.answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.state: Literal["waiting", "stopped", "answered"] = "waiting"
        """`stopped`: the asker's turn ends, so it waits for nobody. `answered`: by `send_response`, so the
        end of the target's turn does not answer it again."""

    @property
    def waiting(self) -> bool:
        """Whether it counts as an edge from its sender to its target."""
        return self.state == "waiting"

    def settle(self, outcome: Outcome | None) -> bool:
        """Gives the asker its outcome; None: it goes without one. Returns False where it had one already."""
        first = not self.answer.done()
        if outcome is None:
            self.answer.cancel()
        elif first:
            self.answer.set_result(outcome)
        if self.state != "answered":  # the end of the target's turn must know that
            self._mail.asks.pop(self.envelope.id, None)
        return first


class _Settled(msgspec.Struct, frozen=True):
    """The outcome of an ask, which reaches the asker with the fact that settles it."""

    ask: Ask
    outcome: Outcome

    def apply(self, fact: View) -> None:
        self.ask.settle(self.outcome)
