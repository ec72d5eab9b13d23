"""The first request lists the tools of sidecars and MCP servers: kept from the last run, or waited for."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from planck.headless import OpenSession
from tests.recorded import recorded
from tests.scenarios.test_peers import fake, planck, until, watched
from tests.sidecar.bench import HEAD, TOOLS, write

ONE_BY_ONE = (
    HEAD
    + """
NAMES = {path!r}

class Mine(Sidecar):
    def tools(self):
        names = open(NAMES).read().split()
        return [Tool(name, "", {{"type": "object"}}, lambda agent, call, args: "done") for name in names]
"""
)
LONG = 60_000


async def ends(session: OpenSession) -> list[Any]:
    found = [event.data for event in await recorded(session) if event.type == "tool_end"]
    return [end["error"]["kind"] if end.get("error") else end["output"] for end in found]


async def once(folder: Path, script: Any, **config: Any) -> tuple[Any, list[Any], list[dict[str, Any]]]:
    """One run of a new Planck: what the first request showed, how the calls ended, what was published."""
    app, model = planck(folder, script, **{"peers_wait_ms": LONG, **config})
    async with app, asyncio.timeout(60):
        session = await app.start(mode="full")
        async with watched(session) as statuses:
            await session.run("go")
        return set(model.asked[0].tools), await ends(session), statuses


async def test_what_never_listed_before_is_waited_for_visibly_and_is_in_the_first_request(
    tmp_path: Path,
) -> None:
    write(tmp_path / "work" / ".planck" / "sidecar")
    shown, _, statuses = await once(tmp_path, ["done"], mcpServers={"fake": fake()})
    assert {"echo", "mcp__fake__echo"} <= shown
    waited = [delta for delta in statuses if "waiting up to" in delta.get("detail", "")]
    assert {(delta["component"], delta["name"]) for delta in waited} == {
        ("sidecar", "sidecar"),
        ("mcp", "fake"),
    }


async def test_what_was_listed_last_is_offered_at_once_and_a_call_waits_for_it(tmp_path: Path) -> None:
    write(tmp_path / "work" / ".planck" / "sidecar")
    servers, before = {"fake": fake()}, set((tmp_path / "work").rglob("*"))
    await once(tmp_path, ["done"], mcpServers=servers)
    kept = list((tmp_path / "home" / "listings").iterdir())
    assert [stat.S_IMODE(file.stat().st_mode) for file in kept] == [0o600, 0o600]
    assert set((tmp_path / "work").rglob("*")) == before  # never in the workspace
    script = [[("echo", {"text": "hi"}), ("mcp__fake__echo", {"n": 1})], "done"]
    shown, ended, statuses = await once(tmp_path, script, mcpServers=servers, peers_wait_ms=0)
    assert {"echo", "mcp__fake__echo"} <= shown
    assert [text.endswith("/hi") for text in ended] == [True, False]
    assert ended[1] == '{"n": 1}'
    assert not [delta for delta in statuses if "waiting up to" in delta.get("detail", "")]


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_changed_files_are_waited_for_again(tmp_path: Path) -> None:
    side = write(tmp_path / "work" / ".planck" / "sidecar")
    await once(tmp_path, ["done"])
    write(side, TOOLS.replace("def echo(", "def say(").replace("[echo,", "[say,"))
    shown, _, _ = await once(tmp_path, ["done"], peers_wait_ms=0)
    assert "echo" not in shown
    shown, _, _ = await once(tmp_path, ["done"])
    assert ("say" in shown, "echo" in shown) == (True, False)


async def test_changed_settings_of_a_server_are_waited_for_again(tmp_path: Path) -> None:
    await once(tmp_path, ["done"], mcpServers={"fake": fake()})
    other = {"fake": {"command": "/bin/sleep", "args": ["600"]}}
    shown, _, _ = await once(tmp_path, ["done"], mcpServers=other, peers_wait_ms=0)
    assert "mcp__fake__echo" not in shown


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_a_kept_tool_that_is_gone_is_unknown_when_it_is_called_and_not_offered_again(
    tmp_path: Path,
) -> None:
    names = tmp_path / "names"
    names.write_text("stays goes")
    write(tmp_path / "work" / ".planck" / "sidecar", ONE_BY_ONE.format(path=str(names)))
    await once(tmp_path, ["done"])
    names.write_text("stays")
    script: Any = [[("goes", {}), ("stays", {})], "done"]
    _, ended, _ = await once(tmp_path, script, peers_wait_ms=0)
    assert ended == ["unknown_tool", "done"]
    shown, _, _ = await once(tmp_path, ["done"], peers_wait_ms=0)
    assert ("stays" in shown, "goes" in shown) == (True, False)


async def test_of_a_folder_that_is_not_trusted_nothing_kept_is_offered(tmp_path: Path) -> None:
    write(tmp_path / "work" / ".planck" / "sidecar")
    (tmp_path / "work" / ".mcp.json").write_text(json.dumps({"mcpServers": {"fake": fake()}}))
    shown, _, _ = await once(tmp_path, ["done"])
    assert {"echo", "mcp__fake__echo"} <= shown
    script = [[("echo", {"text": "hi"})], "done"]
    shown, ended, statuses = await once(tmp_path, script, trust=False)
    assert not {"echo", "mcp__fake__echo"} & shown
    assert (ended, statuses) == (["unknown_tool"], [])


async def test_one_that_does_not_list_in_time_holds_no_request_up(tmp_path: Path) -> None:
    go = tmp_path / "go"
    slow = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
    write(tmp_path / "side", slow + TOOLS)
    app, model = planck(tmp_path, ["first", "second"], sidecar=str(tmp_path / "side"), peers_wait_ms=50)
    async with app, asyncio.timeout(60):
        session = await app.start(mode="full")
        assert (await session.run("go")).text == "first"
        assert "echo" not in model.asked[0].tools
        go.touch()
        await until(lambda: "echo" in session.tools)
        await session.run("again")
        assert "echo" in model.asked[1].tools


async def test_an_interrupt_ends_the_wait_and_the_turn(tmp_path: Path) -> None:
    write(tmp_path / "side", "import time\ntime.sleep(600)\n" + TOOLS)
    app, model = planck(tmp_path, ["never"], sidecar=str(tmp_path / "side"), peers_wait_ms=LONG)
    async with app, asyncio.timeout(60):
        session = await app.start(mode="full")
        async with watched(session) as statuses:
            run = asyncio.create_task(session.run("go"))
            await until(lambda: [d for d in statuses if "waiting up to" in d.get("detail", "")])
            session.interrupt()
            assert (await run).status == "interrupted"
    assert model.asked == []


async def test_a_timeout_ms_that_breaks_our_schema_is_invalid_args(tmp_path: Path) -> None:
    write(tmp_path / "work" / ".planck" / "sidecar")
    wrong: list[Any] = [0, -1, 3_600_001, 1.5, "100", True, None]
    calls = [("echo", {"text": "hi", "timeout_ms": value}) for value in (*wrong, 60_000)]
    _, ended, _ = await once(tmp_path, [calls, "done"])
    assert ended[:-1] == ["invalid_args"] * len(wrong)
    assert ended[-1].endswith("/hi")
