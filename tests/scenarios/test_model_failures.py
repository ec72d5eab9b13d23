"""A model that breaks off, and a user who breaks off: what the runtime makes of it, over a real socket."""

import asyncio
import re
import signal
from pathlib import Path

from planck import Err, ErrorKind, Planck
from planck.llm.provider import Request
from planck.testing.scripted import Scripted, ScriptedProvider
from tests.command import FULL, Bench, finish
from tests.wire import chat
from tests.wire.server import Reply, WireServer


async def test_a_call_that_broke_off_runs_once_when_it_came_whole(tmp_path: Path) -> None:
    call = ("bash", {"command": "echo once >> ran.txt"})
    half = [*chat.text("I run it").pieces[:2], *chat.calls(call).pieces[:5]]
    whole = [*chat.text("I run it").pieces[:2], *chat.calls(call).pieces]
    script = [Reply(half, cut=True), Reply(whole), chat.text("Done.")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "do it", *FULL, "--output-format", "stream-json")
    assert (done.code, done.result["text"], len(server.asked)) == (0, "Done.", 3)
    assert (bench.work / "ran.txt").read_text() == "once\n"
    states = [line["data"]["state"] for line in done.lines if line["type"] == "status"]
    assert [state for state in states if state in ("discarded", "retrying")] == ["discarded", "retrying"]
    (why,) = [line["data"]["detail"] for line in done.lines if line["data"].get("state") == "discarded"]
    assert why.startswith("partial answer discarded: 'local': "), "it names the provider"
    (again,) = [line["data"]["detail"] for line in done.lines if line["data"].get("state") == "retrying"]
    assert re.fullmatch(r"retrying in \d+ s \(attempt 2 of 6\)", again), "the reason is told once"
    assert [line["type"] for line in done.lines].count("tool_start") == 1
    assert server.asked[0].body == server.asked[1].body


async def test_an_interrupt_closes_the_connection_to_the_model(tmp_path: Path) -> None:
    async with WireServer([Reply([*chat.text("a long").pieces[:2], asyncio.Event()])]) as server:
        process = await Bench(tmp_path, server.url).start("run", "go", "--output-format", "stream-json")
        assert process.stdin
        assert process.stdout
        process.stdin.close()
        async with asyncio.timeout(30):
            while b"text_delta" not in await process.stdout.readline():
                pass
            process.send_signal(signal.SIGINT)
            await server.closed_early.wait()
        done = await finish(process)
    assert (done.code, done.result["status"]) == (130, "interrupted")


async def test_a_model_that_goes_in_circles_is_told_and_stopped(tmp_path: Path) -> None:
    """L9: the notice comes with the third equal result; the cap ends it."""
    async with WireServer([chat.calls(("read", {"path": "missing"}))] * 9) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "go", "--max-steps", "5", "--output-format", "json")
    assert (done.code, done.result["status"], len(server.asked)) == (4, "capped", 5)
    answers = [m["content"] for m in server.asked[-1].json["messages"] if m["role"] == "tool"]
    assert ["[notice: this call gave the same result" in answer for answer in answers] == [
        False,
        False,
        True,
        True,
    ]


async def test_a_model_for_which_nothing_is_short_enough_is_asked_a_few_times(tmp_path: Path) -> None:
    """L10: each refusal takes something out, then the turn fails with what the model said."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "big.txt").write_text("a long line of text\n" * 400)
    full = False

    def answer(request: Request) -> Scripted:
        nonlocal full
        if "memory of a coding agent" in request.system:
            return Err(ErrorKind.CONTEXT_OVERFLOW, "prompt is too long")
        full = full or len(request.history.messages) > 12
        return (
            Err(ErrorKind.CONTEXT_OVERFLOW, "prompt is too long") if full else [("read", {"path": "big.txt"})]
        )

    double = ScriptedProvider(answer)
    async with Planck(tmp_path / "home", tmp_path / "work", environ={}, providers={"double": double}) as p:
        session = await p.start(model="double/m", mode="full")
        result = await session.run("read it again and again")
        assert (result.status, result.errors[-1]["kind"]) == ("failed", "context_overflow")
        assert len(double.asked) < 40
        asked = len(double.asked)
        assert (await session.run("and again")).status == "failed"
        assert len(double.asked) - asked < 20
