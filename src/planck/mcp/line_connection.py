"""A connection to a sidecar, which speaks MCP over lines: as `connection` to a server, without the SDK."""

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any

from msgspec import Raw

from planck.mcp.listing import Listing, read_listing
from planck.mcp.peer import Call, Peer
from planck.mcp.results import bound_parts, decode_outcome, read_own_error
from planck.mcp.rpc import (
    CALL_TOOL,
    INITIALIZE,
    INITIALIZED,
    LIST_TOOLS,
    PING,
    PROGRESS,
    TOOLS_CHANGED,
    CallParams,
    CallResult,
    Implementation,
    Initialize,
    Initialized,
    Progress,
    ToolList,
)
from planck.mcp.rpc import Peer as Rpc
from planck.mcp.transport import FinalError, Link, PeerError
from planck.records import codec
from planck.records.outcome import Err, ErrorKind
from planck.toolkit.tool import Outcome
from planck.workspace.process.rpc import UnknownMethod

log: logging.Logger = logging.getLogger(__name__)

_LIST_GAP = 0.2
"""Seconds between two lists: a peer that tells of changes without end is asked no more often."""
_MAX_CALLS = 512
"""Calls that a sidecar is given at once; more wait."""
_MAX_OPEN = 16
"""Requests of a sidecar that are not answered yet: it has none but a ping."""


class LineConnection:
    """Tells its `peer` when it is there, and each time that its tools have changed."""

    def __init__(self, peer: Peer) -> None:
        self.over: Err | None = None
        self.in_flight: set[Call] = set()
        self.afresh: bool = False
        self._peer = peer
        self._launch = peer.launch
        self._refusal: FinalError | None = None
        self._ended = asyncio.Event()
        self._suspect = False
        self._changed = asyncio.Event()
        self._heard: dict[int, Call] = {}
        """By progress token."""
        self._last_token = 0
        self._link: Link | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> Err:
        """Returns why it ended; raises `FinalError` where another start would end the same way."""
        timeout = self._launch.start_timeout
        late = self._failed(f"it did not start within {timeout:g} s")
        timer = asyncio.get_running_loop().call_later(timeout, self.end, late)
        try:
            async with self._launch.open() as link:
                await self._live(link, timer)
        except FinalError:
            raise
        except PeerError as failure:
            return failure.err
        finally:
            timer.cancel()
        if self._refusal is not None:
            raise self._refusal
        return self.over or self._failed("the connection ended")

    def end(self, reason: Err, *, polite: bool = False) -> None:
        """Ends the peer; of several reasons the first stays."""
        if self.over is None:
            self.over = reason
        if self._link is not None:
            self._link.polite = polite
        self._ended.set()

    def suspect(self) -> None:
        """Asks the peer something easy, after a call ran out of time, and ends it if it does not answer."""
        self._suspect = True
        self._peer.wake.set()

    async def _live(self, link: Link, timer: asyncio.TimerHandle) -> None:
        rpc = Rpc(link.lines, self, requests=_MAX_OPEN)
        try:
            self._start(rpc.run())
            self._start(self._watch_link(link))
            self._start(self._begin(rpc, link, timer))
            await self._ended.wait()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish)
        return task

    def _finish(self, task: asyncio.Task[None]) -> None:
        """A task that broke ends the connection: nobody else would notice."""
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("%s: %r", self._launch.label, problem, exc_info=problem)
            self.end(Err(ErrorKind.INTERNAL_ERROR, f"{self._launch.label}: {problem!r}"))

    async def _begin(self, rpc: Rpc, link: Link, timer: asyncio.TimerHandle) -> None:
        greeted = await rpc.ask(INITIALIZE, Initialize(Implementation("planck")), Initialized)
        if isinstance(greeted, Err):
            return self._end_start(rpc, greeted)
        await rpc.tell(INITIALIZED, {})
        listing = await self._list(rpc)
        if isinstance(listing, Err):
            return self._end_start(rpc, listing)
        timer.cancel()
        self._link = link
        self._peer.connected(listing)
        self._start(self._watch_tools(rpc))
        self._start(self._watch_files())
        await self._serve(rpc)

    def _end_start(self, rpc: Rpc, failure: Err) -> None:
        """A sidecar that can't be imported, or has no one entry, says so in the place of its tools."""
        data = failure.details.get("data")
        if isinstance(data, dict) and data.get("final") is True:
            own = read_own_error(data) or failure
            self._refusal = FinalError(own.kind, own.message, own.details)
            self.end(own)
        elif not rpc.stream.ended.is_set():  # otherwise the watcher knows why
            self.end(Err(failure.kind, f"{self._launch.label} failed: {failure.message}"))

    async def _serve(self, rpc: Rpc) -> None:
        waiting, wake = self._peer.waiting, self._peer.wake
        while True:
            while waiting and not self.afresh and len(self.in_flight) < _MAX_CALLS:
                call = waiting.popleft()
                if not call.answer.done():
                    self.in_flight.add(call)
                    call.scope = self._start(self._perform(rpc, call))
                    call.scope.add_done_callback(partial(self._land, call))
            if self.afresh and not self.in_flight:
                self.end(self._failed("it is being restarted"), polite=True)
            if self._suspect:
                self._suspect = False
                self._start(self._probe(rpc))
            wake.clear()
            await wake.wait()

    def _land(self, call: Call, task: "asyncio.Task[None]") -> None:
        """A call that the connection took along stays in flight, for the one who knows why it ended."""
        if call.answer.done():
            self.in_flight.discard(call)
            if self.afresh or self._peer.waiting:
                self._peer.wake.set()

    async def _perform(self, rpc: Rpc, call: Call) -> None:
        self._last_token += 1
        token = self._last_token
        self._heard[token] = call
        meta = {**(call.meta or {}), "progressToken": token}
        try:
            came = await rpc.ask(CALL_TOOL, CallParams(call.name, call.arguments, meta), CallResult)
        finally:
            del self._heard[token]
        if isinstance(came, Err) and rpc.stream.ended.is_set():
            return  # the watcher knows why
        call.resolve(self._decline(came) if isinstance(came, Err) else _read(came))

    def _decline(self, failure: Err) -> Err:
        """A JSON-RPC error, or nothing that could be read, in the place of a result."""
        if own := read_own_error(failure.details.get("data")):
            return own
        if "code" in failure.details:
            message = failure.message or "the sidecar rejected the call without a reason; check the arguments"
            return Err(ErrorKind.COMMAND_FAILED, message, {"code": failure.details["code"]})
        return Err(failure.kind, f"{self._launch.label} failed: {failure.message}")

    async def _list(self, rpc: Rpc) -> Listing | Err:
        sent = await rpc.ask(LIST_TOOLS, {}, ToolList)
        return sent if isinstance(sent, Err) else read_listing(sent.tools, self._launch.prefix)

    async def _watch_link(self, link: Link) -> None:
        kind, reason = await link.ended()
        self.end(Err(kind, f"{self._launch.label} failed: {reason}"))

    async def _watch_files(self) -> None:
        await self._launch.wait_for_change()
        self.afresh = True  # it ends when no call is in flight any more
        self._peer.wake.set()

    async def _watch_tools(self, rpc: Rpc) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            listing = await self._list(rpc)
            if isinstance(listing, Err):
                log.debug("%s did not list its tools again: %s", self._launch.label, listing)
            else:
                self._peer.listed_tools(listing)
            await asyncio.sleep(_LIST_GAP)

    async def _probe(self, rpc: Rpc) -> None:
        timeout = self._launch.probe_timeout
        try:
            async with asyncio.timeout(timeout):
                await rpc.ask(PING, {}, Any)  # any answer is an answer
        except TimeoutError:
            self.end(self._failed(f"it did not respond within {timeout:g} s after a call timed out"))

    async def answer(self, method: str, params: Raw) -> Any:
        if method == PING:
            return {}
        raise UnknownMethod(method)

    async def hear(self, method: str, params: Raw) -> None:
        if method == TOOLS_CHANGED:
            self._changed.set()
        elif method == PROGRESS:
            try:
                told = codec.decode_as(bytes(params), Progress)
            except codec.DecodeError:
                return  # not a word of it in the log: a child could fill that
            token = told.progress_token
            if isinstance(token, int) and (call := self._heard.get(token)):
                await call.hear(told.progress, told.total, told.message)

    def _failed(self, reason: str) -> Err:
        return Err(ErrorKind.PEER_FAILED, f"{self._launch.label} failed: {reason}")


def _read(came: CallResult) -> Outcome:
    parts = bound_parts(came.content)
    return decode_outcome(CallResult(parts, came.is_error, came.structured_content, came.meta), ours=True)
