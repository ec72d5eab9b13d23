"""Sessions that a person can find: the list, the names, the transcript, and going on."""

import ast
import asyncio
import json
import os
import re
import shlex
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from unicodedata import east_asian_width

import pytest

from planck import Planck
from planck.cli.commands import COMMANDS
from planck.cli.main import main
from planck.cli.parser import Mistake, Parser
from planck.records.events import TurnStatus
from planck.store.sqlite.lock import WriterLock
from planck.testing.scripted import Say, ScriptedProvider
from tests.command import Bench, finish, until
from tests.terminal import on_terminal
from tests.wire import chat
from tests.wire.server import WireServer

SOURCE = Path(__file__).parents[2] / "src/planck"
Command = Callable[..., tuple[int, str, str]]


class Place:
    """A home and a workspace in which sessions are made, and the command line on them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()

    def open(self, *answers: str | Say | list[tuple[str, dict[str, object]]]) -> Planck:
        double = ScriptedProvider([*answers])
        return Planck(self.home, self.work, environ={}, providers={"double": double})

    def say(self, prompt: str, name: str = "", answer: str = "It is done. The rest is silence.") -> str:
        async def run() -> str:
            async with self.open([("list_dir", {"path": "."})], answer) as p:
                session = await p.start(model="double/m", mode="full", name=name)
                await session.run(prompt)
                return session.id

        return asyncio.run(run())

    def interrupt(self, name: str) -> str:
        async def run() -> str:
            async with self.open("never seen") as p:
                session = await p.start(model="double/m", name=name)
                await session.run("a long task", timeout=0)
                return session.id

        return asyncio.run(run())

    def age_files(self) -> None:
        """A listing trusts what it noted of files that were written a while ago."""
        for path in (self.home / "sessions").iterdir():
            os.utime(path, (path.stat().st_mtime - 60,) * 2)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def command(place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.setenv("PLANCK_HOME", str(place.home))
    monkeypatch.chdir(place.work)

    def run(*args: str, columns: int = 80) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        capsys.readouterr()
        code = main(["sessions", *args])
        return code, *capsys.readouterr()

    return run


def columns_of(line: str) -> int:
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in line)


def test_a_list_says_what_each_session_is_about(place: Place, command: Command) -> None:
    id = place.say("Mend the discount", "calm-fox")
    code, out, _ = command("list")
    assert (code, len(out.splitlines())) == (0, 1)
    assert re.fullmatch(r"calm-fox done +\S+ +\d+ s  Mend the discount\n", out)
    (row,) = json.loads(command("list", "--json")[1])
    assert {"id", "name", "state", "first_prompt", "team", "model", "mode", "cost_usd"} <= set(row)
    assert {"head", "created", "updated", "node", "holder"} <= set(row)
    assert (row["id"], row["state"], row["first_prompt"], row["mode"], row["holder"]) == (
        id,
        "done",
        "Mend the discount",
        "full",
        None,
    )


def test_a_list_through_a_pipe_is_whole_and_a_tree_has_columns(place: Place, command: Command) -> None:
    prompt = "Mend the discount of the shop, which is taken as an amount; it is a percentage of the price"
    place.say(prompt, "calm-fox")
    command("fork", "calm-fox", "--name", "a-fork-of-a-long-name")
    assert all(line.endswith(prompt) for line in command("list", columns=0)[1].splitlines())
    first, second = command("tree", columns=0)[1].splitlines()
    assert first.index(" done ") == second.index(" done ")
    assert prompt in first


def test_an_exported_log_is_told_what_proves_it(place: Place, command: Command, tmp_path: Path) -> None:
    place.say("Mend the discount", "calm-fox")
    (tmp_path / "fox.ndjson").write_text(command("export", "calm-fox")[1])
    code, _, err = command("verify", str(tmp_path / "fox.ndjson"))
    assert code == 2
    command("delete", "calm-fox", "--yes")
    assert command(*err.split('"planck sessions ')[-1].split('"')[0].split())[0] == 0


def test_verify_names_the_sessions_that_share_a_prefix(place: Place, command: Command) -> None:
    place.say("first", "calm-fox")
    place.say("second", "calm-owl")
    code, out, err = command("verify", "calm")
    assert (code != 0, out) == (True, "")
    assert "'calm' matches several sessions" in err
    assert "No session or file found: 'bold'" in command("verify", "bold")[2]


@pytest.mark.parametrize("columns", [140, 80, 40])
def test_a_list_fits_the_terminal_whatever_the_prompts_are(
    place: Place, command: Command, columns: int
) -> None:
    for prompt in (
        "割引の計算が合わない。" * 30,
        "🦊🎉" * 60,
        "x" * 250_000,
        "a\x1b[2J\nb\u202e" * 40,
        "é" * 300,
    ):
        place.say(prompt)
    (place.home / "sessions" / "feed_\x1b[2Jname.db").write_bytes(b"no database" * 100)
    code, out, _ = command("list", "--all", columns=columns)
    assert code == 0
    assert "\x1b" not in out
    assert len(out.splitlines()) == 6 * (2 if columns == 40 else 1)
    assert max(map(columns_of, out.splitlines())) < columns
    assert "unreadable" in out


def test_what_a_listing_noted_never_hides_what_happened_since(place: Place, command: Command) -> None:
    """Its notes are made by one listing, used by the next, and worth nothing once the log has changed."""
    place.say("first", "calm-fox")
    place.age_files()
    seen = json.loads(command("list", "--json")[1])
    notes = place.home / "sessions" / "listing.json"
    assert oct(notes.stat().st_mode & 0o777) == "0o600"
    assert json.loads(command("list", "--json")[1]) == seen

    async def go_on() -> int:
        async with place.open("never seen") as p:
            session = await p.resume("calm-fox")
            await session.run("second", timeout=0)
            return session.head

    head = asyncio.run(go_on())
    (row,) = json.loads(command("list", "--json")[1])
    assert (row["head"], row["state"]) == (head, "interrupted")
    notes.write_bytes(b"\x00 no notes")
    assert json.loads(command("list", "--json")[1]) == [row]
    place.age_files()
    command("list")
    assert command("delete", "calm-fox", "--yes")[0] == 0
    assert b"first" not in notes.read_bytes()


def test_only_so_many_logs_are_opened_as_are_shown(place: Place, command: Command) -> None:
    place.say("the newest", "calm-fox")
    folder = place.home / "sessions"
    for number in range(300):
        other = folder / f"{number:016x}_old-{number}.db"
        other.write_bytes(b"opened, and found to be no database")
        os.utime(other, (1, 1))
    opened: list[str] = []
    sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name == "sqlite3.connect" else None)
    code, out, err = command("list", "--all", "--limit", "1")
    assert (code, out.split()[0]) == (0, "calm-fox")
    assert "For more, run: planck sessions list --all --limit 4\n" in err
    assert len([uri for uri in opened if str(folder) in uri]) <= 4  # a damaged one is tried twice
    rows = json.loads(command("list", "--all", "--limit", "3", "--json")[1])
    assert [row["name"] for row in rows][:1] == ["calm-fox"]
    assert len(rows) == 3


def test_how_a_name_or_an_id_begins_is_enough(place: Place, command: Command) -> None:
    first, second = place.say("one", "calm-fox"), place.say("two", "calm-owl")
    assert json.loads(command("show", "calm-f", "--json")[1])["info"]["id"] == first
    assert json.loads(command("show", second[:14], "--json")[1])["info"]["id"] == second
    code, out, err = command("show", "calm")
    assert (code, out) == (2, "")
    assert f"calm-fox ({first})" in err
    assert f"calm-owl ({second})" in err
    assert command("show", "nobody")[0] == 2


def test_show_tells_who_said_what_and_each_call_in_a_line(place: Place, command: Command) -> None:
    place.say("Mend it\nplease", "calm-fox", "x" * 5000)
    code, out, _ = command("show", "calm-fox")
    assert code == 0
    assert re.search(r"\nyou → orchestrator  #\d+ .*\n  Mend it\n  please\n", out)
    assert re.search(r"\norchestrator  #\d+ .*\n  · list_dir \.: ok \(.*\)\n  xxx", out)
    assert "… (3,000 more characters)" in out
    code, out, _ = command("show", "calm-fox", "--cost")
    assert [line.split()[0] for line in out.splitlines()] == ["agent", "orchestrator", "total"]
    assert out.splitlines()[1].split()[1:3] == ["double/m", "2"]


def test_a_dead_session_is_in_no_turn(place: Place, command: Command) -> None:
    place.say("go", "calm-fox")
    (log,) = (place.home / "sessions").glob("*.db")
    with closing(sqlite3.connect(log)) as db, db:  # as a killed process leaves it: no end of the turn
        (last,) = db.execute("SELECT max(seq) FROM events").fetchone()
        for (seq,) in db.execute("SELECT seq FROM events ORDER BY seq DESC").fetchall():
            (data,) = db.execute("SELECT bytes FROM events WHERE seq = ?", (seq,)).fetchone()
            db.execute("DELETE FROM events WHERE seq = ?", (seq,))
            if b'"turn_end"' in data:
                break
        assert seq < last + 1
    log.with_name(f"{log.name}.lock").unlink()
    detail = json.loads(command("show", "calm-fox", "--json")[1])
    assert detail["info"]["state"] == "interrupted"
    assert [agent["state"] for agent in detail["agents"]] == ["interrupted"]
    assert command("list")[1].split()[1] == "interrupted"


def test_search_shows_the_words_in_their_sentence(place: Place, command: Command) -> None:
    place.say("look", "calm-fox", 'First.\nThe "quoted" cause is here, in prices.py. Last.')
    code, out, _ = command("search", "CAUSE is")
    assert code == 0
    assert re.fullmatch(r'calm-fox #\d+ orchestrator: The "quoted" cause is here, in prices\.py\.\n', out)
    assert command("search", "role")[:2] == (1, "")  # a field's name is nobody's word


def test_a_new_name_is_in_the_log_in_the_list_and_in_the_file(place: Place, command: Command) -> None:
    id = place.say("look", "calm-fox")
    assert command("rename", "calm", "bold-owl")[0] == 0
    (log,) = (place.home / "sessions").glob("*.db")
    assert log.name == f"{id}_bold-owl.db"
    assert not [*(place.home / "sessions").glob("*calm-fox*")]
    last = [json.loads(line) for line in command("export", "bold-owl")[1].splitlines() if '"renamed"' in line]
    assert [event["data"] for event in last] == [{"name": "bold-owl"}]
    assert command("list")[1].split()[0] == "bold-owl"
    assert command("show", "calm-fox")[0] == 2
    place.say("other", "calm-fox")
    assert command("rename", id, "calm-fox")[0] == 2  # taken
    assert command("rename", id, "a\x1bb")[0] == 2
    assert command("rename", id)[0] == 2

    async def resume() -> str:
        async with place.open("again") as p:
            return (await p.resume("bold-owl")).name

    assert asyncio.run(resume()) == "bold-owl"


def test_what_a_process_has_open_is_neither_renamed_nor_deleted(place: Place, command: Command) -> None:
    place.say("look", "calm-fox")
    (log,) = (place.home / "sessions").glob("*.db")
    lock = WriterLock(log.with_name(f"{log.name}.lock"))
    for args in (("rename", "calm-fox", "bold-owl"), ("delete", "calm-fox", "--yes")):
        code, _, err = command(*args)
        assert (code, f"rocess {os.getpid()} on " in err) == (5, True)
    assert json.loads(command("list", "--json")[1])[0]["holder"]["pid"] == os.getpid()
    lock.release()
    code, _, err = command("delete", "calm-fox")
    assert code == 2
    assert "--yes" in err
    assert log.exists()


def test_an_interrupted_turn_is_gone_on_with(place: Place) -> None:
    place.interrupt("calm-fox")

    async def go_on() -> tuple[TurnStatus, list[dict[str, object]]]:
        async with place.open("finished", "finished") as p:
            assert p.archive.info("calm-fox").state == "interrupted"
            session = await p.resume("calm-fox")
            result = await session.go_on()
            lines = map(json.loads, p.archive.events("calm-fox"))
            return result.status, [line["data"] for line in lines if line["type"] == "message"]

    status, messages = asyncio.run(go_on())
    assert status is TurnStatus.COMPLETED
    assert [(one["origin"], one["text"]) for one in messages] == [
        ("user", "a long task"),
        ("planck", "Go on with what was interrupted."),
    ]


def test_a_run_without_a_prompt_needs_something_interrupted(
    place: Place, command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.say("look", "calm-fox")
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        for args in (["-r", "calm-fox"], ["-c"]):
            assert main(["run", *args]) == 2
            assert 'Pass a prompt: `planck run -r calm-fox "..."`.' in capsys.readouterr().err
        assert main(["run", "go", "-r"]) == 2
        assert 'Pass a name from "planck sessions list".' in capsys.readouterr().err


async def test_continue_takes_the_session_that_was_used_last_not_the_youngest(tmp_path: Path) -> None:
    async with WireServer([chat.text("said")]) as server:
        bench = Bench(tmp_path, server.url)
        for args in (("one", "--name", "calm-fox"), ("two", "--name", "bold-owl"), ("on", "-r", "calm-fox")):
            assert (await bench.run("run", *args)).code == 0
        for log in (bench.home / "sessions").glob("*_bold-owl.db"):
            log.touch()  # a copy, a backup: written later, and used before
        done = await bench.run("run", "and on", "-c", "--output-format", "json")
        assert done.result["session_name"] == "calm-fox"
        listed = await bench.run("sessions", "list", "--json")
        assert [row["name"] for row in json.loads(listed.out)] == ["calm-fox", "bold-owl"]


async def test_resume_without_a_name_asks_which(tmp_path: Path) -> None:
    async with WireServer([chat.text("one"), chat.text("two"), chat.text("three")]) as server:
        bench = Bench(tmp_path, server.url)
        for name in ("calm-fox", "bold-owl"):
            assert (await bench.run("run", f"about {name}", "--name", name)).code == 0
        run = await on_terminal("run", "and now?", "-r", home=bench.home, work=bench.work)
        await run.until("Resume which session? (1-2,")
        assert [line.split()[:2] for line in run.text.splitlines()[:2]] == [
            ["1", "bold-owl"],
            ["2", "calm-fox"],
        ]
        run.type("2\n")
        assert await run.end() == 0
        rows = json.loads((await bench.run("sessions", "list", "--json")).out)
        assert rows[0]["name"] == "calm-fox"
        run = await on_terminal("sessions", "delete", "bold", home=bench.home, work=bench.work)
        await run.until("[y/N]")
        run.type("\n")
        assert await run.end() == 0
        assert "Nothing was deleted." in run.text


async def test_the_hint_after_a_signal_goes_on_as_it_is_printed(tmp_path: Path) -> None:
    calls = chat.calls(("bash", {"command": "touch begun; sleep 600"}))
    async with WireServer([calls, chat.text("finished")]) as server:
        bench = Bench(tmp_path, server.url)
        process = await bench.start("run", "a long task", "--name", "calm-fox", "--permission-mode", "full")
        assert process.stdin
        process.stdin.close()
        await until(bench.work / "begun")
        process.send_signal(signal.SIGINT)
        stopped = await finish(process)
        assert stopped.code == 130
        hint = stopped.err.split("Resume with: planck ")[1].split()
        assert hint == ["run", "-r", "calm-fox"]
        gone_on = await bench.run(*hint)
        assert (gone_on.code, gone_on.out) == (0, "finished\n")
        exported = await bench.run("sessions", "export", "calm-fox")
    said = [line["data"] for line in map(json.loads, exported.out.splitlines()) if line["type"] == "message"]
    words = [(one["origin"], one["text"]) for one in said]
    # The hint names no mode, so the configured one holds again, and the model is told.
    assert [word for word in words if "Permission mode `ask`" not in word[1]] == [
        ("user", "a long task"),
        ("planck", "Go on with what was interrupted."),
    ]


def printed_texts(tree: ast.Module) -> Iterator[str]:
    """Every text of a module but its docstrings; what is filled in stands as a name."""
    nodes = list(ast.walk(tree))
    other = {node.value for node in nodes if isinstance(node, ast.Expr)}
    other |= {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else _fill(part) for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in other:
            yield node.value


def _fill(part: ast.expr) -> str:
    name = ast.unparse(part)
    return "ACTION" if "options.action" in name else "7" if "seq" in name else "calm-fox"


def printed_hints() -> list[str]:
    """Every command line of ours that a text in the source tells somebody to run."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for text in printed_texts(ast.parse(path.read_text())):
            found |= set(re.findall(r"`(planck [^`]+)`", text))
            found |= set(re.findall(r"\"(planck [^\"]+)\"", text))
            found |= set(re.findall(r"(?:: |^  )(planck (?:\"[^\"]*\"|[^;,)`\n\"])+)", text, re.MULTILINE))
    named = {"planck COMMAND --help", "planck calm-fox", "planck auth", "planck -p PROMPT"}  # not to be run
    return sorted(hint.strip() for hint in found - named if "[" not in hint)


def test_every_hint_that_is_printed_can_be_run_as_it_is() -> None:
    hints = printed_hints()
    assert len(hints) > 70
    for hint in hints:
        try:
            _read_hint(hint)
        except (Mistake, SystemExit) as failure:
            raise AssertionError(f"{hint!r} can't be run: {failure}") from failure


def _read_hint(hint: str) -> None:
    _, *args = shlex.split(hint)
    name = args[0] if args[0] in COMMANDS else "chat"
    rest = args[1:] if args[0] in COMMANDS else args
    stand_in = {"sessions": "show", "auth": "login", "teams": "show"}.get(name, "")
    if rest == ["--help"] or args == ["--help"]:
        return
    parser = Parser(prog=name)
    import_module(f"planck.cli.commands.{name}").add_options(parser)
    options = parser.parse_args([stand_in if word == "ACTION" else word for word in rest])
    if name == "sessions" and options.action not in ("list", "tree"):
        assert options.what, f"{hint!r} does not say which session"
    if name == "auth" and options.action in ("login", "logout"):
        assert options.provider, f"{hint!r} does not say which provider"


async def _make_lists(folder: Path) -> Bench:
    bench = Bench(folder, "http://127.0.0.1:9")
    await bench.run("teams", "new", "a")
    skill = bench.work / ".planck" / "skills" / "b" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: b\ndescription: Short.\n---\nDo.\n")
    return bench


@pytest.mark.parametrize("line", ["doctor", "models list", "tools list", "teams list", "skills", "sessions"])
async def test_a_narrow_terminal_breaks_no_word_of_what_a_command_lists(tmp_path: Path, line: str) -> None:
    bench = await _make_lists(tmp_path)
    run = await on_terminal(*line.split(), home=bench.home, work=bench.work, columns=40)
    await run.end()
    rows = re.sub(r"\x1b\[[0-9;]*m", "", run.text).split("\r\n")
    assert [row for row in rows if len(row) >= 40 and " " in row.strip()] == []


@pytest.mark.parametrize(
    ("line", "head"), [("teams list", "TEAM  MEMBERS"), ("skills", "SKILL  SCOPE    PATH")]
)
async def test_the_head_of_a_list_stands_over_its_columns(tmp_path: Path, line: str, head: str) -> None:
    bench = await _make_lists(tmp_path)
    run = await on_terminal(*line.split(), home=bench.home, work=bench.work, columns=200)
    await run.end()
    first, row = [*filter(None, run.text.split("\r\n"))][:2]
    assert first == head
    assert all(row[at - 1] == " " != row[at] for at in (head.index(word) for word in head.split()[1:]))
