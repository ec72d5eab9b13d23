"""What a person sees of work while it goes on: outputs, jobs, files, code, retries, the status line."""

import asyncio
import re
from functools import partial
from pathlib import Path

import pytest

from planck.records import codec
from tests import terminal
from tests.command import FULL, Bench
from tests.terminal import on_terminal
from tests.wire import chat
from tests.wire.chat import bash
from tests.wire.server import Asked, Reply, WireServer

talk = partial(terminal.talk, columns=100, ready="/help")
leave = terminal.enter_exit


def put_up(*names: str) -> str:
    """A command that waits for a file, and for the next one."""
    return "; ".join(f"until test -e {name}; do sleep 0.02; done; echo saw {name}" for name in names)


async def test_a_running_command_shows_its_last_lines_and_ctrl_o_the_whole(tmp_path: Path) -> None:
    async with WireServer(
        [bash(f"seq 9000; sleep 0.03; echo quiet; {put_up('more', 'go')}"), chat.text("done")]
    ) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go", *FULL)
        shown = ["    8998", "    8999", "    9000", "    quiet"]
        await run.until_seen(lambda rows: any(rows[at : at + 4] == shown for at in range(len(rows))))
        at = len(run.text)
        run.type("\x0f")
        at = await run.until("Output, newest last", at)
        run.type("/4444\r")  # in the middle, of which no live row ever told
        at = await run.until("  4444\x1b", at)
        run.type("G")
        at = await run.until("  quiet", at)
        (bench.work / "more").touch()
        at = await run.until("saw more", at)  # the page follows
        run.type("q")
        (bench.work / "go").touch()
        at = await run.until("Completed · 2 steps", at)
        await leave(run, at)


async def test_ctrl_o_shows_the_whole_of_an_output_that_was_too_long_for_the_model(tmp_path: Path) -> None:
    async with WireServer([bash("seq 200000"), bash("seq 5000 9000"), chat.text("done")]) as server:
        run = await talk(Bench(tmp_path, server.url), "go", *FULL)
        at = await run.until("Completed · 3 steps")
        run.type("\x0f")
        at = await run.until("Output, newest first", at)
        run.type("/6666\r")  # in the middle of both
        at = await run.until("  6666\x1b", at)
        run.type("/earlier bytes\r")
        at = await run.until("earlier bytes are in", at)
        run.type("/150000\r")
        at = await run.until("  150000\x1b", at)
        run.type("q")
        await leave(run, at)


async def test_a_page_keeps_the_output_of_a_command_that_ends_and_says_that_somebody_asks(
    tmp_path: Path,
) -> None:
    rules = [{"tool": "bash", "decision": "allow", "command": "sh *"}]
    async with WireServer([bash("sh up.sh"), bash("touch one"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url, permissions={"rules": rules})
        (bench.work / "up.sh").write_text(f"echo begun; {put_up('go')}")
        run = await talk(bench, "go")
        await run.until_seen(lambda rows: "    begun" in rows)
        run.type("\x0f")
        at = await run.until("Output, newest last")
        (bench.work / "go").touch()
        at = await run.until("exit 0", at)
        at = await run.until("saw go", at)
        await run.until("▲ 1 approval · Output, newest last", at)
        run.type("q")
        at = await run.until("n e o", at)
        run.type("\x1b")
        await leave(run, await run.until("Completed", at))


async def test_the_users_own_command_shows_its_last_lines_and_ctrl_o_the_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    run = await talk(bench)
    run.type(f"!seq 99; {put_up('go')}\r")
    shown = ["    96", "    97", "    98", "    99"]
    await run.until_seen(lambda rows: any(rows[at : at + 4] == shown for at in range(len(rows))))
    run.type("\x0f")
    at = await run.until("Output, newest last")
    run.type("g")
    at = await run.until("  1\x1b", at)
    (bench.work / "go").touch()
    at = await run.until("exit 0", at)
    run.type("q")
    await run.until("    … 88 more lines", at)
    run.process.kill()
    await run.end()


async def test_a_command_in_the_background_is_counted_listed_and_forgotten(tmp_path: Path) -> None:
    calls = chat.calls(
        ("bash", {"command": f"echo listening; {put_up('go')}", "background": True}),
        ("bash", {"command": "echo taken >&2; exit 3", "background": True}),
    )
    async with WireServer([calls, chat.text("It runs.")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go", *FULL)
        at = await run.until("Completed · 2 steps")
        await run.until_seen(lambda rows: rows[-1].startswith("  full · 1 job · "))
        told = [row for row in run.seen if row.startswith("  ✓ bash")]
        assert [row.split("  ")[2].split(" · ")[0] for row in told] == ["in the background"] * 2
        assert "read path output:" not in run.text  # that is for the model
        run.type("/jobs\r")
        at = await run.until("Running commands", at)
        for words in ("echo taken >&2; exit 3", "exit 3 · bg_", "taken", "running ", "listening"):
            at = await run.until(words, at)
        run.type("q")
        at = await run.until("\x1b[?1049l", at)
        for typed, seen in (("x", "> x"), ("\x7f", "\x1b[2K> ")):  # nothing is left to be painted
            run.type(typed)
            at = await run.until(seen, at)
        (bench.work / "go").touch()
        # Nobody works and no key is pressed: it is seen all the same.
        at = await run.until("full\x1b[0m\x1b[2m · \x1b[0m\x1b[2mcost unknown", at)
        run.type("/jobs\r")
        at = await run.until("exit 0 · bg_", at)
        run.type("q")
        await leave(run, at)


@pytest.mark.parametrize("dumb", [True, False], ids=["a dumb terminal", "no terminal"])
async def test_jobs_are_listed_by_lines(tmp_path: Path, dumb: bool) -> None:
    calls = chat.calls(("bash", {"command": f"seq 100; touch up; {put_up('go')}", "background": True}))
    async with WireServer([calls, bash(put_up("up")), chat.text("It runs.")]) as server:
        bench = Bench(tmp_path, server.url)
        if not dumb:
            done = await bench.run("chat", *FULL, stdin=b"/jobs\ngo\n/jobs\n")
            said = done.err
        else:
            run = await on_terminal(*FULL, home=bench.home, work=bench.work, env={"TERM": "dumb"})
            at = await run.until("/help")
            for line, seen in (("/jobs", "No command"), ("go", "Completed"), ("/jobs", "    100")):
                run.type(f"{line}\n")
                at = await run.until(seen, at)
            run.type("/exit\n")
            await run.until("Resume with", at)
            assert await run.end() == 0
            said = run.text.replace("\r\n", "\n")
    assert "No command is running." in said
    assert re.search(
        r"● seq 100; .*  running [\d.]+ s · bg_\w+\n    96\n    97\n    98\n    99\n    100\n", said
    )


async def test_the_file_that_is_written_is_named_with_what_there_is_of_it(tmp_path: Path) -> None:
    content = "".join(f"line {number}\n" for number in range(500))
    first, *pieces = chat.calls(("write", {"path": "src/x.py", "content": content}), size=600).pieces
    gate = asyncio.Event()
    replies = [Reply([first, *pieces[:5], gate, pieces[5], asyncio.Event(), *pieces[6:]])]
    async with WireServer(replies) as server:
        run = await talk(Bench(tmp_path, server.url), "go", *FULL)
        at = await run.until("thinking\x1b[2m  2 s")  # a sign of life comes after a second
        gate.set()
        at = await run.until("writing src/x.py · 3.6k", at)
        assert [row.split("  ")[0] for row in run.seen if row.startswith("●")] == [
            "● writing src/x.py · 3.6k"
        ]
        run.process.kill()
        await run.end()


CODE = '```python\ndef f(x):\n    """Says\n    what return means."""\n    return x\n```'


@pytest.mark.parametrize("command", [(), ("run",)], ids=["conversation", "run"])
async def test_code_is_shown_line_by_line_while_it_is_written(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    begun, rest = CODE[:45], CODE[45:]
    gate = asyncio.Event()
    pieces = chat.text("Look:\n" + begun, rest + "\nDone.").pieces
    async with WireServer(lambda asked: Reply([*pieces[:2], gate, *pieces[2:]])) as server:
        bench = Bench(tmp_path, server.url)
        run = await on_terminal(*command, "go", *FULL, home=bench.home, work=bench.work, columns=100)
        await run.until_seen(lambda rows: " def f(x):" in rows and '     """Says' in rows)
        assert "return x" not in run.text
        gate.set()
        await run.until("Completed" if not command else "1 step")
        rows = run.seen
        at = rows.index("Look:")
        code = ["", " def f(x):", '     """Says', '     what return means."""', "     return x", "", "Done."]
        assert rows[at + 1 : at + 1 + len(code)] == code
        assert "\x1b[32m    what return means." in run.text  # it is still the text that began above
        assert "\x1b[35mreturn\x1b[0m x" in run.text
        run.process.kill()
        await run.end()


async def test_a_retry_counts_down_and_says_which_it_is(tmp_path: Path) -> None:
    async with WireServer([chat.error(429, "slow down", headers={"retry-after": "600"})]) as server:
        run = await talk(Bench(tmp_path, server.url), "go", *FULL)
        at = await run.until("model: retrying in 60 s (attempt 2 of 6): 'local' returned HTTP 429: slow down")
        await run.until("● \x1b[0mretrying in 60 s (attempt 2 of 6)", 0)
        await run.until_seen(
            lambda rows: any(row.startswith("● retrying in 59 s (attempt 2 of 6)") for row in rows)
        )
        run.type("\x1b")
        at = await run.until("Interrupted", at)
        await leave(run, at)


@pytest.mark.parametrize("columns", [140, 80, 40])
async def test_the_status_line_keeps_the_mode_and_forgets_a_note_at_the_next_key(
    tmp_path: Path, columns: int
) -> None:
    async with WireServer([chat.text("done")]) as server:
        run = await talk(
            Bench(tmp_path, server.url), "--permission-mode", "ask", columns=columns, ready="? keys"
        )

        def reads(row: str, seen: list[str]) -> bool:
            return seen[-1].startswith(f"  {row}"[: columns - 2])

        for keys, row in (
            ("\x1b", "ask · Press Esc again to rewind"),
            ("x", "ask · $0.00"),
            ("\x03", "ask · $0.00"),
            ("\x03", "ask · Press Ctrl+C again to exit"),
            ("\x0f", "ask · No folded output yet"),
            ("y\x7f", "ask · $0.00"),
            ("\x1b[Z", "workspace · changes files in this"),
            ("\x12", "workspace · search: "),
        ):
            run.type(keys)
            await run.until_seen(partial(reads, row))
        run.process.kill()
        await run.end()


async def test_keys_that_are_pressed_while_a_change_is_undone_stay_with_the_list(tmp_path: Path) -> None:
    writes = [chat.calls(("write", {"path": f"{name}.txt", "content": f"{name}\n"})) for name in "abc"]
    async with WireServer([*writes, chat.text("written")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL, "go")
        at = await run.until("Completed · 4 steps")
        run.type("/diff\r")
        at = await run.until("→ c.txt", at)
        run.type("ujjxyz")
        at = await run.until("→ a.txt", at)
        at = await run.until("To reverse this: press u", at)
        run.type("q")
        at = await run.until("\x1b[?1049l", at)
        assert run.text.count("\x1b[?1049l") == 1  # it was never left meanwhile
        run.type("/none\r")
        at = await run.until("Unknown command /none", at)
        await leave(run, at)
    assert len(server.asked) == 4


async def test_a_diff_that_is_asked_about_has_the_numbers_of_its_lines(tmp_path: Path) -> None:
    edit = chat.calls(("edit", {"path": "a.py", "old_string": "line 20\n", "new_string": "line twenty\n"}))
    numbered = ["18  line 18", "19  line 19", "20 -line 20", "20 +line twenty", "21  line 21"]

    def reply(asked: Asked) -> Reply:
        return edit if asked.json["messages"][-1]["role"] == "user" else chat.text("mended")

    async with WireServer(reply) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 41)))
        run = await talk(bench, "go", "--permission-mode", "ask", ready="asks: edit a.py")
        await run.until_seen(lambda rows: {f"│ {row}" for row in numbered[:4]} <= set(rows))
        run.process.kill()
        await run.end()
        dumb = await on_terminal(
            *("go", "--permission-mode", "ask"), home=bench.home, work=bench.work, env={"TERM": "dumb"}
        )
        at = await dumb.until("asks to use edit")
        for row in ("+++ b/a.py", *numbered):
            at = await dumb.until(row, at)
        dumb.process.kill()
        await dumb.end()


def test_the_events_keep_the_fields_of_a_call_and_of_a_retry() -> None:
    from planck.records.events import Status

    old = codec.decode_as(b'{"component":"model","state":"retrying","detail":"x"}', Status)
    assert codec.encode(old) == b'{"component":"model","state":"retrying","detail":"x"}'
