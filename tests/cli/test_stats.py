"""`planck stats` and `planck sessions show --cost`: what was used, by day, model, agent and budget."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planck.headless import Planck
from tests.command import FULL, WAIT, Bench
from tests.teams import Brains, open_planck, spawned, write_team
from tests.wire import chat
from tests.wire.server import WireServer

DIME = {"id": "dear", "model": "m", "provider": "local", "max_output": 5}
DIME["price"] = {"input": 0.0, "output": 20_000.0}
MODEL = {"models": [DIME], "default_model": "dear"}
LEAD = {"type": "orchestrator", "name": "lead"}


async def test_stats_add_up_what_all_sessions_used_and_count_a_fork_s_past_once(tmp_path: Path) -> None:
    async with WireServer([chat.text("one"), chat.text("two"), chat.text("three")]) as server:
        bench = Bench(tmp_path, server.url, **MODEL)
        await bench.run("run", "go", "--name", "first")
        await bench.run("run", "go", "--name", "second")
        await bench.run("run", "-r", "first", "--fork", "--name", "fork", "and on")
        whole = await bench.run("stats", "--json")
        today = await bench.run("stats", "--days", "1")
        await bench.run("sessions", "delete", "first", "--yes")
        without = await bench.run("stats", "--json")
    stats = json.loads(whole.out)
    assert (stats["sessions"], stats["turns"], stats["all"]["calls"]) == (3, 3, 3)
    assert round(stats["all"]["cost_usd"], 6) == 0.3
    assert (list(stats["by_model"]), len(stats["by_day"])) == (["dear"], 1)
    assert stats["by_model"]["dear"] == stats["all"]
    assert "3 sessions, 3 turns, since " in today.out
    assert [line.split()[0] for line in today.out.splitlines() if line] == [
        "3",
        "day",
        next(iter(stats["by_day"])),
        "model",
        "dear",
        "all",
    ]
    assert json.loads(without.out)["all"]["calls"] == 3  # what its fork began with is only there now
    for bad in ("0", "-1", "x"):
        assert (await bench.run("stats", "--days", bad)).code == 2


async def test_stats_of_nothing_say_so(tmp_path: Path) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("stats")
    assert (done.code, done.out) == (0, "0 sessions, 0 turns, all time\n")


async def test_the_table_of_costs_has_each_agent_s_model_budget_and_rest(tmp_path: Path) -> None:
    brains = Brains(
        {
            "lead": [
                chat.calls(spawned("bob", budget={"usd": 0.6})),
                chat.calls(("ask_agent", {"identifier": "bob", "identifier_type": "name", "question": "?"})),
                chat.text("good"),
            ],
            "bob": [chat.text("yes")],
        }
    )
    async with WireServer(brains) as server, open_planck(tmp_path, server.url, **MODEL) as planck:
        session = await planck.start(
            team=write_team(tmp_path / "team", LEAD), max_budget_usd=2.0, name="calm-fox"
        )
        async with asyncio.timeout(WAIT):
            await session.run("go")
        live = session.costs()
        await session.aclose()
        stored = planck.archive.costs("calm-fox")
        assert live == stored
    lead, bob = stored.rows
    assert (lead.source, lead.budget, round(lead.left["usd"], 6)) == ("run", {"usd": 2.0}, 1.1)
    assert (bob.source, bob.budget, round(bob.left["usd"], 6), bob.depth) == ("lent", {"usd": 0.6}, 0.5, 1)
    (tmp_path / "b").mkdir()
    bench = Bench(tmp_path / "b", "http://127.0.0.1:9", sessions_dir=str(tmp_path / "home" / "sessions"))
    done = await bench.run("sessions", "show", session.id, "--cost")
    head, first, second, total = done.out.splitlines()
    assert head.split() == ["agent", "model", "calls", "in", "out", "cache", "r/w", "$", "budget", "left"]
    assert first.split()[:3] == ["lead", "dear", "3"]
    assert first.split()[-4:] == ["0.30", "run", "$2.00", "$1.10"]
    assert second.startswith("└ bob  dear")
    assert second.split()[-4:] == ["0.10", "lent", "$0.60", "$0.50"]
    assert total.split()[0:2] == ["total", "4"]


def find_costs(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if key == "cost_usd":
            yield path, inner
        yield from find_costs(inner, f"{path}/{key}")


ANYWHERE = [
    ("run", "go", "--output-format", "json"),
    ("run", "go", "--output-format", "stream-json"),
    ("sessions", "list", "--json"),
    ("sessions", "show", "calm-fox", "--json"),
    ("sessions", "show", "calm-fox", "--cost", "--json"),
    ("sessions", "export", "calm-fox"),
    ("stats", "--json"),
]


async def test_a_cost_of_which_nothing_is_known_is_null_wherever_it_is_told(tmp_path: Path) -> None:
    unpriced = {"id": "cheap", "model": "m", "provider": "local", "max_output": 5}
    async with WireServer([chat.text("one")] * 3) as server:
        bench = Bench(tmp_path, server.url, models=[unpriced], default_model="cheap")
        await bench.run("run", "go", "--name", "calm-fox")
        for command in ANYWHERE:
            done = await bench.run(*command)
            assert done.code == 0, done.err
            found = [one for line in done.out.splitlines() for one in find_costs(json.loads(line))]
            assert {cost for _, cost in found} == {None}, f"{command}: {found}"
        shown = await bench.run("sessions", "show", "calm-fox", "--cost")
        assert "$0.00" not in shown.out
        assert "0.00" not in (await bench.run("stats")).out


async def test_stats_say_what_proven_work_costs_by_team_and_model(tmp_path: Path) -> None:
    """A run whose check fails counts as tried, and its cost is part of what the proven one costs."""
    answers = [chat.text("done"), chat.text("no"), chat.text("no"), chat.text("no")]
    async with WireServer(answers) as server:
        bench = Bench(tmp_path, server.url, **MODEL, limits={"check_attempts": 1})
        green = await bench.run("run", "go", "--check", "true", *FULL)
        red = await bench.run("run", "go", "--check", "false", *FULL)
        await bench.run("run", "go")
        whole = json.loads((await bench.run("stats", "--json")).out)
        told = await bench.run("stats")
    assert (green.code, red.code) == (0, 7)
    (row,) = whole["proven"]
    assert (row["team"], row["model"], row["tasks"], row["proven"]) == ("", "dear", 2, 1)
    assert round(row["usd_per_proven"], 6) == round(row["used"]["cost_usd"], 6) == 0.2
    assert "1 of 2" in told.out


async def test_stats_count_a_worker_s_checked_task_with_its_own_cost(tmp_path: Path) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("demo", env={"TMPDIR": str(tmp_path)})
    assert done.code == 0
    (home,) = tmp_path.glob("planck-demo-*/home")
    (row,) = Planck(home, tmp_path / "work").archive.stats().proven
    assert (row.team, row.tasks, row.proven, row.used.calls) == ("demo", 1, 1, 6)
    assert (row.usd_per_proven, row.seconds > 0) == (None, True)
