"""What people type from habit: a command, or a word on what to type; never a prompt for a model."""

import re
from pathlib import Path

import pytest

from planck import __version__
from planck.cli.commands import COMMANDS
from planck.cli.main import ELSEWHERE, NOT_BUILT, main
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer

VERBS = {
    "login": "planck auth login PROVIDER",
    "logout": "planck auth logout",
    "resume": "planck run -r",
    "continue": "planck run -c",
    "exec": "planck run",
    "ls": "planck sessions list",
    "ps": "planck sessions list",
    "upgrade": "planck update",
    "self-update": "planck update",
    "rnu": "planck run",
    "sesions": "planck sessions",
    "modles": "planck models",
    "agents": "planck teams",
    "archive": "planck sessions list",
}


async def test_verbs_of_other_agents_are_never_sent_to_a_model(tmp_path: Path) -> None:
    async with WireServer([chat.text("a model was asked")]) as server:
        bench = Bench(tmp_path, server.url)
        for verb, wanted in VERBS.items():
            for more in ((), ("x",)):
                done = await bench.run(verb, *more)
                assert (done.code, done.out) == (2, ""), (verb, done)
                assert re.search(rf'[`"]{re.escape(wanted)}', done.err), (verb, done.err)
                assert done.err.count("\n") == 1
    assert server.asked == []


@pytest.mark.parametrize(
    "args",
    [
        *(("hosts", "list"), ("hand", "--root", ".", "--mode", "workspace")),
        *(
            ("sessions", "replay", "x", "--verify"),
            ("sessions", "replay", "x", "--from", "3", "--swap", "a=b"),
        ),
        *(("sessions", "export", "x", "--as-test"), ("sessions", "export", "x", "--as-scenario")),
        ("teams", "test", "crew"),
    ],
)
async def test_what_is_promised_and_not_built_yet_says_so(tmp_path: Path, args: tuple[str, ...]) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run(*args)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"planck {args[0]}" in done.err
    assert "is not built yet" in done.err


async def test_a_task_or_a_team_may_be_called_like_what_is_not_built(tmp_path: Path) -> None:
    async with WireServer([chat.text("done"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        assert (await bench.run("run", "test")).code == 0
        assert (await bench.run("run", "--", "--check")).code == 0
        shown = await bench.run("teams", "show", "test")
    assert (shown.code, "not built" in shown.err) == (2, False)


@pytest.mark.parametrize("verb", [*ELSEWHERE, *NOT_BUILT[""]])
def test_no_verb_of_another_agent_is_a_prompt(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert main([verb]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Unknown command" in said.err or "is not built yet" in said.err
    for named in re.findall(r"[`\"]planck ([a-z]+)", said.err):
        assert named in COMMANDS or named == verb


async def test_help_and_version_are_commands(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    assert (await bench.run("version")).out == f"planck {__version__}\n"
    assert (await bench.run("help")).out == (await bench.run("--help")).out
    assert (await bench.run("help", "run")).out == (await bench.run("run", "--help")).out
    wrong = await bench.run("help", "rnu")
    assert (wrong.code, "Unknown command" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("noun", "action"),
    [
        *(("sessions", "list"), ("tools", "list"), ("models", "list"), ("teams", "list")),
        *(("skills", "list"), ("mcp", "list"), ("config", "show"), ("auth", "status")),
    ],
)
async def test_a_noun_alone_lists(tmp_path: Path, noun: str, action: str) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    alone, whole = await bench.run(noun), await bench.run(noun, action)
    assert (alone.code, alone.out) == (whole.code, whole.out) == (0, whole.out)
    with_option = await bench.run(noun, "--json")
    assert (with_option.code, with_option.out) == (0, (await bench.run(noun, action, "--json")).out)
    assert "--help" not in (await bench.run(noun, "--help")).err


async def test_words_without_quotes_are_told_how_to_be_a_task(tmp_path: Path) -> None:
    async with WireServer([chat.text("a model was asked")]) as server:
        done = await Bench(tmp_path, server.url).run("fix", "the", "tests", "--permission-mode", "ask")
    assert (done.code, server.asked) == (2, [])
    assert 'planck "fix the tests"' in done.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("sessions", "shwo", "x"),
            "Unknown argument: 'shwo'. Did you mean 'show'? Choose from list, show, ",
        ),
        (("sessions", "xyz", "x"), "Unknown argument: 'xyz'. Choose from list, show, "),
        (
            ("run", "hi", "--permission-mode", "ful"),
            "Invalid value for --permission-mode: 'ful'. Did you mean 'full'?",
        ),
        (("completion", "bsh"), "Unknown argument: 'bsh'. Did you mean 'bash'?"),
    ],
)
async def test_a_word_that_is_none_of_those_there_are_is_told_the_nearest(
    tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run(*args)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert (done.err.startswith(f"error: {said}"), done.error_kind) == (True, "invalid_args")
