"""A model that breaks off, and a user who breaks off: what the runtime makes of it, over a real socket."""

import asyncio
import signal
from pathlib import Path

from tests.command import Bench, finish
from tests.wire import chat
from tests.wire.server import Reply, WireServer

FULL = ("--permission-mode", "full")


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
