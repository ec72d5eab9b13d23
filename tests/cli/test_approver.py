"""Approvals on a real terminal: what is shown, what counts as an answer, and how far it goes."""

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.command import WAIT, Bench
from tests.mcp.bench import FAKE
from tests.terminal import TerminalRun, on_terminal
from tests.wire import chat
from tests.wire.server import WireServer

pytestmark = pytest.mark.serial


def bash(command: str, id: str = "") -> Any:
    return chat.calls(("bash", {"command": command}))


async def run(bench: Bench, *args: str) -> TerminalRun:
    return await on_terminal("run", "go", *args, home=bench.home, work=bench.work, columns=200)


async def test_the_whole_call_is_shown_and_enter_is_no_answer(tmp_path: Path) -> None:
    evil = "echo safe\r\x1b[2K\u202e; touch ran # " + "x" * 300 + " end"
    async with WireServer([bash(evil), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run(bench)
        at = await run_.until("y: yes, once")
        assert "orchestrator asks for bash" in run_.text
        assert "echo safe\\x0d\\x1b[2K\\u202e; touch ran # " + "x" * 300 + " end" in run_.text.replace(
            "\r\n", ""
        )
        assert "outside the sandbox: it may change any file of yours and use the network" in run_.text
        assert "s: in this session" not in run_.text
        run_.type("\n")
        at = await run_.until("Enter alone is no answer", at)
        run_.type("ye\n")
        at = await run_.until("is no answer", at)
        run_.type("s\n")
        at = await run_.until("is no answer", at)
        run_.type("n\n")
        await run_.until("done", at)
        assert await run_.end() == 0
    assert not (bench.work / "ran").exists()
    assert server.asked[1].json["messages"][-1]["content"].startswith("permission_denied: ")


async def test_what_was_typed_before_the_question_is_no_answer_to_it(tmp_path: Path) -> None:
    async with WireServer([bash("touch one"), bash("touch two"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run(bench)
        at = await run_.until("y: yes, once")
        run_.type("y\ny\ny\n")
        at = await run_.until("touch two", at)
        at = await run_.until("y: yes, once", at)
        run_.type("n\n")
        await run_.until("done", at)
        assert await run_.end() == 0
    assert (bench.work / "one").exists()
    assert not (bench.work / "two").exists()


async def test_a_yes_is_for_one_call_one_session_or_a_rule(tmp_path: Path) -> None:
    script = [bash("touch one"), bash("touch one more"), bash("rm one"), bash("rm more"), chat.text("done")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run(bench)
        at = await run_.until("y: yes, once")
        run_.type("s\n")  # also allows `touch one more`
        at = await run_.until("    rm one", at)
        at = await run_.until("y: yes, once", at)
        assert "asks for bash:\r\n    touch one more" not in run_.text
        run_.type("r\n")
        at = await run_.until("    rm more", at)
        at = await run_.until("y: yes, once", at)
        run_.type("y\n")
        await run_.until("done", at)
        assert await run_.end() == 0
    assert list(bench.work.iterdir()) == []
    rules = json.loads((bench.home / "config.json").read_text())["permissions"]["rules"]
    assert rules == [{"tool": "bash", "decision": "allow", "command": "rm one", "unconfined": True}]


async def test_the_end_of_the_input_is_a_no(tmp_path: Path) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run(bench)
        at = await run_.until("y: yes, once")
        run_.type("\x04")
        await run_.until("done", at)
        assert await run_.end() == 0
    assert not (bench.work / "ran").exists()


async def test_in_a_conversation_the_next_line_is_the_answer(tmp_path: Path) -> None:
    script = [bash("touch one"), chat.text("first done"), chat.text("second done")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await on_terminal("go", home=bench.home, work=bench.work, columns=200)
        at = await run_.until("y: yes, once")
        run_.type("y\n")
        at = await run_.until("first done", at)
        run_.type("y\n")  # now it is something to say
        at = await run_.until("second done", at)
        run_.type("/exit\n")
        assert await run_.end() == 0
    assert (bench.work / "one").exists()
    assert server.asked[2].json["messages"][-1]["content"] == "y"


async def test_a_server_s_changed_tools_are_asked_about_in_a_conversation(tmp_path: Path) -> None:
    """Also while nobody works: the question comes when the server says so."""
    server_entry = {"command": sys.executable, "args": ["-S", "-E", str(FAKE), "changing"]}
    echo, new = chat.calls(("mcp__fake__echo", {})), chat.calls(("mcp__fake__new", {"n": 7}))
    async with WireServer([echo, chat.text("first done"), new, chat.text("second done")]) as server:
        bench = Bench(tmp_path, server.url, mcpServers={"fake": server_entry})
        full = ("--permission-mode", "full")
        run_ = await on_terminal("go", *full, home=bench.home, work=bench.work, columns=200)
        await run_.until("first done")
        at = await run_.until("MCP server 'fake' asks for mcp__fake__quiet, mcp__fake__new:")
        at = await run_.until("it says: Now do something else.", at)
        at = await run_.until("y: yes, once", at)
        run_.type("y\n")
        await _decided(bench)
        run_.type("the new one\n")
        at = await run_.until("second done", at)
        run_.type("/exit\n")
        assert await run_.end() == 0
    assert server.asked[3].json["messages"][-1]["content"] == '{"n": 7}'


async def _decided(bench: Bench) -> None:
    (path,) = (bench.home / "sessions").glob("*.db")
    query = "SELECT count(*) FROM events WHERE CAST(bytes AS TEXT) LIKE '%permission_decision%'"
    async with asyncio.timeout(WAIT):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as log:
            while not log.execute(query).fetchone()[0]:
                await asyncio.sleep(0.01)
