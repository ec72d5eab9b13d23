"""HTTP/1.1 for model servers: streamed answers, kept-alive connections, and a cancel that closes the socket.

Failures are `ProviderError`: `network` until the answer's head is there, `stream_cut` after it.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import httptools
import msgspec

from planck.llm.provider import ProviderError
from planck.records.outcome import ErrorKind

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
        self, method: str, url: str, headers: Mapping[str, str], body: Sequence[bytes] | bytes = b""
    ) -> Response:
        """Returns when the answer's head has arrived; cancelling it closes the connection."""

    async def aclose(self) -> None:
        """Close every connection, those in use too."""


class Network(msgspec.Struct, frozen=True):
    """How to reach the outside, as the user's environment has it; whoever reads the environment fills it."""

    http_proxy: str = ""
    https_proxy: str = ""
    no_proxy: str = ""
    ca_bundle: str = ""
    """A PEM file that is trusted instead of the system's."""
    connect_timeout: float = 30.0

    def __repr__(self) -> str:  # a proxy address may carry a password
        return f"Network(no_proxy={self.no_proxy!r}, ca_bundle={self.ca_bundle!r})"

    def __rich_repr__(self) -> Any:
        yield "no_proxy", self.no_proxy


class HttpTransport:
    """The pool: connections by origin, the most recently used first."""

    def __init__(self, network: Network | None = None) -> None:
        self._network = network or Network()
        self._idle: dict[_Origin, list[_Connection]] = {}
        self._open: set[_Connection] = set()
        self._tls: ssl.SSLContext | None = None
        self._closed = False

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: Sequence[bytes] | bytes = b""
    ) -> "HttpResponse":
        origin, target = _parse(url, self._network)
        content = body if isinstance(body, bytes) else b"".join(body)
        head = _head(method, origin, target, headers, len(content))
        while True:
            connection, reused = await self._connection(origin)
            try:
                await connection.request(head, content)
            except _NothingReceived:
                # The server closed an idle connection at the moment we chose it. It saw no complete request
                # of ours, or would have answered: the next connection is tried, at last a fresh one.
                if reused:
                    continue
                raise _network(f"{origin} closed the connection without an answer; try again") from None
            except BaseException:
                connection.abort()
                raise
            return HttpResponse(connection)

    async def aclose(self) -> None:
        self._closed = True
        self._idle.clear()
        closing = [connection.closed for connection in self._open]
        for connection in tuple(self._open):
            connection.abort()
        if closing:
            await asyncio.wait(closing)

    async def _connection(self, origin: "_Origin") -> "tuple[_Connection, bool]":
        if self._closed:
            raise _network("the transport is closed; open a new one")
        idle = self._idle.get(origin)
        now = asyncio.get_running_loop().time()
        while idle:
            connection = idle.pop()
            if connection.alive and now - connection.idle_since < _IDLE_SECONDS:
                return connection, True
            connection.abort()
        connection = await self._connect(origin)
        if self._closed:
            connection.abort()
            raise _network("the transport was closed while connecting; open a new one")
        return connection, False

    async def _connect(self, origin: "_Origin") -> "_Connection":
        loop = asyncio.get_running_loop()
        connection = _Connection(self, origin)
        try:
            async with asyncio.timeout(self._network.connect_timeout):
                if origin.proxy is not None:
                    await self._connect_through(origin.proxy, connection)
                else:
                    tls = self._context() if origin.tls else None
                    await loop.create_connection(lambda: connection, origin.host, origin.port, ssl=tls)
        except TimeoutError:
            connection.abort()
            seconds = self._network.connect_timeout
            raise _network(f"no connection to {origin} within {seconds:g} s; check the address") from None
        except OSError as error:  # ssl.SSLError is one
            connection.abort()
            raise _network(
                f"can't connect to {origin}: {_reason(error)}; check the address, the network "
                "and, for https, the certificate bundle"
            ) from None
        except BaseException:
            connection.abort()
            raise
        return connection

    async def _connect_through(self, proxy: "_Origin", connection: "_Connection") -> None:
        """TCP to the proxy, then, for https, CONNECT and TLS to the origin inside the tunnel."""
        loop = asyncio.get_running_loop()
        origin = connection.origin
        tls = self._context() if proxy.tls else None
        if not origin.tls:
            await loop.create_connection(lambda: connection, proxy.host, proxy.port, ssl=tls)
            return
        tunnel = _Connection(self, origin)
        try:
            await loop.create_connection(lambda: tunnel, proxy.host, proxy.port, ssl=tls)
            transport = await tunnel.tunnel(_connect_head(origin, proxy))
        except _NothingReceived:
            raise _network(f"the proxy {proxy} closed the connection without an answer") from None
        except BaseException:
            tunnel.abort()
            raise
        await loop.start_tls(transport, connection, self._context(), server_hostname=origin.host)
        tunnel.hand_over()

    def _context(self) -> "ssl.SSLContext":
        if self._tls is None:
            import ssl

            try:
                self._tls = ssl.create_default_context(cafile=self._network.ca_bundle or None)
            except OSError as error:
                raise _network(
                    f"can't read the certificate bundle {self._network.ca_bundle!r}: {_reason(error)}"
                ) from None
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    def opened(self, connection: "_Connection") -> None:
        self._open.add(connection)

    def lost(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        idle = self._idle.get(connection.origin)
        if idle and connection in idle:
            idle.remove(connection)

    def recycle(self, connection: "_Connection") -> None:
        idle = self._idle.setdefault(connection.origin, [])
        if self._closed or len(idle) >= _IDLE_CONNECTIONS:
            connection.abort()
        else:
            idle.append(connection)


_IDLE_SECONDS = 30.0
"""Vendors close idle connections after 60 s and more: ours go first."""
_IDLE_CONNECTIONS = 1024
_RELEASE_SECONDS = 1.0
_RELEASE_BYTES = 65_536
_HEAD_BYTES = 65_536
_HIGH_WATER = 262_144
"""Bytes kept for a slow reader before the socket is left alone."""
_LOW_WATER = 65_536


class HttpResponse:
    def __init__(self, connection: "_Connection") -> None:
        self._connection = connection
        self.status: int = connection.status
        self.headers: Mapping[str, str] = connection.headers

    def chunks(self) -> AsyncIterator[bytes]:
        return self._connection

    def release(self) -> None:
        self._connection.release()

    async def aclose(self) -> None:
        self._connection.close_unless_done()


async def read_all(response: Response, limit: int = 65_536) -> bytes:
    """The body up to `limit` bytes; what lies beyond is not read."""
    parts, size = [], 0
    async for chunk in response.chunks():
        parts.append(chunk)
        size += len(chunk)
        if size >= limit:
            break
    return b"".join(parts)[:limit]


class _NothingReceived(Exception):
    """The connection ended before the first byte of an answer."""


class _Origin(msgspec.Struct, frozen=True):
    tls: bool
    host: str
    port: int
    proxy: "_Origin | None" = None
    userinfo: str = ""

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def host_header(self) -> str:
        default = 443 if self.tls else 80
        return self.authority.removesuffix(f":{default}") if self.port == default else self.authority

    def __str__(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host_header}"


class _Connection(asyncio.Protocol):
    """One socket and one exchange at a time; its own iterator of body chunks."""

    def __init__(self, pool: HttpTransport, origin: _Origin) -> None:
        self.origin = origin
        self.status = 0
        self.headers: dict[str, str] = {}
        self.idle_since = 0.0
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pool = pool
        self._transport: Any = None
        self._parser: Any = None
        self._waiter: asyncio.Future[None] | None = None
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._head_bytes = 0
        self._paused = False
        self._busy = False
        self._got_bytes = False
        self._head_done = False
        self._complete = False
        self._until_close = False
        self._error: BaseException | None = None
        self._releasing: asyncio.TimerHandle | None = None

    # what the pool and the response ask for

    @property
    def alive(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def request(self, head: bytes, body: bytes) -> None:
        """Send, and wait for the head of the answer; one may come before the body has left."""
        self._begin()
        # The body is in memory anyway, so it is handed over whole: the loop reads before it writes, and an
        # early answer is seen even where the server stops reading.
        self._transport.write(head + body if len(body) < 65_536 else head)
        if len(body) >= 65_536:
            self._transport.write(body)
        await self._head()

    async def tunnel(self, head: bytes) -> asyncio.Transport:
        self._begin(connect=True)
        self._transport.write(head)
        await self._head()
        if self.status != 200:
            raise _network(f"the proxy refused a tunnel to {self.origin} with status {self.status}")
        transport: asyncio.Transport = self._transport
        return transport

    def hand_over(self) -> None:
        """The socket belongs to the TLS connection inside the tunnel from here on."""
        self._transport = None
        self._finish_closed()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._chunks:
            if self._complete:
                self._done()
                raise StopAsyncIteration
            if self._error is not None or not self._busy:
                raise self._cut()
            await self._wait()
        chunks = self._chunks
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        self._chunks = []
        self._buffered = 0
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return data

    def release(self) -> None:
        if self._complete:
            self._done()
        elif self._busy and self._releasing is None:
            self._chunks, self._buffered = [], 0
            loop = asyncio.get_running_loop()
            self._releasing = loop.call_later(_RELEASE_SECONDS, self.abort)
            if self._paused:
                self._paused = False
                self._transport.resume_reading()

    def close_unless_done(self) -> None:
        if self._releasing is None and self._busy:
            if self._complete:
                self._done()
            else:
                self.abort()

    def abort(self) -> None:
        if self._releasing is not None:
            self._releasing.cancel()
            self._releasing = None
        if self._error is None:
            self._error = _Closed()
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    # what the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._pool.opened(self)

    def data_received(self, data: bytes) -> None:
        if not self._busy or self._complete:
            self.abort()  # nobody asked: a server's goodbye on an idle connection, or a smuggled answer
            return
        self._got_bytes = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass
        except (httptools.HttpParserError, httptools.HttpParserCallbackError, _HeadTooLarge) as error:
            if not self._complete:
                self._fail(_network(f"{self.origin} sent what is not HTTP/1.1: {error}"))
            self.abort()
            return
        if self._releasing is not None:
            self._discard()
        elif self._buffered > _HIGH_WATER and not self._paused and not self._complete:
            self._paused = True
            self._transport.pause_reading()
        if self._head_done:
            self._wake()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        if self._busy and not self._complete:
            if self._head_done and self._until_close and error is None:
                self._complete = True
            else:
                self._fail(error or EOFError())
        self._pool.lost(self)
        self._wake()
        self._finish_closed()

    # what the parser calls

    def on_status(self, status: bytes) -> None:
        pass

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > _HEAD_BYTES:
            raise _HeadTooLarge(f"its head is larger than {_HEAD_BYTES} bytes")
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self.headers.get(key)
        self.headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        if self.status < 200 and self.status != 101:
            return
        self._head_done = True
        self._until_close = "content-length" not in self.headers and (
            "chunked" not in self.headers.get("transfer-encoding", "").lower()
        )

    def on_body(self, data: bytes) -> None:
        self._chunks.append(data)
        self._buffered += len(data)

    def on_message_complete(self) -> None:
        if not self._head_done:  # 100 Continue and its like
            self.headers, self._head_bytes = {}, 0
            return
        self._complete = True

    # the rest

    def _begin(self, connect: bool = False) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.status, self.headers, self._head_bytes = 0, {}, 0
        self._chunks, self._buffered = [], 0
        self._busy, self._got_bytes, self._head_done, self._complete = True, False, False, False

    async def _head(self) -> None:
        while not self._head_done:
            if isinstance(self._error, ProviderError):
                raise self._error
            if self._error is not None or not self.alive:
                if self._got_bytes:
                    raise _network(f"{self.origin} closed the connection inside the head of its answer")
                raise _NothingReceived
            await self._wait()

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error

    def _cut(self) -> ProviderError:
        if isinstance(self._error, _Closed) or self._error is None:
            return ProviderError(ErrorKind.STREAM_CUT, "the answer was closed before its end was read")
        if isinstance(self._error, ProviderError):
            return ProviderError(ErrorKind.STREAM_CUT, self._error.err.message)
        return ProviderError(
            ErrorKind.STREAM_CUT, f"{self.origin} ended the answer before its end; it can be tried again"
        )

    def _discard(self) -> None:
        self._chunks = []
        if self._complete:
            self._done()
        elif self._buffered > _RELEASE_BYTES:
            self.abort()

    def _done(self) -> None:
        """The body has ended: the connection goes back to the pool, if it is worth keeping."""
        if not self._busy:
            return
        self._busy = False
        if self._releasing is not None:
            self._releasing.cancel()
            self._releasing = None
        keep = self.alive and not self._until_close and self._parser.should_keep_alive()
        if keep and not self._transport.get_write_buffer_size():
            if self._paused:
                self._paused = False
                self._transport.resume_reading()
            self.idle_since = asyncio.get_running_loop().time()
            self._pool.recycle(self)
        else:
            self.abort()

    def _finish_closed(self) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


class _Closed(Exception):
    """We closed it ourselves."""


class _HeadTooLarge(Exception):
    pass


def _network(message: str) -> ProviderError:
    return ProviderError(ErrorKind.NETWORK, message)


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def _parse(url: str, network: Network) -> tuple[_Origin, str]:
    """The origin and the request target; no error here shows the URL, whose query may hold a key."""
    origin, path = _origin(url)
    proxy = network.https_proxy if origin.tls else network.http_proxy
    if proxy and not _direct(origin, network.no_proxy):
        via, _ = _origin(proxy if "://" in proxy else f"http://{proxy}")
        origin = msgspec.structs.replace(origin, proxy=via)
        if not origin.tls:
            path = f"{origin}{path}"
    return origin, path


def _origin(url: str) -> tuple[_Origin, str]:
    try:
        parsed = httptools.parse_url(url.encode("ascii"))
        scheme, host = parsed.schema.decode().lower(), parsed.host.decode().lower()
    except (httptools.HttpParserInvalidURLError, AttributeError, UnicodeEncodeError):
        raise ProviderError(
            ErrorKind.INVALID_ARGS, "the address is not a URL; write it as http://host:port or https://host"
        ) from None
    if scheme not in {"http", "https"}:
        raise ProviderError(ErrorKind.INVALID_ARGS, f"can't speak {scheme!r}; use http or https")
    port = parsed.port or (443 if scheme == "https" else 80)
    path = (parsed.path or b"/").decode()
    if parsed.query:
        path += f"?{parsed.query.decode()}"
    userinfo = parsed.userinfo.decode() if parsed.userinfo else ""
    return _Origin(scheme == "https", host, port, userinfo=userinfo), path


def _direct(origin: _Origin, no_proxy: str) -> bool:
    """This machine is never reached through a proxy; else as curl reads NO_PROXY, networks as Go does."""
    host = origin.host
    if host == "localhost" or host.endswith(".localhost") or host == "::1" or host.startswith("127."):
        return True
    return any(
        _exempt(host, origin.port, entry.strip().lower()) for entry in no_proxy.split(",") if entry.strip()
    )


def _exempt(host: str, port: int, entry: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        import ipaddress

        try:
            return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit() and (":" not in name or name.startswith("[")):
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").removeprefix(".")
    return host == entry or host.endswith(f".{entry}")


def _head(method: str, origin: _Origin, target: str, headers: Mapping[str, str], length: int) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"host: {origin.host_header}", f"content-length: {length}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if origin.proxy is not None and origin.proxy.userinfo and not origin.tls:
        lines.append(_proxy_authorization(origin.proxy))
    return _checked(lines)


def _connect_head(origin: _Origin, proxy: _Origin) -> bytes:
    lines = [f"CONNECT {origin.authority} HTTP/1.1", f"host: {origin.authority}"]
    if proxy.userinfo:
        lines.append(_proxy_authorization(proxy))
    return _checked(lines)


def _proxy_authorization(proxy: _Origin) -> str:
    from urllib.parse import unquote_to_bytes

    return f"proxy-authorization: Basic {b64encode(unquote_to_bytes(proxy.userinfo)).decode()}"


def _checked(lines: list[str]) -> bytes:
    for line in lines:
        if any(character in line for character in "\r\n\0"):
            name = line.partition(":")[0].split()[0]
            raise ProviderError(
                ErrorKind.INVALID_ARGS,
                f"the header or address {name!r} holds a line break; check the configured key and headers",
            )
    try:
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    except UnicodeEncodeError:
        raise ProviderError(
            ErrorKind.INVALID_ARGS,
            "a header holds a character that HTTP can't carry; check the configured key and headers",
        ) from None
