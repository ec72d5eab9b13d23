"""A connection is one start of a server, up to its end, inside the one task that owns it.

The SDK is anyio throughout: its contexts must be left by the task that entered them, so nobody outside makes,
times or cancels a call of it. Others put calls into a queue and ask for the end; the owner waits for both.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from mcp import Client, InputRequiredRoundsExceededError
from mcp.client.session import ClientRequestContext
from mcp.client.subscriptions import ListenNotSupportedError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    PaginatedRequestParams,
)
from pydantic import ValidationError

from planck import __version__
from planck.mcp.elicitation import DECLINED, DISMISSED, MAX_QUESTIONS, Reply, read_question
from planck.mcp.guard import SAID_CLOSED, PeerLimits
from planck.mcp.listing import MAX_TOOLS, Listing, add_resource_tools, read_listing
from planck.mcp.peer import Call, Peer
from planck.mcp.readings import READINGS, read_from
from planck.mcp.results import decode_outcome
from planck.mcp.rpc import CallResult
from planck.mcp.transport import FinalError, Link, PeerError
from planck.records.outcome import Err, ErrorKind, name_exception, say_exception
from planck.toolkit.tool import Outcome

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

log: logging.Logger = logging.getLogger(__name__)

_MAX_PAGES = 64
_LIST_GAP = 0.2
"""Seconds between two lists: a peer that tells of changes without end is asked no more often."""


class Connection:
    """Tells its `peer` when it is there, and each time that its tools have changed."""

    afresh = False
    """Only a sidecar is started afresh when its files change."""

    def __init__(self, peer: Peer) -> None:
        self.over: Err | None = None
        self.in_flight: set[Call] = set()
        self._peer = peer
        self._launch = peer.launch
        self._scope = anyio.CancelScope()
        self._suspect = False
        self._changed = asyncio.Event()
        self._guard = PeerLimits(self._changed)
        self._link: Link | None = None

    async def run(self) -> Err:
        """Returns why it ended; raises `FinalError` where another start would end the same way."""
        timeout = self._launch.start_timeout
        late = self._failed(f"it did not start within {timeout:g} s")
        timer = asyncio.get_running_loop().call_later(timeout, self.end, late)
        try:
            with self._scope:
                async with _shield_exit(self._launch.open()) as link:
                    await self._with_reason(link, timer)
        except FinalError:
            raise
        except PeerError as failure:
            return self.over or failure.err
        except Exception as problem:
            log.debug("%s ended", self._launch.label, exc_info=True)
            return self.over or self._failed(_describe(problem))
        finally:
            timer.cancel()
        return self.over or self._failed("the connection ended")

    def end(self, reason: Err, *, polite: bool = False) -> None:
        """Ends the peer; of several reasons the first stays."""
        if self.over is None:
            self.over = reason
        if self._link is not None:
            self._link.polite = polite
        self._scope.cancel()

    def suspect(self) -> None:
        """Asks the peer something easy, after a call ran out of time, and ends it if it does not answer."""
        self._suspect = True
        self._peer.wake.set()

    async def _with_reason(self, link: Link, timer: asyncio.TimerHandle) -> None:
        """A server that goes while it starts says why in its last words, not in the SDK's exception."""
        try:
            await self._speak(link, timer)
        except Exception as problem:
            if link.refused:
                why = f"{self._launch.label} refused the connection: {link.refused}"
                raise FinalError(ErrorKind.NOT_AUTHENTICATED, why) from problem
            if isinstance(inner := _first(problem), ValidationError):
                raise PeerError(ErrorKind.PEER_PROTOCOL, self._no_result(inner)) from problem
            if not link.over:
                raise
            kind, reason = await link.ended()
            raise PeerError(kind, f"{self._launch.label} failed: {reason}") from problem

    async def _speak(self, link: Link, timer: asyncio.TimerHandle) -> None:
        me = Implementation(name="planck", version=__version__)
        transport = self._guard.watch(link.transport)
        async with Client(transport, client_info=me, cache=None, elicitation_callback=self._elicit) as client:
            tools = await self._list(client)
            timer.cancel()
            self._link = link
            self._peer.connected(tools)
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch_link, link)
                group.start_soon(self._watch_tools, client)
                await self._serve(client, link, group)

    async def _serve(self, client: Client, link: Link, group: "TaskGroup") -> None:
        waiting, wake = self._peer.waiting, self._peer.wake
        while True:
            while waiting:
                call = waiting.popleft()
                if not call.answer.done():
                    self.in_flight.add(call)
                    group.start_soon(self._perform, client, link, call)
            if self._suspect:
                self._suspect = False
                group.start_soon(self._probe, client)
            wake.clear()
            await wake.wait()

    async def _perform(self, client: Client, link: Link, call: Call) -> None:
        """A call that the connection took along stays in flight, for the one who knows why it ended."""
        with anyio.CancelScope() as scope:
            call.scope = scope
            _ANSWERED.set(call)
            try:
                call.resolve(await self._ask(client, call))
            except MCPError as problem:
                cut = problem.error.code == CONNECTION_CLOSED
                if link.over or (cut and not link.apart):
                    self._peer.wake.set()
                    await self._gone(problem)
                failed = self._failed(problem.error.message) if cut else None
                call.resolve(failed or _declined(problem))
            except ValidationError as problem:
                call.resolve(Err(ErrorKind.PEER_PROTOCOL, self._no_result(problem)))
            except Exception as problem:
                log.debug("A call to %s failed", self._launch.label, exc_info=True)
                call.resolve(self._failed(_describe(problem)))
        self.in_flight.discard(call)

    async def _ask(self, client: Client, call: Call) -> Outcome:
        if call.name in READINGS:
            return await read_from(client, call.name, call.arguments)
        try:
            result = await client.call_tool(
                call.name, call.arguments, progress_callback=call.hear, meta=call.meta
            )
        except InputRequiredRoundsExceededError as asked:
            return self._failed(f"it asked for input {asked.max_rounds} times; call it with other arguments")
        plain = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return decode_outcome(msgspec.convert(plain, CallResult), ours=False)

    async def _elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Asks the person behind the call that the server works on; where there is none, it is declined."""
        call = _ANSWERED.get() or self._find_asking_call()
        reply = await self._put(call, params) if call is not None else DECLINED
        if reply.content is not None:
            form = getattr(params, "mode", "form") != "url"
            return ElicitResult(action="accept", content=reply.content if form else None)
        return ElicitResult(action="cancel" if reply.dismissed else "decline")

    def _find_asking_call(self) -> Call | None:
        """An older server does not say which call it asks about: if they are of several, nobody is asked."""
        calls = {call.person.session_id if call.person else "": call for call in self.in_flight}
        return next(iter(calls.values())) if len(calls) == 1 else None

    async def _put(self, call: Call, params: ElicitRequestParams) -> Reply:
        person = call.person
        if person is None:
            return DECLINED
        call.questions += 1
        if call.questions > MAX_QUESTIONS:
            person.note(f"it asked more than {MAX_QUESTIONS} questions during one call")
            return DECLINED
        asked = read_question(params)
        if isinstance(asked, Err):
            person.note(asked.message)
            return DECLINED
        async with call.asking:
            asking = asyncio.ensure_future(person.ask(asked))
            try:
                both: set[asyncio.Future[Any]] = {asking, call.answer}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not asking.done():  # the call is over, or the server went: nobody waits for an answer
                    asking.cancel()
                    await asyncio.wait({asking})
            if asking.cancelled():
                return DISMISSED
            if problem := asking.exception():  # an approver is anybody's code
                log.error("Could not ask about %s", self._launch.label, exc_info=problem)
                return DISMISSED
            return asking.result()

    async def _gone(self, problem: MCPError) -> None:
        """Closed under a call: give the watcher a moment to say why, then say it ourselves."""
        await anyio.sleep(1.0)
        self.end(self._failed(problem.error.message))
        await anyio.sleep_forever()  # until that end has come: it is the call's outcome

    async def _list(self, client: Client) -> Listing:
        raw: list[Any] = []
        refused: set[str] = set()
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            sent, shown = self._guard.take_page(page.meta)
            raw += sent
            refused |= shown - {tool.name for tool in page.tools}
            cursor = page.next_cursor
            if cursor is None or len(raw) > MAX_TOOLS:
                break
        listing = read_listing(raw, self._launch.prefix, refused)
        if not await self._has_resources(client):
            return listing
        return add_resource_tools(listing, self._launch.prefix)

    async def _has_resources(self, client: Client) -> bool:
        """Asked, because many say that they could have some: agents get no tools for nothing."""
        if client.server_capabilities.resources is None:
            return False
        begin = PaginatedRequestParams(cursor=None)
        try:
            if (await client.session.list_resources(params=begin)).resources:
                return True
            return bool((await client.session.list_resource_templates(params=begin)).resource_templates)
        except MCPError:
            return False

    async def _watch_link(self, link: Link) -> None:
        kind, reason = await link.ended()
        self.end(Err(kind, f"{self._launch.label} failed: {reason}"))

    async def _watch_tools(self, client: Client) -> None:
        """Newer servers tell of a changed list only to who listens; older ones by themselves."""
        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._listen, client)
            while True:
                await self._changed.wait()
                self._changed.clear()
                try:
                    self._peer.listed_tools(await self._list(client))
                except (MCPError, ValidationError):
                    log.debug("%s did not list its tools again", self._launch.label, exc_info=True)
                await anyio.sleep(_LIST_GAP)

    async def _listen(self, client: Client) -> None:
        try:
            async with client.listen(tools_list_changed=True):
                await anyio.sleep_forever()
        except ListenNotSupportedError:
            pass
        except Exception:
            log.debug("%s does not report changes to its tools", self._launch.label, exc_info=True)

    async def _probe(self, client: Client) -> None:
        timeout = self._launch.probe_timeout
        with anyio.move_on_after(timeout) as scope:
            try:
                await client.session.list_tools()
            except (MCPError, ValidationError):
                pass  # any answer is an answer
        if scope.cancelled_caught:
            self.end(self._failed(f"it did not respond within {timeout:g} s after a call timed out"))

    def _no_result(self, problem: ValidationError) -> str:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return f"{self._launch.label} sent an invalid MCP result ({where}: {first['msg']})"

    def _failed(self, reason: str) -> Err:
        return Err(ErrorKind.PEER_FAILED, f"{self._launch.label} failed: {reason}")


_ANSWERED: ContextVar[Call | None] = ContextVar("answered", default=None)
"""The call whose result asks for input, in the task that performs it."""


@asynccontextmanager
async def _shield_exit(opening: AbstractAsyncContextManager[Link]) -> AsyncGenerator[Link, None]:
    """A cancelled scope cancels each wait in it anew, also those in which a process is ended."""
    link = await opening.__aenter__()
    try:
        yield link
    finally:
        with anyio.CancelScope(shield=True):
            await opening.__aexit__(None, None, None)


def _describe(problem: BaseException) -> str:
    """Returns an exception in a line; of a group, its first."""
    problem = _first(problem)
    return say_exception(problem) if isinstance(problem, MCPError) else name_exception(problem)


def _first(problem: BaseException) -> BaseException:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


def _declined(problem: MCPError) -> Err:
    """A JSON-RPC error in the place of a result."""
    return Err(
        ErrorKind.COMMAND_FAILED,
        problem.error.message or "the server rejected the call without a reason; check the arguments",
        {"code": CONNECTION_CLOSED if problem.error.code == SAID_CLOSED else problem.error.code},
    )
