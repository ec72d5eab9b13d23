"""What a team survives: a failure, an interrupt, a destroy or an abort at every call of its journal."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from planck.llm.provider import Request
from planck.records.events import (
    AgentEnded,
    AssistantSaid,
    Delivery,
    Envelope,
    ErrorEvent,
    Event,
    Kind,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStart,
    TurnStatus,
    view,
)
from planck.records.messages import AssistantMessage, ToolMessage
from planck.records.outcome import ErrorKind
from planck.session.journal import SessionJournal
from planck.store.store import StoreError
from planck.team.mail import Accepted
from planck.team.team import TeamError
from planck.testing.scripted import Say
from planck.toolkit.journal import Entry
from tests.ports import JournalProxy
from tests.teams import Crew, ask, delegate, target
from tests.virtual_time import run_virtual

CALLS = 40
"""More than any scenario here makes: the last ones are not reached, and change nothing."""


class Tripping(JournalProxy):
    """A journal that does something at one of its calls, before or instead of recording."""

    def __init__(self, inner: SessionJournal) -> None:
        super().__init__(inner)
        self.calls = 0
        self.trip: Callable[[int], None] = lambda call: None

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        # As the promise has it: nothing is awaited before the facts are handed over.
        self.calls += 1
        self.trip(self.calls)
        events = await super().record_all(entries, barrier=barrier)
        await asyncio.sleep(0)
        return events


def _script(request: Request) -> Say | str:
    """lead asks bob and delegates to eve; both answer; lead says what it got."""
    said = sum(isinstance(message, AssistantMessage) for message in request.history.messages)
    if request.agent_id == "lead" and said == 0:
        return Say(calls=[ask("bob"), delegate("eve")])
    return f"{request.agent_id} says {said}"


async def _crew() -> tuple[Crew, Tripping]:
    crew = Crew(_script, "bob", "eve", journal=Tripping)
    await crew.start()
    journal = crew.journal
    assert isinstance(journal, Tripping)
    journal.calls = 0
    return crew, journal


async def _run(act: Callable[[Crew], None], at: int) -> Crew:
    crew, journal = await _crew()

    def trip(call: int) -> None:
        if call == at:
            act(crew)

    journal.trip = trip
    try:
        accepted = await crew.team.mail.prompt(crew.team.orchestrator, "go")
    except StoreError:
        return crew  # the prompt itself was not accepted, and its sender knows
    assert isinstance(accepted, Accepted)
    await crew.team.wait_until_settled()
    return crew


def _check(crew: Crew, at: int) -> None:
    facts = crew.recorded()
    said = [fact.message for fact in facts if isinstance(fact, AssistantSaid)]
    calls = Counter(call.id for message in said for call in message.tool_calls)
    starts = Counter(fact.id for fact in facts if isinstance(fact, ToolStart))
    ends = Counter(fact.id for fact in facts if isinstance(fact, ToolEnd))
    assert calls == ends, f"at call {at}: each call has exactly one result"
    assert starts <= calls, f"at call {at}: no call starts twice"
    turns = sum(isinstance(fact, TurnStart) for fact in facts)
    assert turns == sum(isinstance(fact, TurnEnd) for fact in facts), f"at call {at}: each turn ended once"
    delivered = [
        id for fact in facts if isinstance(fact, Delivery) and fact.state == "delivered" for id in fact.ids
    ]
    assert len(delivered) == len(set(delivered)), f"at call {at}: nothing is consumed twice"
    tasks = {f.id for f in facts if isinstance(f, Envelope) and f.kind is Kind.TASK}
    answered = Counter(f.correlation_id for f in facts if isinstance(f, Envelope) and f.kind is Kind.RESPONSE)
    for task in tasks:
        assert answered[task] == 1, f"at call {at}: a task reports exactly once"
    assert not crew.team.mail.asks, f"at call {at}: no ask is left"
    assert not crew.team.mail.sent.tasks, f"at call {at}: nothing is still expected"


def _fail(crew: Crew) -> None:
    raise StoreError(ErrorKind.LOG_WRITE_FAILED, "the disk said no, once")


def _interrupt_all(crew: Crew) -> None:
    crew.team.interrupt_all()


def _interrupt_bob(crew: Crew) -> None:
    bob = crew.team.member("bob")
    assert bob
    bob.actor.abort()


def _abort_asker(crew: Crew) -> None:
    crew.team.orchestrator.actor.abort()


@pytest.mark.parametrize("act", [_fail, _interrupt_all, _interrupt_bob, _abort_asker])
def test_whatever_happens_at_any_call_of_the_journal_the_team_settles(
    act: Callable[[Crew], None],
) -> None:
    for at in range(1, CALLS):
        run_virtual(_settles(act, at))


async def _settles(act: Callable[[Crew], None], at: int) -> None:
    crew = await _run(act, at)
    _check(crew, at)
    await crew.aclose()


def test_a_target_destroyed_at_any_call_of_the_journal_is_gone_once() -> None:
    for at in range(1, CALLS):
        run_virtual(_destroyed(at))


async def _destroyed(at: int) -> None:
    doomed: list[asyncio.Task[None]] = []

    def destroy(crew: Crew) -> None:
        bob = crew.team.member("bob")
        assert bob
        doomed.append(asyncio.get_running_loop().create_task(crew.team.destroy(bob, "was destroyed")))

    crew = await _run(destroy, at)
    await asyncio.gather(*doomed)
    await crew.team.wait_until_settled()
    _check(crew, at)
    kinds = [
        fact.error.kind
        for fact in crew.recorded("tool_end")
        if isinstance(fact, ToolEnd) and fact.name == "ask_agent" and fact.error
    ]
    assert kinds in ([], ["target_gone"], ["not_found"]), f"at call {at}: {kinds}"
    await crew.aclose()


def test_an_agent_that_keeps_crashing_fails_and_its_delegator_is_told_once() -> None:
    run_virtual(_crash_loop())


async def _crash_loop() -> None:
    def script(request: Request) -> Say | str:
        said = sum(isinstance(m, AssistantMessage) for m in request.history.messages)
        return Say(calls=[delegate("bob")]) if request.agent_id == "lead" and said == 0 else "ok"

    class Broken(Tripping):
        async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
            if any(entry.agent_id == "bob" and isinstance(entry.fact, TurnStart) for entry in entries):
                raise RuntimeError("a bug")
            return await super().record_all(entries, barrier=barrier)

    crew = Crew(script, "bob", journal=Broken)
    await crew.start()
    await crew.run()
    ended = [fact for fact in crew.recorded("agent_ended") if isinstance(fact, AgentEnded)]
    assert [end.status for end in ended] == ["failed"]
    assert "crashed 4 times" in ended[0].reason
    assert crew.team.member("bob") is None
    told = [
        fact for fact in crew.recorded("message") if isinstance(fact, Envelope) and fact.kind is Kind.RESPONSE
    ]
    assert [envelope.receiver for envelope in told] == ["lead"] * len(told)
    assert sum("crashed 4 times" in envelope.text for envelope in told) == 1
    restarted = ("bob", "internal_error", "the agent crashed and was restarted: RuntimeError('a bug')")
    assert _crashes(crew) == [
        *[restarted] * 3,
        ("bob", "internal_error", "the agent crashed: RuntimeError('a bug')"),
    ]
    await crew.aclose()


def test_an_orchestrator_that_keeps_crashing_ends_the_team() -> None:
    run_virtual(_orchestrator_crash_loop())


async def _orchestrator_crash_loop() -> None:
    class Broken(Tripping):
        async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
            if any(isinstance(entry.fact, TurnStart) for entry in entries):
                raise RuntimeError("a bug")
            return await super().record_all(entries, barrier=barrier)

    crew = Crew(lambda request: "ok", journal=Broken)
    await crew.start()
    with pytest.raises(TeamError, match="crashed 4 times"):
        await crew.run()
    await crew.aclose()
    restarted = ("lead", "internal_error", "the agent crashed and was restarted: RuntimeError('a bug')")
    assert _crashes(crew) == [
        *[restarted] * 3,
        ("lead", "internal_error", "the agent crashed: RuntimeError('a bug')"),
    ]


def _crashes(crew: Crew) -> list[tuple[str | None, str, str]]:
    return [
        (event.agent_id, fact.kind, fact.message)
        for event in crew.events()
        if isinstance(fact := view(event), ErrorEvent)
    ]


def test_a_task_whose_sender_is_stopped_while_it_is_recorded_is_still_delivered() -> None:
    run_virtual(_stopped_while_sending())


async def _stopped_while_sending() -> None:
    class Slow(Tripping):
        async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
            events = await super().record_all(entries, barrier=barrier)
            if any(isinstance(entry.fact, Envelope) and entry.fact.kind is Kind.TASK for entry in entries):
                crew.team.orchestrator.actor.abort()
                await asyncio.sleep(10)
            return events

    def script(request: Request) -> Say | str:
        said = sum(isinstance(m, AssistantMessage) for m in request.history.messages)
        return Say(calls=[delegate("bob")]) if request.agent_id == "lead" and said == 0 else "ok"

    crew = Crew(script, "bob", journal=Slow)
    await crew.start()
    await crew.run()
    _check(crew, 0)
    assert sum(event.type == "turn_start" and event.agent_id == "bob" for event in crew.events()) == 1
    await crew.aclose()


def test_a_destroy_whose_caller_is_stopped_is_still_carried_out() -> None:
    run_virtual(_stopped_while_destroying())


async def _stopped_while_destroying() -> None:
    def script(request: Request) -> Say | str:
        said = sum(isinstance(m, AssistantMessage) for m in request.history.messages)
        if request.agent_id == "lead" and said < 2:
            return Say(calls=[[delegate("bob"), target("destroy_agent", "bob")][said]])
        return "ok"

    class Slow(Tripping):
        async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
            if any(isinstance(entry.fact, AgentEnded) for entry in entries):
                crew.team.orchestrator.actor.abort()
                await asyncio.sleep(10)
            return await super().record_all(entries, barrier=barrier)

    crew = Crew(script, "bob", journal=Slow)
    await crew.start()
    await crew.run()
    _check(crew, 0)
    assert [type(fact) for fact in crew.recorded("agent_ended")] == [AgentEnded]
    await crew.aclose()


def test_an_asker_is_told_when_its_target_is_destroyed_while_that_is_restarted() -> None:
    run_virtual(_destroyed_while_restarting())


async def _destroyed_while_restarting() -> None:
    def script(request: Request) -> Say | str:
        said = sum(isinstance(m, AssistantMessage) for m in request.history.messages)
        return Say(calls=[ask("bob")]) if request.agent_id == "lead" and said == 0 else "ok"

    ends, doomed = 0, list[asyncio.Task[None]]()

    class Broken(Tripping):
        async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
            nonlocal ends
            bob = crew.team.member("bob")
            if bob and any(e.agent_id == "bob" and isinstance(e.fact, TurnEnd) for e in entries):
                ends += 1
                if ends == 1:
                    raise RuntimeError("a bug")
                events = await super().record_all(entries, barrier=barrier)
                doomed.append(asyncio.create_task(crew.team.destroy(bob, "was destroyed")))
                await asyncio.sleep(10)
                return events
            return await super().record_all(entries, barrier=barrier)

    crew = Crew(script, "bob", journal=Broken)
    await crew.start()
    await crew.run()
    await asyncio.gather(*doomed)
    _check(crew, 0)
    (result,) = [fact for fact in crew.recorded("tool_end") if isinstance(fact, ToolEnd)]
    assert result.output == (
        "target_gone: bob crashed and was restarted; "
        "ask another agent (`list_team` shows them), or find the answer yourself"
    )
    await crew.aclose()


def test_a_task_for_an_agent_that_ends_while_it_is_sent_is_not_found() -> None:
    run_virtual(_ended_while_sending())


async def _ended_while_sending() -> None:
    def script(request: Request) -> Say | str:
        said = sum(isinstance(m, AssistantMessage) for m in request.history.messages)
        if request.agent_id == "lead" and said == 0:
            return Say(calls=[delegate("bob"), ask("bob"), target("destroy_agent", "bob")])
        return "ok"

    class Slow(JournalProxy):
        async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
            if any(isinstance(entry.fact, Envelope) for entry in entries):
                await asyncio.sleep(1)
            return await super().record_all(entries, barrier=barrier)

    crew = Crew(script, "bob", journal=Slow)
    await crew.start()
    await crew.run()
    ends = [fact for fact in crew.recorded("tool_end") if isinstance(fact, ToolEnd)]
    assert [end.error and end.error.kind for end in ends] == ["not_found", "target_gone", None]
    dead = [fact for fact in crew.recorded("delivery") if isinstance(fact, Delivery) and fact.state == "dead"]
    assert len(dead) == 2
    assert not crew.team.mail.list_unanswered()
    await crew.aclose()


def test_an_expired_question_that_nobody_read_is_never_worked_on() -> None:
    run_virtual(_expired())


async def _expired() -> None:
    busy = asyncio.Event()

    async def script(request: Request) -> Say | str:
        said = sum(isinstance(m, AssistantMessage) for m in request.history.messages)
        if request.agent_id == "bob":
            await busy.wait()
            return "free again"
        return Say(calls=[delegate("bob"), ask("bob", timeout_ms=5000)]) if said == 0 else "ok"

    crew = Crew(script, "bob")
    await crew.start()
    prompt = asyncio.ensure_future(crew.run())
    while not any(isinstance(fact, ToolEnd) and fact.name == "ask_agent" for fact in crew.recorded()):
        await asyncio.sleep(1)
    busy.set()
    await prompt
    deliveries = [fact for fact in crew.recorded("delivery") if isinstance(fact, Delivery)]
    assert sum(fact.state == "expired" for fact in deliveries) == 1
    bob_turns = sum(event.type == "turn_start" and event.agent_id == "bob" for event in crew.events())
    assert bob_turns == 1
    results = [m for m in crew.provider.asked[-1].messages if isinstance(m, ToolMessage)]
    assert results[0].results[1].output.startswith("timeout: ")
    await crew.aclose()


def test_an_abort_keeps_the_prompts_that_wait() -> None:
    run_virtual(_abort_keeps())


async def _abort_keeps() -> None:
    never = asyncio.Event()

    async def script(request: Request) -> str:
        if len(request.history.messages) == 1:
            await never.wait()
        return "second answer"

    crew = Crew(script)
    await crew.start()
    lead = crew.team.orchestrator
    await crew.team.mail.prompt(lead, "first")
    await crew.team.mail.prompt(lead, "second")
    while not crew.provider.asked:
        await asyncio.sleep(0)
    lead.actor.abort()
    await crew.team.wait_until_settled()
    ends = [fact for fact in crew.recorded("turn_end") if isinstance(fact, TurnEnd)]
    assert [end.status for end in ends] == [TurnStatus.INTERRUPTED, TurnStatus.COMPLETED]
    assert crew.provider.open_streams == 0
    await crew.aclose()
