"""A conversation as a person has it: `planck` on a terminal, what is typed, seen, and sent to the model."""

import asyncio
import json
import re
import resource
import sys
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests import terminal
from tests.command import FULL, Bench, until
from tests.terminal import TerminalRun, on_terminal
from tests.wire import chat
from tests.wire.chat import bash
from tests.wire.server import Asked, Reply, WireServer

KEYS = "n e o"
"""Of the row below a question: from now on they count, and not before."""
EDIT = ("edit", {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
PNG = b"\x89PNG\r\n\x1a\n" + zlib.compress(b"x" * 100)


def echo(asked: Asked) -> Reply:
    """Says how many messages it was sent, and the last of them."""
    said = [message["content"] for message in asked.json["messages"] if message["role"] == "user"]
    return chat.text(f"heard {len(said)}: {said[-1] if isinstance(said[-1], str) else 'parts'}.")


talk = partial(terminal.talk, columns=100, ready="/help")
leave = terminal.enter_exit


def last_message(server: WireServer, number: int = -1) -> Any:
    return server.asked[number].json["messages"][-1]["content"]


async def test_an_edit_is_approved_by_one_key_and_its_diff_is_shown_once(tmp_path: Path) -> None:
    edit = chat.calls(("edit", {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}))
    async with WireServer([edit, chat.text("mended")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "a.py").write_text("x = 1\n")
        run = await talk(bench, "go")
        at = await run.until("asks: edit")
        at = await run.until("+x = 2", at)
        at = await run.until(KEYS, at)
        run.type("y")
        at = await run.until("Allowed once: edit a.py +1 -1", at)
        at = await run.until("✓ ", at)
        at = await run.until("edit a.py", at)
        at = await run.until("Completed · 2 steps", at)
        assert "\n".join(run.seen).count("+x = 2") == 1
        run.type("\x0f")  # the page of folded output has it whole
        at = await run.until("Output, newest first", at)
        at = await run.until("+x = 2", at)
        run.type("q")
        await leave(run, at)
    assert (bench.work / "a.py").read_text() == "x = 2\n"


async def test_a_diff_that_did_not_fit_its_box_is_drawn_when_it_is_applied(tmp_path: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(12))
    write = chat.calls(("write", {"path": "new.txt", "content": lines}))
    async with WireServer([write, chat.text("written")]) as server:
        run = await talk(Bench(tmp_path, server.url), "go")
        at = await run.until(KEYS)
        assert "line 11" not in "\n".join(run.seen)
        run.type("y")
        at = await run.until("Completed · 2 steps", at)
        assert "\n".join(run.seen).count("+line 11") == 1
        await leave(run, at)


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([EDIT, ("bash", {"command": "python3 -m unittest"})], "Tests ran after the last edit: exit code 0"),
        (
            [EDIT, ("bash", {"command": "node --test || true"})],
            "! Tests ran after the last edit: exit code unknown",
        ),
        (
            [("bash", {"command": "python3 -m unittest"}), EDIT],
            "! The last test run was before the last edit",
        ),
    ],
)
async def test_the_end_of_a_turn_says_whether_tests_ran_after_the_last_edit(
    tmp_path: Path, calls: list[tuple[str, Any]], said: str
) -> None:
    replies = [*(chat.calls(call) for call in calls), chat.text("I ran all tests")]
    async with WireServer([*replies, *replies]) as server:
        bench = Bench(tmp_path, server.url)
        for command in (("go", *FULL), ("run", "go", *FULL)):
            (bench.work / "a.py").write_text("x = 1\n")
            run = await on_terminal(*command, home=bench.home, work=bench.work)
            at = await run.until("I ran all tests")
            await run.until(said, at)
            run.process.kill()
            await run.end()


async def test_a_no_with_a_reason_reaches_the_model(tmp_path: Path) -> None:
    async with WireServer([bash("touch ran"), chat.text("I look elsewhere")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go")
        at = await run.until(KEYS)
        run.type("e")
        at = await run.until("Tell orchestrator what to change:", at)
        run.type("use git log instead\r")
        at = await run.until("Completed", at)
        await leave(run, at)
    assert 'the user wants a change: "use git log instead". Do what they say.' in last_message(server)
    assert not (bench.work / "ran").exists()


def as_paste(text: str) -> str:
    """As a terminal sends it; unlike keys, it leaves nobody writing who must stop before a key answers."""
    return f"\x1b[200~{text}\x1b[201~"


@pytest.mark.parametrize("left", ["\r", "\x1b"], ids=["sent", "denied"])
async def test_a_draft_is_no_part_of_what_to_change_and_is_back_afterwards(tmp_path: Path, left: str) -> None:
    replies = [bash("touch ran"), chat.text("I look elsewhere")]
    async with WireServer(replies) as server:
        run = await talk(Bench(tmp_path, server.url), "go")
        box = await run.until(KEYS)
        run.type(as_paste("my draft"))
        await run.until_seen(lambda rows: "> my draft" in rows)
        run.type("e")
        at = await run.until("what to change", box)
        await run.until_seen(lambda rows: ">" in rows and "> my draft" not in rows)
        run.type("use git log")
        await run.until_seen(lambda rows: "> use git log" in rows)
        if left == "\x1b":  # what is written stays, so that it is not lost, and is not mixed with the draft
            run.type("\x1b")
            await run.until("Your draft returns after this", at)
            await run.until_seen(lambda rows: "> use git log" in rows)
            run.type("\x03")
        else:
            run.type("\r")
        await run.until("Completed", box)
        await run.until_seen(lambda rows: "> my draft" in rows)
        run.type("\x03")
        await run.until_seen(lambda rows: ">" in rows)
        await leave(run, at)
    assert "my draft" not in last_message(server)
    assert ('a change: "use git log".' in last_message(server)) == (left == "\r")


@pytest.mark.parametrize("key", ["\x1b", "n", "\x04"])
async def test_a_refusal_takes_one_line_and_the_turn_goes_on(tmp_path: Path, key: str) -> None:
    async with WireServer([bash("touch ran"), chat.text("I go on")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go")
        at = await run.until(KEYS)
        run.type(key)
        at = await run.until("denied by you", at)
        at = await run.until("Completed", at)
        last = next(number for number, row in enumerate(run.seen) if row.startswith("╰"))
        assert run.seen[last + 1 : last + 4] == ["  ✗ bash touch ran  denied by you", "", "I go on"]
        await leave(run, at)
    assert last_message(server).startswith("permission_denied: ")
    assert "unknown" not in last_message(server)


@pytest.mark.parametrize("typed", ["\x03", "e\x03"], ids=["at the keys", "at the change"])
async def test_ctrl_c_at_a_question_ends_the_turn(tmp_path: Path, typed: str) -> None:
    async with WireServer([bash("touch ran"), chat.text("never said")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go")
        at = await run.until(KEYS)
        for key in typed:
            run.type(key)
            at = await run.until("what to change:" if key == "e" else "Interrupted · 1 step", at)
        last = next(number for number, row in enumerate(run.seen) if row.startswith("╰"))
        assert run.seen[last + 1].startswith("  ✗ bash touch ran  denied: the turn was stopped")
        assert run.seen[last + 2].startswith("Interrupted")
        await leave(run, at)
    assert len(server.asked) == 1
    assert not (bench.work / "ran").exists()


async def test_the_whole_call_can_be_shown_while_its_change_is_written(tmp_path: Path) -> None:
    long = f"touch {' '.join(f'file{number}' for number in range(200))} # the-end"
    async with WireServer([bash(long), chat.text("I look elsewhere")]) as server:
        run = await talk(Bench(tmp_path, server.url), "go")
        box = await run.until("asks: bash")  # before it, the trial's own output may have been shown
        at = await run.until(KEYS, box)
        for typed, seen in (
            ("e", "what to change"),
            ("\r", "Enter alone is not an answer; write one, or press Esc"),
            ("only the first", "only the first"),
        ):
            run.type(typed)
            at = await run.until(seen, at)
        assert "the-end" not in run.text[box:]
        run.type("\x0f")
        at = await run.until("the-end", at)
        run.type("\r")
        at = await run.until("denied by you: only the first", at)
        await leave(run, await run.until("Completed", at))


@pytest.mark.parametrize("paste", ["\x1b[200~y\x1b[201~", "\x1b[200~look:\ny\ns\na\n\x1b[201~"])
async def test_a_paste_at_a_question_approves_nothing(tmp_path: Path, paste: str) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go")
        at = await run.until(KEYS)
        run.type(paste)
        at = await run.until("Pasted text does not count", at)
        run.type("\x1b")
        at = await run.until("denied by you", at)
        at = await run.until("Completed", at)
        assert not (bench.work / "ran").exists()
        run.process.kill()
        await run.end()
    assert last_message(server).startswith("permission_denied: ")


async def test_a_command_that_does_not_fit_is_approved_only_once_all_of_it_was_shown(tmp_path: Path) -> None:
    command = "echo\n" + "# nothing\n" * 40 + "touch ran"
    async with WireServer([bash(command), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go")
        at = await run.until("press o to show all")
        at = await run.until(KEYS, at)
        assert "touch ran" not in run.text
        run.type("y")
        at = await run.until("touch ran", at)
        at = await run.until("Press y again to approve it.", at)
        assert not (bench.work / "ran").exists()
        run.type("y")
        at = await run.until("Completed", at)
        await leave(run, at)
    assert (bench.work / "ran").exists()


async def test_two_questions_are_answered_in_any_order(tmp_path: Path) -> None:
    async with WireServer([bash("touch one", "touch two"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go")
        at = await run.until("[1/2] orchestrator asks: bash touch ")
        at = await run.until(" n e o", at)
        run.type("2")
        at = await run.until("[2/2]", at)
        at = await run.until("touch ", at)  # whichever came second
        second = run.text[at : at + 3]
        at = await run.until(KEYS, at)
        run.type("y")
        await until(bench.work / second)
        at = await run.until("asks: bash", at)
        at = await run.until(KEYS, at)
        run.type("n")
        at = await run.until("Completed", at)
        await leave(run, at)
    assert {path.name for path in bench.work.iterdir()} == {second}


async def test_a_huge_output_is_folded_and_shown_whole_on_demand(tmp_path: Path) -> None:
    async with WireServer([bash("seq 100000"), chat.text("counted")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "go", *FULL)
        at = await run.until("… 99,997 more lines")
        at = await run.until("100000", at)
        at = await run.until("Completed", at)
        assert run.text.count("\n") < 200
        run.type("\x0f")
        at = await run.until("\x1b[?1049h", at)
        at = await run.until("Output, newest first", at)
        at = await run.until("bash seq 100000", at)
        run.type("/99999\r")
        at = await run.until("99999", at)
        run.type("\x1b")
        at = await run.until("\x1b[?1049l", at)
        await leave(run, at)


async def test_an_image_goes_with_the_message_that_names_it(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "shot.png").write_bytes(PNG)
        run = await talk(bench)
        run.type("what is @shot.png\r")
        at = await run.until("attached image shot.png")
        at = await run.until("Completed", at)
        run.type("and @lost.png\r")
        start = await run.until("error: File not found", at)
        at = await run.until("> and @lost.png", start)  # to be put right
        # The folder is long, so the error is wrapped: anywhere, and in colors.
        said = "".join(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", run.text[start:at]).split())
        assert "Nothingwassent.Checkthepath.[not_found]" in said
        run.type("\x03")
        await leave(run, at)
    text, image = last_message(server)
    assert text == {"type": "text", "text": "what is @shot.png"}
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert len(server.asked) == 1


async def test_a_typo_is_told_a_path_is_said_and_a_shell_s_output_goes_along(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench)
        run.type("/comapct\r")
        at = await run.until("Did you mean /compact?")
        run.type("!echo from-the-shell; exit 3\r")
        at = await run.until("    from-the-shell", at)  # below the command, which stands there before
        run.type("/etc/hosts is odd\r")
        at = await run.until("Completed", at)
        await leave(run, at)
    assert len(server.asked) == 1
    assert last_message(server) == (
        "I ran this in my own shell:\n\n$ echo from-the-shell; exit 3\nfrom-the-shell\n[exit code 3]"
        "\n\n/etc/hosts is odd"
    )


async def test_a_command_of_the_project_s_own_is_said_with_its_files(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / ".claude/commands").mkdir(parents=True)
        (bench.work / ".claude/commands/review.md").write_text("Review $1 and @notes.md and @../secret.md.")
        (bench.work / "notes.md").write_text("my notes")
        (tmp_path / "secret.md").write_text("the secret")
        run = await talk(bench)
        run.type("/review a.py\r")
        at = await run.until("Completed")
        await leave(run, at)
    assert last_message(server).startswith("Review a.py and @notes.md and")
    assert "my notes" in last_message(server)
    assert "the secret" not in last_message(server)


async def test_a_resumed_session_shows_what_was_said(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "the first question", "--name", "past")
        at = await run.until("Completed")
        await leave(run, at)
        run = await talk(bench, "-r", "past")
        at = await run.until("> the first question".removeprefix("> "))
        at = await run.until("heard 1: the first question", at)
        await leave(run, at)


async def test_a_resumed_session_shows_how_its_last_turn_ended(tmp_path: Path) -> None:
    broken = Reply((b'{"error": {"message": "this model is broken"}}',), 400)
    async with WireServer([broken]) as server:
        bench = Bench(tmp_path, server.url)
        assert (await bench.run("run", "hello there", "--name", "past")).code == 1
        run = await talk(bench, "-r", "past")
        at = await run.until("hello there")
        at = await run.until("'local' returned HTTP 400: this model is broken", at)
        at = await run.until("failed", at)
        run.type("/transcript\r")
        at = await run.until("Transcript of past", at)
        at = await run.until("this model is broken", at)
        run.type("\x1b")
        await leave(run, at)


async def test_the_transcript_has_all_of_it_whole_and_is_searched(tmp_path: Path) -> None:
    async with WireServer([bash("seq 1 900"), chat.text("counted"), chat.text("bye")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "\n".join(f"line {n} of mine" for n in range(40)), "--name", "past", *FULL)
        at = await run.until("Completed")
        await leave(run, at)
        run = await talk(bench, "-r", "past", columns=60)
        run.type("/transcript\r")
        at = await run.until("Transcript of past")
        at = await run.until("counted", at)
        for words, below in (("line 33 of mine", "line 34 of mine"), ("450", "451")):  # folded on the screen
            run.type(f"/{words}\r")
            at = await run.until(below, at)
        run.type("\x1b")
        at = await run.until("\x1b[?1049l", at)
        await leave(run, at)


async def test_prompts_of_mcp_servers_are_listed_completed_and_said(tmp_path: Path) -> None:
    plain = str(Path(__file__).parents[2] / "mcp/plain_server.py")
    few = {"command": sys.executable, "args": [plain, "1"]}
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url, mcpServers={"few": few})
        run = await talk(bench, *FULL)
        run.type("/mcp\r")
        at = await run.until("/few:greet who [how]")
        run.type("/few:")
        at = await run.until("few:greet", at)
        run.type("\t")
        at = await run.until("/few:greet ", at)
        run.type("Ada kindly\r")
        at = await run.until("heard 1: Greet {'who': 'Ada', 'how': 'kindly'}", at)
        at = await run.until("Completed", at)
        run.type("/few:greet\r")
        at = await run.until("/few:greet requires this argument: who", at)
        await leave(run, at)
    assert len(server.asked) == 1


async def test_a_message_is_edited_and_it_goes_on_from_there_with_the_files_as_they_were(
    tmp_path: Path,
) -> None:
    def script(asked: Asked) -> Reply:
        last = asked.json["messages"][-1]
        if last["role"] == "user" and last["content"] == "write it":
            return chat.calls(("write", {"path": "new.txt", "content": "text\n"}))
        return echo(asked)

    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "first", *FULL)
        at = await run.until("Completed")
        run.type("write it\r")
        at = await run.until("Completed", at)
        assert (bench.work / "new.txt").exists()
        run.type("/rewind 2 --files\r")
        at = await run.until("Files are restored too.", at)
        run.type("\x15say it\r")  # Ctrl+U empties the input
        at = await run.until("heard 2: say it.", at)
        await leave(run, at)
    assert not (bench.work / "new.txt").exists()


async def test_whoever_went_back_to_a_message_and_clears_the_input_stays(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "first")
        at = await run.until("Completed")
        run.type("/rewind 1\r")
        at = await run.until("↶ Your next message rewinds the session first", at)
        run.type("\x03")
        at = await run.until("Rewind cancelled", at)
        run.type("second\r")
        at = await run.until("heard 2: second.", at)
        await leave(run, at)


async def test_what_could_not_be_recorded_is_in_the_input_again(tmp_path: Path) -> None:
    """A disk that is full for a while costs nobody a message."""
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench)
        run.type("one\r")
        at = await run.until("Completed")
        most = resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (1, most[1]))
        run.type("two, at length\r")
        at = await run.until("log_write_failed", at)
        at = await run.until("> two, at length", at)
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, most)
        run.type("\r")
        at = await run.until("heard 2: two, at length.", at)
        await run.until("Completed", at)
        run.process.kill()
        await run.end()


async def test_one_member_is_spoken_to_and_stopped(tmp_path: Path) -> None:
    def script(asked: Asked) -> Reply:
        who = "builder" if "You are builder" in json.dumps(asked.json["messages"][0]) else "lead"
        said = str(asked.json["messages"][-1]["content"])
        if "hang" in said:
            return bash("sleep 600")
        return chat.text(f"{who} heard {said[-12:]}")

    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        member = {"provider": "local", "model_id": "m", "tools": ["bash"]}
        team = {
            "name": "pair",
            "members": [
                {**member, "type": "orchestrator", "name": "lead"},
                {**member, "type": "builder", "name": "builder"},
            ],
        }
        (bench.home / "teams/pair").mkdir(parents=True)
        (bench.home / "teams/pair/TEAM.json").write_text(json.dumps(team))
        run = await talk(bench, "--team", "pair", *FULL)
        run.type("@builder hello you\r")
        at = await run.until("builder heard")
        at = await run.until("Completed", at)
        run.type("@builder hang\r")
        at = await run.until("sleep 600", at)
        run.type("@lead are you there\r")
        at = await run.until("lead heard", at)
        assert "at its next step" not in run.text  # nothing of it ran
        run.type("@bulder hello\r")
        at = await run.until("Did you mean @builder?", at)
        await run.until_seen(lambda rows: "> @bulder hello" in rows)  # to be put right
        run.type("\x15/interrupt builder\r")
        at = await run.until("Stopping builder.", at)
        at = await run.until("Interrupted · ", at)
        run.type("/interrupt lead\r")
        at = await run.until("lead is not working.", at)
        await leave(run, at)


async def test_what_is_queued_is_said_when_the_turn_has_ended(tmp_path: Path) -> None:
    async with WireServer(
        [bash("until test -e go; do sleep 0.02; done"), chat.text("one"), chat.text("two")]
    ) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, "begin", *FULL)
        at = await run.until("until test -e go")
        run.type("and then this\t")
        at = await run.until("queued", at)
        (bench.work / "go").touch()
        at = await run.until("two", at)
        at = await run.until("Completed", at)
        await leave(run, at)
    assert last_message(server) == "and then this"
    assert len(server.asked) == 3


class Compaction:
    """A model whose summary begins at once and ends when `gate` opens; all else it answers with an echo."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    def __call__(self, asked: Asked) -> Reply:
        if "memory of a coding agent" in str(asked.json["messages"][0]):
            first, *rest = chat.text("They talked.").pieces
            return Reply([first, self.gate, *rest])
        said = last_said(asked)
        words = "a long answer " * 1_500 if said == "on" else f"heard: {said}."
        return chat.text(words, usage={"prompt_tokens": 20_000, "completion_tokens": 5_000})


def last_said(asked: Asked) -> Any:
    return [message["content"] for message in asked.json["messages"] if message["role"] == "user"][-1]


@asynccontextmanager
async def compacting(folder: Path, **env: str) -> AsyncIterator[tuple[WireServer, Compaction, TerminalRun]]:
    """A conversation in which the history is being compacted, and two messages were typed since."""
    model = Compaction()
    async with WireServer(model) as server:
        bench = Bench(folder, server.url)
        run = await on_terminal(*FULL, home=bench.home, work=bench.work, columns=100, env=env)
        at = await run.until("/help")
        for _ in range(2):
            run.type("on\r")
            at = await run.until("Completed", at)
        run.type("/compact\r")
        at = await run.until(
            "Compacting the history. Ctrl+C stops it." if env else "compacting the history", at
        )
        for typed in ("first", "second"):
            run.type(f"{typed}\r")
            at = await run.until(f"{'Queued' if env else 'queued'}: {typed}", at)
        yield server, model, run


async def test_messages_typed_during_a_compaction_are_queued_and_sent_behind_it(tmp_path: Path) -> None:
    async with compacting(tmp_path) as (server, model, run):
        at = await run.until("2 queued")
        model.gate.set()
        at = await run.until("Compacted: ", at)
        at = await run.until("heard: first.", at)
        at = await run.until("heard: second.", at)
        at = await run.until("Completed", at)
        await leave(run, at)
    assert [last_said(asked) for asked in server.asked[-2:]] == ["first", "second"]


async def test_a_queued_message_is_edited_and_removed_and_esc_ends_the_compaction(tmp_path: Path) -> None:
    async with compacting(tmp_path) as (server, _, run):
        at = await run.until("2 queued")
        for typed, seen in (
            ("\x1b[A", "> second"),
            ("\x03", "1 queued"),
            ("\x1b", "Compaction stopped. The history is unchanged."),
        ):
            run.type(typed)
            at = await run.until(seen, at)
        await run.until_seen(lambda rows: "> first" in rows)  # given back to who stopped it
        run.type("\x03")
        run.type("/context\r")
        at = await run.until("messages", at)
        await leave(run, at)
    assert "first" not in [last_said(asked) for asked in server.asked]


async def test_a_compaction_says_that_its_call_is_tried_again(tmp_path: Path) -> None:
    model = Compaction()

    def answer(asked: Asked) -> Reply:
        if "memory of a coding agent" in str(asked.json["messages"][0]):
            return chat.error(429, "slow down", headers={"retry-after": "600"})
        return model(asked)

    async with WireServer(answer) as server:
        run = await talk(Bench(tmp_path, server.url), *FULL)
        at = 0
        for line in ("on", "on"):
            run.type(f"{line}\r")
            at = await run.until("Completed", at)
        run.type("/compact\r")
        await run.until("compacting the history", at)
        at = await run.until("model: retrying in 60 s (attempt 2 of 6): 'local' returned HTTP 429", at)
        run.type("\x1b")
        await leave(run, await run.until("Compaction stopped", at))


@pytest.mark.parametrize("env", [{}, {"TERM": "dumb"}], ids=["screen", "lines"])
async def test_what_is_queued_at_the_end_is_told_and_not_sent(tmp_path: Path, env: dict[str, str]) -> None:
    async with compacting(tmp_path, **env) as (server, _, run):
        at = len(run.text)
        run.type("/exit\r")
        at = await run.until("Compaction stopped. The history is unchanged.", at)
        at = await run.until("2 queued messages were not sent", at)
        at = await run.until("first", at)
        at = await run.until("second", at)
        await run.until("Resume with: planck -r", at)
        assert await run.end() == 0
    assert last_said(server.asked[-1]) not in ("first", "second")


async def test_a_plan_is_made_without_rights_and_carried_out_once_it_is_accepted(tmp_path: Path) -> None:
    write = chat.calls(("write", {"path": "new.txt", "content": "text"}))
    replies = [write, chat.text("1. write new.txt"), write, chat.text("written")]
    async with WireServer(replies) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL)
        run.type("/plan make new.txt\r")
        at = await run.until("Plan ready. Accept it with /plan accept")
        assert not (bench.work / "new.txt").exists()
        run.type("/plan accept\r")
        at = await run.until("written", at)
        at = await run.until("Completed", at)
        await leave(run, at)
    assert (bench.work / "new.txt").exists()
    assert "Go on with the plan." in str(server.asked[2].json["messages"][-1])


async def test_a_plan_is_changed_by_words_and_accepted_by_one_key(tmp_path: Path) -> None:
    write = chat.calls(("write", {"path": "new.txt", "content": "text"}))
    replies = [
        chat.text("1. write it"),
        chat.text("1. write it, 2. test it"),
        write,
        chat.text("all written"),
    ]
    async with WireServer(replies) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL)
        run.type("/plan make new.txt\r")
        at = await run.until("press y to accept it, or write what to change")
        run.type("you forgot the tests\r")  # begins with the key, and is none
        at = await run.until("2. test it", at)
        at = await run.until("press y to accept it, or write what to change", at)
        run.type("\x1b[200~y\x1b[201~")
        at = await run.until("Pasted text does not count", at)
        run.type("\x03")  # away with it
        assert len(server.asked) == 2
        at = await run.until("? keys", at)
        run.type("y")
        at = await run.until("all written", at)
        at = await run.until("Completed", at)
        await leave(run, at)
    assert "you forgot the tests" in str(server.asked[1].json["messages"][-1])
    assert "Go on with the plan." in str(server.asked[2].json["messages"][-1])
    assert (bench.work / "new.txt").exists()


async def test_a_plan_that_is_not_accepted_stays_a_plan(tmp_path: Path) -> None:
    async with WireServer([chat.text("1. write it")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL)
        run.type("/plan make new.txt\r")
        at = await run.until("press y to accept it")
        run.type("n")
        at = await run.until("Plan not accepted", at)
        run.type("/mode\r")
        at = await run.until("→ plan", at)
        await leave(run, at)
    assert len(server.asked) == 1


async def test_an_undo_and_a_redo_say_what_is_entered_here_to_take_them_back(tmp_path: Path) -> None:
    edit = chat.calls(("edit", {"path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}))
    async with WireServer([edit, chat.text("mended")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "a.py").write_text("x = 1\n")
        run = await talk(bench, *FULL, "go")
        at = await run.until("Completed · 2 steps")
        run.type("/undo\r")
        at = await run.until("To reverse this: /redo", at)
        assert (bench.work / "a.py").read_text() == "x = 1\n"
        run.type("/redo\r")
        at = await run.until("Redid the changes in 1 file: a.py. To reverse this: /undo --call undo-", at)
        assert (bench.work / "a.py").read_text() == "x = 2\n"
        await leave(run, at)


async def test_changes_are_looked_through_and_one_is_taken_back_and_up_again(tmp_path: Path) -> None:
    writes = [chat.calls(("write", {"path": f"{name}.txt", "content": f"{name}\n"})) for name in "abc"]
    async with WireServer([*writes, chat.text("written")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL, "go")
        at = await run.until("Completed · 4 steps")
        run.type("/diff\r")
        at = await run.until("3 changes, newest first", at)
        at = await run.until("→ c.txt  +1 -0", at)
        run.type("j")
        at = await run.until("→ b.txt", at)
        run.type("u")
        at = await run.until("Undid the changes in 1 file: b.txt. To reverse this: press u", at)
        at = await run.until("+b", at)
        assert sorted(path.name for path in bench.work.glob("*.txt")) == ["a.txt", "c.txt"]
        run.type("u")
        at = await run.until("Redid the changes in 1 file: b.txt.", at)
        assert (bench.work / "b.txt").read_text() == "b\n"
        run.type("q")
        at = await run.until("\x1b[?1049l", at)
        run.type("/undo\r")  # of all three: each has its name
        at = await run.until("Undid the changes in 3 files: ", at)
        assert [name in run.text[-3000:] for name in ("  a.txt", "  b.txt", "  c.txt")] == [True] * 3
        await leave(run, at)
    assert not list(bench.work.glob("*.txt"))


async def test_a_session_that_was_killed_at_work_is_named_at_the_next_start_and_no_other(
    tmp_path: Path,
) -> None:
    async with WireServer([bash("touch began; sleep 600"), chat.text("on it goes")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL, "--name", "calm-fox", "mend the parser")
        await until(bench.work / "began")
        run.process.kill()
        await run.end()
        run = await talk(bench, *FULL)
        at = await run.until("Session calm-fox (mend the parser) was interrupted.")
        at = await run.until("/resume calm-fox", at)
        run.type("/resume calm-fox\r")
        at = await run.until("mend the parser", at)
        at = await run.until("bash touch began; sleep 600", at)
        at = await run.until("its outcome is unknown", at)
        at = await run.until("interrupted", at)
        run.type("go on\r")
        at = await run.until("Completed", at)
        await leave(run, at)
        run = await talk(bench, *FULL)
        run.type("hello\r")
        await run.until("Completed")
        await leave(run, 0)
    assert "was interrupted" not in run.text


async def test_a_page_on_a_narrow_terminal_is_wrapped_and_not_cut(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, columns=40)
        run.type("?")
        at = await run.until("Keys (/help lists the commands)")
        shown = await run.until("Esc close", at)
        assert "…" not in run.text[at:shown]
        assert "Complete the word; while agents" in run.text[at:shown]
        assert "Ctrl+J, Alt+Enter" in run.text[at:shown]
        run.type("\x1b")
        await run.until("\x1b[?1049l", at)
        run.type("/exit\r")
        assert await run.end() == 0


async def test_what_is_told_of_a_member_stays_in_its_column_on_a_narrow_terminal(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    run = await talk(bench, columns=40)
    run.type("/team\r")
    at = await run.until("Esc close", await run.until("○ idle"))
    assert " " * 15 + "\x1b[2mno turns yet" in run.text[:at]
    run.type("\x1b")
    await run.until("\x1b[?1049l", at)
    run.type("/exit\r")
    assert await run.end() == 0


async def test_a_terminal_that_can_t_be_painted_says_that_it_listens(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        dumb = {"TERM": "dumb"}
        run = await on_terminal("--name", "plain", home=bench.home, work=bench.work, columns=100, env=dumb)
        at = await run.until("plain · local/m · /help · ")
        run.type("hello\n")
        at = await run.until("heard 1: hello.", at)
        at = await run.until("Completed", at)
        await leave(run, at)


PAGES = {"\x14": "Team", "?": "Keys (/help", "\x0f": "Output, newest first"}
"""By key: the title of the page that it opens."""


async def test_two_pages_that_are_opened_by_one_read_are_left_one_by_one(tmp_path: Path) -> None:
    """Each pair in each order; afterwards the conversation takes lines as before."""
    script = [chat.calls(("bash", {"command": "seq 100"})), chat.text("counted")]
    async with WireServer(script) as server:
        run = await talk(Bench(tmp_path, server.url), "count", *FULL)
        at = await run.until("Completed · 2 steps")
        for number, (first, second) in enumerate(permutations(PAGES, 2)):
            run.type(first + second)
            at = await run.until(PAGES[first], at)
            run.type("q")
            at = await run.until(PAGES[second], at)
            run.type("q")
            run.type(f"/none{number}\r")
            at = await run.until(f"Unknown command /none{number}", at)
        await leave(run, at)
