"""`planck demo`, as `make demo` runs it: everything real but the model."""

import asyncio
import json
import re
import signal
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from planck.client import Client
from planck.headless import open_demo
from tests.command import WAIT, Bench, finish


async def test_a_team_mends_the_project_and_the_log_has_all_of_it(tmp_path: Path) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("demo", env={"TMPDIR": str(tmp_path)})
    assert (done.code, done.err) == (0, "")
    found = re.search(r"test: (\S+)/project", done.out)
    assert found
    folder = Path(found[1])
    assert "sum(prices) * (100 - discount) / 100" in (folder / "project" / "prices.py").read_text()
    (log,) = (folder / "home" / "sessions").glob("*.db")
    db = sqlite3.connect(log)
    events = [json.loads(row[0]) for row in db.execute("SELECT bytes FROM events ORDER BY seq")]
    db.close()
    names = {e["agent_id"]: e["data"]["agent"]["name"] for e in events if e["type"] == "agent_started"}
    assert sorted(names.values()) == ["builder", "orchestrator", "tester"]
    said = [
        (names.get(e["data"]["from"], e["data"]["from"]), e["data"]["kind"], names[e["data"]["to"]])
        for e in events
        if e["type"] == "message"
    ]
    assert said == [
        ("user", "prompt", "orchestrator"),
        ("orchestrator", "ask", "tester"),
        ("orchestrator", "task", "builder"),
        ("user", "response", "builder"),  # Planck's own: its check is red
        ("builder", "ask", "tester"),
        ("builder", "response", "orchestrator"),
    ]
    runs = [e["data"]["exit_code"] for e in events if e["type"] == "tool_end" and e["data"]["name"] == "bash"]
    assert runs == [1, 0, 0]
    checks = [(e["data"]["scope"], e["data"]["ok"]) for e in events if e["type"] == "checked"]
    assert checks == [("task", False), ("task", True)]
    plans = [
        e["data"]["args"] for e in events if e["type"] == "tool_start" and e["data"]["name"] == "update_plan"
    ]
    assert {step["status"] for step in plans[-1]["steps"]} == {"completed"}
    for words in ("offline", "got 190, expected 180", "Fixed", "planck sessions", "planck run"):
        assert words in done.out


@pytest.mark.parametrize(("pace", "least", "most"), [("brisk", 5, 12), ("slow", 20, 60)])
async def test_a_demo_that_is_watched_waits_between_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pace: Literal["brisk", "slow"], least: int, most: int
) -> None:
    """The agents work one after another most of the time, so that what they wait for adds up."""
    waited, sleep = list[float](), asyncio.sleep

    async def wait(seconds: float) -> None:
        waited.append(seconds)
        await sleep(0)

    planck, task = open_demo(tmp_path, pace=pace)
    async with planck:
        session = await planck.start(name="demo")
        monkeypatch.setattr("planck.headless.services.demo.asyncio", SimpleNamespace(sleep=wait))
        assert (await session.run(task)).ok
    assert least < sum(waited) < most


async def test_a_demo_whose_work_fails_says_so_and_fails(tmp_path: Path) -> None:
    """Here the project's tests can't run; the script that plays the model ends all the same."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").write_text("#!/bin/sh\necho no such thing\nexit 1\n")
    (programs / "python3").chmod(0o755)
    env = {"TMPDIR": str(tmp_path), "PATH": f"{programs}:/usr/bin:/bin"}
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("demo", env=env)
    assert done.code == 1
    assert done.err.startswith("error: The demo failed: the tests do not pass. ")
    assert done.error_kind == "command_failed"
    assert "with your own model" not in done.out


async def test_the_page_shows_the_team_at_work_until_ctrl_c(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    process = await bench.start("demo", "--web", "--json", env={"TMPDIR": str(tmp_path)})
    assert process.stdout
    async with asyncio.timeout(WAIT):
        line = await process.stdout.readline()
    page = json.loads(line)["page"]
    async with Client.from_ready(line) as client:
        (row,) = [row async for row in client.sessions()]
        assert (row["name"], row["team"]) == ("demo", "demo")
        assert page.endswith(f"&to=/s/{row['id']}/team")
        async for event in client.session(row["id"]).events():  # it goes on without anybody's word
            if event["type"] == "tool_end":
                break
    process.send_signal(signal.SIGINT)
    done = await finish(process)
    assert (done.code, done.out, done.err) == (130, "", "")
