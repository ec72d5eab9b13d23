"""Every command with an output that is full, closed or gone: one line with a kind, never a traceback."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from planck.cli.commands import COMMANDS
from tests.command import WAIT, Bench
from tests.terminal import on_terminal
from tests.wire import chat
from tests.wire.server import WireServer

PRINTS: dict[str, tuple[str, ...]] = {
    "chat": ("hello",),
    "run": ("run", "hello"),
    "demo": ("demo",),
    "setup": ("setup", "--help"),
    "tools": ("tools", "list"),
    "sessions": ("sessions", "list"),
    "teams": ("teams", "list"),
    **{name: (name, "--help") for name in ("undo", "land", "blame")},
    "config": ("config", "show"),
    "models": ("models", "list"),
    "auth": ("auth", "status"),
    "sidecar": ("sidecar", "status"),
    "mcp": ("mcp", "list"),
    "permissions": ("permissions", "explain", "bash"),
    "doctor": ("doctor",),
    "init": ("init", "--dry-run"),
    "completion": ("completion", "bash"),
    "update": ("update",),
    "skills": ("skills", "list"),
    "serve": ("serve", "--port", "0"),
    "acp": ("acp", "--help"),
    "stats": ("stats",),
    **{name: (name, "--help") for name in ("submit", "watch", "answer", "interrupt", "nodes", "store")},
    "version": ("--version",),
    "help": ("--help",),
    "json": ("run", "hello", "--output-format", "json"),
    "stream-json": ("run", "hello", "--output-format", "stream-json"),
}
"""For each command one that prints something."""


async def redirected(bench: Bench, to: str, *args: str, encoding: str = "") -> tuple[int, str, str]:
    """How a shell's redirection of the command ends: its code, and what came to stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", f'"$@" {to}', "bash", sys.executable, "-m", "planck", *args),
        cwd=bench.work,
        env={
            "PATH": "/usr/bin:/bin",
            "PLANCK_HOME": str(bench.home),
            "OLLAMA_HOST": "",
            "LLAMA_CPP_HOST": "",
            "PYTHONIOENCODING": encoding,
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(WAIT):
        out, err = await process.communicate()
    assert process.returncode is not None
    for text in (out.decode(), err.decode()):
        for fault in ("Traceback", "internal_error", "Exception ignored"):
            assert fault not in text
    return process.returncode, out.decode(), err.decode()


def test_every_command_is_among_them() -> None:
    assert set(COMMANDS) <= set(PRINTS)


SOME = ("run", "json", "tools", "doctor", "version")


@pytest.mark.parametrize(
    ("name", "to"),
    [
        *(
            pytest.param(name, "> /dev/full", marks=[] if name in SOME else [pytest.mark.heavy])
            for name in PRINTS
        ),
        # A closed output is refused before the command is looked at.
        *((name, ">&-") for name in SOME),
    ],
)
async def test_what_can_t_be_printed_is_said_with_a_kind(tmp_path: Path, name: str, to: str) -> None:
    async with WireServer([chat.text("hello to you")]) as server:
        code, _, err = await redirected(Bench(tmp_path, server.url), to, *PRINTS[name])
    (line,) = [line for line in err.splitlines() if "write_failed" in line]
    assert (code, line.startswith("error: Cannot write to standard output: ")) == (1, True)
    assert line.endswith(". [write_failed]")
    assert "(> FILE)" in line
    works = name in ("chat", "run", "demo", "json", "stream-json")
    assert ("planck sessions list" in line) == (works and to != ">&-")
    assert ("Nothing was run." in line) == (to == ">&-")
    assert to == "> /dev/full" or server.asked == []


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("to", ["2>&-", "2> /dev/full"], ids=["closed", "full"])
async def test_a_command_that_can_t_complain_does_its_work(tmp_path: Path, name: str, to: str) -> None:
    async with WireServer([chat.text("hello to you")]) as server:
        code, out, _ = await redirected(Bench(tmp_path, server.url), to, *PRINTS[name])
    assert (code, bool(out)) == (0, True)
    if name == "run":
        assert out == "hello to you\n"


@pytest.mark.parametrize("to", ["2>&-", "2> /dev/full", ">&- 2>&-", "<&- >&- 2>&-"])
async def test_an_error_that_nobody_can_read_keeps_its_exit_code(tmp_path: Path, to: str) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    code, out, _ = await redirected(bench, to, "sessions", "show", "nope")
    assert (code, out) == (1 if ">&- 2" in to else 2, "")


@pytest.mark.parametrize("args", [(), ("-r",), ("setup",), ("auth", "login", "local"), ("run",)])
async def test_an_input_that_is_closed_is_at_its_end(tmp_path: Path, args: tuple[str, ...]) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    closed, ended = [await redirected(bench, source, *args) for source in ("<&-", "< /dev/null")]
    assert closed[0] == ended[0]
    assert closed[2].split(";")[0] == ended[2].split(";")[0]


async def test_what_an_encoding_lacks_is_spelled_out(tmp_path: Path) -> None:
    async with WireServer([chat.text("grüße 🦊")]) as server:
        bench = Bench(tmp_path, server.url)
        await redirected(bench, "", "run", "schöne grüße 🦊")
        shown = await redirected(bench, "", "sessions", "list", encoding="ascii")
        code, out, _ = await redirected(bench, "", "sessions", "list", "--json", encoding="ascii")
    assert (shown[0], "sch\\u00f6ne gr\\u00fc\\u00dfe" in shown[1]) == (0, True)
    assert (code, json.loads(out)[0]["first_prompt"]) == (0, "schöne grüße 🦊")


async def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    code, _, err = await redirected(bench, "| true; exit ${PIPESTATUS[0]}", "tools", "list", "--json")
    assert (code in (0, 1), err) == (True, "")


@pytest.mark.parametrize("command", [("mcp", "serve"), ("sidecar", "run")])
async def test_a_server_on_a_file_says_what_it_needs(tmp_path: Path, command: tuple[str, ...]) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    await bench.run("sidecar", "new")
    code, _, err = await redirected(bench, "", *command)
    assert (code, err.count("\n")) == (1, 1)
    assert (err[:7], err[-14:]) == ("error: ", "[stdin_error]\n")


async def test_input_that_can_t_be_read_is_told_before_any_work(tmp_path: Path) -> None:
    code, _, err = await redirected(Bench(tmp_path, "http://127.0.0.1:9"), "0> taken", "run", "hello")
    assert (code, err.startswith("error: Cannot read standard input: ")) == (2, True)


async def test_an_error_on_a_terminal_is_broken_between_words(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    run = await on_terminal("rnu", "hi", home=bench.home, work=bench.work, columns=40)
    assert await run.end() == 2
    rows = run.text.replace("\r", "").strip().split("\n")
    assert max(map(len, rows)) < 40
    assert " ".join(rows) == (
        "error: Unknown command: 'rnu'. Did you mean \"planck run\"? "
        'To give the team a task, run `planck run "..."`. [invalid_args]'
    )


async def test_a_notice_on_a_terminal_is_broken_between_words(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.work / ".mcp.json").write_text('{"mcpServers": {"time": {"command": "uvx"}}}')
    run = await on_terminal("mcp", "list", home=bench.home, work=bench.work, columns=40)
    await run.end()
    said, _, _ = run.text.replace("\r", "").partition("No MCP servers")
    assert max(map(len, said.split("\n"))) < 40
    assert "planck: This folder is not trusted, so its own files cannot run anything." in " ".join(
        said.split()
    )
