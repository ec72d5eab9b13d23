"""Every exit code of the contract, provoked by the command line itself."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from planck.records.outcome import ErrorKind
from tests.command import FULL, WAIT, Bench, finish, until
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer, json_reply

SLEEP = chat.calls(("bash", {"command": "touch started; sleep 600"}))
TRUE = chat.calls(("bash", {"command": "touch x"}))


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
        ("run", "go", "-m", "local/"),
        ("run", "go", "--team", "nobody"),
        ("undo",),
        ("tools", "dance"),
        ("tools", "show"),
        ("sessions", "nonsense"),
        ("sessions", "replay", "x", "--from", "3", "--live"),
        ("config", "explain", "nonsense"),
    ):
        done = await bench.run(*args)
        assert (done.code, done.out) == (2, ""), args
        kind = done.err.removeprefix("planck: ").partition(":")[0]
        assert (kind in list(ErrorKind), done.err.count("\n")) == (True, 1), done.err


@pytest.mark.parametrize(
    "args",
    [
        ("go", "--max-steps", "0"),
        ("go", "--nonsense"),
        ("go", "-r", "nobody"),
        (),
        ("go", "-C", "/nowhere"),
    ],
)
async def test_2_has_a_result_in_the_format_that_was_asked_for(tmp_path: Path, args: tuple[str, ...]) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    whole = await bench.run("run", *args, "--output-format", "json")
    stream = await bench.run("run", "--output-format=stream-json", *args)
    assert (whole.code, stream.code, whole.result["exit_code"]) == (2, 2, 2)
    assert [line["type"] for line in stream.lines] == ["init", "result"]
    assert stream.result["errors"] == whole.result["errors"]


async def test_2_when_a_resumed_session_is_not_to_be_kept(tmp_path: Path) -> None:
    async with WireServer([chat.text("yes")]) as server:
        bench = Bench(tmp_path, server.url)
        assert (await bench.run("run", "go")).code == 0
        assert (await bench.run("run", "more", "-c", "--no-session")).code == 2
    assert len(server.asked) == 1


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
        copied = await bench.run(
            *second.err.partition('or run "planck ')[2].partition('" to continue in a copy')[0].split()
        )
        first.kill()
        await first.wait()
    assert (second.code, undo.code, copied.code) == (5, 5, 0), copied.err


@pytest.mark.parametrize("text", ["", " \n"])
async def test_6_no_final_text(tmp_path: Path, text: str) -> None:
    assert (await code_of(tmp_path, [chat.text(text)]))[0] == 6


async def test_6_shows_the_last_text_that_there_was(tmp_path: Path) -> None:
    said = chat.stream([{"content": "I look."}, *_deltas("read", '{"path": "x"}')], "tool_calls")
    code, result = await code_of(tmp_path, [said, chat.text("")])
    assert (code, result["status"], result["text"]) == (6, "completed", "I look.")


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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_while_the_prompt_is_read_has_a_result_too(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    process = await bench.start("run", "--output-format", "json")
    await reads_its_input(process.pid)
    process.send_signal(number)
    done = await finish(process)
    assert (done.code, done.result["status"], done.result["exit_code"]) == (code, "interrupted", code)


def delegating(asked: Asked) -> Reply:
    """An orchestrator that hands its task on and is done, and a worker that never is."""
    first, *_, last = asked.json["messages"]
    if "HELPER" in first["content"]:
        return SLEEP
    if last["role"] == "tool":
        return chat.text("delegated")
    task = {"identifier": "helper", "identifier_type": "type", "task": "sleep"}
    return chat.calls(("delegate_task", task))


def with_a_helper(bench: Bench) -> None:
    folder = bench.home / "teams" / "pair"
    folder.mkdir(parents=True)
    model = {"provider": "local", "model_id": "m"}
    helper = {"type": "helper", "system_prompt": "HELPER", "tools": ["bash"], **model}
    (folder / "TEAM.json").write_text(
        json.dumps({"name": "pair", "members": [{"type": "orchestrator", **model}, helper]})
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (None, 124)])
async def test_what_stops_the_team_is_told_though_the_orchestrator_had_completed(
    tmp_path: Path, number: signal.Signals | None, code: int
) -> None:
    timeout = () if number else ("--timeout", "6")
    async with WireServer(delegating) as server:
        bench = Bench(tmp_path, server.url)
        with_a_helper(bench)
        shown = ("--team", "pair", "--output-format", "stream-json")
        process = await bench.start("run", "go", *FULL, *shown, *timeout)
        assert process.stdin
        assert process.stdout
        process.stdin.close()
        async with asyncio.timeout(WAIT):
            while b'"turn_end"' not in await process.stdout.readline():
                pass
        await until(bench.work / "started")
        if number:
            process.send_signal(number)
        done = await finish(process)
    assert (done.code, done.result["exit_code"], done.result["text"]) == (code, code, "delegated")
    assert done.result["status"] == ("interrupted" if number else "timed_out")
    assert len(server.asked) == 3  # the lost task woke nobody


@pytest.mark.parametrize(
    ("args", "kind"), [(("--timeout", "0.5"), "timeout"), (("--max-steps", "1"), "iteration_cap")]
)
async def test_an_ending_without_an_answer_says_why(tmp_path: Path, args: tuple[str, ...], kind: str) -> None:
    async with WireServer([SLEEP if kind == "timeout" else TRUE]) as server:
        done = await Bench(tmp_path, server.url).run("run", "go", *FULL, *args)
    assert done.err.startswith(f"planck: {kind}: ")


def _deltas(name: str, arguments: str) -> list[dict[str, Any]]:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}
    return [{"tool_calls": [call]}]


async def reads_its_input(pid: int) -> None:
    """Wait until it sits in `read` on standard input: call 0 on x86-64, 63 on ARM."""
    async with asyncio.timeout(WAIT):
        while Path(f"/proc/{pid}/syscall").read_text().split()[:2] not in (["0", "0x0"], ["63", "0x0"]):
            await asyncio.sleep(0.01)
