"""Approvals on a terminal that can't be painted, by lines; and by keys, where a run has one that can."""

import asyncio
import json
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.command import WAIT, Bench, until
from tests.mcp.bench import FAKE
from tests.terminal import TerminalRun, on_terminal
from tests.wire import chat
from tests.wire.chat import bash
from tests.wire.server import WireServer


async def run(bench: Bench, *args: str) -> TerminalRun:
    """On one that can only be written to."""
    dumb = {"TERM": "dumb"}
    return await on_terminal("run", "go", *args, home=bench.home, work=bench.work, columns=200, env=dumb)


async def run_by_keys(bench: Bench, *args: str, env: dict[str, str] | None = None) -> TerminalRun:
    return await on_terminal("run", "go", *args, home=bench.home, work=bench.work, columns=100, env=env)


async def test_an_edit_is_asked_about_by_its_diff(tmp_path: Path) -> None:
    edit = chat.calls(("edit", {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}))
    wrong = chat.calls(("edit", {"path": "a.py", "old_string": "nowhere", "new_string": "x = 3"}))
    async with WireServer([edit, wrong, chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "a.py").write_text("x = 1\n")
        run_ = await run(bench)
        at = await run_.until("asks to use edit:\r\n    --- a/a.py\r\n    +++ b/a.py\r\n")
        at = await run_.until("    1 -x = 1\r\n    1 +x = 2\r\n", at)
        at = await run_.until("y: allow once", at)
        run_.type("y\n")
        await run_.until("done", at)  # the second edit can't work: it fails without a question
        assert await run_.end() == 0
    assert (bench.work / "a.py").read_text() == "x = 2\n"


async def test_the_whole_call_is_shown_and_enter_is_no_answer(tmp_path: Path) -> None:
    evil = "echo safe\r\x1b[2K\u202e; touch ran # " + "x" * 300 + " end"
    async with WireServer([bash(evil), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run(bench)
        at = await run_.until("y: allow once")
        assert "orchestrator asks to use bash" in run_.text
        assert "echo safe\\x0d\\x1b[2K\\u202e; touch ran # " + "x" * 300 + " end" in run_.text.replace(
            "\r\n", ""
        )
        assert "it may write in the workspace, without network access" in run_.text
        assert "s: for this session" not in run_.text
        run_.type("\n")
        at = await run_.until("Enter alone is not an answer", at)
        run_.type("ye\n")
        at = await run_.until("is not an answer.", at)
        run_.type("s\n")
        at = await run_.until("is not an answer.", at)
        run_.type("n\n")
        await run_.until("done", at)
        assert await run_.end() == 0
    assert not (bench.work / "ran").exists()
    assert server.asked[1].json["messages"][-1]["content"].startswith("permission_denied: ")


async def test_what_was_typed_before_the_question_is_no_answer_to_it(tmp_path: Path) -> None:
    """Typed while the first call ran: the second question finds it in the terminal."""
    slow = "touch one && until [ -e open ]; do sleep 0.01; done"
    async with WireServer([bash(slow), bash("touch two"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run(bench)
        at = await run_.until("y: allow once")
        run_.type("y\n")
        await until(bench.work / "one")
        run_.type("y\n")
        (bench.work / "open").touch()
        at = await run_.until("    touch two", at)
        at = await run_.until("y: allow once", at)
        run_.type("n\n")
        await run_.until("done", at)
        assert await run_.end() == 0
    assert not (bench.work / "two").exists()


PASTES = (
    "\x1b[200~y\n\x1b[201~",
    "\x1b[200~y\x1b[201~\n",
    "\x1b[200~look at this:\ny\ns\nr\n\x1b[201~\n",
    "\x1b[200~look at this:\ny\x1b[201~\n",
    "y\ny\n",
    "look at this:\ny\n",
    "r\nand then\nr\n",
    "y\nand then",
)


async def test_no_line_of_a_paste_is_an_answer_with_brackets_or_without(tmp_path: Path) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run(bench)
        at = await run_.until("w RULE: change")
        for paste in PASTES:
            run_.type(paste)
            at = await run_.until("Pasted text and multiple lines do not count", at)
            at = await run_.until("w RULE: change", at)
        assert "asks to use bash:\r\n    touch ran" in run_.text
        run_.type("n\n")
        await run_.until("done", at)
        assert await run_.end() == 0
    assert not (bench.work / "ran").exists()
    assert "permissions" not in json.loads((bench.home / "config.json").read_text())
    assert "the user said no" in server.asked[1].json["messages"][-1]["content"]


async def test_trust_is_typed_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    tool = bench.work / ".planck" / "tools" / "x"
    tool.mkdir(parents=True)
    parameters = {"type": "object", "properties": {}}
    (tool / "TOOL.json").write_text(
        json.dumps({"name": "x", "description": "x", "command": "true", "parameters": parameters})
    )
    for typed, said in (("\x1b[200~yes\x1b[201~\n", "Not trusted."), ("yes\n", "Trusted, until")):
        run_ = await on_terminal("permissions", "trust", home=bench.home, work=bench.work)
        at = await run_.until("Trust this folder? Type yes: ")
        run_.type(typed)
        await run_.until(said, at)
        await run_.end()


async def test_piped_input_is_never_an_answer(tmp_path: Path) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "go", "--output-format", "json", stdin=b"y\ny\nr\n")
    assert [denial["tool"] for denial in done.result["denials"]] == ["bash"]
    assert not (bench.work / "ran").exists()


async def test_a_yes_is_for_one_call_one_session_or_a_rule(tmp_path: Path) -> None:
    script = [
        bash("touch one"),
        bash("touch one"),
        bash("touch one more"),
        bash("rm one"),
        bash("rm one"),
    ]
    async with WireServer([*script, bash("rm more"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run(bench)
        at = await run_.until("y: allow once")
        at = await run_.until(
            "s: for this session and this agent, allow exactly: bash touch one\r\n",
            at,
        )
        run_.type("s\n")
        at = await run_.until("    touch one more", at)
        at = await run_.until("y: allow once", at)
        run_.type("y\n")
        at = await run_.until("    rm one", at)
        at = await run_.until("a: always allow exactly in this project: bash rm one (saved in ", at)
        at = await run_.until(f"{bench.home / 'config.json'})", at)
        run_.type("a\n")
        at = await run_.until("    rm more", at)
        at = await run_.until("y: allow once", at)
        run_.type("y\n")
        await run_.until("done", at)
        assert await run_.end() == 0
    assert run_.text.count("asks to use bash:") == 4
    assert list(bench.work.iterdir()) == []
    rules = json.loads((bench.home / "config.json").read_text())["permissions"]["rules"]
    rule = {"tool": "bash", "decision": "allow", "command": "rm one", "exact": True}
    here = {"project": str(bench.work), "project_id": str(bench.work.stat().st_ino)}
    assert rules == [{**rule, **here}]


async def test_the_rule_that_is_kept_is_shown_and_can_be_changed_but_not_to_anything(tmp_path: Path) -> None:
    script = [
        bash("git commit -m x"),
        bash("git commit --amend"),
        bash("rm one"),
        chat.text("done"),
    ]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        for words in (["init", "-q"], ["config", "user.name", "u"], ["config", "user.email", "u@localhost"]):
            subprocess.run(["git", *words], cwd=bench.work, check=True)
        (bench.work / "one").touch()
        run_ = await run(bench)
        at = await run_.until("w: widen the rule to git commit * (outside the sandbox) before you answer")
        run_.type("w git *\n")
        at = await run_.until("a rule cannot have * directly after 'git'", at)
        at = await run_.until("exactly: bash git commit -m x", at)
        at = await run_.until("w RULE:", at)
        run_.type("w\n")
        at = await run_.until("s: for this session and this agent, allow: bash git commit *", at)
        at = await run_.until("a: always allow in this project: bash git commit *", at)
        at = await run_.until("w: back to the exact command · w RULE:", at)
        run_.type("a\n")
        at = await run_.until("    rm one", at)  # `git commit --amend` was not asked about
        at = await run_.until("y: allow once", at)
        run_.type("w rm *\n")
        at = await run_.until("a rule cannot have * after 'rm', which could then do anything", at)
        at = await run_.until("y: allow once", at)
        run_.type("o\n")
        at = await run_.until("    rm one", at)
        at = await run_.until("y: allow once", at)
        run_.type("e not that one, please\n")
        await run_.until("done", at)
        assert await run_.end() == 0
    rules = json.loads((bench.home / "config.json").read_text())["permissions"]["rules"]
    rule = {"tool": "bash", "decision": "allow", "command": "git commit *", "unconfined": True}
    here = {"project": str(bench.work), "project_id": str(bench.work.stat().st_ino)}
    assert rules == [{**rule, **here}]
    assert (
        ': the user wants a change: "not that one, please". Do what they say.'
        in server.asked[3].json["messages"][-1]["content"]
    )


async def test_the_end_of_the_input_is_a_no(tmp_path: Path) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run(bench)
        at = await run_.until("y: allow once")
        run_.type("\x04")
        await run_.until("done", at)
        assert await run_.end() == 0
    assert not (bench.work / "ran").exists()


KEYS = "n e o"
"""Of the row below a question: from now on they count, and not before."""


async def test_a_run_asks_with_the_box_and_the_keys_of_a_conversation(tmp_path: Path) -> None:
    edit = chat.calls(("edit", {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}))
    async with WireServer([edit, bash("touch ran"), chat.text("mended")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "a.py").write_text("x = 1\n")
        run_ = await run_by_keys(bench)
        at = await run_.until("asks: edit a.py +1 -1")
        at = await run_.until("+x = 2", at)
        at = await run_.until(KEYS, at)
        run_.type("y")
        at = await run_.until("Allowed once: ", at)
        at = await run_.until(KEYS, at)
        run_.type("e")
        at = await run_.until("Tell orchestrator what to change:", at)
        run_.type("use git log instead\r")
        at = await run_.until("denied by you: use git log instead", at)
        await run_.until("mended", at)
        assert await run_.end() == 0
    seen = "\n".join(run_.seen)
    assert [seen.count(once) for once in ("mended", "Allowed once", "denied by", "3 steps")] == [1] * 4
    assert "Tell orchestrator what to change:" not in seen  # what was painted was taken away
    assert (bench.work / "a.py").read_text() == "x = 2\n"
    assert 'the user wants a change: "use git log instead"' in server.asked[2].json["messages"][-1]["content"]


@pytest.mark.parametrize("format", ["text", "json"])
async def test_the_answer_of_a_run_goes_to_its_file_while_it_asks_on_the_terminal(
    tmp_path: Path, format: str
) -> None:
    async with WireServer([bash("touch ran"), chat.text("mended")]) as server:
        bench = Bench(tmp_path, server.url)
        script = f'"$0" -m planck run go --output-format {format} > {tmp_path / "out"}'
        program = ("sh", "-c", script, sys.executable)
        run_ = await on_terminal(home=bench.home, work=bench.work, columns=100, program=program)
        at = await run_.until(KEYS)
        run_.type("y")
        await run_.until("Allowed once: ", at)
        assert await run_.end() == 0
    assert (bench.work / "ran").exists()
    out = (tmp_path / "out").read_text()
    assert (out if format == "text" else json.loads(out)["text"] + "\n") == "mended\n"


@pytest.mark.parametrize(
    ("typed", "seen"),
    [
        ("\x1b[200~y\x1b[201~", "Pasted text does not count"),
        ("\x1b[200~look:\ny\ns\na\n\x1b[201~", "Pasted text does not count"),
        ("y" * 40, "> yyyy"),
        ("look\ry\rs\r", "look"),
        ("\r", "Enter alone is not an answer"),
    ],
    ids=["pasted", "pasted-lines", "held", "burst", "enter"],
)
async def test_what_no_hand_typed_at_a_run_s_question_approves_nothing(
    tmp_path: Path, typed: str, seen: str
) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run_by_keys(bench)
        at = await run_.until(KEYS)
        run_.type(typed)
        at = await run_.until(seen, at)
        run_.type("\x1b")
        await run_.until("denied by you", at)
        assert await run_.end() == 0
    assert not (bench.work / "ran").exists()
    assert server.asked[1].json["messages"][-1]["content"].startswith("permission_denied: ")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (None, 130)])
async def test_a_signal_or_ctrl_c_at_a_run_s_question_ends_the_run_and_gives_the_terminal_back(
    tmp_path: Path, number: signal.Signals | None, code: int
) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run_by_keys(bench)
        at = await run_.until(KEYS)
        run_.process.send_signal(number) if number else run_.type("\x03")
        at = await run_.until("Resume with: planck run -r", at)
        assert await run_.end() == code
    assert not (bench.work / "ran").exists()
    assert run_.text.count("\x1b[?2004h") == run_.text.count("\x1b[?2004l")


async def test_without_colours_the_box_says_the_same(tmp_path: Path) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run_ = await run_by_keys(bench, env={"NO_COLOR": "1"})
        at = await run_.until("▲ orchestrator asks: bash")
        at = await run_.until(KEYS, at)
        run_.type("y")
        await run_.until("Allowed once: ", at)
        assert await run_.end() == 0
    assert (bench.work / "ran").exists()
    assert not re.search("\x1b\\[[0-9;]*m", run_.text)


async def test_a_server_s_changed_tools_are_asked_about_in_a_conversation(tmp_path: Path) -> None:
    """Also while nobody works: the question comes when the server says so."""
    server_entry = {"command": sys.executable, "args": ["-S", "-E", str(FAKE), "changing"]}
    echo, new = chat.calls(("mcp__fake__echo", {})), chat.calls(("mcp__fake__new", {"n": 7}))
    async with WireServer([echo, chat.text("first done"), new, chat.text("second done")]) as server:
        bench = Bench(tmp_path, server.url, mcpServers={"fake": server_entry})
        full = ("--permission-mode", "full")
        run_ = await on_terminal("go", *full, home=bench.home, work=bench.work, columns=200)
        await run_.until("first done")
        at = await run_.until("MCP server 'fake' asks: mcp__fake__quiet, mcp__fake__new")
        at = await run_.until("new description: Now do something else.", at)
        at = await run_.until("y n e o", at)
        run_.type("y")  # what it says is longer than the box: first all of it is shown
        at = await run_.until("Press y again to approve it.", at)
        run_.type("y")
        await _decided(bench)
        run_.type("the new one\r")
        at = await run_.until("second done", at)
        run_.type("/exit\r")
        assert await run_.end() == 0
    assert server.asked[3].json["messages"][-1]["content"] == '{"n": 7}'


async def _decided(bench: Bench) -> None:
    (path,) = (bench.home / "sessions").glob("*.db")
    query = "SELECT count(*) FROM events WHERE CAST(bytes AS TEXT) LIKE '%permission_decision%'"
    async with asyncio.timeout(WAIT):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as log:
            while not log.execute(query).fetchone()[0]:
                await asyncio.sleep(0.01)
