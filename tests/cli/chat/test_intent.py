"""What a line means: said, a command, a mistake."""

import pytest

from planck.cli.chat.intent import Intent, read_intent
from planck.cli.chat.table import COMMANDS

MEMBERS = ("orchestrator", "builder")


def read(line: str) -> Intent:
    return read_intent(line, COMMANDS, {"review", "git:commit"}, MEMBERS, {"few"})


@pytest.mark.parametrize(
    "line",
    [
        "/etc/hosts is odd",
        "/home/me/a.png what is this?",
        "//a comment",
        "/* a comment */",
        "/ is the root",
        "1/2",
        "hello /help",
        "@nobody hello",
        "@src/a.py: what is it?",
        "@pytest.fixture is a decorator",
        " /help",
        " !ls",
        "@builder2 hello",
        "/commit\x1b[2J",
    ],
)
def test_what_only_looks_like_a_command_is_said(line: str) -> None:
    assert read(line) == Intent("say", line.strip())


@pytest.mark.parametrize(
    ("line", "intent"),
    [
        ("/help", Intent("command", "", "help")),
        ("/Help", Intent("command", "", "help")),
        ("/model  local/m ", Intent("command", "local/m", "model")),
        ("/compact keep the\nnames", Intent("command", "keep the\nnames", "compact")),
        ("/rename\ncalm-fox", Intent("command", "calm-fox", "rename")),
        ("/review a.py", Intent("custom", "a.py", "review")),
        ("/git:commit", Intent("custom", "", "git:commit")),
        ("/few:greet Ada L", Intent("prompt", "Ada L", "few:greet")),
        ("!git status", Intent("shell", "git status")),
        ("! ls", Intent("shell", "ls")),
        ("@builder stop that", Intent("say", "stop that", "builder")),
        ("@builder: stop that", Intent("say", "stop that", "builder")),
        ("@builder\nstop\nthat", Intent("say", "stop\nthat", "builder")),
    ],
)
def test_what_is_meant(line: str, intent: Intent) -> None:
    assert read(line) == intent


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("/comapct", "/compact"),
        ("/hlep me", "/help"),
        ("/reviw x", "/review"),
        ("/foo", "/fork"),
        ("/modle", "/model"),
        ("/moed", "/mode"),
    ],
)
def test_a_typo_is_told_with_what_was_meant_and_never_said(line: str, meant: str) -> None:
    mistake = read(line)
    assert mistake.what == "mistake"
    assert mistake.text.startswith(f"Unknown command {line.split()[0]}. ")
    assert f"Did you mean {meant}?" in mistake.text
    assert "Start with a space to send it as text." in mistake.text


def test_a_mistyped_member_is_told_unless_it_is_a_file() -> None:
    def read_in(files: set[str]) -> Intent:
        return read_intent("@bulder stop that", COMMANDS, members=MEMBERS, exists=files.__contains__)

    assert read_in({"bulder"}) == Intent("say", "@bulder stop that")
    mistake = read_in(set())
    assert (mistake.what, "Did you mean @builder?" in mistake.text) == ("mistake", True)


@pytest.mark.parametrize("line", ["/", "/xyzzy", "/tmp", "!", "@builder"])
def test_what_means_nothing_is_told(line: str) -> None:
    mistake = read(line)
    assert mistake.what == "mistake"
    assert mistake.text
