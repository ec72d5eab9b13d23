"""What a server of ours offers, whichever way it speaks MCP, and how one call of it is run."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from planck.mcp.results import encode_outcome
from planck.mcp.rpc import CallResult
from planck.records.messages import ToolCall
from planck.records.outcome import PlanckError
from planck.records.specs import ToolSpec
from planck.tools.results import Finished

_MAX_PROGRESS = 4_000
_KEPT_PROGRESS = 64


class ToolService(Protocol):
    """What a server of ours offers: it is asked at every request."""

    def specs(self) -> Sequence[ToolSpec]:
        """Raises `PlanckError` where there is nothing to offer but an explanation."""

    def run(
        self, call: ToolCall, meta: dict[str, Any], progress: Callable[[str, str], None] | None
    ) -> AsyncGenerator[Finished, None]:
        """Yields once; `progress(call_id, text)` may come from any thread. Raises as `specs` does."""


SendProgress = Callable[[int, str], Awaitable[Any]]
"""Takes the number of a piece of progress, which grows, and its text."""


async def run_call(
    service: ToolService, call: ToolCall, meta: dict[str, Any], send: SendProgress | None
) -> CallResult:
    """Runs it to its one result; `send` None: the client did not ask for progress."""
    if send is None:
        return await _run(service, call, meta, None)
    progress = _Progress(send)
    pumping = asyncio.ensure_future(progress.pump())
    try:
        result = await _run(service, call, meta, progress.say)
    finally:
        pumping.cancel()
        await asyncio.gather(pumping, return_exceptions=True)  # who can't send that can't send the result
    await progress.flush()
    return result


def explain_no_tools(failure: PlanckError) -> dict[str, Any]:
    """Returns the data of an error in the place of a list: another start would end the same way."""
    return {**failure.err.envelope(), "final": True}


async def _run(
    service: ToolService, call: ToolCall, meta: dict[str, Any], progress: Callable[[str, str], None] | None
) -> CallResult:
    try:
        results = service.run(call, meta, progress)
    except PlanckError as failure:
        return encode_outcome(failure.err, str(failure.err))
    async with aclosing(results):
        async for finished in results:
            return encode_outcome(finished.outcome, finished.output, finished.images)
    raise AssertionError("a call has exactly one result")


class _Progress:
    """Carries progress from any thread to the client; what comes too fast to be sent is joined, then cut."""

    def __init__(self, send: SendProgress) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._texts: deque[str] = deque(maxlen=_KEPT_PROGRESS)
        self._some = asyncio.Event()
        self._count = 0

    def say(self, call_id: str, text: str) -> None:
        self._loop.call_soon_threadsafe(self._put, text[-_MAX_PROGRESS:])

    def _put(self, text: str) -> None:
        self._texts.append(text)
        self._some.set()

    async def pump(self) -> None:
        while True:
            await self._some.wait()
            await self.flush()

    async def flush(self) -> None:
        self._some.clear()
        if self._texts:
            text = "".join(self._texts)[-_MAX_PROGRESS:]
            self._texts.clear()
            self._count += 1
            await self._send(self._count, text)
