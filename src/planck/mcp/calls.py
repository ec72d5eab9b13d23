"""Calls on their way to a peer, and the terms on which it lives; nothing here loads the SDK."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planck.mcp.listing import Listing
from planck.toolkit.tool import Outcome

if TYPE_CHECKING:
    import anyio


@dataclass(eq=False)
class Call:
    name: str
    arguments: dict[str, Any]
    meta: dict[str, Any]
    progress: Callable[[str], None]
    answer: "asyncio.Future[Outcome]"
    scope: "anyio.CancelScope | None" = None

    def resolve(self, outcome: Outcome) -> None:
        """The first outcome is the outcome."""
        if not self.answer.done():
            self.answer.set_result(outcome)

    def abandon(self) -> None:
        """Nobody waits any more: tell the peer to stop, if the call has reached it."""
        self.answer.cancel()
        if self.scope is not None:
            self.scope.cancel()


class Calls:
    """What waits to be sent, across lives."""

    def __init__(self) -> None:
        self.waiting: deque[Call] = deque()
        self.wake = asyncio.Event()

    def put(self, call: Call) -> None:
        self.waiting.append(call)
        self.wake.set()


@dataclass(frozen=True)
class Terms:
    """What holds for every life of a peer."""

    label: str
    ours: bool
    """A sidecar: its word on kinds and values is taken."""
    prefix: str
    start_timeout: float
    probe_timeout: float
    on_tools: Callable[[Listing], None]
    on_connected: Callable[[Listing], None]
    changed: Callable[[], Awaitable[None]] | None
    """Returns when the peer should be started afresh."""
