"""Known key values never reach the log, whatever says them."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from planck import Ok, Planck, Tool, ToolContext
from planck.headless.open_session import OpenSession
from planck.llm.provider import Item, Request
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.messages import AssistantMessage, StopReason, Text, ToolCall
from planck.records.usage import Usage
from planck.testing.scripted import Scripted, ScriptedProvider

ENVIRON = {
    "ANTHROPIC_API_KEY": "sk-c4n4ry-0123456789",
    "MY_TOKEN": 'quo"ted-c4n4ry-99',
    "PATH": "/usr/bin:/bin",
}


async def test_no_canary_is_in_any_file_of_the_session(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".env").write_text("KEY=sk-c4n4ry-0123456789\n")
    script: list[Scripted] = [
        [("read", {"path": ".env"})],
        "the key is sk-c4n4ry-0123456789",
    ]
    double = ScriptedProvider(script)
    async with Planck(
        tmp_path / "home", tmp_path / "work", environ=ENVIRON, providers={"double": double}
    ) as p:
        session = await p.start(model="double/m", mode="full")
        result = await session.run("what is sk-c4n4ry-0123456789?")
        assert result.exit_code == 0
        (wal,) = (tmp_path / "home" / "sessions").glob("*-wal")
        assert b"[redacted]" in (content := wal.read_bytes())
        assert b"c4n4ry" not in content, content[content.find(b"c4n4ry") - 200 :][:300]
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert [path for path in files if b"c4n4ry" in path.read_bytes()] == []
    assert any(b"[redacted]" in path.read_bytes() for path in files)


async def test_durability_against_a_power_cut_can_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    double = ScriptedProvider(["done"])
    flags = {"durability": "power"}
    async with Planck(
        tmp_path / "home", tmp_path / "work", environ={}, flags=flags, providers={"double": double}
    ) as p:
        session = await p.start(model="double/m")
        assert (await session.run("go")).text == "done"


async def test_a_rewound_agent_is_shown_what_it_was_shown_then(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    double = ScriptedProvider(["one", "two", "three"])
    async with Planck(tmp_path / "home", tmp_path / "work", environ={}, providers={"double": double}) as p:
        session = await p.start(model="double/m")
        await session.run("first")
        at = session.head
        await session.run("second")
        assert await session.rewind(at) is None
        await session.run("third")
    shown = str(double.asked[-1].messages)
    assert "first" in shown
    assert "third" in shown
    assert "second" not in shown


KEY = ENVIRON["ANTHROPIC_API_KEY"]
SAID = f"s sk- sk-c4n4ry {KEY}{KEY} sk-sk-c4{KEY}. ss"


class InPieces:
    """Thinks and says the same, so many characters at a time; first with two calls, then without."""

    def __init__(self, size: int) -> None:
        self._size = size

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        for piece in pieces(self._size):
            yield ThinkingDelta(text=piece)
        for piece in pieces(self._size):
            yield TextDelta(text=piece)
        first = len(request.history.messages) < 2
        calls = [ToolCall("", f"c{n}", "mutter", "{}") for n in range(2 * first)]
        stop = StopReason.TOOL_CALLS if first else StopReason.END
        yield AssistantMessage((Text(SAID), *calls), "double", "m", stop, Usage())


def pieces(size: int) -> list[str]:
    return [SAID[start : start + size] for start in range(0, len(SAID), size)]


@pytest.mark.parametrize("size", [1, 3, len(KEY) - 1, len(KEY), 1000])
async def test_no_canary_is_in_what_passes_by_wherever_it_is_cut(tmp_path: Path, size: int) -> None:
    """S12 for whoever watches: text, thinking and progress; nothing but the key is missing from a stream."""

    async def mutter(args: dict[str, Any], ctx: ToolContext) -> Ok[dict[str, Any]]:
        for piece in pieces(size):
            ctx.progress(piece)
            await asyncio.sleep(0)
        return Ok({"output": "done"})

    (tmp_path / "work").mkdir()
    providers = {"double": InPieces(size)}
    async with Planck(tmp_path / "home", tmp_path / "work", environ=ENVIRON, providers=providers) as p:
        session = await p.start(model="double/m", mode="full")
        await session.add_tool(Tool("mutter", "", {"type": "object"}, mutter))
        watching = asyncio.create_task(watched(session))
        assert (await session.run("go")).exit_code == 0
    streams: dict[Any, str] = defaultdict(str)
    step = 0
    for kind, data in await watching:
        step += kind == "assistant_message"
        if kind.endswith("_delta") or kind == "tool_progress":
            streams[kind, step, data.get("id")] += data["text"]
    assert len(streams) == 6
    assert set(streams.values()) == {SAID.replace(KEY, "[redacted]")}


async def watched(session: OpenSession) -> list[tuple[str, Any]]:
    return [(event.type, event.data) async for event in session.events()]
