"""What belongs together is one commit: a crash can't come between."""

from collections.abc import Sequence

from planck.records.events import Event
from planck.session.journal import SessionJournal
from planck.toolkit.journal import Entry
from tests.ports import JournalProxy
from tests.teams import Crew


class Commits(JournalProxy):
    """Keeps the types of each commit."""

    def __init__(self, inner: SessionJournal) -> None:
        super().__init__(inner)
        self.seen: list[list[str]] = []

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        self.seen.append([entry.fact.type for entry in entries])
        return await super().record_all(entries, barrier=barrier)


async def test_an_answer_and_the_calls_that_it_begins_are_one_commit() -> None:
    made: list[Commits] = []

    def journal(inner: SessionJournal) -> Commits:
        made.append(Commits(inner))
        return made[0]

    crew = Crew(
        lambda request: "done" if len(request.history.messages) > 1 else [("list_team", {})] * 2,
        journal=journal,
    )
    await crew.start()
    await crew.run("go")
    await crew.aclose()
    started = [commit for commit in made[0].seen if "tool_start" in commit]
    assert started == [["assistant_message", "usage", "tool_start", "tool_start"]]
