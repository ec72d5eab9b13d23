"""Who stopped what is a fact, handed in in the very step in which it takes effect."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from planck.llm.provider import Request
from planck.records.events import Control, Event, ToolStart, TurnEnd, TurnStatus, view
from planck.records.messages import AssistantMessage
from planck.session.journal import SessionJournal
from planck.testing.scripted import Say
from planck.toolkit.journal import Entry
from tests.ports import JournalProxy
from tests.teams import Crew, ask, delegate, target
from tests.virtual_time import run_virtual

CALLS = 40
"""More than the scenario makes: the last ones are not reached, and change nothing."""


class Watching(JournalProxy):
    """Notes at each commit whom it finds in the team, and calls somebody at one of them."""

    def __init__(self, inner: SessionJournal) -> None:
        super().__init__(inner)
        self.calls = 0
        self.trip: Callable[[int], None] = lambda call: None
        self.handed_in: list[tuple[tuple[Entry, ...], bool]] = []
        self.bob_lives: Callable[[], bool] = lambda: True

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        self.calls += 1
        self.handed_in.append((tuple(entries), self.bob_lives()))
        self.trip(self.calls)
        return await super().record_all(entries, barrier=barrier)


def _script(request: Request) -> Say | str:
    """lead asks bob and delegates to eve, who talks on and on; all of them end."""
    said = sum(isinstance(message, AssistantMessage) for message in request.history.messages)
    if request.agent_id == "lead" and said == 0:
        return Say(calls=[ask("bob"), delegate("eve")])
    if request.agent_id in ("eve", "bob") and said < 4:
        return Say(calls=[("list_team", {})])
    return f"{request.agent_id} says {said}"


async def _crew(act: Callable[[Crew], object], at: int) -> tuple[Crew, Watching]:
    """Runs the team, and has somebody act at the n-th commit after its start."""
    crew = Crew(_script, "bob", "eve", journal=Watching)
    await crew.start()
    journal = crew.journal
    assert isinstance(journal, Watching)
    journal.calls = 0
    journal.handed_in.clear()
    journal.bob_lives = lambda: crew.team.member("bob") is not None

    def trip(call: int) -> None:
        if call == at:
            act(crew)

    journal.trip = trip
    await crew.run()
    return crew, journal


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_no_interrupted_turn_ends_in_the_log_before_the_fact_that_stopped_it(seed: int | None) -> None:
    for at in range(1, CALLS):
        run_virtual(_interrupted(at), seed=seed)


async def _interrupted(at: int) -> None:
    crew, _ = await _crew(lambda crew: crew.team.interrupt_all(), at)
    stopped: set[str | None] = set()
    for event in crew.events():
        match view(event):
            case Control() as control:
                assert (control.action, control.status, control.call_id, event.agent_id) == (
                    "interrupt",
                    TurnStatus.INTERRUPTED,
                    None,
                    None,
                )
                stopped.add(control.target)
            case TurnEnd(status=TurnStatus.INTERRUPTED):
                assert event.agent_id in stopped, f"at call {at}: {event.agent_id} ended before"
    await crew.aclose()


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_the_first_commit_after_a_destroy_took_effect_is_the_one_that_says_so(seed: int | None) -> None:
    for at in range(1, CALLS):
        run_virtual(_destroyed(at), seed=seed)


async def _destroyed(at: int) -> None:
    doomed: list[asyncio.Task[None]] = []

    def destroy(crew: Crew) -> None:
        if bob := crew.team.member("bob"):
            doomed.append(asyncio.get_running_loop().create_task(crew.team.destroy(bob, "was destroyed")))

    crew, journal = await _crew(destroy, at)
    await asyncio.gather(*doomed)
    after = [entries for entries, bob_lives in journal.handed_in if not bob_lives]
    if doomed:
        assert [entry.fact for entry in after[0]] == [
            Control(action="destroy", target="bob", status=TurnStatus.INTERRUPTED)
        ]
    await crew.aclose()


def test_an_agent_that_stops_others_is_named_with_its_call_also_where_nothing_was_in_flight() -> None:
    run_virtual(_by_an_agent())


async def _by_an_agent() -> None:
    def script(request: Request) -> Say | str:
        if any(isinstance(message, AssistantMessage) for message in request.history.messages):
            return "done"
        return Say(calls=[target("interrupt_agent", "bob"), target("destroy_agent", "bob")])

    crew = Crew(script, "bob")
    await crew.start()
    await crew.run()
    controls = [(event, fact) for event in crew.events() if isinstance(fact := view(event), Control)]
    assert [(fact.action, fact.target, event.agent_id, event.turn) for event, fact in controls] == [
        ("interrupt", "bob", "lead", 1),
        ("destroy", "bob", "lead", 1),
    ]
    calls = [fact.id for fact in crew.recorded("tool_start") if isinstance(fact, ToolStart)]
    assert [fact.call_id for _, fact in controls] == calls
    await crew.aclose()
