"""A peer that speaks MCP: one task keeps it connected, calls reach it by a queue, deadlines are ours."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from planck.mcp.listing import Listing
from planck.mcp.transport import FinalError, Launch
from planck.records.outcome import Err, ErrorKind, PlanckError, say_extra
from planck.records.ports import Clock
from planck.toolkit.tool import Outcome, unheard

if TYPE_CHECKING:
    from planck.mcp.connection import Connection
    from planck.mcp.elicitation import Person
    from planck.mcp.line_connection import LineConnection

log: logging.Logger = logging.getLogger(__name__)

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


class Cancellable(Protocol):
    """What runs a call: a scope of the SDK's library, or a task."""

    def cancel(self) -> object: ...


class PeerListener(Protocol):
    """Hears what becomes of a peer; called in the peer's own task, so it returns at once."""

    def changed_state(self, state: State, detail: str) -> None: ...

    def listed_tools(self, listing: Listing) -> None:
        """Gets every listing, and an empty one that is `over` when the peer goes."""

    def failed_in_sandbox(self) -> None:
        """It can't run in the sandbox: from now on its calls are to be asked about."""


@dataclass(eq=False)
class Call:
    name: str
    arguments: dict[str, Any]
    meta: Any
    progress: Callable[[str], None]
    answer: "asyncio.Future[Outcome]"
    person: "Person | None" = None
    """Who answers what the server asks during this call; None: nobody."""
    questions: int = 0
    """How many it has asked."""
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while one of them is open: a person is shown one at a time."""
    scope: Cancellable | None = None
    texts: deque[str] = field(default_factory=lambda: deque(maxlen=64))
    """The last progress, for when the call runs out of time."""

    async def hear(self, progress: float, total: float | None, message: str | None) -> None:
        """Takes progress as MCP has it."""
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


class Peer:
    """Starts in the background; whatever the other side does, a call has one outcome, and nothing raises."""

    def __init__(self, launch: Launch, clock: Clock, listener: PeerListener | None = None) -> None:
        self.launch = launch
        self.state: State = State.STARTING
        self.detail: str = ""
        self.starts: int = 0
        self.tools: Listing = Listing(())
        self._clock = clock
        self._listener = listener
        self.waiting: deque[Call] = deque()
        """Calls that wait to be sent, however often the peer is started."""
        self.wake: asyncio.Event = asyncio.Event()
        """Set for the connection: there is something to send, or to end."""
        self._settled = asyncio.Event()
        self._closing = asyncio.Event()
        self._failures: deque[float] = deque()
        self._connection: Connection | LineConnection | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"peer-{self.launch.name}")

    @property
    def settled(self) -> bool:
        return self._settled.is_set()

    async def settle(self) -> None:
        """Waits until it is connected, or until it is known why it is not."""
        await self._settled.wait()

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        timeout: float,
        meta: dict[str, Any] | None = None,
        progress: Callable[[str], None] = unheard,
        person: "Person | None" = None,
    ) -> Outcome:
        """Returns one outcome by the deadline; a starting peer is waited for. Cancelling stops its work."""
        if self.state in (State.ERROR, State.EXITED):
            return self._gone()
        if len(self.waiting) >= _MAX_WAITING:
            why = f"{_MAX_WAITING} calls are already waiting for {self.launch.label}; try again later"
            return Err(ErrorKind.LIMIT_EXCEEDED, why)
        answer = asyncio.get_running_loop().create_future()
        call = Call(name, arguments, meta, progress, answer, person)
        self.waiting.append(call)
        self.wake.set()
        try:
            async with asyncio.timeout(timeout):
                return await call.answer
        except TimeoutError:
            if self._connection is not None and call in self._connection.in_flight:
                self._connection.suspect()
            longer = "pass a larger `timeout_ms`"
            if not self.launch.ours:
                longer = "set a larger `timeout` (in ms) in the server's mcpServers entry"
            return Err(
                ErrorKind.TIMEOUT,
                f"the call to {name.lstrip(chr(0))!r} on {self.launch.label} did not finish within "
                f"{timeout:g} s and was stopped; "
                f"ask for less at a time, or {longer}",
                {"timeout_ms": int(timeout * 1000), "output": call.partial_output},
            )
        finally:
            call.abandon()

    async def aclose(self) -> None:
        """Ends the peer and everything it started; calls in flight fail."""
        self._closing.set()
        if self._connection is not None:
            self._connection.end(Err(ErrorKind.PEER_FAILED, f"{self.launch.label} was closed"), polite=True)
        if self._task is not None:
            try:
                done, _ = await asyncio.wait({self._task}, timeout=_CLOSE_TIMEOUT)
                if not done:
                    log.error("%s did not close in time", self.launch.label)
            finally:
                if not self._task.done():
                    self._task.cancel()
                    await asyncio.wait({self._task}, timeout=1.0)

    async def _run(self) -> None:
        while not self._closing.is_set():
            over, end = await self._run_once()
            if self._closing.is_set() or end is _End.AFRESH:
                continue
            failures = self._count_failure() if end is _End.FAILED else 0
            if 0 < failures <= RESTARTS:
                self._set_state(State.DISCONNECTED, over.message)
                await self._unless_closing(asyncio.sleep(_BACKOFF[failures - 1]))
                continue
            why = over.message
            if failures:
                ours = self.launch.ours
                step = "fix the sidecar and save its file" if ours else "fix the server, then restart Planck"
                given_up = f"Planck gave up after {RESTARTS} restarts in {RESTART_WINDOW:g} s"
                why = add_step(why, f"{given_up}; {step}")
            self._set_state(State.ERROR, why)
            self._fail_waiting()
            await self._unless_closing(self.launch.wait_for_change())
            self._failures.clear()
        self._set_state(State.EXITED)
        self._fail_waiting()

    async def _run_once(self) -> "tuple[Err, _End]":
        self.starts += 1
        try:
            if self.launch.builds:
                self._set_state(State.BUILDING)
                await self._unless_closing(self.launch.prepare())
            self._set_state(State.STARTING)
            if not self.launch.ours:
                await self._unless_closing(asyncio.to_thread(_import_sdk))
            if self._closing.is_set():
                return self._gone(), _End.AFRESH
            self._connection = self._connect()
            over = await self._connection.run()
            end = _End.AFRESH if self._connection.afresh else _End.FAILED
        except PlanckError as failure:
            over, end = failure.err, _End.FINAL
        except Exception as problem:
            log.exception("%s", self.launch.label)
            over, end = Err(ErrorKind.INTERNAL_ERROR, f"{self.launch.label}: {problem!r}"), _End.FINAL
        connection, self._connection = self._connection, None
        self.listed_tools(Listing((), over=True))
        for call in connection.in_flight if connection else ():
            call.resolve(over)
        return over, end

    def _connect(self) -> "Connection | LineConnection":
        """A sidecar needs no SDK; a server may speak any version and part of MCP."""
        if self.launch.ours:
            from planck.mcp.line_connection import LineConnection

            return LineConnection(self)
        from planck.mcp.connection import Connection

        return Connection(self)

    def connected(self, listing: Listing) -> None:
        self.listed_tools(listing)
        self._set_state(State.CONNECTED, "; ".join(listing.problems[:3]))

    def listed_tools(self, listing: Listing) -> None:
        self.tools = listing
        if self._listener is not None:
            self._listener.listed_tools(listing)

    def _count_failure(self) -> int:
        """Returns how many there were in the window, this one included."""
        now = self._clock.monotonic()
        self._failures.append(now)
        while now - self._failures[0] > RESTART_WINDOW:
            self._failures.popleft()
        return len(self._failures)

    async def _unless_closing(self, work: Awaitable[None]) -> None:
        """Waits for it, or cancels it when the peer is closed; raises what it raises."""
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
        while self.waiting:
            self.waiting.popleft().resolve(self._gone())

    def _set_state(self, state: State, detail: str = "") -> None:
        self.state, self.detail = state, detail
        if state in (State.CONNECTED, State.ERROR, State.EXITED):
            self._settled.set()
        else:
            self._settled.clear()  # it comes back: a call of its tools waits again
        if self._listener is not None:
            self._listener.changed_state(state, detail)

    def _gone(self) -> Err:
        return Err(ErrorKind.PEER_FAILED, self.detail or f"{self.launch.label} is closed")


def add_step(message: str, step: str) -> str:
    """Appends what to do next; in brackets on a new line if the message ends with a program's output."""
    return f"{message}\n[{step}]" if "\n" in message else f"{message.rstrip('.')}; {step}"


class _End(Enum):
    FAILED = "failed"
    FINAL = "final"
    """Another start would end the same way."""
    AFRESH = "afresh"


def _import_sdk() -> None:
    """Runs in a thread: it takes most of a second, and no first turn waits for it."""
    try:
        import_module("planck.mcp.connection")
    except ModuleNotFoundError as problem:
        if problem.name and problem.name.split(".")[0] == "planck":
            raise
        raise FinalError(
            ErrorKind.PEER_FAILED,
            f"MCP servers need the extra `mcp` ({problem}); {say_extra('mcp')}",
        ) from problem
