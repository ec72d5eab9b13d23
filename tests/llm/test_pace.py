"""How often a provider is asked: in a minute and at a time, by one process and by all nodes of a pool."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping

import pytest

from planck.llm.pace import ModelPace, Paces
from planck.llm.provider import Item, ProviderError, Request
from planck.llm.retry import Retrying
from planck.records.events import Status
from planck.records.history import History
from planck.records.messages import AssistantMessage, StopReason, Text
from planck.records.outcome import ErrorKind
from planck.records.specs import ProviderLimits
from planck.records.usage import Usage
from tests.virtual_time import run_virtual


def rates(**limits: int) -> Callable[[], Mapping[str, ProviderLimits]]:
    found = {"p": ProviderLimits(**limits)}
    return lambda: found


def count_most(times: list[float]) -> int:
    """Returns how many of them any minute has at most."""
    times = sorted(times)
    return max(sum(1 for other in times if 0 <= other - begin < 60) for begin in times)


class Endless:
    """A machine whose agents ask as often as they may."""

    def __init__(self, paces: Paces, sent: list[float], agents: int) -> None:
        self.paces = paces
        self._sent = sent
        self._tasks = [asyncio.ensure_future(self._ask()) for _ in range(agents)]

    async def _ask(self) -> None:
        pace = self.paces.find("p")
        while True:
            leave = await pace.enter("m", 0)
            self._sent.append(asyncio.get_running_loop().time())
            leave.finish()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@pytest.mark.parametrize("rpm", [60, pytest.param(600, marks=pytest.mark.soak)])
def test_ten_nodes_that_come_and_go_never_ask_more_often_than_the_limit(rpm: int) -> None:
    beat = 5.0

    async def run() -> list[float]:
        sent: list[float] = []
        loop = asyncio.get_running_loop()
        nodes: list[Endless] = []

        async def tell() -> None:
            await asyncio.sleep(beat)  # as long as it takes until all know
            for node in nodes:
                node.paces.nodes = len(nodes)

        for _ in range(10):
            paces = Paces(rates(rpm=rpm))
            paces.nodes = len(nodes) + 1
            paces.not_before = loop.time() + beat if nodes else 0.0
            nodes.append(Endless(paces, sent, 3))
            await asyncio.gather(tell(), asyncio.sleep(7.0))
        await asyncio.sleep(180)
        for _ in range(5):  # they are dead at once; the others hear of it later
            await nodes.pop().stop()
            await asyncio.sleep(30.0)
            await tell()
        await asyncio.sleep(120)
        for node in nodes:
            await node.stop()
        return sent

    sent = run_virtual(run())
    assert count_most(sent) <= rpm * 1.05
    assert sum(1 for time in sent if time > max(sent) - 60) >= rpm * 0.85, "what is allowed is used"


def test_where_machines_are_more_than_requests_a_minute_each_has_its_turn() -> None:
    async def run() -> int:
        sent: list[float] = []
        paces = Paces(rates(rpm=2))
        paces.nodes = 10
        node = Endless(paces, sent, 1)
        await asyncio.sleep(1_000)
        await node.stop()
        return len(sent)

    assert run_virtual(run()) == 4


def test_tokens_of_a_minute_are_counted_when_they_are_known() -> None:
    async def run() -> list[float]:
        pace, loop = Paces(rates(tpm=1000)).find("p"), asyncio.get_running_loop()
        sent: list[float] = []
        begin = loop.time()
        for _ in range(4):
            leave = await pace.enter("m", 100)
            sent.append(round(loop.time() - begin))
            leave.count(500)
            leave.finish()
        return sent

    assert run_virtual(run()) == [0, 30, 60, 90]


def test_no_more_requests_are_on_their_way_than_the_limit_and_a_cancelled_one_frees_its_place() -> None:
    async def run() -> None:
        pace = Paces(rates(concurrent=2)).find("p")
        one, _ = await pace.enter("m", 0), await pace.enter("m", 0)
        third = asyncio.ensure_future(pace.enter("m", 0))
        await asyncio.sleep(1)
        assert not third.done()
        third.cancel()
        await asyncio.wait({third})
        fourth = asyncio.ensure_future(pace.enter("m", 0))
        one.finish()
        await asyncio.wait_for(fourth, 1)

    run_virtual(run())


class Refusing:
    """Answers each request; the first is refused with a time to wait."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        self.asked.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.1)
        if len(self.asked) == 1:
            raise ProviderError(ErrorKind.RATE_LIMITED, "too many", retry_after=20.0)
        yield AssistantMessage((Text("yes"),), "openai", "m", StopReason.END, Usage(1, 1))


def test_after_one_refusal_nobody_asks_until_the_time_that_was_named() -> None:
    async def run() -> None:
        provider, paces = Refusing(), Paces(rates())
        told: list[tuple[str, float]] = []
        paces.on_limited = lambda scope, seconds: told.append((scope, seconds))
        begin = asyncio.get_running_loop().time()

        async def ask(after: float) -> list[str]:
            await asyncio.sleep(after)
            retrying = Retrying(provider, lambda: 0.0, pace=ModelPace(paces.find("p"), "m"))
            request = Request("a", "", History())
            return [item.state async for item in retrying.stream(request) if isinstance(item, Status)]

        states = await asyncio.gather(ask(0), *(ask(1 + n) for n in range(5)))
        assert told == [("p/m", 20.0)], "one refusal is enough for all"
        assert all(time - begin >= 20.0 for time in provider.asked[1:])
        assert states[1:] == [["pacing"]] * 5
        assert paces.find("p").admit("another", lambda: 0), "its other models are not held up"

    run_virtual(run())
