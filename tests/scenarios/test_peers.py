"""Sidecars and MCP servers in a session: trusted or not, in time or late, whole or broken."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.headless.handle import SessionHandle
from planck.llm.scripted import ScriptedProvider
from tests.command import Bench
from tests.mcp.bench import FAKE, WAIT, descendants
from tests.sidecar.bench import HEAD, TOOLS, write
from tests.wire import chat
from tests.wire.server import WireServer

pytestmark = pytest.mark.serial


def fake(*behaviours: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", "-E", str(FAKE), *behaviours]}


def planck(
    folder: Path, script: Any, *, trust: bool = True, **config: Any
) -> tuple[Planck, ScriptedProvider]:
    (folder / "work").mkdir(exist_ok=True)
    model = ScriptedProvider(script)
    flags = {"default_model": "double/m", **config}
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return Planck(
        folder / "home",
        folder / "work",
        environ=environ,
        flags=flags,
        trust=trust,
        providers={"double": model},
    ), model


@asynccontextmanager
async def watched(session: SessionHandle) -> AsyncGenerator[list[dict[str, Any]], None]:
    """The `status` deltas of a session, from now on."""
    seen: list[dict[str, Any]] = []

    async def watch() -> None:
        async with aclosing(session.events(after=session.head)) as events:
            async for event in events:
                if event.type == "status":
                    seen.append(event.data)

    task = asyncio.create_task(watch())
    await asyncio.sleep(0)
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_call_of_a_tool_that_is_still_on_its_way_waits_for_it(tmp_path: Path) -> None:
    before = descendants()
    write(tmp_path / "work" / ".planck" / "sidecar")
    app, model = planck(
        tmp_path,
        [[("echo", {"text": "hi"})], [("mcp__fake__echo", {"n": 1})], "done"],
        mcpServers={"fake": fake()},
    )
    async with app:
        session = await app.start(mode="full")
        async with watched(session) as statuses:
            result = await session.run("go")
            assert result.text == "done"
        agent = session.orchestrator.id
        ends = [event.data async for event in _recorded(session) if event.type == "tool_end"]
        assert [end["ok"] for end in ends] == [True, True]
        assert ends[0]["output"].startswith(f"{session.id}/{agent}/")
        assert ends[1]["output"] == '{"n": 1}'
        changes = [event.data async for event in _recorded(session) if event.type == "tools_changed"]
        assert {name for change in changes for name in change["added"]} >= {"echo", "mcp__fake__echo"}
        assert "echo" not in model.asked[0].tools  # the first turn did not wait
        assert {"echo", "mcp__fake__echo"} <= set(model.asked[-1].tools)
        assert app.trust.holds  # a cache beside its files would be a file that nobody trusted
        states = [delta["state"] for delta in statuses if delta["component"] == "sidecar"]
        assert states[-2:] == ["starting", "connected"]
    assert descendants() - before == set()


async def test_nothing_of_a_folder_that_is_not_trusted_starts(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    write(tmp_path / "work" / ".planck" / "sidecar", f"open({str(mark)!r}, 'w').close()\n" + TOOLS)
    entry = {"command": "/bin/sh", "args": ["-c", f"touch {mark}"]}
    (tmp_path / "work" / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": entry}}))
    app, _ = planck(tmp_path, ["done"], trust=False, sidecar=".planck/sidecar")
    async with app:
        session = await app.start(mode="full")
        await session.run("go")
        await app.peers.settled()
        assert app.peers.reports() == []
        (notice,) = [notice for notice in app.notices if "not trusted" in notice]
        assert "the sidecar" in notice
        assert "MCP servers evil" in notice
    assert not mark.exists()


async def test_a_trusted_mcp_json_is_used_and_a_broken_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".mcp.json").write_text(json.dumps({"mcpServers": {"fake": fake()}}))
    app, _ = planck(tmp_path, [[("mcp__fake__echo", {"n": 2})], "done"])
    async with app:
        session = await app.start(mode="full")
        assert (await session.run("go")).errors == ()
        assert [report.state for report in app.peers.reports()] == ["connected"]
    (tmp_path / "work" / ".mcp.json").write_text("{")
    app, _ = planck(tmp_path, ["done"])
    assert any(".mcp.json is left out" in notice for notice in app.notices)


async def test_what_can_t_start_is_told_and_the_session_goes_on(tmp_path: Path) -> None:
    write(tmp_path / "broken", "import nowhere_to_be_found\n")
    app, _ = planck(
        tmp_path,
        [[("bash", {"command": "echo on"})], "done"],
        sidecar={"broken": str(tmp_path / "broken"), "absent": str(tmp_path / "absent")},
        mcpServers={"gone": {"command": "no-such-program"}, "both": {"command": "x", "url": "http://y"}},
    )
    async with app:
        session = await app.start(mode="full")
        await app.peers.settled()
        assert (await session.run("go")).text == "done"
        details = {report.name: report.detail for report in app.peers.reports() if report.state == "error"}
    assert "No module named 'nowhere_to_be_found'" in details["broken"]
    assert "there is no sidecar at" in details["absent"]
    assert "there is no program 'no-such-program'" in details["gone"]
    assert "give either `command` or `url`" in details["both"]


async def test_a_sidecar_s_tool_never_takes_the_place_of_a_built_in(tmp_path: Path) -> None:
    text = HEAD + "class Mine(Sidecar):\n    def tools(self):\n        return [\n"
    for name in ("bash", "mine"):
        text += f"            Tool({name!r}, 'mine', {{'type': 'object'}}, lambda a, c, x: 'mine'),\n"
    write(tmp_path / "side", text + "        ]\n")
    app, model = planck(tmp_path, [[("mine", {})], "done"], sidecar=str(tmp_path / "side"))
    async with app:
        session = await app.start(mode="full")
        async with watched(session) as statuses:
            await session.run("go")
        assert any("'bash' is left out" in delta.get("detail", "") for delta in statuses)
        assert list(model.asked[-1].tools).count("bash") == 1


async def test_e8_a_server_s_new_and_changed_tools_are_held_back(tmp_path: Path) -> None:
    app, _ = planck(
        tmp_path,
        [[("mcp__fake__echo", {})], [("mcp__fake__new", {})], "done"],
        mcpServers={"fake": fake("changing")},
    )
    async with app:
        session = await app.start(mode="full")
        await app.peers.settled()
        async with watched(session) as statuses:
            await session.run("go")
            async with asyncio.timeout(WAIT):
                while not any("held back" in delta.get("detail", "") for delta in statuses):
                    await asyncio.sleep(0.01)
        ends = [event.data async for event in _recorded(session) if event.type == "tool_end"]
        assert [end.get("error", {}).get("kind") for end in ends] == [None, "unknown_tool"]
        assert session.tools.count("mcp__fake__quiet") == 0  # changed
        assert session.tools.count("mcp__fake__echo") == 1  # as it was


async def test_a_spawned_worker_is_granted_a_peer_s_tool_that_the_orchestrator_holds(tmp_path: Path) -> None:
    worker = {
        "type": "builder",
        "name": "builder",
        "description": "",
        "system_prompt": "",
        "provider": "double",
        "model_id": "m",
        "base_url": "",
        "tools": ["mcp__fake__echo", "mcp__fake__nope"],
    }
    ask = {"identifier": "builder", "identifier_type": "name", "question": "go"}

    def script(request: Any) -> Any:
        names = [spec.name for spec in request.tools]
        turns = len([m for m in request.history.messages if type(m).__name__ == "AssistantMessage"])
        if "spawn_agent" in names:
            return ([("spawn_agent", worker)], [("ask_agent", ask)], "done")[turns]
        return ([("mcp__fake__echo", {"n": 3})], "echoed")[turns]

    app, _ = planck(tmp_path, script, mcpServers={"fake": fake()})
    async with app:
        session = await app.start(mode="full")
        await app.peers.settled()
        assert (await session.run("go")).text == "done"
        ends = [event.data async for event in _recorded(session) if event.type == "tool_end"]
        spawned = json.loads(next(end["output"] for end in ends if end["name"] == "spawn_agent"))
        assert "mcp__fake__echo" in spawned["tools"]
        assert spawned["ignored"] == ["mcp__fake__nope"]
        assert next(end["output"] for end in ends if end["name"] == "mcp__fake__echo") == '{"n": 3}'


async def test_in_a_mode_that_asks_a_peer_s_tool_needs_permission(tmp_path: Path) -> None:
    app, _ = planck(tmp_path, [[("mcp__fake__echo", {})], "done"], mcpServers={"fake": fake()})
    async with app:
        session = await app.start(mode="ask")
        result = await session.run("go")
        assert [denial["tool"] for denial in result.denials] == ["mcp__fake__echo"]


async def test_the_command_line_runs_a_trusted_sidecar_and_leaves_no_process(tmp_path: Path) -> None:
    script = [chat.calls(("echo", {"text": "hi"})), chat.text("done")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        write(bench.work / ".planck" / "sidecar")
        run = ("run", "go", "--trust", "--permission-mode", "full", "--output-format", "stream-json")
        done = await bench.run(*run)
    assert done.code == 0, done.err
    assert done.result["text"] == "done"
    states = [line["data"]["state"] for line in done.lines if line["type"] == "status"]
    assert states[-1] == "connected"


async def _recorded(session: SessionHandle) -> AsyncGenerator[Any, None]:
    head = session.head
    async with aclosing(session.events()) as events:
        async for event in events:
            yield event
            if event.seq == head:
                return
