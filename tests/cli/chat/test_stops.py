"""What was in the way of a person at the terminal: stops, answers, and small things that were wrong."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.command import FULL, WAIT, Bench
from tests.teams import Brains, delegate, target, write_team
from tests.terminal import TerminalRun, leave, on_terminal, talk
from tests.wire import chat
from tests.wire.chat import bash
from tests.wire.server import Asked, Reply, WireServer

KEYS = "n e o"
"""Of the row below a question: from now on they count."""
LINES = "".join(f"line {number}\n" for number in range(9))


def write(content: str) -> Reply:
    return chat.calls(("write", {"path": "a.txt", "content": content}))


async def enter(run: TerminalRun, line: str, *seen: str, start: int | None = None) -> int:
    at = len(run.text) if start is None else start
    run.type(f"{line}\r")
    for text in seen:
        at = await run.until(text, at)
    return at


async def without_screen(bench: Bench, *args: str) -> TerminalRun:
    """A terminal on which nothing is painted, so that questions are asked by lines."""
    return await on_terminal(*args, home=bench.home, work=bench.work, columns=200, env={"TERM": "dumb"})


def work_of_two(*then: Reply) -> Brains:
    """Ann and Ben work at once, and each needs an answer; `then` is what the lead does meanwhile."""
    return Brains(
        {
            "lead": [chat.calls(delegate("ann"), delegate("ben")), *then, chat.text("both are done")],
            "ann": [bash("touch from-ann"), chat.text("ann is done")],
            "ben": [bash("touch from-ben"), chat.text("ben is done")],
        }
    )


def make_duo(folder: Path) -> str:
    workers = ({"type": name, "tools": ["bash"]} for name in ("ann", "ben"))
    return write_team(folder / "team", {"type": "orchestrator", "name": "lead"}, *workers)


# Stops


async def test_what_is_queued_at_the_exit_is_told_with_how_to_get_it_back(tmp_path: Path) -> None:
    gate = asyncio.Event()
    first, *rest = chat.text("begun, and ended").pieces
    async with WireServer([Reply([first, gate, *rest])]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go", columns=100, ready="Esc interrupts")
        run.type("the next thing\t")
        at = await run.until("1 queued")
        at = await enter(
            run, "/exit", "1 queued message was not sent; resume the session and press Up to get it"
        )
        at = await run.until("the next thing", at)
        at = await run.until("planck -r ", at)
        assert await run.end() == 0
        name = run.text[at:].split()[0]  # a pipe may part the line: whole only when the process has ended
        gate.set()
        run = await talk(bench, "-r", name, columns=100)
        run.type("\x1b[A\x1b[A")  # above it stands the /exit
        await run.until_seen(lambda rows: "> the next thing" in rows)
        run.type("\x03")
        await leave(run)


# Answers


@pytest.mark.parametrize(
    ("key", "kept"), [("s", "for this session (this agent only)"), ("a", "in this project (saved in")]
)
async def test_a_commit_is_allowed_by_its_prefix_where_it_leaves_the_sandbox(
    tmp_path: Path, key: str, kept: str
) -> None:
    commits = [bash(f"git commit --allow-empty -qm {word}") for word in ("one", "two")]
    async with WireServer([*commits, chat.text("both committed")]) as server:
        bench = Bench(tmp_path, server.url)
        for words in (["init", "-q"], ["config", "user.name", "u"], ["config", "user.email", "u@localhost"]):
            subprocess.run(["git", *words], cwd=bench.work, check=True)
        run = await talk(bench, "go", columns=140, ready=KEYS)
        at = await run.until("w widen the rule")
        run.type("w")
        at = await run.until(f"llow bash git commit * (outside the sandbox) {kept}", at)
        at = await run.until("w narrow the rule", at)
        at = await run.until(KEYS, at)
        run.type(key)
        at = await run.until("both committed", at)
        assert run.text.count("o show all") == 2  # the second commit was not asked about
        await run.until("? keys", at)
        await leave(run)
    rules = json.loads((bench.home / "config.json").read_text()).get("permissions", {}).get("rules", [])
    wanted = [("git commit *", True)] if key == "a" else []
    assert [(rule["command"], rule["unconfined"]) for rule in rules] == wanted


async def test_without_a_screen_e_asks_what_to_change_and_esc_denies(tmp_path: Path) -> None:
    script = [bash("touch one"), bash("touch two"), chat.text("done")]
    async with WireServer(script) as server:
        run = await without_screen(Bench(tmp_path, server.url), "run", "go")
        at = await run.until("e TEXT: deny and say what to change")
        run.type("e\n")
        at = await run.until("Write what to change", at)
        run.type("\n")
        at = await run.until("y: allow once", at)
        run.type("e\n")
        at = await run.until("Write what to change", at)
        run.type("use another name\n")
        at = await run.until("denied by you: use another name", at)
        at = await run.until("    touch two", at)
        at = await run.until("y: allow once", at)
        run.type("\x1b\n")
        await run.until("touch two  denied by you", at)
        assert await run.end() == 0
    first, second = (asked.json["messages"][-1]["content"] for asked in server.asked[1:3])
    assert 'the user wants a change: "use another name"' in first
    assert "the user said no" in second


@pytest.mark.parametrize("command", [(), ("run",)], ids=["conversation", "run"])
async def test_without_a_screen_an_approved_diff_is_shown_once(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    async with WireServer([write(LINES), chat.text("written")]) as server:
        run = await without_screen(Bench(tmp_path, server.url), *command, "go")
        at = await run.until("y: allow once")
        assert run.text.count("+line 8") == 1
        run.type("y\n")
        at = await run.until("✓ write a.txt  +9 -0", at)
        await run.until("written", at)
        if not command:
            run.type("/exit\n")
        assert await run.end() == 0
    assert run.text.count("+line 8") == 1


async def test_an_answer_that_lasts_names_what_it_allows(tmp_path: Path) -> None:
    async with WireServer([bash("touch one"), bash("touch two"), write(LINES), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go", columns=100, ready=KEYS)
        run.type("w")
        at = await run.until("w narrow")
        at = await run.until(KEYS, at)
        run.type("s")
        at = await run.until("Allowed for this session: bash touch *", at)
        at = await run.until("asks: write", at)
        at = await run.until(KEYS.replace("n", "a n"), at)
        run.type("a")
        at = await run.until("Always allowed in this project: write", at)
        await run.until("Completed", at)
        await leave(run)


# Questions of several agents


async def test_nothing_is_told_between_a_question_by_lines_and_its_answer(tmp_path: Path) -> None:
    brains, heard = work_of_two(), asyncio.Event()

    def answer(asked: Asked) -> Reply:
        reply = brains(asked)
        if "is done" in str(brains.last("lead")):  # one of them has ended, and its call was told before
            heard.set()
        return reply

    async with WireServer(answer) as server:
        run = await without_screen(Bench(tmp_path, server.url), "run", "go", "--team", make_duo(tmp_path))
        at = await run.until("y: allow once")
        run.type("y\n")
        at = await run.until("asks to use bash:", at)
        at = await run.until("y: allow once", at)
        async with asyncio.timeout(WAIT):
            await heard.wait()
        run.type("y\n")
        end = await run.until("y\r\n", at)
        assert await run.end() == 0
    assert " ✓ bash" not in run.text[:end]
    assert run.text.count(" ✓ bash touch from-") == 2


async def test_an_answer_says_whose_call_it_was_where_several_agents_ask(tmp_path: Path) -> None:
    async with WireServer(work_of_two()) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "--team", make_duo(tmp_path), "go", columns=100, ready="[1/2] ")
        at = await run.until(KEYS)
        for left in ("asks: bash", "both are done"):
            run.type("y")
            at = await run.until("Allowed once: bash touch from-", at)
            whose = next(row for row in run.seen[::-1] if row.startswith("  Allowed once: "))
            assert re.fullmatch(r"  Allowed once: bash touch from-(ann|ben) \(\1\)", whose)
            at = await run.until(KEYS if left == "asks: bash" else "Completed", at)
        await leave(run)


@pytest.mark.parametrize("columns", [80, 40])
async def test_for_whom_an_agent_works_stands_in_its_box_only(tmp_path: Path, columns: int) -> None:
    brains = Brains(
        {
            "lead": [chat.calls(delegate("ann")), chat.text("ann is done")],
            "ann": [bash("touch ran"), chat.text("I look elsewhere")],
        }
    )
    async with WireServer(brains) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(
            bench, "--team", make_duo(tmp_path), "go", columns=columns, ready="ann (works for lead) asks"
        )
        assert "planck: ann asks to use bash\x07" in run.text
        await run.until_seen(lambda rows: any(row.endswith("n e o") for row in rows))
        run.type("e")
        seen = await run.until_seen(lambda rows: any("Enter sends" in row for row in rows))
        row = next(row for row in seen if "Enter sends" in row)
        assert row.startswith("▲ Tell ann what to change" if columns == 80 else "▲ Change")
        run.type("look\r")
        await run.until("Completed")
        assert sum("works for" in row for row in run.seen) == 1
        await leave(run)


async def test_what_to_change_about_a_call_that_was_stopped_answers_no_other(tmp_path: Path) -> None:
    gate, chosen = asyncio.Event(), ["ann"]

    def stop_chosen() -> Iterator[bytes | asyncio.Event]:
        yield gate
        yield from chat.calls(target("interrupt_agent", chosen[0])).pieces

    brains = work_of_two(Reply(cast(Any, stop_chosen())))
    async with WireServer(brains) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "--team", make_duo(tmp_path), "go", columns=100, ready="[1/2] ")
        await run.until_seen(lambda rows: any(" n e o" in row for row in rows))
        row = next(row for row in run.seen if "asks: bash" in row and " n e o" in row)
        chosen[0] = "ann" if "ann (" in row else "ben"
        run.type("e")
        at = await run.until(f"Tell {chosen[0]}")
        run.type("another name")
        at = await run.until("another name", at)
        gate.set()
        at = await run.until("That call no longer waits", at)
        await run.until_seen(lambda rows: any(row.endswith("n e o") for row in rows))
        assert "> another name" in run.seen
        run.type("\x03")
        await run.until_seen(lambda rows: ">" in rows)
        run.type("n")
        await run.until("Completed", at)
        await leave(run)
    assert "another name" not in str(brains.seen)


# Small things


async def test_a_write_of_what_a_file_has_is_no_change_and_hides_none(tmp_path: Path) -> None:
    replies = [write(LINES), chat.text("first"), write(LINES), chat.text("second")]
    async with WireServer(replies) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL, "go", columns=100, ready="Completed")
        at = await enter(run, "again", "✓ ", "write a.txt", "unchanged", "Completed")
        at = await enter(run, "/diff", "1 change, newest first", start=at)
        at = await run.until("turn 1", at)
        run.type("q")
        at = await enter(run, "/undo", "Undid the changes in 1 file: a.txt", start=at)
        at = await enter(run, "/diff --turn 2", "No files changed.", start=at)
        await leave(run)
    assert not (bench.work / "a.txt").exists()


async def test_an_undo_does_not_list_commands_that_could_change_nothing(tmp_path: Path) -> None:
    calls = ["python3 -c pass", "touch denied", "touch allowed", "cat a.txt"]
    allowed = [{"tool": "write", "decision": "allow"}]
    async with WireServer(
        [write(LINES), bash(calls[0]), bash(calls[1]), bash(calls[2]), bash(calls[3]), chat.text("ok")]
    ) as server:
        unrecorded = {"commands": False}
        bench = Bench(tmp_path, server.url, permissions={"rules": allowed}, undo=unrecorded)
        run = await talk(bench, "go", columns=100, ready=KEYS)
        at = len(run.text)
        run.type("n")
        at = await run.until("asks: bash touch allowed", at)
        at = await run.until(KEYS, at)
        run.type("y")
        at = await run.until("Completed", at)
        start = at
        at = await enter(run, "/undo", "To reverse this: /redo")
        told = [row for row in run.text[start:at].split("\n") if "cannot be undone" in row]
        assert len(told) == 1
        assert "bash touch allowed" in told[0]
        await leave(run)


async def test_a_completed_path_with_spaces_is_attached(tmp_path: Path) -> None:
    async with WireServer([chat.text("read")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "my notes.txt").write_text("the content of my notes")
        run = await talk(bench, columns=100)
        run.type("look at @my")
        await run.until('"my notes.txt"')
        run.type("\t\r")
        await run.until("attached my notes.txt")
        await run.until("Completed")
        await leave(run)
    assert "the content of my notes" in server.asked[0].json["messages"][-1]["content"]


async def test_two_letters_that_were_swapped_name_the_command(tmp_path: Path) -> None:
    async with WireServer([]) as server:
        run = await talk(Bench(tmp_path, server.url), columns=100)
        await enter(run, "/modle", "Did you mean /model?")
        await leave(run)


@pytest.mark.parametrize("columns", [40, 60, 80, 140])
async def test_the_keys_stand_in_one_column_and_what_they_do_in_another(tmp_path: Path, columns: int) -> None:
    run = await talk(Bench(tmp_path, "http://127.0.0.1:9"), columns=columns, ready=">")
    run.type("?")
    await run.until("Show the team")
    page = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", row) for row in re.split(r"\x1b\[\d+;1H", run.text)]
    abouts = ("Send;", "Insert", "Search the")
    begins = [row.index(about) for row in page for about in abouts if about in row]
    assert (len(begins), len(set(begins))) == (3, 1)
    run.process.kill()
    await run.end()


@pytest.mark.parametrize("columns", [40, 80, 140])
async def test_the_columns_of_a_tree_of_sessions_hold_at_each_width(tmp_path: Path, columns: int) -> None:
    async with WireServer([chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        team = make_duo(tmp_path)
        await bench.run("run", "--name", "calm-fox", "--team", team, "a question that is rather long to show")
        await bench.run("run", "--name", "plain", "hello")
    for at, (parent, name) in enumerate((("calm-fox", "heron"), ("heron", "a-name-of-many-letters"))):
        assert (await bench.run("sessions", "fork", parent, "--name", name)).code == 0, at
    run = await on_terminal("sessions", "tree", home=bench.home, work=bench.work, columns=columns)
    assert await run.end() == 0
    rows = [row for row in run.seen if row]
    assert [row for row in rows if len(row) >= columns] == []
    heads = [row for row in rows if " done " in row]
    assert len(heads) == 4
    assert len({row.index(" done ") for row in heads}) == 1
    assert len({row.index(" s ") if " s " in row else row.rindex(" s") for row in heads}) == 1
    assert len([row for row in rows if "(at #" in row]) == 2
    # A team that was given by its folder is its name: what was asked is to be read beside it.
    assert len([row for row in heads if row[row.index(" done ") :].split()[1] == "team"]) == 3 * (
        columns >= 80
    )
    assert len([row for row in rows if "a qu" in row]) == 3


async def test_a_cost_that_is_not_known_is_a_question_mark_in_stats_too(tmp_path: Path) -> None:
    async with WireServer([chat.text("done")]) as server:
        paid = {"type": "openai", "base_url": server.url, "headers": {"authorization": "Bearer k"}}
        bench = Bench(tmp_path, server.url, providers={"local": paid})
        await bench.run("run", "hello")
    run = await on_terminal("stats", home=bench.home, work=bench.work)
    assert await run.end() == 0
    assert [row.split()[-1] for row in run.seen if row.startswith(("local/m", "all"))][-2:] == ["?", "?"]
    assert "0.00" not in run.text


async def test_a_sidecar_that_is_made_by_name_is_found_by_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    for words, seen in (
        (("new", "prices"), ".planck/sidecar/prices"),
        (("status", "--trust"), "prices  connected"),
    ):
        run = await on_terminal("sidecar", *words, home=bench.home, work=bench.work, columns=200)
        await run.until(seen)
        assert await run.end() == 0
    assert sorted(os.listdir(bench.work)) == [".planck"]


async def test_a_server_that_needs_no_key_says_so_and_takes_none(tmp_path: Path) -> None:
    async with WireServer([chat.text("here")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await on_terminal("setup", home=bench.home, work=bench.work)
        for asked, typed in (("Choose 1-5", "5"), ("Address", server.url), ("needed", ""), ("Model", "m")):
            at = await run.until(asked)
            run.type(f"{typed}\r")
        await run.until("works.", at)
        assert await run.end() == 0
        run = await on_terminal("auth", "status", home=bench.home, work=bench.work)
        assert await run.end() == 0
    assert next(row for row in run.seen if row.startswith("other ")).split() == [
        "other",
        "openai",
        "needs",
        "no",
        "key",
    ]
    refused = await on_terminal("auth", "login", "other", home=bench.home, work=bench.work, columns=200)
    assert await refused.end() == 2
    assert refused.text.startswith(
        "error: Provider other needs no key, so none was stored"
    )  # none was asked for
    assert not (bench.home / "credentials.json").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs takes root")
@pytest.mark.parametrize(
    ("free", "said"),
    [(8 << 20, "the disk is nearly full (8.0 MiB left)"), (8_192, "the disk is full (")],
)
async def test_a_disk_that_is_nearly_full_is_told_apart_from_a_full_one(
    tmp_path: Path, free: int, said: str
) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={free},mode=700", "tmpfs", str(small)])
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs is not allowed here")
    try:
        run = await on_terminal("doctor", home=small, work=bench.work, columns=200)
        await run.until(said)
        await run.end()
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
    assert [row[0] for row in run.seen if " home: " in row] == ["✗" if free < 1 << 20 else "!"]
