"""How often a provider is asked: by all agents of a process, and by all nodes that share what it allows.

Requests ticket one after the other, as far apart as the limit says: no minute, wherever it begins, has more.
"""

import asyncio
from collections.abc import Callable, Mapping

from planck.llm.provider import Request
from planck.records import codec
from planck.records.history import BYTES_PER_TOKEN
from planck.records.specs import ProviderLimits

_MINUTE = 60.0
_APART = 1.03
"""Times the distance that would do: a request that was long on its way meets the next ones there."""
_LOOK = 1.0
"""Seconds between two looks at limits and nodes, which may change while somebody waits."""
_NONE = ProviderLimits()


class Paces:
    """The paces of all providers; belongs to one loop."""

    def __init__(self, limits: Callable[[], Mapping[str, ProviderLimits]]) -> None:
        """`limits` are asked anew each time, so that a change is seen."""
        self.limits = limits
        self.nodes = 1
        """Among how many machines `rpm` and `tpm` are divided."""
        self.not_before: float = 0.0
        """Of the loop's time: a machine that has just come waits until the others know of it."""
        self.on_limited: Callable[[str, float], None] | None = None
        """Told which model was refused, and for how many seconds nobody asks it."""
        self._paces: dict[str, Pace] = {}
        self._cold: dict[str, float] = {}

    def find(self, provider: str) -> "Pace":
        return self._paces.setdefault(provider, Pace(self, provider))

    def back_off(self, scope: str, seconds: float) -> None:
        """Nobody asks that model until then: here, or on any machine, somebody was told to wait."""
        until = asyncio.get_running_loop().time() + seconds
        self._cold[scope] = max(self._cold.get(scope, 0.0), until)

    def resumes_at(self, scope: str) -> float:
        """Returns when the model may be asked again."""
        return max(self._cold.get(scope, 0.0), self.not_before)


class Pace:
    """One provider's."""

    def __init__(self, paces: Paces, provider: str) -> None:
        self._paces = paces
        self._provider = provider
        self._line = asyncio.Lock()
        self._left = asyncio.Event()
        self._flying = 0
        self._last = -_MINUTE * 1_000
        """When the last request left."""
        self._paid = 0.0
        """When the tokens of all that left are within the limit."""

    def admit(self, model: str, count: Callable[[], int]) -> "Ticket | None":
        """Lets a request go that nothing holds back, as most are; None: it has to wait in `enter`.

        `count` estimates its tokens, which only a limit of tokens asks for.
        """
        now = asyncio.get_running_loop().time()
        if self._line.locked() or self._paces.resumes_at(self._name(model)) > now:
            return None
        if not self._limited:
            tokens = 0
        elif self._find_room() > now or self._is_full():
            return None
        else:
            tokens = count() if self.counts_tokens else 0
            self._pay(tokens)
        self._last = now
        self._flying += 1
        return Ticket(self, tokens)

    async def enter(self, model: str, tokens: int) -> "Ticket":
        """Returns when the request may be sent; whoever came first goes first."""
        loop = asyncio.get_running_loop()
        while True:
            await self._wait_until(lambda: self._paces.resumes_at(self._name(model)))
            async with self._line:
                while self._is_full():
                    self._left.clear()
                    await self._left.wait()
                await self._wait_until(self._find_room)
                if self._paces.resumes_at(self._name(model)) > loop.time():
                    continue  # refused meanwhile: others of this provider need not wait for it
                self._last = loop.time()
                self._flying += 1
                self._pay(tokens)
                return Ticket(self, tokens)

    def ticket(self, tokens: int) -> None:
        """One that left has its answer, which took so many tokens more than it was thought to."""
        self._flying -= 1
        self._left.set()
        if tokens:
            self._pay(tokens)

    def back_off(self, model: str, seconds: float) -> None:
        """The provider refused the model for a while: nobody else need hear that too."""
        self._paces.back_off(self._name(model), seconds)
        if self._paces.on_limited:
            self._paces.on_limited(self._name(model), seconds)

    def _name(self, model: str) -> str:
        return f"{self._provider}/{model}"

    @property
    def _limits(self) -> ProviderLimits:
        return self._paces.limits().get(self._provider, _NONE)

    @property
    def _limited(self) -> bool:
        return self._provider in self._paces.limits()

    @property
    def counts_tokens(self) -> bool:
        return self._limits.tpm is not None

    def _is_full(self) -> bool:
        most = self._limits.concurrent
        return most is not None and self._flying >= most

    def _find_room(self) -> float:
        due = self._last
        if (rpm := self._limits.rpm) is not None:
            due += _APART * _MINUTE / _divide(rpm, self._paces.nodes)
        return due if self._limits.tpm is None else max(due, self._paid)

    def _pay(self, tokens: int) -> None:
        if (tpm := self._limits.tpm) is not None:
            begins = max(self._paid, asyncio.get_running_loop().time())
            self._paid = begins + tokens * _MINUTE * self._paces.nodes / tpm

    async def _wait_until(self, find_due: Callable[[], float]) -> None:
        loop = asyncio.get_running_loop()
        while True:
            left = find_due() - loop.time()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _LOOK))


class Ticket:
    """One request that was let go."""

    __slots__ = ("_counted", "_pace", "_tokens")

    def __init__(self, pace: Pace, tokens: int) -> None:
        self._pace = pace
        self._tokens = tokens
        self._counted = 0

    def count(self, tokens: int) -> None:
        """The server says what it took until now."""
        self._counted = tokens

    def finish(self) -> None:
        self._pace.ticket(max(0, self._counted - self._tokens))


class ModelPace:
    """One model's part in the pace of its provider."""

    def __init__(self, pace: Pace, model: str) -> None:
        self._pace = pace
        self._model = model

    def admit(self, request: Request) -> Ticket | None:
        return self._pace.admit(self._model, lambda: _estimate(request))

    async def enter(self, request: Request) -> Ticket:
        return await self._pace.enter(self._model, _estimate(request) if self._pace.counts_tokens else 0)

    def back_off(self, seconds: float) -> None:
        self._pace.back_off(self._model, seconds)


def _estimate(request: Request) -> int:
    tools = sum(
        len(tool.name) + len(tool.description) + len(codec.encode(tool.parameters)) for tool in request.tools
    )
    return request.history.tokens((len(request.system.encode()) + tools) // BYTES_PER_TOKEN)


def _divide(rpm: int, nodes: int) -> float:
    """Whole requests in a minute, so that all together have no more; where there are fewer than machines,
    each waits for longer than a minute."""
    return rpm // nodes if rpm >= nodes else rpm / nodes
