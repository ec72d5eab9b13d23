"""Commands that ask at a terminal change nothing where nobody can answer."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import planck.cli
from tests.command import FULL, Bench
from tests.terminal import on_terminal
from tests.wire import chat
from tests.wire.server import WireServer


class Command(NamedTuple):
    line: tuple[str, ...]
    way_out: str = "--yes"


ASKING = {
    "commands/setup.py:_read": Command(("setup",), way_out="planck auth login"),
    "commands/undo.py:run": Command(("undo",)),
    "commands/sessions.py:_delete": Command(("sessions", "delete", "here")),
    "commands/permissions.py:_trust": Command(("permissions", "trust")),
    "commands/auth.py:_read_key": Command(("auth", "login", "anthropic"), way_out="Enter the key"),
    "ask/pick.py:pick_session": Command(("run", "go", "-r"), way_out="planck sessions list"),
}
"""By the function that asks: a command line that leads there, and what its error names as the way out."""

NOT_ASKING = {
    "commands/setup.py:_read": Command(("setup",), way_out="planck auth login"),
    "ask/typed_line.py:read_line": "reads an answer of setup and sign-in, whose commands refuse before",
    "ask/typed_line.py:read_secret": "reads a key in a conversation, which needs a terminal",
    "ask/trust.py:_ask_by_line": "asks where there is a terminal; else nothing is trusted",
    "ask/typed_line.py:ask": "what the others ask with; it refuses where there is no terminal",
    "ask/lines.py:_read": "reads the lines of a conversation, which are commands",
    "ask/browser_sign_in.py:read": "the answer comes from the browser; a pasted address replaces it",
    "commands/sessions.py:_import": "reads a log",
    "isolated.py:_ask": "asks where there is a terminal; else nothing lands",
    "stream_input.py:_read": "reads messages",
    "work.py:_prompt": "reads the prompt",
}
"""By the function that reads standard input: why nothing is confirmed there."""

_READS = re.compile(
    r"(?<![.\w])(?:ask|input|getpass|read_line)\(|sys\.stdin\.(?:readline|read|buffer)|in sys\.stdin\b"
    r"|\(sys\.stdin\)"
)


def find_readers() -> Iterator[str]:
    """Returns every function of the command line that asks, or that reads standard input."""
    root = Path(planck.cli.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                own = [one for one in node.body if not isinstance(one, ast.FunctionDef)]
                if _READS.search(ast.unparse(ast.Module(own, []))):
                    yield f"{path.relative_to(root)}:{node.name}"


def test_every_function_that_reads_an_answer_is_listed_here() -> None:
    assert {*find_readers()} == {*ASKING, *NOT_ASKING}


def test_every_command_that_takes_yes_takes_its_letter_too() -> None:
    """In the reference, which is made of the parsers."""
    page = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text()
    options = re.findall(r"^ *- `([^`]*--yes)`", page, re.MULTILINE)
    assert len(options) >= 3
    assert {*options} == {"-y, --yes"}


def read_files(*folders: Path) -> dict[str, bytes]:
    """The user's files, and the names of the logs: opening a log changes its header."""
    return {
        str(path): b"" if path.suffix == ".db" else path.read_bytes()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in (".txt", ".json", ".db")
    }


async def make_bench(folder: Path) -> Bench:
    """A session that wrote a file, in a folder that is not trusted."""
    script = [chat.calls(("write", {"path": "a.txt", "content": "made\n"})), chat.text("done")]
    async with WireServer(script) as server:
        bench = Bench(folder, server.url)
        done = await bench.run("run", "go", "--name", "here", *FULL)
    assert done.code == 0, done.err
    tool = bench.work / ".planck/tools/lint/TOOL.json"
    tool.parent.mkdir(parents=True)
    about = {"name": "lint", "description": "d", "command": "true", "parameters": {"type": "object"}}
    tool.write_text(json.dumps(about))
    return bench


async def test_a_command_that_asks_changes_nothing_without_a_terminal(tmp_path: Path) -> None:
    bench = await make_bench(tmp_path)
    before, log = read_files(bench.home, bench.work), await bench.run("sessions", "export", "here")
    for where, command in ASKING.items():
        # A pipe that says yes is not a person either; a key may come through one.
        answers = (b"",) if where == "commands/auth.py:_read_key" else (b"", b"y\nyes\n1\n")
        for stdin in answers:
            done = await bench.run(*command.line, stdin=stdin)
            assert (done.code, done.err.endswith(" [invalid_args]\n")) == (2, True), (where, done)
            assert command.way_out in done.err, (where, done.err)
            assert read_files(bench.home, bench.work) == before, where
    assert await bench.run("sessions", "export", "here") == log


async def test_an_undo_that_nobody_can_confirm_shows_its_diff(tmp_path: Path) -> None:
    bench = await make_bench(tmp_path)
    done = await bench.run("undo", "--turn", "1")
    assert (done.code, "-made" in done.out) == (2, True), done
    assert (bench.work / "a.txt").read_text() == "made\n"


async def test_an_undo_is_applied_when_a_person_agrees(tmp_path: Path) -> None:
    bench = await make_bench(tmp_path)
    for typed, exists in (("n\n", True), ("y\n", False)):
        run = await on_terminal("undo", home=bench.home, work=bench.work)
        await run.until("Apply these changes? [y/N] ")
        run.type(typed)
        assert await run.end() == 0
        assert (bench.work / "a.txt").exists() is exists
