"""A peer that speaks MCP: one task keeps it connected, calls reach it by a queue, deadlines are ours."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import Enum, StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from planck.mcp.calls import Call, Calls, Terms
from planck.mcp.listing import Listing
from planck.mcp.transport import FinalError, Link
from planck.records.authority import Confinement
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Clock
from planck.toolkit.tool import Outcome

if TYPE_CHECKING:
    from planck.mcp.connection import Connection

log = logging.getLogger(__name__)

RESTARTS = 3
RESTART_WINDOW = 60.0
_BACKOFF = (0.05, 0.2, 0.5)
_MAX_WAITING = 1024
_MAX_PARTIAL = 16_000
_CLOSE_TIMEOUT = 8.0


class State(StrEnum):
    BUILDING = "building"
    STARTING = "starting"
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    EXITED = "exited"
    ERROR = "error"


@dataclass(frozen=True)
class Way:
    """How a peer is reached, and what goes before and beside that."""

    open: Callable[[], AbstractAsyncContextManager[Link]]
    prepare: Callable[[], Awaitable[None]] | None = None
    """Before each start: a sidecar is built."""
    changed: Callable[[], Awaitable[None]] | None = None
    """Returns when the peer should be started afresh: its files are no longer those that were started."""
    start_timeout: float = 60.0
    probe_timeout: float = 10.0
    """Seconds for an answer about itself, after a call ran out of time."""


class Peer:
    """Starts in the background; whatever the other side does, a call has one outcome, and nothing raises."""

    def __init__(
        self,
        name: str,
        way: Way,
        *,
        clock: Clock,
        kind: str = "MCP server",
        prefix: str = "",
        ours: bool = False,
        on_state: Callable[[State, str], None] = lambda state, detail: None,
        on_tools: Callable[[Listing], None] = lambda tools: None,
    ) -> None:
        """`on_tools` gets every listing, and an empty one when the peer goes."""
        self.name = name
        self.label = f"{kind} {name!r}"
        self.state = State.STARTING
        self.detail = ""
        self.starts = 0
        self.tools = Listing(())
        self._way = way
        self._clock = clock
        self._on_state = on_state
        self._on_tools = on_tools
        self._terms = Terms(
            label=self.label,
            ours=ours,
            prefix=prefix,
            start_timeout=way.start_timeout,
            probe_timeout=way.probe_timeout,
            on_tools=self._listed,
            on_connected=self._connected,
            changed=way.changed,
        )
        self._calls = Calls()
        self._settled = asyncio.Event()
        self._closing = asyncio.Event()
        self._failures: deque[float] = deque()
        self._life: Connection | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"peer-{self.name}")

    async def settled(self) -> None:
        """Waits until it is connected, or until it is known why it is not."""
        await self._settled.wait()

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        timeout: float,
        meta: dict[str, Any] | None = None,
        progress: Callable[[str], None] = lambda text: None,
    ) -> Outcome:
        """One outcome by the deadline; a peer that still starts is waited for. Cancelling stops its work."""
        if self.state in (State.ERROR, State.EXITED):
            return self._gone()
        if len(self._calls.waiting) >= _MAX_WAITING:
            return Err(ErrorKind.LIMIT_EXCEEDED, f"{_MAX_WAITING} calls wait for {self.label} already")
        said: list[str] = []

        def heard(text: str) -> None:
            said.append(text[-_MAX_PARTIAL:])
            del said[:-64]
            progress(text)

        call = Call(name, arguments, meta or {}, heard, asyncio.get_running_loop().create_future())
        self._calls.put(call)
        try:
            async with asyncio.timeout(timeout):
                return await call.answer
        except TimeoutError:
            if self._life is not None and call in self._life.in_flight:
                self._life.suspect()
            return Err(
                ErrorKind.TIMEOUT,
                f"{name!r} of {self.label} did not finish within {timeout:g} s and was stopped",
                {"timeout_ms": int(timeout * 1000), "output": "".join(said)[-_MAX_PARTIAL:]},
            )
        finally:
            call.abandon()

    async def aclose(self) -> None:
        """End the peer and everything it started; calls in flight fail."""
        self._closing.set()
        if self._life is not None:
            self._life.end(Err(ErrorKind.PEER_FAILED, f"{self.label} was closed"), polite=True)
        if self._task is not None:
            done, _ = await asyncio.wait({self._task}, timeout=_CLOSE_TIMEOUT)
            if not done:
                log.error("%s did not close in time", self.label)
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=1.0)

    async def _run(self) -> None:
        while not self._closing.is_set():
            over, end = await self._one_life()
            if self._closing.is_set() or end is _End.AFRESH:
                continue
            failures = self._count_failure() if end is _End.FAILED else 0
            if 0 < failures <= RESTARTS:
                self._set_state(State.DISCONNECTED, over.message)
                await self._unless_closing(asyncio.sleep(_BACKOFF[failures - 1]))
                continue
            given_up = f"; given up after {RESTARTS} restarts in {RESTART_WINDOW:g} s" if failures else ""
            self._set_state(State.ERROR, over.message + given_up)
            self._fail_waiting()
            changed = self._way.changed
            await (self._unless_closing(changed()) if changed else self._closing.wait())
            self._failures.clear()
        self._set_state(State.EXITED)
        self._fail_waiting()

    async def _one_life(self) -> "tuple[Err, _End]":
        self.starts += 1
        life: Connection | None = None
        try:
            if self._way.prepare is not None:
                self._set_state(State.BUILDING)
                await self._unless_closing(self._way.prepare())
            self._set_state(State.STARTING)
            await self._unless_closing(asyncio.to_thread(_import_sdk))
            if self._closing.is_set():
                return self._gone(), _End.AFRESH
            life = self._life = _new_life(self._terms, self._calls)
            over, end = await life.run(self._way.open), _End.AFRESH if life.afresh else _End.FAILED
        except PlanckError as failure:
            over, end = failure.err, _End.FINAL
        except Exception as problem:
            log.exception("%s", self.label)
            over, end = Err(ErrorKind.INTERNAL_ERROR, f"{self.label}: {problem!r}"), _End.FINAL
        self._life = None
        self._listed(Listing(()))
        for call in life.in_flight if life else ():
            call.resolve(over)
        return over, end

    def _connected(self, tools: Listing) -> None:
        self._listed(tools)
        self._set_state(State.CONNECTED, "; ".join(tools.problems[:3]))

    def _listed(self, tools: Listing) -> None:
        self.tools = tools
        self._on_tools(tools)

    def _count_failure(self) -> int:
        """How many there were in the window, this one included."""
        now = self._clock.monotonic()
        self._failures.append(now)
        while now - self._failures[0] > RESTART_WINDOW:
            self._failures.popleft()
        return len(self._failures)

    async def _unless_closing(self, work: Awaitable[None]) -> None:
        """Wait for it, or cancel it when the peer is closed; raises what it raises."""
        task = asyncio.ensure_future(work)
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait({task, closing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            closing.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=_CLOSE_TIMEOUT)
        if task.done() and not task.cancelled():
            task.result()

    def _fail_waiting(self) -> None:
        while self._calls.waiting:
            self._calls.waiting.popleft().resolve(self._gone())

    def _set_state(self, state: State, detail: str = "") -> None:
        self.state, self.detail = state, detail
        if state in (State.CONNECTED, State.ERROR, State.EXITED):
            self._settled.set()
        else:
            self._settled.clear()  # it comes back: a call of its tools waits again
        self._on_state(state, detail)

    def _gone(self) -> Err:
        return Err(ErrorKind.PEER_FAILED, self.detail or f"{self.label} is closed")


Reach = Callable[[Confinement | None], Awaitable[Peer | Err]]
"""Finds the life of a peer in which a call with these rights may run."""


class _End(Enum):
    FAILED = "failed"
    FINAL = "final"
    """Another start would end the same way."""
    AFRESH = "afresh"


def _import_sdk() -> None:
    """In a thread: it takes most of a second, and no first turn waits for it."""
    try:
        import_module("planck.mcp.connection")
    except ModuleNotFoundError as problem:
        if problem.name and problem.name.split(".")[0] == "planck":
            raise
        raise FinalError(
            ErrorKind.PEER_FAILED,
            f"sidecars and MCP servers need the extra `mcp` ({problem}): pip install 'planck-agents[mcp]'",
        ) from problem


def _new_life(terms: Terms, calls: Calls) -> "Connection":
    from planck.mcp.connection import Connection

    return Connection(terms, calls)
