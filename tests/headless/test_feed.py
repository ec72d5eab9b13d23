"""Any number of clients of one session: every event once, in order, and each sentence from its beginning."""

import asyncio
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from planck import ErrorKind, Ok, Planck, Tool
from planck.headless import Behind, FeedFrame, LiveText, OpenSession
from planck.llm.retry import Retrying
from planck.records import codec
from planck.records.outcome import Err
from planck.testing import Say, ScriptedProvider
from planck.toolkit.tool import Effect
from tests.virtual_time import run_virtual

KEY = "sk-ant-0123456789abcdef0123"


def chatter(pieces: int, seconds: float = 0.0) -> Tool:
    """A tool that says one word after the other while it runs."""

    async def execute(args: dict[str, Any], ctx: Any) -> Any:
        for n in range(pieces):
            ctx.progress(f"{n} ")
            await asyncio.sleep(seconds)
        return Ok({"output": "ran"})

    return Tool("chatter", "", {"properties": {"n": {}}}, execute, effect=Effect.NONE)


async def opened(folder: Path, script: Any, *tools: Tool) -> tuple[Planck, OpenSession]:
    environ = {"ANTHROPIC_API_KEY": KEY}
    folder.mkdir(exist_ok=True)
    planck = Planck(folder / "home", folder, environ=environ, providers={"double": ScriptedProvider(script)})
    return planck, await planck.start(model="double/m", stored=False, tools=tools)


class Client:
    """Follows a feed as a page does: it comes back when it was cut off, and checks what it is shown."""

    def __init__(self, session: OpenSession, choose: random.Random, *, joined: bool) -> None:
        self.seqs: list[int] = []
        self.cuts = 0
        self.whole = 0
        """Sentences that were seen from their beginning, also where it joined in the middle."""
        self._session = session
        self._choose = choose
        self._joined = joined
        self._live = False
        """Behind the log, where deltas are shown."""
        self._text: dict[str, str] = defaultdict(str)
        self._output: dict[str, str] = defaultdict(str)

    async def follow(self, after: int) -> None:
        while True:
            self._live = False
            try:
                feed = self._session.feed(after, joined=self._joined)
                async for frame in feed:
                    self._take(frame)
                    if self._choose.random() < 0.02:
                        await asyncio.sleep(self._choose.random() * self._choose.choice((0.1, 1, 30)))
                return
            except Behind as behind:
                self.cuts += 1
                after = behind.seq

    def _take(self, frame: FeedFrame) -> None:
        data: dict[str, Any] = codec.decode(frame.data)
        if frame.type == "live":
            self._live = True
            self._text.clear()
            self._output.clear()
            for id, live in data.items():
                self._text[id] = live["text"]
                self._output.update(live["output"])
            return
        agent, said = data["agent_id"], data["data"]
        match frame.type:
            case "text_delta":
                self._text[agent] += said["text"]
            case "tool_progress":
                self._output[said["id"]] += said["text"]
            case "assistant_message" if self._live:
                parts = said["message"]["parts"]
                assert self._text.pop(agent, "") == "".join(part.get("text", "") for part in parts)
                self.whole += 1
            case "tool_end" if self._live:
                assert self._output.pop(said["id"], "") == "".join(f"{n} " for n in range(20))
        if frame.seq is not None:
            self.seqs.append(frame.seq)


async def crowd(folder: Path, seed: int, joined: bool) -> Counter[str]:
    choose = random.Random(seed)

    def script(request: Any) -> Any:
        if choose.random() < 0.5:
            return Say(text="so " * choose.randint(0, 900) + "there")
        return Say(
            text="I call",
            calls=[("chatter", {"n": choose.randint(0, 10**9)}) for _ in range(choose.randint(1, 3))],
        )

    planck, session = await opened(folder, script, chatter(20, 0.01))
    clients: list[tuple[int, Client]] = []
    async with planck, asyncio.TaskGroup() as group:
        for n in range(12):
            await session.prompt(f"go {n}")
            for _ in range(choose.randint(0, 3)):
                for _ in range(choose.randint(0, 60)):
                    await asyncio.sleep(0)  # somewhere in the middle of a sentence
                after = choose.choice((0, session.head, choose.randint(0, session.head)))
                client = Client(session, choose, joined=joined)
                clients.append((after, client))
                group.create_task(client.follow(after))
            await asyncio.sleep(choose.random())
        await session.settled()
        await asyncio.sleep(200)  # until the slowest has everything
        head = session.head
        await session.aclose()
    for after, client in clients:
        assert client.seqs[: head - after] == list(range(after + 1, head + 1))
    return Counter(cuts=sum(one.cuts for _, one in clients), whole=sum(one.whole for _, one in clients))


@pytest.mark.parametrize("joined", [False, True])
def test_no_client_misses_an_event_sees_one_twice_or_a_sentence_without_its_beginning(
    tmp_path: Path, joined: bool
) -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        seen += run_virtual(crowd(tmp_path / str(seed), seed, joined), seed=seed)
    assert seen["whole"] > 50
    assert joined or seen["cuts"] > 0, "nobody fell behind: the test shows less than it says"


def test_each_frame_is_encoded_once_for_all_clients(tmp_path: Path) -> None:
    async def run() -> None:
        planck, session = await opened(tmp_path, ["one two three"])
        async with planck:
            feeds = [session.feed(session.head) for _ in range(3)]
            for feed in feeds:
                assert (await anext(feed)).type == "live"
            await session.run("go")
            await session.aclose()
            got = [[frame async for frame in feed] for feed in feeds]
        assert len(got[0]) > 5
        for same in zip(*got, strict=True):
            assert all(frame is same[0] for frame in same)

    run_virtual(run())


def test_a_wait_for_the_next_frame_may_be_cancelled_and_loses_none(tmp_path: Path) -> None:
    async def run() -> list[int]:
        planck, session = await opened(tmp_path, ["one two", "three four"])
        seqs: list[int] = []
        async with planck:
            feed = session.feed(0)
            done = asyncio.ensure_future(_talk(session))
            while True:
                try:
                    async with asyncio.timeout(0.001):
                        frame = await anext(feed)
                except TimeoutError:
                    if done.done():
                        break
                    continue
                seqs += [frame.seq] if frame.seq else []
            await feed.aclose()
            assert [frame async for frame in feed] == []
            return [*seqs, session.head]

    *seqs, head = run_virtual(run())
    assert seqs == list(range(1, head + 1))


async def _talk(session: OpenSession) -> None:
    await session.run("go")
    await asyncio.sleep(1)
    await session.run("on")
    await asyncio.sleep(1)


def test_joined_deltas_are_at_most_thirty_frames_a_second_and_say_the_same(tmp_path: Path) -> None:
    async def run() -> list[tuple[float, FeedFrame]]:
        planck, session = await opened(tmp_path, [[("chatter", {})], "done"], chatter(5000, 0.001))
        frames: list[tuple[float, FeedFrame]] = []
        async with planck:
            feed = session.feed(session.head, joined=True)
            await anext(feed)
            following = asyncio.ensure_future(_note(feed, frames))
            await session.run("go")
            await session.aclose()
            await following
        return frames

    frames = run_virtual(run())
    progress = [(at, frame) for at, frame in frames if frame.type == "tool_progress"]
    said = "".join(codec.decode(frame.data)["data"]["text"] for _, frame in progress)
    assert said == "".join(f"{n} " for n in range(5000))
    began = progress[0][0]
    seconds = Counter(int(at - began) for at, _ in progress)
    assert max(seconds.values()) <= 31
    assert sum(seconds.values()) > 100
    assert frames.index(progress[-1]) < [frame.type for _, frame in frames].index("tool_end")


async def _note(feed: Any, frames: list[tuple[float, FeedFrame]]) -> None:
    async for frame in feed:
        frames.append((asyncio.get_running_loop().time(), frame))


def test_what_is_being_said_is_known_also_where_nobody_watched_and_holds_no_key(tmp_path: Path) -> None:
    async def run() -> None:
        go_on = asyncio.Event()
        long = "y" * 70_000
        script = [Say(thinking="hm hm", text=f"the key is {KEY} and {long} éé", wait=go_on), "second"]
        planck, session = await opened(tmp_path, script)
        async with planck:
            await session.prompt("go")
            await asyncio.sleep(1)
            lead = session.orchestrator.id
            (said,) = session.live().values()
            assert said.thinking == "hm hm"
            assert said.text.endswith("yy éé")
            assert len(said.text.encode()) in range(64 * 1024 - 4, 64 * 1024 + 1)
            assert KEY not in said.text
            await session.prompt("and this", steer=True)  # a fact of the same agent, in mid-sentence
            assert session.live() == {lead: said}
            go_on.set()
            await session.settled()
            assert session.live() == {}

    run_virtual(run())


def test_a_discarded_attempt_and_an_interrupted_one_are_not_being_said_any_more(tmp_path: Path) -> None:
    async def run() -> None:
        hold = asyncio.Event()
        cut = Say(text="half a sent", error=Err(ErrorKind.STREAM_CUT, "cut"))
        double = Retrying(ScriptedProvider([cut, Say(text="whole", wait=hold)]), lambda: 0.5)
        async with Planck(tmp_path / "home", tmp_path, environ={}, providers={"double": double}) as planck:
            session = await planck.start(model="double/m", stored=False)
            await session.prompt("go")
            await asyncio.sleep(100)
            assert list(session.live().values()) == [LiveText(text="whole")]
            session.interrupt()
            await session.settled()
            assert session.live() == {}

    run_virtual(run())
