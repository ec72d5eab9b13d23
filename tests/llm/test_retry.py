import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, ClassVar

import pytest

from planck.http.retry_after import retry_after
from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.llm.retry import Retrying
from planck.records.events import Status, TextDelta, UsageDelta
from planck.records.messages import AssistantMessage
from planck.records.outcome import Err, ErrorKind
from planck.records.specs import ModelSpec
from planck.records.usage import Usage
from planck.testing.scripted import Say, ScriptedProvider
from tests.virtual_time import run_virtual
from tests.wire import chat
from tests.wire.known import request


def failure(kind: ErrorKind, retry_after: float | None = None, **details: Any) -> ProviderError:
    return ProviderError(kind, "no", details, retry_after=retry_after)


def half() -> float:
    return 0.5


class Run:
    """One stream in virtual time: its items, its end and how long it took."""

    def __init__(self, provider: Provider, **options: Any) -> None:
        self.items: list[Item] = []
        self.error: ProviderError | None = None
        self.times: list[float] = []
        self.seconds = 0.0
        run_virtual(self._run(Retrying(provider, options.pop("random", half), **options)))

    async def _run(self, provider: Provider) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        try:
            async for item in provider.stream(request()):
                self.items.append(item)
                self.times.append(loop.time() - start)
        except ProviderError as error:
            self.error = error
        self.seconds = loop.time() - start

    @property
    def states(self) -> list[str]:
        return [item.state for item in self.items if isinstance(item, Status)]


def scripted(*answers: Any) -> ScriptedProvider:
    return ScriptedProvider(list(answers))


@pytest.mark.parametrize(
    "error",
    [
        failure(ErrorKind.RATE_LIMITED, status=429),
        failure(ErrorKind.OVERLOADED, status=529),
        failure(ErrorKind.NETWORK),
        failure(ErrorKind.STREAM_CUT),
        failure(ErrorKind.PROVIDER_HTTP_ERROR, status=500),
        failure(ErrorKind.PROVIDER_HTTP_ERROR, status=502),
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again_and_seen(error: ProviderError) -> None:
    run = Run(scripted(error, error, "fine"))
    assert run.error is None
    assert run.states == ["retrying", "retrying"]
    last = run.items[-1]
    assert isinstance(last, AssistantMessage)
    assert last.text == "fine"


@pytest.mark.parametrize(
    "error",
    [
        failure(ErrorKind.NOT_AUTHENTICATED, status=401),
        failure(ErrorKind.USAGE_LIMIT_REACHED, status=429),
        failure(ErrorKind.MODEL_NOT_SUPPORTED, status=404),
        failure(ErrorKind.CONTEXT_OVERFLOW, status=400),
        failure(ErrorKind.PROVIDER_HTTP_ERROR, status=400),
        failure(ErrorKind.NETWORK, permanent=True),
    ],
    ids=str,
)
def test_what_will_not_pass_is_not_tried_again(error: ProviderError) -> None:
    run = Run(scripted(error, "fine"))
    assert run.error is error
    assert run.items == []
    assert run.seconds == 0


def test_after_five_retries_the_last_error_stands() -> None:
    provider = scripted(*[failure(ErrorKind.OVERLOADED)] * 9)
    run = Run(provider)
    assert run.error is not None
    assert run.error.err == Err(ErrorKind.OVERLOADED, "Gave up after 6 attempts. no", {"attempts": 6})
    assert run.states == ["retrying"] * 5
    assert len(provider.asked) == 6


def test_waits_grow_with_jitter() -> None:
    errors = [failure(ErrorKind.NETWORK)] * 5
    assert Run(scripted(*errors, "x"), random=lambda: 0.0).seconds == 0.5 + 1 + 2 + 4 + 8
    assert Run(scripted(*errors, "x"), random=lambda: 1.0).seconds == 1 + 2 + 4 + 8 + 16


def test_waits_for_a_limit_grow_faster() -> None:
    errors = [failure(ErrorKind.RATE_LIMITED)] * 5
    assert Run(scripted(*errors, "x"), random=lambda: 0.0).seconds == (1 + 3 + 9 + 27) * 0.75 + 60
    assert Run(scripted(*errors, "x"), random=lambda: 1.0).seconds == 1 + 3 + 9 + 27 + 60


class Limited:
    """Refuses for so many seconds from the first request on, then answers."""

    def __init__(self, seconds: float, retry_after: float | None) -> None:
        self.seconds = seconds
        self.retry_after = retry_after
        self.since: float | None = None

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        now = asyncio.get_running_loop().time()
        self.since = now if self.since is None else self.since
        if now - self.since < self.seconds:
            raise failure(ErrorKind.RATE_LIMITED, self.retry_after, status=429)
        yield DONE


@pytest.mark.parametrize("jitter", [0.0, 1.0])
@pytest.mark.parametrize("retry_after", [None, 20.0, 60.0])
def test_a_rate_limit_of_a_minute_is_survived(retry_after: float | None, jitter: float) -> None:
    run = Run(Limited(61.0, retry_after), random=lambda: jitter)
    assert run.error is None
    assert run.items[-1] is DONE


@pytest.mark.parametrize(("asked", "waited"), [(7.0, 7.75), (0.0, 0.75), (59.9, 60.0), (1e9, 60.0)])
def test_what_the_server_asked_for_is_honoured_up_to_a_minute(asked: float, waited: float) -> None:
    run = Run(scripted(failure(ErrorKind.RATE_LIMITED, asked), "x"), random=lambda: 0.0)
    assert run.seconds == waited


def test_a_cut_attempt_is_taken_back_before_the_next() -> None:
    cut = Say(text="half an ans", calls=[], error=Err(ErrorKind.STREAM_CUT, "gone"))
    run = Run(scripted(cut, "whole answer"))
    assert run.states == ["discarded", "retrying"]
    texts = [item.text for item in run.items if isinstance(item, TextDelta)]
    assert texts == ["half ", "an ", "ans", "whole ", "answer"]
    assert [type(item).__name__ for item in run.items[3:5]] == ["Status", "Status"]
    assert sum(isinstance(item, AssistantMessage) for item in run.items) == 1


class Paced:
    """Items with pauses before them; `None` is a stall for ever."""

    def __init__(self, *attempts: Sequence[tuple[float | None, Item]]) -> None:
        self.attempts = list(attempts)
        self.closed = 0

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        try:
            for pause, item in self.attempts.pop(0):
                await (asyncio.sleep(pause) if pause is not None else asyncio.Event().wait())
                yield item
        finally:
            self.closed += 1


DONE: AssistantMessage = AssistantMessage((), "x", "m", "end", Usage(10, 5))  # type: ignore[arg-type]
WORD = TextDelta(text="word")


@pytest.mark.parametrize("first", [1, 150])
def test_a_silent_stream_is_given_up_and_tried_again(first: int) -> None:
    provider = Paced([(first, WORD), (None, WORD)], [(1, WORD), (1, DONE)])
    run = Run(provider, idle_timeout=100)
    assert run.states == ["discarded", "retrying"]
    assert run.items[-1] == DONE
    assert run.times[1] == first + 100
    assert provider.closed == 2


def test_the_first_sign_of_life_may_take_longer_than_the_next() -> None:
    provider = Paced([(500, WORD), (99, WORD), (99, DONE)])
    run = Run(provider, idle_timeout=100, first_timeout=600)
    assert (run.states, run.items[-1], run.seconds) == ([], DONE, 698)


def test_a_prompt_that_is_counted_may_still_take_long_to_read() -> None:
    provider = Paced([(1, UsageDelta(usage=Usage(9))), (500, WORD), (99, DONE)])
    run = Run(provider, idle_timeout=100, first_timeout=600)
    assert (run.states, run.items[-1], run.seconds) == ([], DONE, 600)


def test_a_slow_consumer_is_no_stall() -> None:
    async def consume() -> list[Item]:
        items = []
        async for item in Retrying(Paced([(1, WORD), (50, WORD), (50, DONE)]), half, idle_timeout=60).stream(
            request()
        ):
            items.append(item)
            await asyncio.sleep(1_000)
        return items

    assert run_virtual(consume()) == [WORD, WORD, DONE]


@pytest.mark.parametrize("when", [0.5, 1.5, 101.1])
def test_cancelling_ends_a_stream_or_a_wait_at_once(when: float) -> None:
    provider = Paced([(1, WORD), (None, WORD)], [(None, DONE)])
    retrying = Retrying(provider, half, idle_timeout=100)
    begun = 0

    async def main() -> float:
        nonlocal begun
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(_drain(retrying.stream(request())))
        await asyncio.sleep(when)
        begun = 2 - len(provider.attempts)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return loop.time()

    assert run_virtual(main()) == when
    assert provider.closed == begun


def test_a_cancel_that_meets_a_stall_is_a_cancel() -> None:
    retrying = Retrying(Paced([(None, DONE)], [(1, DONE)]), half, first_timeout=100)

    async def main() -> None:
        task = asyncio.ensure_future(_drain(retrying.stream(request())))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_at(100, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())


async def _drain(stream: AsyncGenerator[Item, None]) -> None:
    async for _ in stream:
        pass


def test_a_stall_leaves_the_task_uncancelled() -> None:
    async def main() -> int:
        await _drain(Retrying(Paced([(None, DONE)], [(1, DONE)]), half).stream(request()))
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    assert run_virtual(main()) == 0


DATE = {"date": "Sun, 15 Nov 2026 21:00:00 GMT"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "1e9"}, 1e9),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Sun, 15 Nov 2026 21:00:30 GMT", **DATE}, 30),
        ({"retry-after": "Sun, 15 Nov 2026 20:00:00 GMT", **DATE}, 0),
        ({"retry-after": "Sun, 15 Nov 2026 21:00:30 GMT"}, None),
        ({"retry-after": "Sunday, 15-Nov-26 21:00:30 GMT", **DATE}, 30),
        ({"retry-after": "Mon, 99 Foo 2026 99:99:99 GMT", **DATE}, None),
        ({"retry-after": "31s"}, 31),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "7"}, 7),
        ({"x-ratelimit-reset": "12"}, 12),
        ({"x-ratelimit-reset": "1794776430", **DATE}, 30),
        ({"x-ratelimit-reset": "1794776430000", **DATE}, 30),
        ({"x-ratelimit-reset": "1794776430"}, None),
        ({"x-ratelimit-reset-requests": "6m1.5s"}, 361.5),
        ({"x-ratelimit-reset-tokens": "20ms"}, 0.02),
        ({"ratelimit-reset": "5"}, 5),
        ({"anthropic-ratelimit-tokens-reset": "2026-11-15T21:00:30Z", **DATE}, 30),
        ({"x-ratelimit-reset": "garbage", "retry-after": "4"}, 4),
    ],
)
def test_every_spelling_of_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


_: Callable[[Provider, Callable[[], float]], Provider] = Retrying


class LongCall:
    """A transport whose answer is one tool call that takes an hour to write, a fragment every 30 s."""

    status = 200
    headers: ClassVar[dict[str, str]] = {}

    async def send(self, *request: object) -> "LongCall":
        return self

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        *fragments, finish, usage, done = chat.calls(("write", {"content": "x" * 118}), size=1).pieces
        for fragment in (*fragments, finish, usage, done):
            assert isinstance(fragment, bytes)
            await asyncio.sleep(30)
            yield fragment

    def release(self) -> None: ...

    async def aclose(self) -> None: ...


def test_a_long_tool_call_is_no_stall() -> None:
    endpoint = Endpoint("x", "openai", base_url="http://x")
    model = open_provider(endpoint, ModelSpec(provider="x", model="m"), LongCall())
    run = Run(model, idle_timeout=60)
    last = run.items[-1]
    assert isinstance(last, AssistantMessage)
    assert len(last.tool_calls) == 1
    assert set(run.states) == {"working"}


@pytest.mark.parametrize("kind", [ErrorKind.RATE_LIMITED, ErrorKind.USAGE_LIMIT_REACHED])
def test_a_server_that_says_when_is_waited_for_as_long_as_the_user_allows(kind: ErrorKind) -> None:
    later = failure(kind, retry_after=1_800.0)
    run = Run(scripted(later, later, "fine"), wait_s=3_600)
    assert (run.error, run.states, run.seconds) == (None, ["waiting", "waiting"], 3_600.0)
    assert "waiting 1800 s" in str(run.items[0])
    over = Run(scripted(later, later, later, "fine"), wait_s=3_600, retries=0)
    assert over.error is not None
    assert (over.error.err.kind, over.states) == (kind, ["waiting", "waiting"])


def test_without_leave_or_a_time_nobody_waits_for_a_usage_limit() -> None:
    off = Run(scripted(failure(ErrorKind.USAGE_LIMIT_REACHED, retry_after=5.0), "fine"))
    silent = Run(scripted(failure(ErrorKind.USAGE_LIMIT_REACHED), "fine"), wait_s=3_600)
    assert [(run.states, run.error is None, run.seconds) for run in (off, silent)] == [([], False, 0.0)] * 2


def test_the_wait_for_a_server_can_be_interrupted() -> None:
    async def main() -> float:
        waiting = Retrying(scripted(failure(ErrorKind.RATE_LIMITED, retry_after=3_000.0)), half, wait_s=3_600)

        async def consume() -> None:
            async for _ in waiting.stream(request()):
                pass

        task = asyncio.ensure_future(consume())
        await asyncio.sleep(10)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) < 100
