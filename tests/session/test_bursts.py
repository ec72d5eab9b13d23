"""What a model says in one read of its socket, on its way through the session to whoever follows it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from types import FrameType

import pytest

from planck import Planck
from planck.headless import FeedFrame, OpenSession, SessionEvent
from planck.records import codec
from planck.records.events import ErrorEvent, Event, TextBurst
from planck.records.messages import Part, Text, Thinking
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.store.memory import MemoryStore
from tests.ports import FixedClock
from tests.virtual_time import run_virtual
from tests.wire.hostile import HostileTransport
from tests.wire.known import KNOWN
from tests.wire.script import Answer

KEY = "sk-ant-0123456789abcdef0123"
CHAT = next(known for known in KNOWN if known.name == "openai-chat")


@asynccontextmanager
async def talking(
    folder: Path, *parts: Part, fragment: int = 5, piece: int = 1 << 20, pause: float = 0.0
) -> AsyncIterator[OpenSession]:
    """A session whose model says this, in reads of that size; `pause`: seconds between two of them."""
    whole = b"".join(CHAT.server.frames(Answer(parts, fragment=fragment), CHAT.model))
    reads = [whole[at : at + piece] for at in range(0, len(whole), piece)]
    model = CHAT.provider("http://here", HostileTransport(iter(reads), pause=pause))
    environ = {"ANTHROPIC_API_KEY": KEY}
    async with Planck(folder / "home", folder, environ=environ, providers={"double": model}) as planck:
        yield await planck.start(model="double/m", stored=False)


async def follow(session: OpenSession, *, words: bool = True) -> list[SessionEvent]:
    seen: list[SessionEvent] = []
    async with aclosing(session.follow(session.head, words=words)) as batches:
        async for events in batches:
            seen += events
            if any(event.type == "turn_end" for event in events):
                return seen
    raise AssertionError("the turn has no end")


async def hear(session: OpenSession, *, words: bool = True) -> list[SessionEvent]:
    following = asyncio.ensure_future(follow(session, words=words))
    await asyncio.sleep(0)
    await session.run("go")
    return await following


def say(events: Sequence[SessionEvent], type: str = "text_delta") -> list[str]:
    return [event.data["text"] for event in events if event.type == type]


async def test_each_delta_is_an_event_before_the_one_that_completes_them(tmp_path: Path) -> None:
    text = "one two three " * 100
    async with talking(tmp_path, Thinking("hm hm, hm"), Text(text)) as session:
        events = await hear(session)
    assert say(events) == [text[at : at + 5] for at in range(0, len(text), 5)]
    assert "".join(say(events, "thinking_delta")) == "hm hm, hm"
    types = list(dict.fromkeys(event.type for event in events))
    assert types.index("thinking_delta") < types.index("text_delta") < types.index("assistant_message")
    last = max(at for at, event in enumerate(events) if event.type == "text_delta")
    assert last < [event.type for event in events].index("assistant_message")


@pytest.mark.parametrize("piece", [1 << 20, 1500, 1])
@pytest.mark.parametrize("fragment", [1, 3, 7, 26, 200])
async def test_a_key_is_in_no_event_wherever_deltas_and_reads_cut_it(
    tmp_path: Path, fragment: int, piece: int
) -> None:
    text = f"sk- it is {KEY}, and {KEY[:-1]}? no: s{KEY}sk-ant-"
    async with talking(tmp_path, Text(text), fragment=fragment, piece=piece) as session:
        feed = session.feed(session.head, joined=True)
        await anext(feed)
        events = await hear(session)
        frames = [frame.data for frame in feed.take(1 << 20)]
    assert "".join(say(events)) == text.replace(KEY, "[redacted]")
    joined = [codec.decode(frame) for frame in frames]
    said = [frame["data"]["text"] for frame in joined if frame["type"] == "text_delta"]
    assert "".join(said) == text.replace(KEY, "[redacted]")
    assert KEY.encode() not in b"".join(frames) + b"".join(event.frame() for event in events)


async def test_who_wants_no_words_gets_all_else_and_knows_what_is_being_said(tmp_path: Path) -> None:
    async with talking(tmp_path, Text("one two three " * 50)) as session:
        all_of_it, without = await asyncio.gather(follow(session), hear(session, words=False))
    words = ("text_delta", "thinking_delta", "tool_progress")
    assert [event.frame() for event in without] == [
        event.frame() for event in all_of_it if event.type not in words
    ]


async def test_nothing_is_made_of_words_that_nobody_wants(tmp_path: Path) -> None:
    """Counts calls, those of C too: what a delta takes is its part of the answer, and no event."""
    await count_calls(tmp_path / "first", deltas=500)  # what a process does once
    few, many = [await count_calls(tmp_path / str(n), deltas=n) for n in (500, 2500)]
    assert (many - few) / 2000 < 7


async def count_calls(folder: Path, *, deltas: int) -> int:
    calls = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    folder.mkdir()
    async with talking(folder, Text("word " * deltas)) as session:
        following = asyncio.ensure_future(follow(session, words=False))
        await asyncio.sleep(0)
        sys.setprofile(note)
        try:
            await session.run("go")
        finally:
            sys.setprofile(None)
        await following
    return calls


async def test_a_slow_reader_loses_words_and_never_events() -> None:
    bus = Bus()
    journal = SessionJournal(MemoryStore(), bus, FixedClock())
    events = journal.events()
    reading = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    for n in range(1, 21):
        journal.publish("a", 1, TextBurst(text="w" * 300, texts=["w"] * 300))
        await journal.record("a", 1, ErrorEvent(kind="x", message=f"{n}"))
    bus.close()
    rest: list[Event] = [await reading, *[event async for event in events]]
    assert [event.seq for event in rest if event.seq] == list(range(1, 21))
    assert 300 <= sum(event.seq is None for event in rest) <= 1000


def test_bursts_are_joined_to_thirty_frames_a_second(tmp_path: Path) -> None:
    text = "one two three four " * 500

    async def run() -> list[tuple[float, FeedFrame]]:
        frames: list[tuple[float, FeedFrame]] = []
        async with talking(tmp_path, Text(text), piece=1500, pause=0.01) as session:
            feed = session.feed(session.head, joined=True)

            async def note() -> None:
                async for frame in feed:
                    frames.append((asyncio.get_running_loop().time(), frame))

            noting = asyncio.ensure_future(note())
            await session.run("go")
            await session.aclose()
            await noting
        return frames

    frames = [(at, frame) for at, frame in run_virtual(run()) if frame.type == "text_delta"]
    assert "".join(codec.decode(frame.data)["data"]["text"] for _, frame in frames) == text
    seconds = frames[-1][0] - frames[0][0]
    assert 10 < len(frames) <= seconds * 30 + 2


async def test_an_interrupt_inside_a_burst_ends_the_turn(tmp_path: Path) -> None:
    async with talking(tmp_path, Text("word " * 5_000)) as session:
        following = asyncio.ensure_future(follow(session))
        await asyncio.sleep(0)
        running = asyncio.ensure_future(session.run("go"))
        async with aclosing(session.events(session.head)) as events:
            async for event in events:
                if event.type == "text_delta":
                    break
        session.interrupt()
        assert (await running).status == "interrupted"
        seen = await following
    assert 0 < len(say(seen)) < 5_000
    [kept] = [event.data for event in seen if event.type == "assistant_message"]
    assert kept["unfinished"]
