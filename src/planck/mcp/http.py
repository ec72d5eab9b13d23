"""A server of ours over streamable HTTP: this machine only, and for whoever has the token."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server import Server

from planck.records import codec
from planck.records.outcome import Err, ErrorKind

PATH = "/mcp"
_STOP = 5.0

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


async def serve_http(server: Server[Any], port: int, token: str, on_ready: Callable[[str], None]) -> None:
    """Until it is told to stop; port 0 takes a free one, and `on_ready` hears the address."""
    app = _WithToken(server.streamable_http_app(streamable_http_path=PATH), token)
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
    web = _Announcing(config, on_ready)
    serving = asyncio.ensure_future(web.serve())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        web.should_exit = web.force_exit = True  # it closes its sockets itself, and only when asked
        await asyncio.wait({serving}, timeout=_STOP)
        raise


class _Announcing(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            self._on_ready(f"http://127.0.0.1:{port}{PATH}")


class _WithToken:
    """Before anything else is looked at; the SDK checks Host and Origin behind it."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
                refusal = Err(ErrorKind.UNAUTHORIZED, "send the token: `Authorization: Bearer TOKEN`")
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": codec.encode(refusal.envelope())})
                return
        await self._app(scope, receive, send)
