"""HTTP/1.1 for model servers: streamed answers, kept-alive connections, and a cancel that closes the socket.

Failures are `ProviderError`: `network` until the answer's head is there, `stream_cut` after it.
"""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from planck.http.address import Network, Origin, is_loopback, locate
from planck.http.connection import (
    Connection,
    HttpResponse,
    NothingReceived,
    connect_head,
    network_error,
    request_head,
)
from planck.http.errors import ProviderError
from planck.records.outcome import ErrorKind, say_extra

if TYPE_CHECKING:
    import ssl


class Response(Protocol):
    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case; a repeated header is joined with `, `."""

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, once. A slow reader slows the server down."""

    def release(self) -> None:
        """The rest is of no interest: keep the connection if the body ends by itself soon, else close it."""

    async def aclose(self) -> None:
        """Close the connection now unless the body has ended or `release` was called."""


class Transport(Protocol):
    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Sequence[bytes] | bytes = b"",
        on_sent: Callable[[], None] | None = None,
    ) -> Response:
        """Returns when the answer's head has arrived; cancelling it closes the connection.

        `on_sent` is called once a connection is there and the request begins to leave on it.
        """

    async def aclose(self) -> None:
        """Close every connection, those in use too."""


async def read_all(response: Response, limit: int = 65_536) -> bytes:
    """The body up to `limit` bytes; what lies beyond is not read."""
    parts, size = [], 0
    async for chunk in response.chunks():
        parts.append(chunk)
        size += len(chunk)
        if size >= limit:
            break
    return b"".join(parts)[:limit]


NOT_STARTED = "not_started"
"""In an error's details: a server of this machine refused, and never took a connection before."""
_READ_BYTES = 262_144
"""What one read may bring. All connections share it, and of its pages only those count that were written."""
_IDLE_SECONDS = 30.0
"""Vendors close idle connections after 60 s and more: ours go first."""
_IDLE_RACE_SECONDS = 2.0
_IDLE_CONNECTIONS = 1024
"""Kept for each origin: one for each agent of a large team."""


class HttpTransport:
    """The pool: connections by origin, the most recently used first."""

    def __init__(self, network: Network | None = None) -> None:
        self._network = network or Network()
        self._idle: dict[Origin, list[Connection]] = {}
        self._open: set[Connection] = set()
        self._tls: ssl.SSLContext | None = None
        self._reached: set[tuple[str, int]] = set()
        """Servers of this machine that took a connection: one that is gone may be starting again."""
        self.reading: memoryview[int] = memoryview(bytearray(_READ_BYTES))
        self._closed = False
        """Connections that are still being made though nobody wants them any more."""

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Sequence[bytes] | bytes = b"",
        on_sent: Callable[[], None] | None = None,
    ) -> HttpResponse:
        origin, target = locate(url, self._network)
        pieces = (body,) if isinstance(body, bytes) else body
        head = request_head(method, origin, target, headers, sum(map(len, pieces)))
        message = b"".join((head, *pieces))  # the one copy of a long history here
        # A server may close an idle connection at the moment we choose it; then the next is tried, at last
        # a fresh one. One that it closes later was at work on our request: that is a failure to be seen.
        now = asyncio.get_running_loop().time
        while (idle := self._idle_connection(origin)) is not None:
            sent = now()
            if on_sent:
                on_sent()
            try:
                return await idle.request(message)
            except NothingReceived:
                if now() - sent > _IDLE_RACE_SECONDS:
                    raise _unanswered(origin) from None
        fresh = await self._connect(origin)
        if on_sent:
            on_sent()
        try:
            return await fresh.request(message)
        except NothingReceived:
            raise _unanswered(origin) from None

    async def aclose(self) -> None:
        self._closed = True
        self._idle.clear()
        closing = [connection.closed for connection in self._open]
        for connection in tuple(self._open):
            connection.abort()
        if closing:
            await asyncio.wait(closing)

    def __repr__(self) -> str:
        return f"HttpTransport({sum(map(len, self._idle.values()))} idle of {len(self._open)} connections)"

    def opened(self, connection: Connection) -> None:
        self._open.add(connection)

    def lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        idle = self._idle.get(connection.origin)
        if idle and connection in idle:
            idle.remove(connection)

    def recycle(self, connection: Connection) -> None:
        idle = self._idle.setdefault(connection.origin, [])
        if self._closed or len(idle) >= _IDLE_CONNECTIONS:
            connection.abort()
        else:
            idle.append(connection)

    def _idle_connection(self, origin: Origin) -> Connection | None:
        if self._closed:
            raise network_error("The transport is closed. Open a new one.")
        idle = self._idle.get(origin)
        since = asyncio.get_running_loop().time() - _IDLE_SECONDS
        while idle:
            connection = idle.pop()
            if connection.alive and connection.idle_since > since:
                return connection
            connection.abort()
        return None

    async def _connect(self, origin: Origin) -> Connection:
        connection = Connection(self, origin)
        try:
            async with asyncio.timeout(self._network.connect_timeout):
                await self._reach(connection, origin)
        except TimeoutError:
            seconds = self._network.connect_timeout
            raise network_error(
                f"No connection to {origin} within {seconds:g} s. Check the address and the network."
            ) from None
        except OSError as error:  # ssl.SSLError is one
            if origin.proxy is None and _is_refused_here(origin.host, error):
                known = (origin.host, origin.port) in self._reached
                raise _refused(origin, known=known) from None
            raise _unreachable(origin, error) from None
        if origin.proxy is None and is_loopback(origin.host):
            self._reached.add((origin.host, origin.port))
        if self._closed:
            connection.abort()
            raise network_error("The transport was closed while connecting. Open a new one.")
        return connection

    async def _reach(self, connection: Connection, origin: Origin) -> None:
        """By TCP and TLS; through a proxy, TLS to the origin runs inside its tunnel."""
        if origin.proxy is None:
            await self._dial(connection, origin)
        elif not origin.tls:
            await self._dial(connection, origin.proxy)
        else:
            await self._tunnel(connection, origin, origin.proxy)

    async def _dial(self, connection: Connection, to: Origin) -> None:
        # TLS is begun on a socket that is ours already: asyncio leaves one open for a minute when it is
        # cancelled between connecting and the handshake (seen with 3.11).
        context = self._context() if to.tls else None
        made, _ = await asyncio.get_running_loop().create_connection(
            asyncio.Protocol if to.tls else lambda: connection,
            to.host,
            to.port,
            happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS if _may_have_many_addresses(to.host) else None,
        )
        if context is not None:
            await self._secure(made, connection, to)

    async def _tunnel(self, connection: Connection, origin: Origin, proxy: Origin) -> None:
        plain = Connection(self, origin)
        await self._dial(plain, proxy)
        try:
            transport = await plain.tunnel(connect_head(origin, proxy))
        except NothingReceived:
            raise network_error(
                f"The proxy {proxy} closed the connection without a response. Check the proxy."
            ) from None
        await self._secure(transport, connection, origin)

    async def _secure(self, transport: asyncio.Transport, connection: Connection, to: Origin) -> None:
        try:
            tls = await asyncio.get_running_loop().start_tls(
                transport, connection, self._context(), server_hostname=to.host
            )
        except BaseException:
            transport.abort()
            raise
        if tls is None:
            raise network_error(f"The connection to {to} ended during the TLS handshake. Try again.")
        connection.connection_made(tls)

    def _context(self) -> "ssl.SSLContext":
        """Made for the first https address only: it costs more than all the rest of a start."""
        if self._tls is None:
            import ssl

            try:
                if self._network.system_certificates and not self._network.ca_bundle:
                    self._tls = _open_system_store()
                else:
                    self._tls = ssl.create_default_context(cafile=self._network.ca_bundle or None)
            except OSError as error:
                raise network_error(
                    f"Cannot use the certificate bundle {self._network.ca_bundle!r}: {_reason(error)}. "
                    "Check SSL_CERT_FILE and REQUESTS_CA_BUNDLE."
                ) from None
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


def _open_system_store() -> "ssl.SSLContext":
    """Returns a context that has the operating system judge certificates: by its keychain on macOS."""
    import ssl

    try:
        import truststore
    except ModuleNotFoundError:
        raise ProviderError(
            ErrorKind.NETWORK,
            f"PLANCK_SYSTEM_CERTS needs the extra `certificates`; {say_extra('certificates')}.",
            {"permanent": True},
        ) from None
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


_NEXT_ADDRESS_SECONDS = 0.25
"""RFC 8305: how long one address may stay silent before the next is tried beside it."""


def _may_have_many_addresses(host: str) -> bool:
    """A race of one costs as much as a whole request: numeric addresses and this machine run none."""
    return not (host[-1].isdigit() or ":" in host or host == "localhost")


def _unanswered(origin: Origin) -> ProviderError:
    return network_error(f"{origin} closed the connection without a response. Try again.")


def _is_refused_here(host: str, error: OSError) -> bool:
    """Whether this machine says that nobody listens; of several addresses asyncio joins the errors' texts."""
    refused = isinstance(error, ConnectionRefusedError) or f"[Errno {errno.ECONNREFUSED}]" in str(error)
    return refused and is_loopback(host)


def _refused(origin: Origin, *, known: bool) -> ProviderError:
    """A server of this machine that nobody has started does not come by waiting."""
    return ProviderError(
        ErrorKind.NETWORK,
        f"Nothing is listening at {origin}. Start the server, or fix the address.",
        {} if known else {NOT_STARTED: str(origin), "permanent": True},
    )


def _unreachable(origin: Origin, error: OSError) -> ProviderError:
    if hasattr(error, "verify_message"):  # ssl.SSLCertVerificationError, which only a loaded ssl can raise
        return ProviderError(
            ErrorKind.NETWORK,
            f"The certificate for {origin} is not trusted: {_reason(error)}. If the server uses a private "
            "CA, set SSL_CERT_FILE to a file with the CA certificate.",
            {"permanent": True},
        )
    return network_error(f"Cannot connect to {origin}: {_reason(error)}. Check the address and the network.")


def _reason(error: OSError) -> str:
    return getattr(error, "verify_message", "") or error.strerror or str(error) or type(error).__name__
