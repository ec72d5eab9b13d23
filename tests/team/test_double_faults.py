"""A worker that fails while the log refuses to say so is still known, and its delegator is told once."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from planck.llm.provider import Request
from planck.records.events import AgentEnded, Envelope, Event, Kind, TurnStart
from planck.records.messages import AssistantMessage
from planck.records.outcome import ErrorKind
from planck.session.journal import SessionJournal
from planck.store.store import StoreError
from planck.testing.scripted import Say
from planck.toolkit.journal import Entry
from tests.ports import JournalProxy
from tests.teams import Crew, ask, delegate
from tests.virtual_time import run_virtual


class NoEnd(JournalProxy):
    """Breaks off every turn of `bad`, and refuses the commits that say how an agent ended, so many times."""

    def __init__(self, inner: SessionJournal, times: int) -> None:
        super().__init__(inner)
        self.left = times

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        if any(entry.agent_id == "bad" and isinstance(entry.fact, TurnStart) for entry in entries):
            raise RuntimeError("a bug")
        if self.left and any(isinstance(entry.fact, AgentEnded) for entry in entries):
            self.left -= 1
            raise StoreError(ErrorKind.LOG_WRITE_FAILED, "no space left; free some")
        return await super().record_all(entries, barrier=barrier)


@pytest.mark.parametrize("how", [ask, delegate], ids=["ask", "delegate"])
@pytest.mark.parametrize("times", range(5))
def test_a_failed_worker_stays_known_until_its_end_is_recorded(times: int, how: Callable[[str], Any]) -> None:
    def script(request: Request) -> Say | str:
        said = sum(isinstance(message, AssistantMessage) for message in request.history.messages)
        return Say(calls=[how("bad")]) if request.agent_id == "lead" and said == 0 else "done"

    async def scenario() -> None:
        crew = Crew(script, "bad", "eve", journal=lambda inner: NoEnd(inner, times))
        await crew.start()
        journal = crew.journal
        assert isinstance(journal, NoEnd)
        for _ in range(times + 6):  # mail wakes a worker whose end could not be recorded
            with suppress(StoreError):  # it says that the log refuses something
                await crew.run("go on")
            ends = [fact for fact in crew.recorded() if isinstance(fact, AgentEnded)]
            names = [member.name for member in crew.team.members]
            assert names == (["lead", "eve"] if ends else ["lead", "bad", "eve"]), "its place is kept"
            if ends:
                break
            bad = crew.team.member("bad")
            assert bad is not None
            await crew.team.mail.prompt(bad, "are you there?")
        assert journal.left == 0
        assert len(ends) == 1
        await crew.run("and now?")
        told = [
            fact
            for fact in crew.recorded()
            if isinstance(fact, Envelope)
            and (fact.sender, fact.receiver) == ("bad", "lead")
            and "crashed 4 times" in fact.text
        ]
        assert len(told) == 1
        assert told[0].kind is Kind.RESPONSE
        await crew.aclose()

    run_virtual(scenario())
