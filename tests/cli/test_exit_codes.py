"""Every exit code of the contract, provoked by the command line itself."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.command import Bench, finish, until
from tests.wire import chat
from tests.wire.server import Reply, WireServer, json_reply

FULL = ("--permission-mode", "full")
SLEEP = chat.calls(("bash", {"command": "touch started; sleep 600"}))
TRUE = chat.calls(("bash", {"command": "true"}))


async def code_of(
    tmp_path: Path, script: list[Reply], *args: str, **config: Any
) -> tuple[int, dict[str, Any]]:
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url, **config)
        done = await bench.run("run", "go", *args, "--output-format", "json")
    assert done.result["exit_code"] == done.code
    return done.code, done.result


async def test_0_done_also_with_denials(tmp_path: Path) -> None:
    code, result = await code_of(tmp_path, [TRUE, chat.text("I may not.")])
    assert (code, result["status"], len(result["denials"])) == (0, "completed", 1)


async def test_1_failure(tmp_path: Path) -> None:
    code, result = await code_of(tmp_path, [json_reply({"error": {"message": "no"}}, 400)])
    assert (code, result["status"]) == (1, "failed")


async def test_2_usage_unknown_session_and_nothing_to_do(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    for args in (
        ("run",),
        ("run", "go", "--max-steps", "0"),
        ("run", "go", "--timeout", "-1"),
        ("run", "go", "--nonsense"),
        ("run", "go", "-r", "nobody"),
        ("run", "go", "-c"),
        ("run", "go", "--fork"),
        ("run", "go", "-C", "/nowhere"),
        ("run", "go", "-m", "nothing/at-all"),
        ("run", "go", "--team", "nobody"),
        ("undo",),
        ("serve",),
        ("acp",),
        ("config", "explain", "nonsense"),
    ):
        done = await bench.run(*args)
        assert (done.code, done.out) == (2, ""), args
        assert done.err.strip(), args


async def test_3_could_not_go_on_because_of_a_denial(tmp_path: Path) -> None:
    code, result = await code_of(tmp_path, [TRUE, chat.text("")])
    assert (code, len(result["denials"])) == (3, 1)


async def test_4_step_limit(tmp_path: Path) -> None:
    code, result = await code_of(tmp_path, [TRUE], *FULL, "--max-steps", "2")
    assert (code, result["status"]) == (4, "capped")
    assert [sorted(error) for error in result["errors"]] == [["agent_id", "details", "kind", "message"]]
    assert result["errors"][0]["kind"] == "iteration_cap"


async def test_5_session_locked(tmp_path: Path) -> None:
    async with WireServer([SLEEP]) as server:
        bench = Bench(tmp_path, server.url)
        first = await bench.start("run", "hold", *FULL, "--name", "held")
        assert first.stdin
        first.stdin.close()
        await until(bench.work / "started")
        second = await bench.run("run", "mine?", "-r", "held")
        undo = await bench.run("undo", "-r", "held")
        first.kill()
        await first.wait()
    assert (second.code, undo.code) == (5, 5)


async def test_6_no_final_text(tmp_path: Path) -> None:
    assert (await code_of(tmp_path, [chat.text("")]))[0] == 6


async def test_75_when_it_is_worth_trying_again_later(tmp_path: Path) -> None:
    busy = json_reply({"error": {"message": "slow down"}}, 429, {"retry-after": "0"})
    code, result = await code_of(tmp_path, [busy])
    assert (code, result["errors"][-1]["kind"]) == (75, "rate_limited")


async def test_124_timeout(tmp_path: Path) -> None:
    code, result = await code_of(tmp_path, [SLEEP], *FULL, "--timeout", "0.5")
    assert (code, result["status"]) == (124, "timed_out")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_130_and_143_for_signals(tmp_path: Path, number: signal.Signals, code: int) -> None:
    async with WireServer([SLEEP]) as server:
        bench = Bench(tmp_path, server.url)
        process = await bench.start("run", "wait", *FULL, "--output-format", "json")
        assert process.stdin
        process.stdin.close()
        await until(bench.work / "started")
        process.send_signal(number)
        done = await finish(process)
    assert (done.code, json.loads(done.out)["status"]) == (code, "interrupted")
