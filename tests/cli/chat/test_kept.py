"""Nothing of an agent's or a person's work is lost without a word: answers, outputs, drafts, jobs, errors."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from tests.cli.chat.test_stops import make_duo, work_of_two
from tests.command import FULL, Bench, until
from tests.teams import Brains, delegate, write_team
from tests.terminal import leave, on_terminal, talk
from tests.wire import chat
from tests.wire.chat import bash
from tests.wire.server import Reply, WireServer

WAITING = "echo first; echo second; touch began; sleep 600"


def hold(*words: str) -> Reply:
    """An answer that never ends behind these words."""
    first, *pieces = chat.text(*words).pieces
    return Reply([first, *pieces[: len(words)], asyncio.Event()])


def messages(server: WireServer) -> list[tuple[str, str]]:
    shown = server.asked[-1].json["messages"]
    return [(one["role"], str(one["content"])) for one in shown if one["role"] != "system"]


# Answers


async def test_the_part_of_an_answer_before_esc_is_there_after_a_resume_and_the_model_is_told(
    tmp_path: Path,
) -> None:
    async with WireServer([hold("The first half ", "of the answer"), chat.text("all of it")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL, "--name", "halves", "go", ready="of the answer")
        run.type("\x1b")
        at = await run.until("Interrupted before the first response was complete")
        await leave(run)
        run = await talk(bench, *FULL, "-r", "halves")
        await run.until_seen(lambda rows: "The first half of the answer" in rows)
        assert "planck: your answer" not in run.text  # the user knows
        run.type("go on\r")
        at = await run.until("all of it")
        await run.until("Completed", at)
        await leave(run)
    assert messages(server) == [
        ("user", "go"),
        ("assistant", "The first half of the answer"),
        ("user", "[planck: your answer above was interrupted before it was complete]"),
        ("user", "go on"),
    ]


async def test_an_answer_that_failed_and_was_tried_again_is_not_kept(tmp_path: Path) -> None:
    cut = Reply(chat.text("void").pieces[:2])  # the connection is closed
    async with WireServer([cut, hold("whole"), chat.text("done")]) as server:
        run = await talk(Bench(tmp_path, server.url), *FULL, "go", ready="whole")
        run.type("\x1b")
        at = await run.until("Interrupted")
        run.type("on\r")
        await run.until("Completed", at)
        await leave(run)
    assert [text for role, text in messages(server) if role == "assistant"] == ["whole"]


# Outputs


async def test_what_a_command_put_out_before_esc_is_shown_kept_and_read_by_the_model(tmp_path: Path) -> None:
    async with WireServer([bash(WAITING), chat.text("I see")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL, "--name", "cut", "go", ready="    second")
        await until(bench.work / "began")
        run.type("\x1b")
        at = await run.until("Interrupted · 1 step")
        rows = run.seen
        ended = next(at for at, row in enumerate(rows) if "✗" in row and "bash" in row)
        assert {"    first", "    second"} <= set(rows[ended : ended + 7]), rows
        run.type("what was that?\r")
        await run.until("Completed", at)
        await leave(run)
        run = await talk(bench, *FULL, "-r", "cut")
        await run.until_seen(lambda rows: "    second" in rows)
        await leave(run)
    result = next(text for role, text in messages(server) if role == "tool")
    assert result.startswith(
        "interrupted: this call was stopped before it ended; its output so far is below."
    )
    assert result.endswith("output:\nfirst\nsecond\n")


async def test_what_the_users_own_command_put_out_before_esc_goes_along_with_the_next_message(
    tmp_path: Path,
) -> None:
    async with WireServer([chat.text("I see")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL)
        run.type(f"! {WAITING}\r")
        await until(bench.work / "began")
        run.type("\x1b")
        at = await run.until("stopped")
        at = await run.until("second", at)
        run.type("look\r")
        await run.until("Completed", at)
        await leave(run)
    assert "first\nsecond\n[I stopped it before it ended]\n\nlook" in messages(server)[-1][1]


# Drafts


@pytest.mark.parametrize("again", ["a new session", "a resume"])
async def test_a_draft_is_in_the_input_again_after_a_kill_and_is_removed_once_it_is_sent(
    tmp_path: Path, again: str
) -> None:
    async with WireServer([chat.text("one"), chat.text("two")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL, "--name", "mine", "go", ready="Completed")
        run.type("half a thought")
        drafts = bench.home / "drafts"
        await until(drafts)
        async with asyncio.timeout(30):
            while not [file for file in drafts.iterdir() if file.read_text() == "half a thought"]:
                await asyncio.sleep(0.01)
        (kept,) = drafts.iterdir()
        assert (stat.S_IMODE(kept.stat().st_mode), stat.S_IMODE(drafts.stat().st_mode)) == (0o600, 0o700)
        other = await talk(bench, *FULL)  # beside it: the draft is not its own
        assert "half a thought" not in other.text
        await leave(other)
        run.process.kill()
        await run.end()
        run = await talk(bench, *FULL, *(("-r", "mine") if again == "a resume" else ()))
        await run.until_seen(lambda rows: "> half a thought" in rows)
        run.type(" and a half\r")
        await run.until("two")
        await run.until_seen(lambda rows: rows[-1].endswith("? keys"))
        await leave(run)
    assert messages(server)[-1] == ("user", "half a thought and a half")
    assert not [*drafts.iterdir()]


async def test_what_is_typed_while_a_draft_comes_back_is_all_there_behind_it(tmp_path: Path) -> None:
    async with WireServer([chat.text("one")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench)
        run.type("left")
        await until(bench.home / "drafts")
        async with asyncio.timeout(30):
            while "left" not in [file.read_text() for file in (bench.home / "drafts").iterdir()]:
                await asyncio.sleep(0.01)
        run.process.kill()
        await run.end()
        run = await on_terminal(home=bench.home, work=bench.work, columns=100, typed="ab\x1b[Dc")
        await run.until_seen(lambda rows: "> left" in rows and "  acb" in rows)
        run.type("\r")
        await run.until("Completed")
        await leave(run)
    assert messages(server)[-1] == ("user", "left\nacb")


async def test_a_draft_is_kept_where_its_terminal_goes_away(tmp_path: Path) -> None:
    async with WireServer([]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench)
        run.type("half a thought")
        await run.until_seen(lambda rows: "> half a thought" in rows)
        run.hang_up()
        await run.process.wait()
        run = await talk(bench)
        await run.until_seen(lambda rows: "> half a thought" in rows)
        run.type("\x03")
        await leave(run)
    assert not [*(bench.home / "drafts").iterdir()]


async def test_what_is_typed_as_an_answer_to_a_question_is_in_no_file_of_what_was_typed(
    tmp_path: Path,
) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go", ready="n e o")
        run.type("e")
        at = await run.until("what to change")
        run.type("the word is swordfish")
        await run.until("swordfish", at)
        run.hang_up()  # which keeps any other draft
        await run.process.wait()
    drafts = bench.home / "drafts"
    stored = [file.read_text() for file in (*drafts.glob("*"), bench.home / "history") if file.exists()]
    assert "swordfish" not in "".join(stored)


# Exits


async def test_ctrl_d_while_agents_work_says_what_it_ends_and_is_needed_twice(tmp_path: Path) -> None:
    async with WireServer([hold("half")]) as server:
        run = await talk(Bench(tmp_path, server.url), *FULL, "go", ready="half")
        run.type("later\t")
        at = await run.until("1 queued")
        run.type("\x04")
        at = await run.until("Press Ctrl+D again to exit; it ends the turn, 1 queued message", at)
        run.type("x\x7f")
        await run.until_seen(lambda rows: "Press Ctrl+D" not in rows[-1])
        run.type("\x04")
        at = await run.until("Press Ctrl+D again", at)
        run.type("\x04")
        await run.until("Resume with: planck -r", at)
        assert await run.end() == 0


@pytest.mark.parametrize("typed", ["/exit\r", "\x04\x04", "/new\r"])
async def test_an_exit_says_which_background_commands_it_ends(tmp_path: Path, typed: str) -> None:
    call = chat.calls(("bash", {"command": "sleep 600", "background": True}))
    async with WireServer([call, chat.text("It runs.")]) as server:
        run = await talk(Bench(tmp_path, server.url), *FULL, "go", ready="1 job")
        at = await run.until("Completed")
        for key in typed if typed[0] == "\x04" else [typed]:
            run.type(key)
            if key == "\x04" and "again to exit" not in run.text:
                at = await run.until("again to exit; it ends 1 job", at)
        at = await run.until("Background command stopped: sleep 600", at)
        if typed == "/new\r":
            await run.until("Previous session:", at)
            await leave(run)
        else:
            assert await run.end() == 0


# Messages and keys


async def test_a_message_to_a_member_that_there_is_not_is_sent_to_nobody(tmp_path: Path) -> None:
    async with WireServer([chat.text("read")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "Makefile").write_text("all:\n")
        run = await talk(bench, "--team", make_duo(tmp_path), columns=140)
        run.type("@Zed look at it\r")
        await run.until("No member or file is named 'Zed'. Members: ann, ben, lead. Nothing was sent.")
        await run.until_seen(lambda rows: "> @Zed look at it" in rows)
        run.type("\x03@Makefile and @app.get('/') are what?\r")
        await run.until("Completed")
        await leave(run)
    assert len(server.asked) == 1


async def test_a_tab_before_the_files_are_listed_completes_the_one_that_matches(tmp_path: Path) -> None:
    async with WireServer([]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "prices.py").write_text("")
        run = await talk(bench)
        run.type("look at @pri\t")
        await run.until_seen(lambda rows: "> look at @prices.py" in rows)
        assert "→" not in run.text
        run.type("\x03")
        await leave(run)


async def test_a_command_is_typed_into_the_list_of_commands(tmp_path: Path) -> None:
    async with WireServer([]) as server:
        run = await talk(Bench(tmp_path, server.url), columns=100)
        run.type("/help\r")
        at = await run.until("/ types a command")
        run.type("/rename\r")
        at = await run.until("This session is named", at)
        await leave(run)


# Questions


@pytest.mark.parametrize("columns", [140, 80, 40])
async def test_members_that_asked_in_a_process_that_was_killed_have_their_rows_again(
    tmp_path: Path, columns: int
) -> None:
    """Nor does a row show what a trial in the sandbox put out: the question has it."""

    def stands(rows: list[str]) -> bool:
        below = rows[-6:]
        asking = [row for row in below if row.startswith(("▲ ann  asks you", "▲ ben  asks you"))]
        one = [row for row in below if row.startswith("▲ [1/2] ") and row.endswith("n e o · Tab next")]
        return len(asking) == 2 and len(one) == 1 and not any("cannot touch" in row for row in below[2:])

    async with WireServer(work_of_two()) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(
            bench, "--name", "duo", "--team", make_duo(tmp_path), "go", columns=columns, ready="▲"
        )
        await run.until_seen(stands)
        run.process.kill()
        await run.end()
        run = await talk(bench, "-r", "duo", columns=columns, ready="▲")
        await run.until_seen(stands)
        run.process.kill()
        await run.end()


# Failures


def failing_member() -> Brains:
    lead = [chat.calls(delegate("ann")), *[chat.text("ann could not do it")] * 2]
    return Brains({"lead": lead, "ann": [chat.error(401, "this key is bad")]})


async def test_a_member_that_fails_is_told_once(tmp_path: Path) -> None:
    team = write_team(
        tmp_path / "team", {"type": "orchestrator", "name": "lead"}, {"type": "ann", "tools": ["bash"]}
    )
    async with WireServer(failing_member()) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "--team", team, "go", columns=140, ready="Completed")
        rows = run.seen
        await leave(run)
    assert len([row for row in rows if "this key is bad" in row]) == 1
    assert not [row for row in rows if row.startswith(("ann failed", "ann → lead response"))]


async def test_a_run_in_a_pipe_says_once_on_stderr_that_a_member_failed(tmp_path: Path) -> None:
    team = write_team(
        tmp_path / "team", {"type": "orchestrator", "name": "lead"}, {"type": "ann", "tools": ["bash"]}
    )
    async with WireServer(failing_member()) as server:
        done = await Bench(tmp_path, server.url).run("run", "--team", team, "go")
    assert (done.code, done.out) == (0, "ann could not do it\n")
    assert [row for row in done.err.splitlines() if "this key is bad" in row] == [
        row for row in done.err.splitlines() if row.startswith("planck: ann failed: ")
    ]
    assert done.err.count("this key is bad") == 1


# Command lines


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        (("run", "hi", "--mod", "ask"), "--model or --mode?"),
        (("run", "hi", "--perm", "ask"), "--permission-mode"),
        (("--mod", "ask"), "--model or --mode?"),
        (("run", "hi", "--budget", "1"), "--max-budget-usd?"),
        (("run", "hi", "--modle=x"), "--model"),
        (("sessions", "list", "--al"), "--all"),
        (("sessions", "export", "x", "--form", "md"), "--format"),
        (("mcp", "add", "x", "--proj", "--", "true"), "--project"),
        (("serve", "--po", "1"), "--port"),
    ],
)
async def test_an_option_that_is_not_written_in_full_is_never_another(
    tmp_path: Path, args: tuple[str, ...], meant: str
) -> None:
    async with WireServer([]) as server:
        done = await Bench(tmp_path, server.url).run(*args)
    assert (done.code, done.error_kind, server.asked) == (2, "invalid_args", [])
    word = next(arg for arg in args if arg.startswith("--")).partition("=")[0]
    assert f"Unknown option: {word}. Did you mean {meant}" in done.err


async def test_a_mode_is_a_mode(tmp_path: Path) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "go", "--mode", "full")
    assert (done.code, (bench.work / "ran").exists()) == (0, True)


async def test_a_resume_of_the_last_session_says_how_to_go_on_where_there_is_none(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    done = await bench.run("run", "-c", "hi")
    assert (done.code, done.error_kind) == (2, "not_found")
    assert "There is no session in this workspace yet. Leave out -c to start one." in done.err
    run = await on_terminal("-c", home=bench.home, work=bench.work)
    await run.until("Leave out -c to start one.")
    assert await run.end() == 2
    assert os.listdir(bench.work) == []
