"""Many envelopes sent at once: as many pass as the limits allow, and none looks through the others."""

import asyncio
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest

from planck.records.events import Event
from planck.records.outcome import Err, ErrorKind
from planck.records.specs import Limits
from planck.team import mail
from planck.toolkit.journal import Entry
from tests.ports import JournalProxy
from tests.teams import Crew

FEW, MANY = 20, 200


class Queued(JournalProxy):
    """Commits in the next iteration of the loop, as a log on a disk does."""

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        await asyncio.sleep(0)
        return await super().record_all(entries, barrier=barrier)


async def send(crew: Crew, receivers: list[str]) -> list[Err | str]:
    team = crew.team
    workers = {member.id: member for member in team.members}
    return await asyncio.gather(
        *(
            team.mail.delegate(team.orchestrator, workers[name], f"task {number}")
            for number, name in enumerate(receivers)
        )
    )


@pytest.mark.parametrize(
    ("limit", "receivers"),
    [("messages", [f"w{number}" for number in range(20)]), ("inbox", ["w0"] * 20)],
)
async def test_of_many_at_once_as_many_pass_as_the_limit_allows(limit: str, receivers: list[str]) -> None:
    limits = Limits(**{"live_agents": 100, "total_agents": 100, "messages": 1_000, limit: 7})  # type: ignore[arg-type]  # by name
    crew = Crew(lambda request: "ok", *dict.fromkeys(receivers), limits=limits, journal=Queued)
    await crew.start()
    refused = [err for err in await send(crew, receivers) if isinstance(err, Err)]
    assert len(refused) == 13
    assert {err.kind for err in refused} == {ErrorKind.LIMIT_EXCEEDED}
    await crew.team.wait_until_settled()
    if limit == "inbox":  # what arrived has been read: there is room again
        assert not isinstance((await send(crew, ["w0"]))[0], Err)
    await crew.aclose()


async def test_an_envelope_costs_the_same_among_many_and_among_few() -> None:
    few, many = await count_calls(FEW) / FEW, await count_calls(MANY) / MANY
    assert many < 1.5 * few, (few, many)


async def count_calls(count: int) -> int:
    """Returns the calls of Python functions of the mail while so many envelopes are sent at once."""
    names = [f"w{number}" for number in range(count)]
    crew = Crew(lambda request: "ok", *names, journal=Queued)
    await crew.start()
    calls = 0

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename == mail.__file__

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        assert not any(isinstance(one, Err) for one in await send(crew, names))
    finally:
        sys.setprofile(before)
    await crew.aclose()
    return calls
