"""kill -9 in a check and around it: a task gets one report, and a red check never one that says done."""

import asyncio
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from planck.records.events import IN_PROGRESS
from tests.command import Bench, Done
from tests.teams import Brains, delegate, write_team
from tests.wire import chat
from tests.wire.server import Reply, WireServer

CHECK = (
    "for step in 1 2 3; do if [ -p point.$step ]; then echo here > point.$step; sleep 60; fi; done; "
    "grep -q fixed code.txt"
)
LINES = 40
"""About as many lines as the whole run prints."""


def lead(messages: list[dict[str, Any]]) -> Reply:
    reported = any(
        text in str(message["content"])
        for message in messages
        if message["role"] == "user"
        for text in ("now it is fixed", "was not finished")
    )
    if reported:
        return chat.text("all done")
    if messages[-1]["role"] == "tool":
        return chat.text("waiting for the builder")
    name, args = delegate("builder", "fix it")
    return chat.calls((name, {**args, "done_when": [CHECK]}))


def builder(messages: list[dict[str, Any]]) -> Reply:
    last, told = messages[-1], [str(message["content"]) for message in messages]
    if last["role"] == "tool":
        return chat.text("now it is fixed")
    red = any("Not done yet" in text for text in told)
    return chat.calls(("write", {"path": "code.txt", "content": "fixed" if red else "broken"}))


async def run_killed(folder: Path, *, line: int = 0, point: int = 0) -> None:
    """Kills the run after so many lines, or at a point within the first check; then resumes it."""
    async with WireServer(Brains({"lead": lead, "builder": builder})) as server:
        bench = Bench(folder, server.url)
        tools = ["write", "read", "bash"]
        team = write_team(
            folder / "team",
            {"type": "orchestrator", "name": "lead", "tools": tools},
            {"type": "builder", "tools": tools},
        )
        args = ("--permission-mode", "full", "--output-format", "stream-json")
        fifo = bench.work / f"point.{point}"
        if point:
            os.mkfifo(fifo)
        process = await bench.start("run", "fix it", "--team", team, "--name", "k", *args)
        assert process.stdin
        assert process.stdout
        process.stdin.close()
        if point:
            async with asyncio.timeout(30):
                await asyncio.to_thread(fifo.read_text)
            fifo.unlink()
        for _ in range(line):
            if not await process.stdout.readline():
                break
        if process.returncode is None:
            process.kill()
        await process.communicate()
        done = await bench.run("run", "continue", "-r", "k", *args)
    assert done.code == 0, f"killed at line {line}, point {point}: {done.err}"
    await check_reports(bench, done)


async def check_reports(bench: Bench, done: Done) -> None:
    shown = await bench.run("sessions", "export", "k", "--format", "ndjson")
    events = [event for event in shown.lines if "type" in event]
    mail = [event["data"] for event in events if event["type"] == "message"]
    tasks = {one["id"] for one in mail if one["kind"] == "task"}
    assert tasks
    reports = [one for one in mail if one["kind"] == "response" and one["correlation_id"] in tasks]
    reports = [one for one in reports if one.get("outcome") != IN_PROGRESS]
    counted = Counter(one["correlation_id"] for one in reports)
    assert set(counted) == tasks, done.err
    assert set(counted.values()) == {1}
    green = {
        event["data"]["task_id"] for event in events if event["type"] == "checked" and event["data"]["ok"]
    }
    assert {one["correlation_id"] for one in reports if one["outcome"] == "completed"} <= green


async def test_a_run_killed_within_a_check_reports_its_task_once(tmp_path: Path) -> None:
    await run_killed(tmp_path, point=2)


async def test_a_run_killed_around_a_check_reports_its_task_once(tmp_path: Path, seed: int) -> None:
    await run_killed(tmp_path, line=random.Random(seed).randrange(10, LINES))


@pytest.mark.soak
@pytest.mark.parametrize("number", range(50))
async def test_fifty_runs_killed_at_each_point_of_a_check_report_once(tmp_path: Path, number: int) -> None:
    for point in (1, 2, 3):
        folder = tmp_path / str(point)
        folder.mkdir()
        await run_killed(folder, point=point)
    folder = tmp_path / "line"
    folder.mkdir()
    await run_killed(folder, line=random.Random(number).randrange(2, LINES))
