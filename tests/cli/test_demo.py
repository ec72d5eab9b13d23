"""`planck demo`, as `make demo` runs it: everything real but the model."""

import json
import re
import sqlite3
from pathlib import Path

from tests.command import Bench


async def test_a_team_mends_the_project_and_the_log_has_all_of_it(tmp_path: Path) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("demo", env={"TMPDIR": str(tmp_path)})
    assert (done.code, done.err) == (0, "")
    found = re.search(r"in (\S+)/project", done.out)
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
        (names.get(e["data"]["from"], "user"), e["data"]["kind"], names[e["data"]["to"]])
        for e in events
        if e["type"] == "message"
    ]
    assert said == [
        ("user", "prompt", "orchestrator"),
        ("orchestrator", "ask", "tester"),
        ("orchestrator", "task", "builder"),
        ("builder", "ask", "tester"),
        ("builder", "response", "orchestrator"),
    ]
    runs = [e["data"]["exit_code"] for e in events if e["type"] == "tool_end" and e["data"]["name"] == "bash"]
    assert runs == [1, 0, 0]
    for words in ("offline", "got 190 and expects 180", "Mended", "planck sessions", "planck run"):
        assert words in done.out
