"""Calls wait here for a peer, across its restarts; nothing here loads the SDK."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planck.toolkit.tool import Outcome

if TYPE_CHECKING:
    import anyio


_MAX_PARTIAL = 16_000


@dataclass(eq=False)
class Call:
    name: str
    arguments: dict[str, Any]
    meta: dict[str, Any]
    progress: Callable[[str], None]
    answer: "asyncio.Future[Outcome]"
    scope: "anyio.CancelScope | None" = None
    texts: deque[str] = field(default_factory=lambda: deque(maxlen=64))
    """The last progress, for when the call runs out of time."""

    async def hear(self, progress: float, total: float | None, message: str | None) -> None:
        """Takes progress as the SDK gives it."""
        text = message or (f"{progress:g}/{total:g}" if total else f"{progress:g}")
        self.texts.append(text[-_MAX_PARTIAL:])
        self.progress(text)

    @property
    def partial_output(self) -> str:
        return "".join(self.texts)[-_MAX_PARTIAL:]

    def resolve(self, outcome: Outcome) -> None:
        """Sets the outcome, unless there is one."""
        if not self.answer.done():
            self.answer.set_result(outcome)

    def abandon(self) -> None:
        """Tells the peer to stop, if the call has reached it: nobody waits any more."""
        self.answer.cancel()
        if self.scope is not None:
            self.scope.cancel()


class CallQueue:
    """What waits to be sent to a peer, however often it is started."""

    def __init__(self) -> None:
        self.waiting: deque[Call] = deque()
        self.wake = asyncio.Event()

    def put(self, call: Call) -> None:
        self.waiting.append(call)
        self.wake.set()


@dataclass(frozen=True)
class PeerSettings:
    """What holds for every start of a peer."""

    name: str
    kind: str = "MCP server"
    prefix: str = ""
    """Of its tools' names."""
    ours: bool = False
    """A sidecar: its word on kinds and values is taken."""

    @property
    def label(self) -> str:
        return f"{self.kind} {self.name!r}"
