"""What lives is the fold of the log: a team killed at any moment is found again as it said that it was."""

import asyncio
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from planck.llm.provider import Request
from planck.records import codec
from planck.records.board import Board, apply
from planck.records.events import AgentStarted, Control, Event, view
from planck.records.history import History
from planck.store.sqlite.reader import SqliteReader
from planck.testing.scripted import ScriptedProvider
from tests.killed_team import describe, describe_history, open_double

COMMITS = 160
"""About as many as a run makes."""


async def test_a_team_killed_at_random_points_is_the_fold_of_its_log(tmp_path: Path, seed: int) -> None:
    await _kill_many(tmp_path, range(seed, seed + 5))


@pytest.mark.soak
async def test_a_team_killed_at_200_random_points_is_the_fold_of_its_log(tmp_path: Path, seed: int) -> None:
    await _kill_many(tmp_path, range(seed, seed + 200))


async def _kill_many(folder: Path, seeds: range) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        at = random.Random(seed).randrange(5, COMMITS)
        lines = await _run_until_killed(place, seed, at)
        try:
            seen += _compare_with_log(place, lines)
            seen += await _compare_with_resumed(place, lines[-1])
        except AssertionError as e:
            raise AssertionError(f"seed {seed}, killed after {at} commits: {e}") from e
    print(f"{len(seeds)} kills: {dict(sorted(seen.items()))}")
    for what in ("moments with mail", "moments with waits", "moments with two letters in one box"):
        assert seen[what] > 0, f"no {what}: this shows nothing"


async def _run_until_killed(folder: Path, seed: int, at: int) -> list[dict[str, Any]]:
    """Returns what the team said of itself up to the moment of its death."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.killed_team", str(folder), str(seed)),
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    assert process.stdout
    lines: list[bytes] = []
    try:
        async with asyncio.timeout(60):
            while len(lines) < at and (line := await process.stdout.readline()):
                lines.append(line)
    finally:
        process.kill()
    lines += (await process.communicate())[0].splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def _compare_with_log(folder: Path, lines: list[dict[str, Any]]) -> Counter[str]:
    seen: Counter[str] = Counter()
    told = {line.pop("seq"): line for line in lines}
    fold = Fold()
    for event in _events(folder):
        fold.apply(event)
        if live := told.pop(event.seq, None):
            folded = fold.describe()
            for id in live["agents"].keys() | folded["agents"].keys():
                one, other = live["agents"].get(id), folded["agents"].get(id)
                assert one == other, f"at event {event.seq}: {id}: live {one}, folded {other}"
            for what in ("waits", "owed"):
                assert live[what] == folded[what], (
                    f"{what} at event {event.seq}: live {live[what]}, folded {folded[what]}"
                )
            boxes = [len(agent["unread"]) for agent in live["agents"].values()]
            seen["moments"] += 1
            seen["agents compared"] += len(boxes)
            seen["moments with mail"] += any(boxes)
            seen["moments with two letters in one box"] += max(boxes) > 1
            seen["moments with waits"] += bool(live["waits"])
    assert not told, f"the team spoke of events that are not in the log: {list(told)}"
    return seen


class Fold:
    """The board, and what each model is shown, from the events alone."""

    def __init__(self) -> None:
        self._board = Board()
        self._histories: dict[str, History] = {}
        self._destroyed: set[str] = set()

    def apply(self, event: Event) -> None:
        self._board = apply(self._board, event)
        fact = view(event)
        if isinstance(fact, AgentStarted):
            self._histories[fact.agent.id] = History()
        if isinstance(fact, Control) and fact.action == "destroy":
            self._destroyed.add(fact.target)
        if fact and event.agent_id in self._histories:
            self._histories[event.agent_id].apply(fact)

    def describe(self) -> dict[str, Any]:
        board = self._board
        rows = [row for row in board.agents if not row.ended and row.id not in self._destroyed]
        return {
            "agents": {
                row.id: {
                    "turn": row.turn,
                    "status": row.status,
                    "tools": [call.name for call in row.calls],
                    "usage": codec.encode_str(row.usage),
                    **describe_history(self._histories[row.id]),
                }
                for row in rows
            },
            "waits": sorted([wait.message_id, row.id, wait.on] for row in rows for wait in row.waits),
            "owed": sorted(letter.id for letter in board.owed),
        }


async def _compare_with_resumed(folder: Path, last: dict[str, Any]) -> Counter[str]:
    """Nothing of it is lost or in another order: what nobody waits for any more aside."""
    go_on = asyncio.Event()

    async def say(request: Request) -> str:
        await go_on.wait()
        return "ok"

    before = list(_events(folder))
    fold = Fold()
    for event in before:
        fold.apply(event)
    expected = fold.describe()["agents"]
    asks = {
        data["id"]
        for event in before
        if event.type == "message" and (data := codec.decode(bytes(event.data)))["kind"] == "ask"
    }
    async with open_double(folder, ScriptedProvider(say)) as app, asyncio.timeout(60):
        session = await app.resume(app.archive.newest_id())
        found = describe(session._team)["agents"]
        for id, was in expected.items():
            assert (found[id]["usage"], found[id]["turn"] >= was["turn"]) == (was["usage"], True)
        go_on.set()
        await session.settled()
    read: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    for event in _events(folder):
        data = codec.decode(bytes(event.data))
        if event.type == "message":
            kinds[data["id"]] = data["kind"]
        elif event.type == "delivery" and data["state"] == "delivered" and (event.seq or 0) > len(before):
            read.setdefault(event.agent_id or "", []).extend(data["ids"])
    for id, was in expected.items():
        # A response joins the first turn; among themselves neither they nor the others change places.
        for joins in (True, False):
            waited = [m for m in was["unread"] if m not in asks and (kinds[m] == "response") is joins]
            worked_on = [m for m in read.get(id, []) if m in waited]
            assert worked_on == waited, f"{id} was to read {waited} and read {worked_on}"
    return Counter({"agents resumed": len(expected)})


def _events(folder: Path) -> list[Event]:
    (path,) = (folder / "home" / "sessions").glob("*.db")
    reader = SqliteReader.open(path)
    try:
        return list(reader.read())
    finally:
        reader.close()
