"""A provider that tries again: what failed for a while is hidden, and every retry is seen."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from math import ceil
from typing import Any

from msgspec.structs import replace

from planck.llm.pace import ModelPace
from planck.llm.provider import (
    RETRYING,
    UNREAD_CALL,
    UNREADABLE,
    WAITING,
    WITHOUT_TOOLS,
    Item,
    Provider,
    ProviderError,
    Request,
)
from planck.records.events import Status, TextDelta, ThinkingDelta, UsageDelta
from planck.records.messages import AssistantMessage
from planck.records.outcome import ErrorKind

RETRIES = 5
LONGEST_WAIT = 60.0
_FIRST_WAIT = 1.0
_LIMITED = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED})
"""Waits grow threefold for these: five have to outlast the minute by which vendors count requests."""
IDLE_TIMEOUT = 120.0
"""Seconds without a word inside an answer; `exchange` gives a sign for what is said and can't be shown."""
FIRST_TIMEOUT = 600.0
"""Seconds for the first word: a local server may read a long prompt for minutes."""

_UNREAD = 2
"""The second has the better chance of a model that can call; of one that can't, none has."""

_PASSING = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.NETWORK, ErrorKind.STREAM_CUT})

_RESETTING = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.USAGE_LIMIT_REACHED})


class Retrying:
    """Tries again after 429, 5xx, a network failure, a cut or a stall, and says so with `status` deltas.

    An attempt that had already shown something is taken back by a `discarded` status: what it said is void.
    A model whose calls its own server can't read twice running is asked without tools, so that it answers.
    """

    def __init__(
        self,
        provider: Provider,
        random: Callable[[], float],
        *,
        retries: int = RETRIES,
        idle_timeout: float = IDLE_TIMEOUT,
        first_timeout: float = FIRST_TIMEOUT,
        wait_s: float = 0,
        pace: ModelPace | None = None,
        name: str = "",
    ) -> None:
        """`wait_s`: seconds to wait in all for a server that says when it takes requests again. `pace`: each
        attempt leaves when it says. `name`: the provider's, for the error of a cut stream."""
        self._provider = provider
        self._random = random
        self._retries = retries
        self._idle_timeout = idle_timeout
        self._first_timeout = first_timeout
        self._unread = 0
        """Answers running that the server could not read as calls."""
        self._wait_s = wait_s
        self._pace = pace
        self._name = name

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        attempt, waited = 0, 0.0
        while True:
            attempt += 1
            shown, answered, charged = False, False, True
            ticket = self._pace.admit(request) if self._pace else None
            if self._pace and ticket is None:
                yield _status("pacing", "waiting to stay within the provider's rate limits")
                ticket = await self._pace.enter(request)
            watchdog = _Watchdog(self._first_timeout, self._idle_timeout)
            stream = self._provider.stream(request)
            try:
                try:
                    while True:
                        item = await watchdog.next(stream)
                        if ticket and isinstance(item, _COUNTED):
                            ticket.count(item.usage.context_tokens)
                        shown = shown or not isinstance(item, Status)
                        if isinstance(item, AssistantMessage):
                            item = _complete(item, request)
                            answered = True
                            self._unread = 0 if request.tools else self._unread
                        yield item
                        if isinstance(item, AssistantMessage):
                            return
                finally:
                    await stream.aclose()
            except ProviderError as raised:
                error = self._name_provider(raised)
                # Whoever refuses a request, or can't be reached, does no work; a cut stream was worked on.
                cut = error.err.kind is ErrorKind.STREAM_CUT or UNREADABLE in error.err.details
                charged = cut or watchdog.heard > 0
                if self._pace and error.err.kind is ErrorKind.RATE_LIMITED:
                    asked = _FIRST_WAIT if error.retry_after is None else error.retry_after
                    self._pace.back_off(min(asked, LONGEST_WAIT))
                pause = self._find_pause(error, waited)
                if pause is None and (attempt > self._retries or not is_passing(error)):
                    error.err.details.setdefault("attempts", attempt)
                    if attempt > 1:
                        error = _say_attempts(error, attempt)
                    raise error from raised.__cause__
                failure = error
            finally:
                watchdog.close()
                if not answered:
                    from planck.llm.estimate import end_attempt  # few attempts fail

                    end_attempt(request, watchdog.heard, charged=charged)
                if ticket:
                    ticket.finish()
            why = failure.why
            if shown:
                yield _status("discarded", f"partial answer discarded: {why}")
            if UNREAD_CALL in failure.err.details and request.tools:
                self._unread += 1
                if self._unread >= _UNREAD:
                    request = replace(request, tools=(), tool_choice="")
                    yield _status(WITHOUT_TOOLS, f"retrying without tools: {why}")
                    continue
            if pause is not None:
                attempt, waited = attempt - 1, waited + pause
                yield _status(
                    WAITING, f"waiting {pause:.0f} s until the provider accepts requests again: {why}"
                )
                await asyncio.sleep(pause)
                continue
            seconds, most = self._wait(attempt, failure), self._retries + 1
            which = f"retrying in {ceil(seconds)} s (attempt {attempt + 1} of {most})"
            again = _status(RETRYING, which if shown else f"{which}: {why}")
            yield replace(again, wait_s=seconds, attempt=attempt + 1, attempts=most)
            await asyncio.sleep(seconds)

    def _name_provider(self, error: ProviderError) -> ProviderError:
        """Returns a cut stream's error with whose stream it was; the errors of a server say so already."""
        kind, message, details = error.err.kind, error.err.message, error.err.details
        if not self._name or kind is not ErrorKind.STREAM_CUT or "provider" in details:
            return error
        named = {**details, "provider": self._name}
        why = f"{self._name!r}: {error.why}"
        return ProviderError(
            kind, f"{self._name!r}: {message}", named, retry_after=error.retry_after, why=why
        )

    def _find_pause(self, failure: ProviderError, waited: float) -> float | None:
        """Seconds until the time that the server named, if the user lets us wait for it; no retry of ours."""
        if failure.err.kind not in _RESETTING or failure.retry_after is None:
            return None
        pause = max(failure.retry_after, _FIRST_WAIT)
        return pause if waited + pause <= self._wait_s else None

    def _wait(self, attempt: int, failure: ProviderError) -> float:
        """Growing, with jitter so that a team does not come back all at once; or what the server said."""
        growth, least = (3, 0.75) if failure.err.kind in _LIMITED else (2, 0.5)
        usual = _FIRST_WAIT * float(growth ** (attempt - 1)) * (least + self._random() * (1 - least))
        if failure.retry_after is not None:
            usual = failure.retry_after + min(usual, _FIRST_WAIT)
        return min(usual, LONGEST_WAIT)


def _complete(answer: AssistantMessage, request: Request) -> AssistantMessage:
    """Returns the answer with an estimate of what its server did not count; the request's tally marks it."""
    usage = answer.usage
    if usage.output_tokens > 0 and usage.context_tokens > usage.output_tokens:
        return answer
    from planck.llm.estimate import complete_answer  # few servers leave something uncounted

    return complete_answer(answer, request)


def _say_attempts(error: ProviderError, attempts: int) -> ProviderError:
    kind, details = error.err.kind, error.err.details
    text = f"Gave up after {attempts} attempts. {error.err.message}"
    return ProviderError(kind, text, details, retry_after=error.retry_after)


def is_passing(error: ProviderError) -> bool:
    """Whether the same request may succeed later."""
    if error.err.details.get("permanent"):
        return False
    if UNREAD_CALL in error.err.details:
        return True
    if error.err.kind is ErrorKind.PROVIDER_HTTP_ERROR:
        return _server_side(error.err.details)
    return error.err.kind in _PASSING


def _server_side(details: dict[str, Any]) -> bool:
    """5xx, and what breaks a stream (status 0) after the server had accepted the request."""
    status, code = details.get("status", 400), str(details.get("code", ""))
    return status >= 500 if status else not code.startswith("invalid")


def _status(state: str, detail: str) -> Status:
    return Status(component="model", state=state, detail=detail)


class _Watchdog:
    """Bounds the wait for each item with one timer for the whole stream: an item costs no timer of its own.

    It counts only while we wait for the provider; a consumer that takes its time is not a stall.
    """

    def __init__(self, first: float, later: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._timeout = first
        self._later = later
        self._task: asyncio.Task[object] | None = None
        self._since = 0.0
        """When we began to wait for the item that is due, less what we had waited before."""
        self.heard = 0
        """Characters of the answer so far."""
        self._waited = 0.0
        """Seconds that we have waited since something was said: a count, or a blank, says nothing."""
        self._cancelling = -1
        """How often the task had been cancelled before we did; -1: we did not."""
        self._timer = self._loop.call_later(min(first, later), self._check)

    async def next(self, stream: AsyncGenerator[Item, None]) -> Item:
        task = self._task = asyncio.current_task()
        began = self._loop.time()
        self._since = began - self._waited
        try:
            item = await anext(stream)
        except asyncio.CancelledError:
            if task is not None and self._cancelling >= 0 and task.uncancel() <= self._cancelling:
                raise self._stall_error() from None
            raise
        except StopAsyncIteration:
            raise ProviderError(
                ErrorKind.STREAM_CUT, "The model's response ended without a message. Try again."
            ) from None
        finally:
            self._task = None
        if isinstance(item, (TextDelta, ThinkingDelta)):  # once a delta, and `|` would make a type each time
            self.heard += len(item.text)
            says = not item.text.isspace()
        else:
            says = not isinstance(item, UsageDelta)
        if says:
            self._timeout, self._waited = self._later, 0.0
        else:
            self._waited += self._loop.time() - began
        return item

    def close(self) -> None:
        self._timer.cancel()

    def _check(self) -> None:
        left = self._since + self._timeout - self._loop.time() if self._task is not None else self._timeout
        if left > 0 or self._task is None:
            # Not later than the shorter of the two: the first item, once it came, need not set it anew.
            self._timer = self._loop.call_later(min(left, self._later), self._check)
        else:
            self._cancelling = self._task.cancelling()
            self._task.cancel()

    def _stall_error(self) -> ProviderError:
        return ProviderError(
            ErrorKind.STREAM_CUT,
            f"The model sent nothing for {self._timeout:g} s. Try again.",
            {"stalled": True},
        )


_COUNTED = (UsageDelta, AssistantMessage)  # not `|`, which makes a type at each item
