"""A server is reached at an address. Bodies are bounded like a line; events by the SDK's own limit."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED

from planck.http.address import Network, Origin, locate
from planck.http.errors import ProviderError
from planck.mcp.challenge import read_wanted_scope
from planck.mcp.meta import HTTP_FAILED
from planck.mcp.transport import FinalError, Link
from planck.records.outcome import ErrorKind
from planck.records.visible import fit_line
from planck.workspace.process.framing import MAX_LINE


@asynccontextmanager
async def open_address(
    url: str,
    headers: Mapping[str, str],
    auth: httpx2.Auth | None = None,
    *,
    name: str = "",
    network: Network | None = None,
) -> AsyncGenerator[Link, None]:
    """Opens streamable HTTP; a body is bounded like a line. `auth` signs what is sent to it."""
    network = network or Network()
    try:
        locate(_spell(url), network)
    except ProviderError as refused:
        raise FinalError(refused.err.kind, refused.err.message) from None
    link = _HttpLink(url, name)
    timeout = httpx2.Timeout(30.0, read=3600.0)  # a call's own deadline is the caller's
    # Identity: what is counted is what will be in memory.
    all_headers = {"Accept-Encoding": "identity", **headers}
    transport = _BoundedTransport(link, network)
    client = httpx2.AsyncClient(headers=all_headers, timeout=timeout, transport=transport, auth=auth)
    async with client as link.client:
        yield link


def _spell(url: str) -> str:
    """Returns an address as it is sent: a host or a path may have an umlaut."""
    try:
        return str(httpx2.URL(url))
    except httpx2.InvalidURL:
        return url  # which `locate` refuses, with its reason


class _HttpLink(Link):
    apart = True
    client: httpx2.AsyncClient

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def refuse(self, status: int) -> None:
        """It does not know who we are: to ask again would change nothing."""
        sign_in = f"run `planck mcp login {self._name}`, or check `headers` in its mcpServers entry"
        self.refused = f"HTTP {status}; {sign_in}"

    def tell_scope(self, wanted: str) -> str:
        """Returns what to do about a token that may do too little, as the end of a sentence."""
        shown = fit_line(wanted, 200)
        more = f"to allow the scope {shown!r}" if shown else "to allow more"
        return f"; run `planck mcp login {self._name}` {more}"

    def close(self, reason: str) -> None:
        """The server no longer knows the session that it gave us."""
        if not self._ended.done():
            self._ended.set_result(reason)

    @property
    def address(self) -> httpx2.URL:
        return httpx2.URL(self._url).copy_with(query=None)

    @property
    def over(self) -> bool:
        return self._ended.done()

    @property
    def transport(self) -> AbstractAsyncContextManager[TransportStreams]:
        return streamable_http_client(self._url, http_client=self.client, max_sse_event_size=MAX_LINE)

    async def ended(self) -> tuple[ErrorKind, str]:
        """Returns when the server has forgotten us; that an address is gone, the call that fails finds."""
        return ErrorKind.PEER_FAILED, await asyncio.shield(self._ended)


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    """Reaches each address directly or through the user's proxy, as models are reached."""

    def __init__(self, link: _HttpLink, network: Network) -> None:
        super().__init__()
        self._link = link
        self._network = network
        self._proxied: dict[Origin, httpx2.AsyncHTTPTransport] = {}

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        # A client that is left closes its transport by this, and not by `aclose`.
        try:
            for through in self._proxied.values():
                await through.aclose()
        finally:
            await super().__aexit__(exc_type, exc_value, traceback)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        try:
            proxy = locate(str(request.url), self._network)[0].proxy
        except ProviderError as refused:
            raise httpx2.ProxyError(refused.err.message) from None
        if proxy is None:
            return await super().handle_async_request(request)
        if proxy not in self._proxied:
            address = httpx2.URL(str(proxy), userinfo=proxy.userinfo.encode())
            self._proxied[proxy] = httpx2.AsyncHTTPTransport(proxy=httpx2.Proxy(address))
        return await self._proxied[proxy].handle_async_request(request)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._send(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.RemoteProtocolError(
                "the response is compressed, although Planck did not ask for that; "
                "turn off compression on the server"
            )
        if response.status_code == 404 and "mcp-session-id" in request.headers and request.method == "POST":
            self._link.close("its session has expired (HTTP 404)")
        kind = response.headers.get("content-type", "")
        if not kind.startswith("text/event-stream") and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream)
        own = request.url.copy_with(query=None) == self._link.address
        if response.status_code in (401, 403) and own:
            self._link.refuse(response.status_code)
        if own and request.method == "POST" and (wanted := read_wanted_scope(response)) is not None:
            return await _explain(response, self._link.tell_scope(wanted))
        if response.status_code in _EXPLAINED and request.method == "POST" and "json" not in kind and own:
            refused = response.status_code in (401, 403, 407)
            return await _explain(response, "; check `headers` in its mcpServers entry" if refused else "")
        return response


_EXPLAINED = {401, 403, 407, 429, *range(500, 600)}
"""Which the SDK tells as "an error response" and no more. Others, 400 and 404 first, mean something to it."""


async def _explain(response: httpx2.Response, way_out: str) -> httpx2.Response:
    """The same answer in the words of the protocol: a user learns that it is the token, not the network."""
    words = fit_line((await response.aread()).decode(errors="replace"), 200)
    await response.aclose()
    status = f"HTTP {response.status_code} {response.reason_phrase}".rstrip()
    message = f"{status}{f': {words}' if words else ''}{way_out}"
    failed = {"code": CONNECTION_CLOSED, "message": message, "data": HTTP_FAILED}
    error = {"jsonrpc": "2.0", "id": None, "error": failed}
    headers = {k: v for k, v in response.headers.items() if k not in ("content-length", "content-type")}
    return httpx2.Response(response.status_code, headers=headers, json=error)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for chunk in self._stream:
            total += len(chunk)
            if total > MAX_LINE:
                raise httpx2.ReadError(
                    f"the response is longer than {MAX_LINE} bytes; request less at a time"
                )
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
