import asyncio
import shutil
from pathlib import Path
from typing import Any

from planck import Planck
from planck.archive.archive import Archive
from planck.records.board import Board, fold_events
from planck.records.ports import add_seconds
from planck.session.blocked import why_blocked
from planck.store.sqlite.reader import SqliteReader
from planck.testing.scripted import Say, ScriptedProvider
from tests.teams import Brains, ask, delegate, open_planck, write_team
from tests.wire import chat
from tests.wire.server import Reply, WireServer


async def test_each_wait_is_explained_in_words(tmp_path: Path) -> None:
    stalled = Reply([chat.sse(chat.chunk({"index": 0, "delta": {"content": "hm"}})), asyncio.Event()])
    until = "until test -e started; do sleep 0.02; done"
    brains = Brains(
        {
            "lead": [
                chat.calls(delegate("eve"), ("bash", {"command": until}), ask("bob")),
                chat.text("done"),
            ],
            "bob": [chat.calls(ask("tess")), chat.text("done")],
            "tess": [chat.calls(("bash", {"command": "touch started; sleep 600"})), chat.text("ok")],
            "eve": [stalled],
        }
    )
    members: list[dict[str, Any]] = [
        {"type": "orchestrator", "name": "lead", "tools": ["bash"]},
        {"type": "bob"},
        {"type": "tess", "tools": ["bash"]},
        {"type": "eve"},
    ]
    async with WireServer(brains) as server, open_planck(tmp_path, server.url) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", *members))
        await session.change_model("local/other", agent="eve")
        run = asyncio.ensure_future(session.run("go"))
        waiting_for = {"tool_end:bash", "text_delta"}
        ts = ""
        async for event in session.events():
            waiting_for -= {event.type, f"{event.type}:{event.data.get('name')}"}
            if not waiting_for:
                ts = event.ts
                break
        (path,) = planck.sessions_dir.glob("*.db")
        reader = SqliteReader.open(path)
        lines = why_blocked(fold_events(reader.read()), add_seconds(ts, 11))
        reader.close()
        shown = {agent.name: agent for agent in planck.archive.detail(session.id).agents}
        await session.stop()
        await run
    lead, bob, tess, eve = lines
    assert lead.startswith("lead is waiting for bob (question ")
    assert ", who is waiting for tess (question " in lead
    assert lead.endswith(', who has been running bash "touch started; sleep 600" for 11 s')
    assert bob.startswith("bob is waiting for tess (question ")
    assert "deadline in 28" in bob
    assert tess == 'tess has been running bash "touch started; sleep 600" for 11 s'
    assert eve.startswith("eve has been waiting for the model local/other for 1")
    assert shown["lead"].state.startswith("waiting for ")  # a call beside the ask has ended
    assert (shown["eve"].model, shown["eve"].state) == ("local/other", "working")


def test_an_idle_team_is_not_blocked() -> None:
    assert why_blocked(Board(), "2026-01-01T00:00:00.000Z") == [
        "Nothing is blocked: every agent is idle and has read its messages."
    ]


async def test_a_session_stands_as_its_log_and_its_process_say(tmp_path: Path) -> None:
    """What a process left behind is not at work, however its log ends."""
    stalled = asyncio.Event()
    double = ScriptedProvider([Say(text="never", wait=stalled)])
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    async with Planck(home, work, environ={}, providers={"double": double}) as planck:
        session = await planck.start(model="double/m", name="fox")
        await session.prompt("go")
        async for event in session.events():
            if event.type == "turn_start":
                break
        assert [info.state for info in planck.archive.sessions()] == ["running"]
        (line,) = planck.archive.why_blocked("fox")
        assert line.startswith("orchestrator has been waiting for the model double/m for ")
        left = tmp_path / "left"
        left.mkdir(mode=0o700)
        for file in planck.sessions_dir.glob("*.db*"):
            if file.suffix != ".lock":
                shutil.copy(file, left)
        await session.stop()
        await session.aclose()
        assert [info.state for info in planck.archive.sessions()] == ["interrupted"]
    dead = Archive(left, work)
    assert [info.state for info in dead.sessions()] == ["interrupted"]
    (line,) = dead.why_blocked("fox")
    assert line.startswith("No process has this session open.")
