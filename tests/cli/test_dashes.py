"""What follows `--` belongs to the command, or to the program that it names: no flag of ours is taken out."""

import json
from pathlib import Path

import pytest

from planck.cli.main import NOT_BUILT, main
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer

FLAGS = ("--debug", "-p", "--print", "-h", "--help")
"""What the dispatcher itself looks for among the words of every command."""
WORDS = (
    *FLAGS,
    "--version",
    "help",
    "-C",
    "--here",
    "--trust",
    "--json",
    "--url=x",
    "--env",
    "--debug",
    "--",
)


async def test_a_program_gets_every_word_of_its_own_command_line(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    for name, words in {"all": WORDS, **{f"n{n}": (word,) for n, word in enumerate(FLAGS)}}.items():
        done = await bench.run("mcp", "add", name, "--", "prog", *words)
        assert done.code == 0, done
        config = json.loads((bench.home / "config.json").read_text())
        assert config["mcpServers"][name] == {"command": "prog", "args": [*words]}


@pytest.mark.parametrize("command", [("run",), ()])
async def test_a_prompt_can_be_the_name_of_a_flag(tmp_path: Path, command: tuple[str, ...]) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        for flag in FLAGS:
            done = await bench.run(*command, "--", flag)
            assert done.code == 0, (flag, done)
    assert [asked.json["messages"][-1]["content"] for asked in server.asked] == [*FLAGS]


@pytest.mark.parametrize("flag", [*FLAGS, *NOT_BUILT["sessions"]])
def test_a_search_can_be_for_the_name_of_a_flag(
    tmp_path: Path, flag: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLANCK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert main(["sessions", "search", "--", flag]) == 1
    assert f"No matches for '{flag}'" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["--debug mcp add", "mcp --debug add", "mcp add --debug"])
async def test_a_flag_before_the_dashes_is_ours(tmp_path: Path, line: str) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    done = await bench.run(*line.split(), "--env", "wrong", "x", "--", "prog", "--debug")
    assert "Traceback" in done.err
