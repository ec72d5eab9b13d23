"""A log that can't be written makes the session read-only; work goes on when it can be again."""

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from planck.agent.journal import Entry
from planck.llm.provider import Request
from planck.llm.scripted import Scripted
from planck.records.events import Event, ToolEnd, ToolStart, TurnEnd, TurnStart, View
from planck.records.messages import ToolMessage
from planck.records.outcome import ErrorKind
from planck.session.journal import SessionJournal
from planck.store.store import StoreError
from tests.teams import Crew, delegate
from tests.virtual_time import run_virtual


class FullFrom:
    """Refuses the n-th commit and those after it, until there is room again."""

    def __init__(self, inner: SessionJournal, n: int) -> None:
        self._inner = inner
        self._left = n
        self.refused = 0

    def free(self) -> None:
        self._left = 1_000_000

    async def record(
        self, agent_id: str | None, turn: int, *facts: View, barrier: bool = False
    ) -> list[Event]:
        return await self.record_all([Entry(agent_id, turn, fact) for fact in facts], barrier=barrier)

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        self._left -= 1
        if self._left <= 0:
            self.refused += 1
            raise StoreError(ErrorKind.LOG_WRITE_FAILED, "no space left; free some")
        return await self._inner.record_all(entries, barrier=barrier)

    def recorded(self, agent_id: str) -> Iterator[Event]:
        return self._inner.recorded(agent_id)

    def publish(self, agent_id: str | None, turn: int, delta: View) -> None:
        self._inner.publish(agent_id, turn, delta)


def answer(request: Request) -> Scripted:
    last = request.history.messages[-1]
    if request.agent_id == "lead" and not isinstance(last, ToolMessage) and "go" in str(last):
        return [delegate("w"), ("list_team", {})]
    return "done"


async def fill(n: int) -> int:
    made: list[FullFrom] = []

    def journal(inner: SessionJournal) -> FullFrom:
        made.append(FullFrom(inner, n + 2))  # the two agents have started by then
        return made[0]

    crew = Crew(answer, "w", journal=journal)
    await crew.start()
    refused: list[ErrorKind] = []
    for _ in range(2):
        try:
            await crew.run("go")
        except StoreError as e:
            refused.append(e.err.kind)
    assert set(refused) <= {ErrorKind.LOG_WRITE_FAILED}
    assert bool(refused) == bool(made[0].refused)
    made[0].free()
    await crew.run("go")
    await crew.aclose()
    _assert_whole(crew)
    return made[0].refused


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
