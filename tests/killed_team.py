"""A team that does at random whatever a team can do, and says after each commit how it is; to be killed.

`python -m tests.killed_team FOLDER SEED` runs it in a process of its own; a line of JSON for each commit.
"""

import asyncio
import hashlib
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planck import Planck
from planck.llm.provider import Request
from planck.records import codec
from planck.records.events import Event
from planck.records.history import History
from planck.session.journal import SessionJournal
from planck.store.store import Store
from planck.team.team import Team
from planck.testing.scripted import Scripted, ScriptedProvider
from tests.teams import ask, delegate, spawned, target, write_team

WORKERS = ("ann", "bob", "cid", "dora")
PROMPTS = 12


def open_double(folder: Path, provider: ScriptedProvider) -> Planck:
    (folder / "work").mkdir(exist_ok=True)
    return Planck(
        home=folder / "home",
        workspace=folder / "work",
        environ={"PATH": "/usr/bin:/bin"},
        flags={"permissions": {"mode": "full"}, "limits": {"hops": 60, "live_agents": 12}},
        providers={"double": provider},
    )


def describe(team: Team) -> dict[str, Any]:
    """What the live team says of itself."""
    waits = [ask for ask in team.mail.asks.values() if ask.waiting]
    return {
        "agents": {
            member.id: {
                "turn": member.actor.agent.turn,
                "status": member.actor.agent.activity.value,
                "tools": list(member.actor.agent.current_tools),
                "usage": codec.encode_str(member.actor.agent.usage),
                **describe_history(member.actor.agent.history),
            }
            for member in team.members
        },
        "waits": sorted([ask.envelope.id, ask.envelope.sender, ask.target.id] for ask in waits),
        "owed": sorted(envelope.id for envelope in team.mail.list_unanswered()),
    }


def describe_history(history: History) -> dict[str, Any]:
    return {
        "unread": list(history.unread),
        "shown": hashlib.sha256(codec.encode(history.balanced)).hexdigest()[:16],
        "window": [history.tokens(), history.turn_at],
    }


class Teller:
    """Hears of each commit after everybody else, and tells how the team is once all of it took effect."""

    def __init__(self, store: Store, journal: SessionJournal, team: Team) -> None:
        self._store = store
        self._journal = journal
        self._team = team

    def on_commit(self, events: Sequence[Event]) -> None:
        self._journal.on_commit(events)
        if events[-1].seq == self._store.head:  # others that were handed in together come before
            line = json.dumps({"seq": self._store.head, **describe(self._team)})
            os.write(1, line.encode() + b"\n")


class Dice:
    """A model that throws dice."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self._spawned = 0

    async def say(self, request: Request) -> Scripted:
        for _ in range(self.choose.randrange(6)):
            await asyncio.sleep(0)
        if self.choose.random() < 0.3:
            await asyncio.sleep(self.choose.random() / 100)
        if self.choose.random() < 0.5:
            return "done"
        lead = request.system.startswith("You are lead,")
        return [self._call(lead) for _ in range(self.choose.randint(1, 4))]

    def _call(self, lead: bool) -> tuple[str, Any]:
        other = self.choose.choice(("lead", *WORKERS, *(f"s{n}" for n in range(self._spawned))))
        dice = self.choose.random()
        if lead and dice < 0.06:
            self._spawned += 1
            return spawned(f"s{self._spawned}", provider="double")
        if lead and dice < 0.1 and other not in ("lead", *WORKERS):
            return target("destroy_agent", other)
        if lead and dice < 0.18:
            return target("interrupt_agent", other)
        dice = self.choose.random()
        if dice < 0.45:
            return ask(other, timeout_ms=self.choose.choice((1, 5, 20, 300)))
        if dice < 0.75:
            return delegate(other)
        return ("send_response", {"response": "so it is"}) if dice < 0.9 else ("list_team", {})


async def main(folder: Path, seed: int) -> None:
    dice = Dice(seed)
    members = [{"type": "orchestrator", "name": "lead"}, *({"type": name} for name in WORKERS)]
    both = {"provider": "double", "model_id": "m"}
    async with open_double(folder, ScriptedProvider(dice.say)) as app:
        session = await app.start(team=write_team(folder / "team", *({**one, **both} for one in members)))
        log = session._log
        log.store.watch(Teller(log.store, log.journal, session._team))
        for _ in range(PROMPTS):
            await session.prompt("go", steer=dice.choose.random() < 0.3)
            await asyncio.sleep(dice.choose.random() / 50)
            if dice.choose.random() < 0.3:
                session.interrupt()
        await session.settled()
        os.close(1)
        await asyncio.sleep(600)  # until it is killed


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
