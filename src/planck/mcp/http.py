"""A server of ours listens on streamable HTTP: on this machine only, and for whoever has the token."""

import asyncio
import hmac
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any

import uvicorn

from planck.http.lobby import PATIENCE, GuardedProtocol, Lobby
from planck.mcp.serve import Guide, make_server
from planck.mcp.service import ToolService
from planck.mcp.transport import PeerError
from planck.records import codec
from planck.records.outcome import Err, ErrorKind

PATH = "/mcp"
_ADDRESS = "127.0.0.1"
_OWN_SITE = {b"same-origin", b"none"}
_STOP = 5.0
_CONNECTIONS = 256


async def serve_http(
    name: str,
    service: ToolService,
    port: int,
    token: str,
    on_ready: Callable[[str], None],
    *,
    patience: float = PATIENCE,
    guide: Guide | None = None,
) -> None:
    """Serves until it is cancelled; port 0 takes a free one, and `on_ready` hears the address."""
    listening = _bind(port)
    port = listening.getsockname()[1]
    server = make_server(name, service, guide).streamable_http_app(streamable_http_path=PATH)
    app = _GuardedApp(server, port, token)
    protocol: Any = partial(GuardedProtocol, Lobby(patience))
    config = uvicorn.Config(
        app,
        ws="none",
        http=protocol,
        limit_concurrency=_CONNECTIONS,
        log_level="warning",
        access_log=False,
    )
    web = _AnnouncingServer(config, f"http://{_ADDRESS}:{port}{PATH}", on_ready)
    serving = asyncio.ensure_future(web.serve([listening]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        web.should_exit = web.force_exit = True  # it closes its sockets itself, and only when asked
        await asyncio.wait({serving}, timeout=_STOP)
        if web.started:  # a forced exit leaves the application running, in a task that uvicorn started
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP):
                    await web.lifespan.shutdown()
        raise


def _bind(port: int) -> socket.socket:
    """Ours rather than uvicorn's, which ends the process where a port can't be had."""
    # With the protocol named, asyncio turns Nagle's algorithm off: it would hold a body back for 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_ADDRESS, port))
    except OSError as problem:
        listening.close()
        raise PeerError(
            ErrorKind.PEER_FAILED,
            f"Cannot listen on port {port}: {problem.strerror}. Choose another port, or 0 for any free port.",
        ) from None
    return listening


class _AnnouncingServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, url: str, on_ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._url = url
        self._on_ready = on_ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready(self._url)


class _GuardedApp:
    """Refuses before anything else is looked at, on every path: a foreign page gets nothing, token or not."""

    def __init__(self, app: Any, port: int, token: str) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}".encode() for name in (_ADDRESS, "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        refused = None
        if scope["type"] == "http":  # the parser leaves the blanks behind a value, which are none of it
            scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
            refused = self._refuse(scope["headers"])
        if refused is None:
            await self._app(scope, receive, send)
            return
        status, message = refused
        headers = [(b"content-type", b"application/json")]
        if status == HTTPStatus.UNAUTHORIZED:
            headers.append((b"www-authenticate", b"Bearer"))
        body = codec.encode(Err(ErrorKind.UNAUTHORIZED, message).envelope())
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _refuse(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[HTTPStatus, str] | None:
        def given(name: bytes) -> list[bytes]:
            return [value for key, value in headers if key == name]

        hosts, tokens = given(b"host"), given(b"authorization")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            why = "The Host header does not name this server. Use the address that it printed."
            return HTTPStatus.MISDIRECTED_REQUEST, why
        if not set(given(b"origin")) <= self._origins or not set(given(b"sec-fetch-site")) <= _OWN_SITE:
            why = "A page from another origin cannot use this server. Use an MCP client."
            return HTTPStatus.FORBIDDEN, why
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0], self._expected):
            why = "Missing or invalid token. Send `Authorization: Bearer TOKEN`, with this server's token."
            return HTTPStatus.UNAUTHORIZED, why
        return None
