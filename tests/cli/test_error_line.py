"""Every error of every command is one line: `error: <sentence>. <what to do next>. [<kind>]`."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from planck.cli.commands import COMMANDS, update
from planck.cli.main import main
from planck.cli.streams import format_error
from planck.records.outcome import ErrorKind, PlanckError

LINE = re.compile(r"error: .+\. \[([a-z_]+)\]\n")
NO_SERVER = ("--server", "http://127.0.0.1:9", "--token-file", "/nowhere")
MISTAKES: dict[str, tuple[tuple[str, ...], ...]] = {
    "chat": (("-r", "nobody"), ("hello", "-m", "nothing/at-all"), ("fix", "it"), ("caht",), ("login",)),
    "run": (
        ("run", "go", "-r", "nobody"),
        ("run", "go", "--effort", "hihg"),
        ("run", "/nothing"),
        ("run", ""),
    ),
    "demo": (("demo", "here"),),
    "setup": (("setup", "here"), ("setup",)),
    "tools": (("tools", "shwo"), ("tools", "show", "raed"), ("tools", "call", "bash", "--args", "{")),
    "sessions": (
        ("sessions", "lst"),
        ("sessions", "show", "nobody"),
        ("sessions", "show"),
        ("sessions", "replay"),
    ),
    "teams": (("teams", "chekc"), ("teams", "show", "nobody"), ("teams", "show")),
    "stats": (("stats", "--days", "0"),),
    "undo": (("undo", "-r", "nobody"), ("undo", "--turn", "x")),
    "land": (("land",), ("land", "nobody")),
    "config": (("config", "shwo"), ("config", "explain", "defualt_model"), ("config", "set", "x")),
    "models": (("models", "lst"), ("models", "test", "nothing/at-all")),
    "auth": (("auth", "lgoin"), ("auth", "login", "nobody"), ("auth", "login")),
    "sidecar": (("sidecar", "nwe"), ("sidecar", "run", "nowhere"), ("sidecar", "run", "--http", "x")),
    "mcp": (("mcp", "lst"), ("mcp", "test", "nobody"), ("mcp", "add", "x", "y"), ("mcp", "logout", "nobody")),
    "permissions": (
        ("permissions", "explian"),
        ("permissions", "explain", "bsah"),
        ("permissions", "explain"),
    ),
    "serve": (("serve", "--port", "x"), ("serve", "-C", "/nowhere"), ("serve", "--work", "-1")),
    "acp": (("acp", "--permission-mode", "ful"),),
    "submit": (("submit", "go"), ("submit", "go", "--repo", "")),
    "watch": (("watch",), ("watch", "nobody", *NO_SERVER)),
    "answer": (("answer", ""), ("answer", "nobody", *NO_SERVER)),
    "interrupt": (("interrupt",), ("interrupt", "nobody", *NO_SERVER)),
    "nodes": (("nodes", "lst"), ("nodes", "drain"), ("nodes", "drain", "nobody", *NO_SERVER)),
    "store": (("store", "chekc"), ("store", "check"), ("store", "token", "ad")),
    "doctor": (("doctor", "here"), ("doctor", "-C", "/nowhere")),
    "init": (("init", "here"), ("init", "-C", "/nowhere")),
    "completion": (("completion", "bsh"), ("completion",)),
    "update": (("update", "here"),),
    "skills": (("skills", "lst"), ("skills", "show", "nobody")),
    "blame": (("blame",), ("blame", "a.py"), ("blame", "a.py:3-2")),
    "help": (("help", "rnu"), ("hosts", "a.py"), ("rnu", "go")),
}
"""By command: wrong options, arguments and names."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name in (
        "PLANCK_SERVER",
        "PLANCK_TOKEN_FILE",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("PLANCK_HOME", str(tmp_path / "home")), ("OLLAMA_HOST", ""), ("LLAMA_CPP_HOST", "")):
        monkeypatch.setenv(name, value)
    with open("/dev/null") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield


def test_the_table_has_every_command() -> None:
    assert set(MISTAKES) == {*COMMANDS, "help"}


@pytest.mark.parametrize("args", [args for mistakes in MISTAKES.values() for args in mistakes], ids=" ".join)
def test_a_mistake_is_one_line_with_a_sentence_and_a_kind(
    args: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(args)) in (1, 2)
    said = capsys.readouterr()
    found = LINE.fullmatch(said.err)
    assert found, said.err
    assert (said.out, found[1] in list(ErrorKind)) == ("", True)
    assert not said.err[7].islower(), "a sentence starts with a capital, unless it starts with a name"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistyped_option_is_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--no-such-option"]) == 2
    assert LINE.fullmatch(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (
            ZeroDivisionError("division\nby zero"),
            "error: Unexpected ZeroDivisionError: division by zero. "
            "Add --debug to see the traceback. [internal_error]\n",
        ),
        (
            PlanckError(ErrorKind.NOT_FOUND, "Model not found.", {"hint": "see\x1b[2J the list"}),
            "error: Model not found. see the list. [not_found]\n",
        ),
    ],
)
def test_what_a_command_raises_is_one_line(
    failure: Exception, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(options: object) -> int:
        raise failure

    monkeypatch.setattr(update, "run", fail)
    assert main(["update"]) == 1
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("nothing works; try again", "Nothing works; try again."),
        ("Done already.", "Done already."),
        ("is it?", "Is it?"),
        ("'x' is not a file", "'x' is not a file."),
        ("a.py is damaged", "a.py is damaged."),
        ("bob: no model", "bob: no model."),
        ("--fork needs a session", "--fork needs a session."),
        ("two\nlines\r\x1b]0;title\x07 of text\u202e", "Two lines of text\\u202e."),
    ],
)
def test_a_message_becomes_a_sentence_and_stays_harmless(message: str, sentence: str) -> None:
    assert format_error("not_found", message) == f"error: {sentence} [not_found]"
