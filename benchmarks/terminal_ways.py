"""One way to draw 4,000 deltas at 1,000 a second: `terminal_ways.py WAY COUNT FILE`, in a terminal."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

WORDS = ["The", "discount", "is", "**subtracted**", "as", "an", "amount,", "so", "`total()`", "is", "wrong."]


def make_deltas(count: int) -> list[str]:
    """Paragraphs of forty words, with a list and code among them."""
    deltas = [WORDS[n % len(WORDS)] + " " for n in range(count)]
    deltas[39::40] = ["\n\n"] * len(deltas[39::40])
    deltas[79::200] = ["\n\n- one\n- two\n\n"] * len(deltas[79::200])
    return deltas


async def feed(count: int, take: Callable[[str], Awaitable[None] | None]) -> tuple[float, float]:
    """Hands out 1,000 deltas a second, ten at a time, as a socket does; gives CPU and wall.

    What is loaded for the first block is not counted, for any of them.
    """
    waits = take("Hello **you**\n\n")
    if waits is not None:
        await waits
    await asyncio.sleep(0.3)
    began, used = time.perf_counter(), time.process_time()
    given, deltas = 0, make_deltas(count)
    while given < count:
        due = min(count, int((time.perf_counter() - began) * 1000) + 1)
        for delta in deltas[given:due]:
            waits = take(delta)
            if waits is not None:
                await waits
        given = due
        await asyncio.sleep(0.01)
    return time.process_time() - used, time.perf_counter() - began


async def draw_nothing(count: int) -> tuple[float, float]:
    return await feed(count, lambda delta: None)


async def draw_planck(count: int) -> tuple[float, float]:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from types import SimpleNamespace

    import msgspec

    from planck.cli.screen.screen import Screen
    from planck.cli.tell.live_board import LiveBoard
    from planck.cli.tell.reporter import Reporter
    from planck.cli.tell.team_rows import TeamRows
    from planck.cli.tell.terminal import Terminal
    from planck.headless import SessionEvent
    from planck.records import codec
    from planck.records.board import Board
    from planck.records.events import Event
    from planck.records.rows import AgentRow
    from planck.records.specs import AgentSpec, ModelSpec

    model = ModelSpec("local", "m")
    spec = AgentSpec("a", "orchestrator", "orchestrator", "orchestrator", model)
    session: Any = SimpleNamespace(members=[spec], orchestrator=spec)
    row = AgentRow(id="a", type=spec.type, name=spec.name, role=spec.role, model=model.label, since="")
    screen = Screen()
    screen.open()
    terminal = Terminal()
    terminal.live = False
    reporter, live_board = Reporter(terminal, session), LiveBoard(Board(agents=(row,)))
    screen.show(TeamRows(live_board))
    await asyncio.sleep(0.5)  # the editor is loaded

    def take(delta: str) -> None:
        data = codec.encode({"text": delta, "index": 0})
        event = SessionEvent(
            Event(None, "2026-11-16T10:00:00Z", "a", 1, "text_delta", msgspec.Raw(data)), "s"
        )
        live_board.follow(event)
        reporter.show(event)
        screen.touch()

    try:
        return await feed(count, take)
    finally:
        await screen.close()


async def draw_prompt_toolkit(count: int) -> tuple[float, float]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.application import run_in_terminal
    from rich.console import Console
    from rich.markdown import Markdown

    live: dict[str, Any] = {"text": "", "words": 0}

    def print_block(text: str) -> None:
        Console(width=109, force_terminal=True).print(Markdown(text))

    session: PromptSession[str] = PromptSession(
        bottom_toolbar=lambda: f"writing  {live['words']} words  {live['text'][-80:]!r}"
    )
    session.app.min_redraw_interval = 0.05
    reading = asyncio.ensure_future(session.prompt_async("> "))
    await asyncio.sleep(0.5)

    async def take(delta: str) -> None:
        live["text"], live["words"] = live["text"] + delta, live["words"] + 1
        if "\n\n" in delta:
            text, live["text"] = live["text"], ""
            await run_in_terminal(lambda: print_block(text))
        session.app.invalidate()

    figures = await feed(count, take)
    session.app.exit(result="")
    await reading
    return figures


async def draw_textual(count: int) -> tuple[float, float]:
    from textual.app import App, ComposeResult  # type: ignore[import-not-found] # a peer's
    from textual.containers import VerticalScroll  # type: ignore[import-not-found] # a peer's
    from textual.widgets import Input, Markdown, Static  # type: ignore[import-not-found] # a peer's

    found: list[tuple[float, float]] = []

    class Chat(App):  # type: ignore[misc] # a peer's
        def compose(self) -> ComposeResult:
            with VerticalScroll():
                yield Markdown("")
            yield Static("writing")
            yield Input()

        def on_mount(self) -> None:
            self.run_worker(self._feed())

        async def _feed(self) -> None:
            await asyncio.sleep(0.5)
            stream = Markdown.get_stream(self.query_one(Markdown))
            found.append(await feed(count, stream.write))
            await stream.stop()
            self.exit()

    await Chat().run_async()
    return found[0]


if __name__ == "__main__":
    ways = {
        "nothing": draw_nothing,
        "planck": draw_planck,
        "prompt_toolkit": draw_prompt_toolkit,
        "textual": draw_textual,
    }
    chosen, number, file = sys.argv[1:4]
    Path(file).write_text(json.dumps(asyncio.run(ways[chosen](int(number)))))
