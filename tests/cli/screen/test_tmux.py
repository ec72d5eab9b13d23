"""The screen in a terminal that wraps its lines again when it is resized: nothing twice, nothing left."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.command import PLAIN, WAIT, Bench
from tests.wire import chat
from tests.wire.server import Reply, WireServer

pytestmark = [
    pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed"),
]

LINES = 30


class Tmux:
    """A server of its own with one window, in which planck runs."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")

    async def __call__(self, *words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "tmux",
            *("-S", self._socket, "-f", "/dev/null"),
            *words,
            stdout=asyncio.subprocess.PIPE,
            env={**PLAIN, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"},
        )
        out, _ = await process.communicate()
        return out.decode()

    async def screen(self) -> list[str]:
        """Each line once, however often it is wrapped, from the beginning of the scrollback."""
        return [line.rstrip() for line in (await self("capture-pane", "-p", "-J", "-S", "-")).split("\n")]

    async def until(self, expected: Callable[[list[str]], object]) -> list[str]:
        lines: list[str] = []
        try:
            async with asyncio.timeout(WAIT):
                while not expected(lines := await self.screen()):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError("\n".join(lines)) from None
        return lines


@asynccontextmanager
async def conversation(bench: Bench, columns: int) -> AsyncIterator[Tmux]:
    tmux = Tmux(bench.home)
    variables = {**PLAIN, "HOME": str(bench.home), "PLANCK_HOME": str(bench.home), "PYTHONUTF8": "1"}
    words = " ".join(f"{key}={value}" for key, value in variables.items())
    command = f"exec env {words} {sys.executable} -m planck --permission-mode full"
    size = ("-x", str(columns), "-y", "30")
    await tmux("new-session", "-d", *size, "-c", str(bench.work), command, ";", "set", "-g", "status", "off")
    try:
        await tmux.until(lambda lines: any("? keys" in line for line in lines))
        yield tmux
    finally:
        await tmux("kill-server")


def _end_with(end: str, lines: list[str]) -> bool:
    return any(line.endswith(end) for line in lines)


def _hold(words: str, lines: list[str]) -> bool:
    return any(words in line for line in lines)


def _rest_with(line: str, lines: list[str]) -> bool:
    return line in lines and not any("●" in one for one in lines)


async def test_a_resize_in_a_stream_shows_each_line_once_and_leaves_no_ghosts(tmp_path: Path) -> None:
    gates = [asyncio.Event() for _ in range(LINES)]
    words = "which is long enough to be wrapped when the terminal becomes narrow 日本語"
    answer = chat.text(*(f"line {n} of the answer, {words}.\n\n" for n in range(LINES)))
    pieces: list[bytes | asyncio.Event] = [answer.pieces[0]]
    for gate, piece in zip(gates, answer.pieces[1:], strict=False):
        pieces += [gate, piece]
    async with WireServer([Reply([*pieces, *answer.pieces[1 + LINES :]])]) as server:
        bench = Bench(tmp_path, server.url)
        async with conversation(bench, 110) as tmux:
            await tmux("send-keys", "-l", "go")
            await tmux("send-keys", "Enter")
            await tmux.until(lambda lines: any("Esc interrupts" in line for line in lines))
            draft = "a draft that has to be wrapped, too, once the terminal is narrow: " + "日本" * 9
            await tmux("send-keys", "-l", draft)
            await tmux.until(lambda lines: any(line == f"> {draft}" for line in lines))
            following = iter(gates)
            for times, width in enumerate((60, 110, 60, 110), 1):
                for _ in range(3):
                    next(following).set()
                # Painted by then: who paints while the terminal wraps its lines again can't know of it yet.
                await tmux.until(partial(_hold, f"line {6 * times - 4} of"))
                await tmux("resize-window", "-x", str(width), "-y", "30")
                for _ in range(3):
                    next(following).set()
                await tmux("send-keys", "-l", "x")
                # Seen once it was painted at that width: nothing is before the terminal has settled.
                await tmux.until(partial(_end_with, f"日本{'x' * times}"))
            for gate in following:
                gate.set()
            lines = await tmux.until(lambda lines: any(line.startswith("Completed") for line in lines))
            # The rows of who is at work go with a later picture than the one with the last line.
            typed = await tmux.until(partial(_rest_with, f"> {draft}xxxx"))
    for n in range(LINES):
        assert sum(f"line {n} of" in line for line in lines) == 1, "\n".join(lines)
    assert sum("a draft that" in line for line in typed) == 1
    assert sum("日本日本" in line for line in typed) == 1
    assert sum("Esc interrupts" in line or "? keys" in line for line in typed) == 1


@pytest.mark.parametrize("size", [(80, 14), (40, 14), (120, 14)], ids=str)
async def test_a_lower_terminal_loses_no_line_and_shows_the_footer(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    answer = "".join(f"line {n}\n\n" for n in range(LINES))
    async with WireServer([chat.text(answer)]) as server:
        bench = Bench(tmp_path, server.url)
        async with conversation(bench, 80) as tmux:
            await tmux("send-keys", "-l", "go")
            await tmux("send-keys", "Enter")
            await tmux.until(lambda lines: any(line.startswith("Completed") for line in lines))
            await tmux.until(lambda lines: any("? keys" in line for line in lines))
            await tmux("resize-window", "-x", str(size[0]), "-y", str(size[1]))
            await tmux("send-keys", "-l", "settled")
            lines = await tmux.until(partial(_end_with, "> settled"))
            lines = await tmux.until(lambda lines: any("of context" in line for line in lines))
    assert sum(line.startswith("Completed · 1 step") for line in lines) == 1, "\n".join(lines)
    assert sum(line == f"line {LINES - 1}" for line in lines) == 1


async def test_one_may_detach_and_come_back(tmp_path: Path) -> None:
    async with WireServer([chat.text("all is well")]) as server:
        bench = Bench(tmp_path, server.url)
        async with conversation(bench, 80) as tmux:
            await tmux("send-keys", "-l", "half")
            master, slave = os.openpty()
            for _ in range(2):
                client = await asyncio.create_subprocess_exec(
                    *("tmux", "-S", str(bench.home / "tmux"), "attach"),
                    stdin=slave,
                    stdout=slave,
                    stderr=asyncio.subprocess.DEVNULL,
                    env={**PLAIN, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"},
                )
                await tmux.until(lambda lines: any(line == "> half" for line in lines))
                while not await tmux("list-clients"):
                    await asyncio.sleep(0.05)
                await tmux("detach-client")
                async with asyncio.timeout(WAIT):
                    await client.wait()
            os.close(master)
            os.close(slave)
            await tmux("send-keys", "-l", " a thought")
            await tmux("send-keys", "Enter")
            lines = await tmux.until(lambda lines: any(line.startswith("Completed") for line in lines))
    assert sum(line == "> half a thought" for line in lines) == 1
    assert sum(line.startswith("all is well") for line in lines) == 1
