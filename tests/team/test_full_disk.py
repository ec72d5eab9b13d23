"""A log that can't be written makes the session read-only; work goes on when it can be again."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from planck.llm.provider import Request
from planck.records.events import Event, ToolEnd, ToolStart, TurnEnd, TurnStart
from planck.records.messages import ToolMessage
from planck.records.outcome import ErrorKind
from planck.session.journal import SessionJournal
from planck.store.store import StoreError
from planck.team.mail import Accepted
from planck.testing.scripted import Scripted
from planck.toolkit.journal import Entry
from tests.ports import JournalProxy
from tests.teams import Crew, delegate
from tests.virtual_time import run_virtual


class FullFrom(JournalProxy):
    """Refuses the n-th commit and those after it, until there is room again."""

    def __init__(self, inner: SessionJournal, n: int) -> None:
        super().__init__(inner)
        self._left = n
        self.refused = 0
        self.on_refusal: Callable[[], None] = lambda: None

    def free(self) -> None:
        self._left = 1_000_000

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        self._left -= 1
        if self._left <= 0:
            self.refused += 1
            self.on_refusal()
            with suppress(asyncio.CancelledError):  # as promised: a failure stands in its place
                await asyncio.sleep(0)
            raise StoreError(ErrorKind.LOG_WRITE_FAILED, "no space left; free some")
        return await super().record_all(entries, barrier=barrier)


def answer(request: Request) -> Scripted:
    last = request.history.messages[-1]
    if request.agent_id == "lead" and not isinstance(last, ToolMessage) and "go" in str(last):
        return [delegate("w"), ("list_team", {})]
    return "done"


async def _crew(n: int) -> tuple[Crew, FullFrom]:
    """With a disk that is full at the n-th commit after the two agents started."""
    crew = Crew(answer, "w", journal=lambda inner: FullFrom(inner, n + 2))
    await crew.start()
    assert isinstance(crew.journal, FullFrom)
    return crew, crew.journal


async def fill(n: int) -> int:
    crew, journal = await _crew(n)
    refused: list[ErrorKind] = []
    for _ in range(2):
        try:
            await crew.run("go")
        except StoreError as e:
            refused.append(e.err.kind)
    assert set(refused) <= {ErrorKind.LOG_WRITE_FAILED}
    assert bool(refused) == bool(journal.refused)
    journal.free()
    await crew.run("go")
    await crew.aclose()
    _assert_whole(crew)
    return journal.refused


def _assert_whole(crew: Crew) -> None:
    starts = [fact.id for fact in crew.recorded() if isinstance(fact, ToolStart)]
    ends = Counter(fact.id for fact in crew.recorded() if isinstance(fact, ToolEnd))
    assert set(ends.values()) <= {1}
    assert set(starts) <= set(ends)
    facts = crew.recorded()
    assert sum(isinstance(f, TurnStart) for f in facts) == sum(isinstance(f, TurnEnd) for f in facts)
    last = [fact for fact in facts if isinstance(fact, TurnEnd)][-1]
    assert last.status == "completed"


@pytest.mark.parametrize("n", range(1, 40))
def test_wherever_the_disk_fills_up_nothing_is_claimed_and_work_goes_on_later(n: int) -> None:
    refused = run_virtual(fill(n))
    if n == 1:
        assert refused


@pytest.mark.parametrize("n", range(1, 20))
def test_a_team_can_be_closed_wherever_the_disk_fills_up(n: int) -> None:
    run_virtual(_close_when_full(n))


async def _close_when_full(n: int) -> None:
    crew, journal = await _crew(n)
    full = asyncio.Event()
    journal.on_refusal = full.set

    async def prompts() -> None:
        while not full.is_set():
            with suppress(StoreError):
                await crew.team.mail.prompt(crew.team.orchestrator, "go")
            await asyncio.sleep(1)

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(prompts())
        await full.wait()
        await crew.aclose()


def test_a_turn_that_a_full_disk_can_not_end_does_not_hold_up_the_close() -> None:
    run_virtual(_close_in_a_turn())


async def _close_in_a_turn() -> None:
    asked = asyncio.Event()

    async def think(request: Request) -> Scripted:
        asked.set()
        await asyncio.Event().wait()
        return "never"

    crew = Crew(think, journal=lambda inner: FullFrom(inner, 4))
    await crew.start()
    assert isinstance(await crew.team.mail.prompt(crew.team.orchestrator, "go"), Accepted)
    await asked.wait()
    async with asyncio.timeout(60):
        await crew.aclose()
    assert isinstance(crew.journal, FullFrom)
    assert crew.journal.refused == 3, (
        "that it was halted, the end of the turn, and that once more after its restart"
    )
