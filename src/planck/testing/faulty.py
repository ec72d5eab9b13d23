"""A provider that fails on purpose, around any other: the storms that a team must come through."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.records.events import TextBurst, ThinkingBurst
from planck.records.messages import AssistantMessage
from planck.records.outcome import ErrorKind

_REFUSALS: tuple[tuple[ErrorKind, int, str], ...] = (
    (ErrorKind.RATE_LIMITED, 429, "too many requests"),
    (ErrorKind.OVERLOADED, 529, "overloaded"),
    (ErrorKind.PROVIDER_HTTP_ERROR, 500, "internal error"),
    (ErrorKind.NETWORK, 0, "no route to the server"),
)
_BREAKS = ("cut", "garbled", "stalled")


class Faulty:
    """Each call fails with probability `rate`: refused at once, or cut, garbled or stalled somewhere inside.

    Everything comes from `random` (0 to below 1), so the same seed gives the same storm. A stall lasts until
    somebody loses patience. No fault follows the message: what is complete stays complete.
    """

    def __init__(self, provider: Provider, random: Callable[[], float], *, rate: float = 0.25) -> None:
        self._provider = provider
        self._random = random
        self._rate = rate
        self.faults: list[str] = []
        """What was done, in order."""

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        fault = self._fault()
        left = self._below(8)
        if fault == "refused":
            raise self._refusal()
        async with aclosing(self._provider.stream(request)) as stream:
            async for item in stream:
                for piece in (
                    item.deltas if fault and isinstance(item, TextBurst | ThinkingBurst) else (item,)
                ):
                    if fault and (left == 0 or isinstance(piece, AssistantMessage)):
                        await self._break(fault)
                    left -= 1
                    yield piece

    def _fault(self) -> str:
        if self._random() >= self._rate:
            return ""
        if self._random() < 0.5:
            return "refused"
        return _BREAKS[self._below(len(_BREAKS))]

    def _refusal(self) -> ProviderError:
        kind, status, message = _REFUSALS[self._below(len(_REFUSALS))]
        self.faults.append(str(kind))
        wait = self._random() * 3 if self._random() < 0.5 else None
        return ProviderError(kind, message, {"status": status} if status else {}, retry_after=wait)

    async def _break(self, fault: str) -> None:
        self.faults.append(fault)
        if fault == "stalled":
            await asyncio.get_running_loop().create_future()
        what = "the connection ended" if fault == "cut" else "the server sent an unreadable event"
        raise ProviderError(ErrorKind.STREAM_CUT, f"{what}; try again")

    def _below(self, limit: int) -> int:
        return int(self._random() * limit)
