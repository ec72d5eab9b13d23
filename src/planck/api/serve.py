"""`planck serve`: one Planck behind HTTP, from the first connection to the last turn's end."""

import asyncio
import os
import re
import resource
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from planck.api import shapes
from planck.api.access import Access
from planck.api.access_log import AccessLog
from planck.api.addresses import find_own, find_public, is_loopback, show_host
from planck.api.app import App, Handler
from planck.api.guard import Guard
from planck.api.handlers.approvals import ApprovalHandlers
from planck.api.handlers.history import HistoryHandlers
from planck.api.handlers.metrics import MetricHandlers
from planck.api.handlers.requests import Requests
from planck.api.handlers.server import ServerHandlers
from planck.api.handlers.sessions import SessionHandlers
from planck.api.handlers.streams import Limits as StreamLimits
from planck.api.handlers.streams import Streams
from planck.api.handlers.workspace import WorkspaceHandlers
from planck.api.metrics import Metrics
from planck.api.operations import OPERATIONS
from planck.api.pool.forwarder import NodeHandlers
from planck.api.pool.pool_node import PoolNode
from planck.api.presence import Presence
from planck.api.session_cache import SessionCache
from planck.api.throttle import Throttle
from planck.closing import close_all
from planck.headless import (
    GuardedProtocol,
    Inbox,
    Joining,
    Lobby,
    Planck,
    Pool,
    SystemClock,
    connect_database,
    make_token,
    name_node,
    open_pool,
    read_terms,
)
from planck.records.outcome import ErrorKind, PlanckError

_STOP_SECONDS = 5.0
_MANY_FILES = 1 << 20
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:\d{1,5})?")
_UNASKED = 512
"""Connections without a request: as many clients may come back at once, after a restart of the server. Never
more than a quarter of what files the process may have."""
_ACCEPTED = 16
"""Connections at a time: asyncio accepts so many before the lobby sees one, and each is an open file."""
_WAITING = 2048
"""Connections that the system holds until they are accepted."""


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: int = 4040
    """0: a free one."""
    names: tuple[str, ...] = ()
    """Hosts beside this machine's own."""
    proxied: bool = False
    sessions: int = 200
    """Open at a time; never more than a tenth of what files the process may have."""
    idle: float = 900.0
    requests_per_second: int = 1000
    patience: float = 10.0
    """Seconds for a request to arrive as a whole."""
    streams: StreamLimits = StreamLimits()
    opening: tuple[str, str] | None = None
    """Name and prompt of a session to begin with: the page opens on it."""
    store: str = ""
    """A database that several servers share; empty: files of this one."""
    joining: Joining = Joining()


class Ready(msgspec.Struct, frozen=True):
    """What the first line of `--json` says."""

    url: str
    token_file: str
    pid: int
    page: str
    store: str | None = None
    phone: str = ""
    """The page's address for another device, where a proxy makes one; not part of the line."""


class ServeError(PlanckError):
    """The server can't be started like this."""


def check(settings: ServerConfig) -> None:
    """Refuses an address that others can reach without saying under which name, and how it is protected."""
    if not is_loopback(settings.host) and not (settings.names and settings.proxied):
        raise ServeError(
            ErrorKind.INVALID_ARGS,
            f"With --host {settings.host}, other machines can connect to this server. Put it behind a TLS "
            "proxy and add --behind-proxy and --allow-host NAME, or leave out --host.",
        )
    for name in settings.names:
        if not _HOST.fullmatch(name):  # no Host of a request would ever be that
            raise ServeError(
                ErrorKind.INVALID_ARGS,
                f"--allow-host {name!r} is not a host name. Use the form planck.example.org or, with a port, "
                "planck.example.org:8443.",
            )


async def serve(
    planck: Planck, inbox: Inbox, settings: ServerConfig, on_ready: Callable[[Ready], None]
) -> int:
    """Serves until a signal; returns the exit code."""
    check(settings)
    planck.project.check_place()
    if settings.store:
        return await _serve_pool(planck, inbox, settings, on_ready)
    with Presence(planck.home, planck.workspace) as presence, _bind(settings) as listening:
        port = listening.getsockname()[1]
        url = f"http://{show_host(settings.host)}:{port}"
        access = Access(make_token(), port, asyncio.get_running_loop().time)
        record = presence.publish(url, access.token)
        with AccessLog(presence.folder / "access.log", SystemClock()) as log:
            async with planck:
                server = Server(planck, inbox, access, settings, log)
                own = await find_own(settings.host, port)
                public = find_public(settings.names, proxied=settings.proxied)
                shown = f"&to=/s/{await server.begin(*settings.opening)}/team" if settings.opening else ""
                page = f"{own or public}#code={access.make_code()}{shown}"
                phone = f"{public}#code={access.make_code()}" if public else ""
                ready = Ready(url, record.token_file, record.pid, page, phone=phone)
                with _hearing_signals(server):
                    return await server.run(listening, partial(on_ready, ready))


async def _serve_pool(
    planck: Planck, inbox: Inbox, settings: ServerConfig, on_ready: Callable[[Ready], None]
) -> int:
    """The same as one of several: sessions are in the database, and any of them may work on one."""
    name, terms = name_node(settings.joining.name, planck), read_terms(planck)
    with Presence(planck.home, Path(f"node/{name}")) as presence, _bind(settings) as listening:
        port = listening.getsockname()[1]
        url = f"http://{show_host(settings.host)}:{port}"
        access = Access(make_token(), port, asyncio.get_running_loop().time)
        async with planck, AsyncExitStack() as closing:
            database = await connect_database(settings.store, planck.project, name, terms.lease_s)
            closing.push_async_callback(database.aclose)
            joining = msgspec.structs.replace(settings.joining, name=name, url=url)
            pool = await open_pool(planck, database, inbox, joining)
            record = presence.publish(url, access.token)
            log = closing.enter_context(AccessLog(presence.folder / "access.log", SystemClock()))
            server = Server(planck, inbox, access, settings, log, pool)
            page = f"{await find_own(settings.host, port) or url + '/'}#code={access.make_code()}"
            ready = Ready(url, record.token_file, record.pid, page, database.place)
            with _hearing_signals(server):
                return await server.run(listening, partial(on_ready, ready))


class Server:
    """The parts of a server, wired."""

    def __init__(
        self,
        planck: Planck,
        inbox: Inbox,
        access: Access,
        settings: ServerConfig,
        log: AccessLog,
        pool: Pool | None = None,
    ) -> None:
        self._settings = settings
        self._files = _raise_file_limit()
        self._metrics = Metrics()
        self._cache = SessionCache(
            pool or planck,
            shapes.Holder(pid=os.getpid(), host=socket.gethostname()),
            limit=min(settings.sessions, self._files // 10),
            idle=settings.idle,
        )
        streams = Streams(self._cache, self._metrics, settings.streams)
        requests = Requests(self._cache)
        sessions = SessionHandlers(self._cache, streams, requests)
        self.begin: Callable[[str, str], Awaitable[str]] = sessions.begin
        groups = (
            ServerHandlers(access, planck, secure=settings.proxied),
            sessions,
            HistoryHandlers(self._cache, sessions, requests),
            ApprovalHandlers(inbox, self._cache, streams, requests),
            WorkspaceHandlers(planck, pool),
            MetricHandlers(self._metrics, self._cache, inbox),
            NodeHandlers(pool),
        )
        handlers = find_handlers(groups)
        self._station: PoolNode | None = None
        if pool:
            self._station = PoolNode(pool, self._cache, inbox, access, read_terms(planck))
            handlers = self._station.wrap(handlers)
        own = (show_host(settings.host),) if is_loopback(settings.host) else ()  # it may be 127.0.0.2
        guard = Guard(access, access.port, settings.names, own, proxied=settings.proxied)
        throttle = Throttle(settings.requests_per_second, asyncio.get_running_loop().time)
        learn = self._station.learn if self._station else None
        self.app: App = App(guard, handlers, throttle, self._metrics, log, self._cache.find_id, learn)
        self._exit: int | None = None
        self._web: uvicorn.Server | None = None

    async def run(self, listening: socket.socket, on_ready: Callable[[], None]) -> int:
        lobby = Lobby(self._settings.patience, unasked=min(_UNASKED, self._files // 4))
        protocol: Any = partial(GuardedProtocol, lobby)
        config = uvicorn.Config(
            self.app,
            http=protocol,
            backlog=_ACCEPTED,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # it tells of every request that it can't read: anybody could fill the log
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
        self._web = _Web(config, on_ready)
        sleeping = asyncio.ensure_future(self._cache.run())
        ends: set[asyncio.Future[None]] = set()
        serving: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            if self._station:
                ends.add(await self._station.begin())
            serving = asyncio.ensure_future(self._web.serve([listening]))
            ends.add(serving)
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._exit is not None:  # a signal: the connections end last
                await asyncio.wait({serving})
            for task in ends:
                if task.done() and not task.cancelled():
                    task.result()  # what ended it: also why it can be no node any more
        finally:
            leave = [self._station.aclose] if self._station else []
            stop = partial(self._stop_serving, sleeping, serving)
            await close_all(*leave, stop, self._cache.aclose)
        return self._exit or 0

    async def _stop_serving(self, sleeping: "asyncio.Future[None]", serving: "asyncio.Future[None]") -> None:
        sleeping.cancel()
        await asyncio.gather(sleeping, return_exceptions=True)
        assert self._web
        self._web.should_exit = self._web.force_exit = True
        await asyncio.wait({serving}, timeout=_STOP_SECONDS)
        serving.cancel()

    def stop(self, code: int) -> None:
        """Takes no new work, ends turns, then connections; a second signal does not wait for these."""
        assert self._web is not None
        if self._exit is not None:
            self._web.force_exit = True
            return
        self._exit = code
        self.app.closing = True
        self._stopping = asyncio.ensure_future(self._stop())

    async def _stop(self) -> None:
        assert self._web is not None
        try:
            if self._station:
                await self._station.stop()
            await self._cache.aclose()
            if self._station:
                await self._station.leave()
        finally:
            self._web.should_exit = True


def find_handlers(groups: tuple[object, ...]) -> dict[str, Handler]:
    """Returns the handler of each operation; one without a handler is a mistake that shows at once."""
    found: dict[str, Handler] = {}
    for operation in OPERATIONS:
        (found[operation.name],) = (
            getattr(group, operation.name) for group in groups if hasattr(group, operation.name)
        )
    return found


class _Web(uvicorn.Server):
    """Leaves the signals to us, and says when it listens."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    def capture_signals(self) -> Any:
        return nullcontext()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for listening in sockets:
            listening.listen(_WAITING)  # asyncio has asked for `backlog`, which is also how many it accepts
        if self.started:
            self._on_ready()


@contextmanager
def _hearing_signals(server: Server) -> Iterator[None]:
    loop, numbers = asyncio.get_running_loop(), (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, server.stop, 128 + number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


@contextmanager
def _bind(settings: ServerConfig) -> Iterator[socket.socket]:
    """Ours rather than uvicorn's, which ends the process where a port can't be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol named, asyncio turns Nagle's algorithm off: it would hold a body back for 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as problem:
        listening.close()
        raise ServeError(
            ErrorKind.INVALID_ARGS,
            f"Cannot listen on {settings.host}, port {settings.port}: {problem.strerror}. "
            "Choose another port with --port, or use --port 0 for any free port.",
        ) from None
    with listening:
        yield listening


def _raise_file_limit() -> int:
    """Takes what the system allows; returns how many files the process may have open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return soft if soft != resource.RLIM_INFINITY else _MANY_FILES
