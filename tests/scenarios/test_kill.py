"""kill -9 in the middle of a delegation: after one `continue` the team reaches the expected files."""

import json
import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.command import Bench
from tests.teams import Brain, Brains, delegate, write_team
from tests.wire import chat
from tests.wire.server import Reply, WireServer

LINES = 34
"""About as many lines as the whole run prints: a point beyond the end is a run that was not killed."""


def lead(messages: list[dict[str, Any]]) -> Reply:
    if any("wrote made.txt" in str(message["content"]) for message in messages if message["role"] == "user"):
        return chat.text("all done")
    if messages[-1]["role"] == "tool":
        return chat.text("waiting for the builder")
    return chat.calls(delegate("builder", "make made.txt"))


def builder(messages: list[dict[str, Any]]) -> Reply:
    last = messages[-1]
    if last["role"] == "tool" and last["content"].startswith("Wrote"):
        return chat.text("wrote made.txt")
    return chat.calls(("write", {"path": "made.txt", "content": "made\n"}))


@pytest.mark.parametrize("seed", range(8))
async def test_a_killed_delegation_is_taken_up_again(tmp_path: Path, seed: int) -> None:
    await _killed(tmp_path, random.Random(seed).randrange(2, LINES))


@pytest.mark.soak
async def test_a_hundred_killed_delegations(tmp_path: Path) -> None:
    for number in range(100):
        folder = tmp_path / str(number)
        folder.mkdir()
        await _killed(folder, random.Random(1000 + number).randrange(2, LINES))


BUILDERS = ("b0", "b1", "b2", "b3")


def lead_four(messages: list[dict[str, Any]]) -> Reply:
    told = [str(message["content"]) for message in messages if message["role"] == "user"]
    missing = [name for name in BUILDERS if not any(f"wrote {name}.txt" in text for text in told)]
    if not missing:
        return chat.text("all done")
    if messages[-1]["role"] == "tool" or messages[-1]["content"].startswith("[response"):
        return chat.text("waiting for the others")
    return chat.calls(*(delegate(name, "make your file") for name in missing))


def one_of_four(name: str) -> Brain:
    def brain(messages: list[dict[str, Any]]) -> Reply:
        last = messages[-1]
        if last["role"] == "tool" and last["content"].startswith("Wrote"):
            return chat.text(f"wrote {name}.txt")
        return chat.calls(("write", {"path": f"{name}.txt", "content": f"{name}\n"}))

    return brain


FIVE: dict[str, Brain] = {"lead": lead_four, **{name: one_of_four(name) for name in BUILDERS}}
LINES_OF_FIVE = 110


@pytest.mark.parametrize("seed", range(3))
async def test_a_killed_team_of_five_loses_nothing(tmp_path: Path, seed: int) -> None:
    await _killed(tmp_path, random.Random(2000 + seed).randrange(2, LINES_OF_FIVE), FIVE)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(50))
async def test_fifty_killed_teams_of_five_lose_nothing(tmp_path: Path, seed: int) -> None:
    await _killed(tmp_path, random.Random(3000 + seed).randrange(2, LINES_OF_FIVE), FIVE)


async def _killed(folder: Path, at: int, brains: dict[str, Brain] | None = None) -> None:
    brains = brains or {"lead": lead, "builder": builder}
    workers = [name for name in brains if name != "lead"]
    async with WireServer(Brains(brains)) as server:
        bench = Bench(folder, server.url)
        team = write_team(
            folder / "team",
            {"type": "orchestrator", "name": "lead"},
            *({"type": name, "tools": ["write", "read"]} for name in workers),
        )
        args = ("--permission-mode", "full", "--output-format", "stream-json")
        process = await bench.start("run", "make it", "--team", team, "--name", "k", *args)
        assert process.stdin
        assert process.stdout
        process.stdin.close()
        for _ in range(at):
            if not await process.stdout.readline():
                break
        if process.returncode is None:
            process.kill()
        await process.communicate()
        done = await bench.run("run", "continue", "-r", "k", *args)
    assert done.code == 0, f"killed at line {at}: {done.err}"
    made = {path.name: path.read_text() for path in bench.work.glob("*.txt")}
    four = {f"{name}.txt": f"{name}\n" for name in workers}
    assert made == ({"made.txt": "made\n"} if workers == ["builder"] else four), f"killed at line {at}"
    events = _events(bench)
    delivered = Counter(
        id
        for e in events
        if e["type"] == "delivery" and e["data"]["state"] == "delivered"
        for id in e["data"]["ids"]
    )
    messages = {event["data"]["id"] for event in events if event["type"] == "message"}
    assert set(delivered) == messages, f"killed at line {at}: every envelope is consumed"
    assert set(delivered.values()) == {1}, f"killed at line {at}: none is consumed twice"
    calls = Counter(e["data"]["id"] for e in events if e["type"] == "tool_end")
    assert set(calls.values()) == {1}, f"killed at line {at}: one result for each call"


def _events(bench: Bench) -> list[dict[str, Any]]:
    (path,) = (bench.home / "sessions").glob("*.db")
    db = sqlite3.connect(path)
    rows = db.execute("SELECT bytes FROM events ORDER BY seq").fetchall()
    db.close()
    return [json.loads(row[0]) for row in rows]
