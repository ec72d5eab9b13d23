"""A whole run against a model server that means harm: it ends in time, says why, and stays small."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.messages import StopReason, Text, ToolCall
from tests.command import WAIT, Done, finish
from tests.llm.raw_server import OK, Peer, raw_server
from tests.wire.hostile import ENDLESS, NOISE, Stream, say_word_then
from tests.wire.known import KNOWN, Known
from tests.wire.script import SHOW, Answer, play
from tests.wire.server import WireServer

BY_NAME = {known.name: known for known in KNOWN}
VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "google": "GOOGLE_API_KEY", "openai": "OPENAI_API_KEY"}
SHOWN = b'{"model_info": {"llama.context_length": 128000}}'

_MEASURED = """
import re, sys
from pathlib import Path
from planck.cli.main import main
code = main()
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
Path(sys.argv[0]).write_text(peak)
sys.exit(code)
"""


@asynccontextmanager
async def hostile(known: Known, stream: Callable[[Known], Stream] | None) -> AsyncIterator[str]:
    """A server that plays the stream to every request; without one it is silent."""

    async def handle(peer: Peer) -> None:
        while True:
            line, _, _ = await peer.request()
            if SHOW in line:
                await peer.send(OK + f"content-length: {len(SHOWN)}\r\n\r\n".encode() + SHOWN)
                continue
            if stream is None:
                await peer.gone()
                return
            await peer.send(OK + b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for piece in stream(known):
                await peer.send(b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b"")
                await asyncio.sleep(0)
            await peer.send(b"0\r\n\r\n")

    async with raw_server(handle) as server:
        yield server.url


async def run(known: Known, url: str, folder: Path, *args: str) -> tuple[Done, int]:
    """`planck run` against the server, and the most memory that its process needed, in KiB."""
    home, work, peak = folder / "home", folder / "work", folder / "peak"
    home.mkdir()
    work.mkdir()
    entry = {"type": known.type, "base_url": url, **({"api": known.api} if known.api else {})}
    (home / "config.json").write_text(json.dumps({"providers": {"p": entry}}))
    key = {VARIABLES[known.type]: "sk-0123456789"} if known.type in VARIABLES else {}
    command = ("run", "go", "-m", f"p/{known.model}", "--output-format", "json", *args)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _MEASURED.replace("sys.argv[0]", repr(str(peak))), *command),
        cwd=work,
        env={"PATH": "/usr/bin:/bin", "PLANCK_HOME": str(home), **key},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    return await finish(process), int(peak.read_text())


@pytest.mark.parametrize("name", ["anthropic", "ollama"])
async def test_an_endless_answer_ends_the_run_and_says_which_limit(name: str, tmp_path: Path) -> None:
    async with hostile(BY_NAME[name], ENDLESS["an endless answer"]) as url:
        done, peak = await run(BY_NAME[name], url, tmp_path)
    assert (done.code, done.result["errors"][-1]["kind"]) == (1, "limit_exceeded"), done.err
    assert "answer_bytes" in done.err
    assert peak < 150 << 10


@pytest.mark.parametrize("noise", ["comments", "silence"])
async def test_noise_does_not_hold_a_run_beyond_its_timeout(noise: str, tmp_path: Path) -> None:
    known = BY_NAME["openai-chat"]
    stream = say_word_then(NOISE["comments"]) if noise == "comments" else None
    async with hostile(known, stream) as url:
        done, peak = await run(known, url, tmp_path, "--timeout", "1")
    assert (done.code, done.result["status"]) == (124, "timed_out")
    assert peak < 150 << 10


@pytest.mark.soak
@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
@pytest.mark.parametrize("what", ["silence", *NOISE, *ENDLESS])
async def test_every_hostile_stream_ends_in_time_with_its_kind(
    known: Known, what: str, tmp_path: Path
) -> None:
    """Prints kind, seconds and MiB of each: silence and noise end at `--timeout 3`, the rest by its bound."""
    stream = ENDLESS.get(what) or (say_word_then(NOISE[what]) if what in NOISE else None)
    loop = asyncio.get_running_loop()
    async with hostile(known, stream) as url:
        begun = loop.time()
        done, peak = await run(known, url, tmp_path, "--timeout", "3" if what not in ENDLESS else "20")
        took = loop.time() - begun
    errors = [error["kind"] for error in done.result["errors"]]
    print(f"| {known.name} | {what} | {done.code} {errors[-1:]} | {took:.1f} s | {peak >> 10} MiB |")
    if what in ENDLESS:
        assert (done.code, errors[-1:]) == (1, ["limit_exceeded"]), done.err
    else:
        assert (done.code, done.result["status"]) == (124, "timed_out")
    assert took < WAIT
    assert peak < 150 << 10


def calls(count: int) -> tuple[ToolCall, ...]:
    return tuple(ToolCall("", f"c{n}", "list_dir", "{}") for n in range(count))


async def play_run(
    known: Known, folder: Path, steps: list[Answer], **limits: int
) -> tuple[Any, list[dict[str, Any]], int]:
    """A session's result, its `tool_end`s, and how many requests it took."""
    async with WireServer(play(known.server, steps)) as server:
        entry = {"type": known.type, "base_url": server.url, **({"api": known.api} if known.api else {})}
        flags = {"providers": {"p": entry}, "limits": limits}
        environ = {VARIABLES[known.type]: "sk-0123456789"} if known.type in VARIABLES else {}
        async with Planck(folder / "home", folder, environ=environ, flags=flags) as planck:
            session = await planck.start(model=f"p/{known.model}", mode="read-only")
            result = await session.run("go")
            ends = []
            async for event in session.events():
                if event.type == "tool_end":
                    ends.append(event.data)
                if event.type == "turn_end":
                    break
        return result, ends, len([asked for asked in server.asked if asked.path != SHOW])


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
async def test_of_an_answer_with_too_many_calls_none_runs_and_the_turn_goes_on(
    known: Known, tmp_path: Path
) -> None:
    steps = [
        Answer(calls(129), StopReason.TOOL_CALLS),
        Answer(calls(128), StopReason.TOOL_CALLS),
        Answer((Text("fine"),)),
    ]
    result, ends, requests = await play_run(known, tmp_path, steps)
    assert (result.status, result.text, requests) == ("completed", "fine", 3)
    kinds = [end["error"]["kind"] if "error" in end else "" for end in ends]
    assert kinds == ["limit_exceeded"] * 129 + [""] * 128


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
async def test_of_an_answer_that_is_too_large_no_call_runs_and_the_second_ends_the_turn(
    known: Known, tmp_path: Path
) -> None:
    large = ToolCall("", "c0", "list_dir", json.dumps({"path": "x" * 3_000}))
    steps = [Answer((Text("see:"), large, *calls(2)), StopReason.TOOL_CALLS, fragment=100)]
    result, ends, requests = await play_run(known, tmp_path, steps, answer_bytes=2_000)
    assert (result.status, result.exit_code, requests) in [("failed", 1, 2), ("failed", 1, 1)]
    assert result.errors[-1]["kind"] == "limit_exceeded"
    assert all(end["error"]["kind"] == "limit_exceeded" for end in ends)
    assert len(ends) >= requests - 1


async def test_a_small_answer_within_its_bounds_is_whole(tmp_path: Path) -> None:
    text = "ä" * 900
    steps = [Answer((Text(text),), fragment=7)]
    result, _, _ = await play_run(BY_NAME["openai-chat"], tmp_path, steps, answer_bytes=1_800)
    assert (result.status, result.text) == ("completed", text)
    result, _, _ = await play_run(BY_NAME["openai-chat"], tmp_path, steps, answer_bytes=1_799)
    assert (result.status, result.errors[-1]["kind"]) == ("failed", "limit_exceeded")
