"""What a person sees: on a terminal, without colours, and through a pipe."""

import asyncio
import re
import signal
from pathlib import Path

import pytest

from tests.command import FULL, WAIT, Bench
from tests.terminal import TerminalRun, on_terminal
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

MARKDOWN = "# Done\n\nI fixed **the bug** in `prices.py`:\n\n```python\nx = [1,\n\n2]\n```\n\n- one\n- two\n"
HOSTILE = "a\x1b[2Jb\x1b]0;wicked\x07c\x1b]52;c;ZXZpbA==\x07d\re\x9b31mf\u202eg\x08h\n"


def scripted(*texts: str, command: str = "echo hello") -> list[Reply]:
    return [chat.calls(("bash", {"command": command})), chat.text(*texts)]


async def finished(
    *args: str, bench: Bench, columns: int = 80, env: dict[str, str] | None = None
) -> TerminalRun:
    run = await on_terminal(*args, home=bench.home, work=bench.work, columns=columns, env=env)
    await run.end()
    return run


def lines(text: str) -> list[str]:
    """What stands on the screen in the end: a carriage return begins a line again."""
    bare = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n")
    return [line.rsplit("\r", 1)[-1].rstrip() for line in bare.split("\n")]


@pytest.mark.parametrize("columns", [40, 80])
async def test_markdown_tools_and_the_cost_fit_the_width(tmp_path: Path, columns: int) -> None:
    pieces = [MARKDOWN[at : at + 5] for at in range(0, len(MARKDOWN), 5)]
    async with WireServer(scripted(*pieces, command="echo hello  " + "x" * 90)) as server:
        bench = Bench(tmp_path, server.url)
        run = await finished("run", "go", *FULL, "--name", "seen", bench=bench, columns=columns)
    shown = lines(run.text)
    assert run.process.returncode == 0
    assert any(line.startswith("  ✓ bash echo hello x") for line in shown)
    assert any("I fixed the bug in prices.py:" in line for line in shown)
    assert any("x = [1," in line for line in shown)
    assert "**" not in run.text
    assert "```" not in run.text
    assert any("2 steps" in line for line in shown)
    assert all(len(line) <= columns for line in shown if not line.startswith("planck: Session"))
    assert len([line for line in shown if "Done" in line]) == 1


async def test_the_cost_is_told_at_the_end(tmp_path: Path) -> None:
    async with WireServer(scripted("ok")) as server:
        run = await finished("run", "go", *FULL, bench=Bench(tmp_path, server.url))
    assert "2 steps · " in lines(run.text)[-2]
    assert re.search(r"\d tokens in, \d+ out · ", lines(run.text)[-2])


async def test_a_terminal_that_can_do_nothing_gets_plain_text(tmp_path: Path) -> None:
    async with WireServer(scripted(HOSTILE)) as server:
        run = await finished("run", "go", *FULL, bench=Bench(tmp_path, server.url), env={"TERM": "dumb"})
    assert run.process.returncode == 0
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", run.text)
    assert "abcd" in run.text


@pytest.mark.parametrize("no_color", [False, True])
async def test_no_control_byte_of_a_tool_or_a_model_reaches_the_terminal(
    tmp_path: Path, no_color: bool
) -> None:
    command = "printf 'x\\033[2Jy\\033]0;evil\\007z\\n'; exit 1"
    async with WireServer(scripted(HOSTILE, command=command)) as server:
        bench = Bench(tmp_path, server.url)
        run = await finished("run", "go", *FULL, bench=bench, env={"NO_COLOR": "1"} if no_color else {})
    ours = re.sub(r"\x1b\[[0-9;]*m", "", run.text)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", ours)
    assert ("\x1b" in run.text) is not no_color
    assert "wicked" not in run.text


async def test_a_pipe_gets_the_bare_text_and_errors_stay_on_stderr(tmp_path: Path) -> None:
    async with WireServer(scripted(MARKDOWN)) as server:
        done = await Bench(tmp_path, server.url).run("run", "go", *FULL, env={"TERM": "xterm"})
    assert done.out == MARKDOWN + "\n"
    assert done.err.count("\n") == 1


async def test_what_was_denied_and_tried_again_is_said_on_stderr_of_a_pipe(tmp_path: Path) -> None:
    busy = chat.error(429, "slow down", headers={"retry-after": "0"})
    write = chat.calls(("write", {"path": "x", "content": "y"}))
    async with WireServer([busy, write, chat.text("done")]) as server:
        done = await Bench(tmp_path, server.url).run("run", "go", "--permission-mode", "read-only")
    assert (done.code, done.out) == (0, "done\n")
    retried, denied, session = done.err.splitlines()
    assert re.match(
        r"planck: model: retrying in \d+ s \(attempt 2 of 6\): '.*' returned HTTP 429: .*slow down",
        retried,
    )
    assert denied == (
        "planck: Tool write was not run: mode 'read-only' allows no changes. "
        "To allow it, choose another --permission-mode or add a rule. [permission_denied]"
    )
    assert session.startswith("planck: Session ")


async def test_ctrl_c_ends_the_turn_with_130_and_kills_what_ran(tmp_path: Path) -> None:
    async with WireServer(scripted("never", command="echo ready; sleep 600")) as server:
        bench = Bench(tmp_path, server.url)
        run = await on_terminal("run", "go", *FULL, home=bench.home, work=bench.work)
        await run.until("bash echo ready")
        run.process.send_signal(signal.SIGINT)
        assert await run.end() == 130
    assert "interrupted" in run.text


async def test_a_conversation_is_steered_interrupted_and_left(tmp_path: Path) -> None:
    def script(asked: Asked) -> Reply:
        last = asked.json["messages"][-1]
        said = [m["content"] for m in asked.json["messages"] if m["role"] == "user"]
        if last["role"] == "user" and last["content"] == "wait":
            return chat.calls(("bash", {"command": "until test -e go; do sleep 0.02; done"}))
        if last["role"] == "user" and last["content"] == "hang":
            return chat.calls(("bash", {"command": "sleep 600"}))
        return chat.text(f"I heard {len(said)}: {said[-1][-20:]}")

    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        run = await on_terminal("--name", "talk", *FULL, home=bench.home, work=bench.work)
        await run.until("/help")
        run.type("wait\r")
        await run.until("bash until")
        run.type("also this\r")
        at = await run.until("next step")
        (bench.work / "go").touch()
        at = await run.until("I heard 2", at)
        at = await run.until("Completed", at)
        run.type("hang\r")
        at = await run.until("bash sleep 600", at)
        async with asyncio.timeout(WAIT):
            while len(server.asked) < 3:
                await asyncio.sleep(0.01)
        run.process.send_signal(signal.SIGINT)
        at = await run.until("Interrupted · ", at)
        run.type("/nonsense\r")
        at = await run.until("Unknown command /nonsense.", at)
        run.type("/team\r")
        at = await run.until("orchestrator · local/m", at)
        run.type("q")
        at = await run.until("\x1b[?1049l", at)
        run.type("/cost\r")
        at = await run.until("agent ", at)
        at = await run.until("total ", at)
        run.type("\x03")
        at = await run.until("Ctrl+C again", at)
        run.type("\x03")
        assert await run.end() == 130
    assert "planck -r talk" in run.text
    assert "wait" in (bench.home / "history").read_text()


async def test_a_history_is_made_shorter_on_request(tmp_path: Path) -> None:
    def script(asked: Asked) -> Reply:
        if "memory of a coding agent" in str(asked.json["messages"][0]):
            return chat.text("They talked.")
        return chat.text(
            "a long answer " * 1_500, usage={"prompt_tokens": 20_000, "completion_tokens": 5_000}
        )

    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        run = await on_terminal(*FULL, home=bench.home, work=bench.work)
        at = await run.until("/help")
        run.type("/compact\r")
        at = await run.until("Nothing to compact yet.", at)
        for _ in range(3):
            run.type("on\r")
            at = await run.until("Completed", at)
        run.type("/compact\r")
        at = await run.until("Compacted: 25,000 → ", at)
        run.type("/exit\r")
        assert await run.end() == 0
    assert run.text.count("The full history stays in the log.") == 1


async def test_lines_from_a_pipe_are_answered_one_by_one(tmp_path: Path) -> None:
    async with WireServer([chat.text("one"), chat.text("two"), chat.text("three")]) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("first thing", stdin=b"second\n/cost\n\nthird\n")
    assert done.code == 0
    assert [line for line in done.out.splitlines() if line] == ["one", "two", "three"]
    assert ["total", "2"] in [line.split()[:2] for line in done.err.splitlines()]


async def test_print_is_run_wherever_it_stands(tmp_path: Path) -> None:
    async with WireServer([chat.text("yes")]) as server:
        bench = Bench(tmp_path, server.url)
        for args in (("-p", "is it?"), ("is it?", "--print"), ("is it?", "--no-session", "-p")):
            done = await bench.run(*args)
            assert (done.code, done.out) == (0, "yes\n")


async def test_without_a_model_every_way_to_one_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.home / "config.json").unlink()
    for args in (("run", "hello"), ("hello",)):
        done = await bench.run(*args)
        assert done.code == 2
        assert done.error_kind == "not_found"
        assert done.err.startswith("error: No model is configured. ")
        for way in (
            "Ollama",
            "llama.cpp",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "planck demo",
        ):
            assert way in done.err


async def test_a_misspelt_command_is_no_task(tmp_path: Path) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run("skils", "list")
    assert done.code == 2
    assert 'Did you mean "planck skills"?' in done.err


async def test_nothing_to_say_is_a_usage_error(tmp_path: Path) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run()
    assert done.code == 2
    assert "no_prompt" in done.err
