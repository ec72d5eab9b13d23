"""One socket to a model server, and the answer that is on its way on it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from typing import Any, Protocol

import httptools

from planck.http.address import Origin
from planck.http.errors import ProviderError
from planck.records.outcome import ErrorKind

_RELEASE_SECONDS = 1.0
_DRY_BYTES = 65_536
"""How much a server may send without a byte of body: a head, trailers, or a flood."""
_HIGH_WATER = 262_144
"""Bytes kept for a slow reader before the socket is left alone."""


class Pool(Protocol):
    reading: memoryview
    """Where each of its connections puts what it reads, one after the other on one loop."""

    def opened(self, connection: "Connection") -> None: ...
    def lost(self, connection: "Connection") -> None: ...
    def recycle(self, connection: "Connection") -> None: ...


class NothingReceived(Exception):
    """The connection ended before the first byte of an answer."""


class Connection(asyncio.BufferedProtocol):
    # It reads into the pool's buffer. For a plain `Protocol` asyncio has 256 KiB mapped, shrunk and unmapped
    # at each read, however little comes: 13 us of 20, and most streams are read once a delta.

    def __init__(self, pool: Pool, origin: Origin) -> None:
        self.origin = origin
        self.idle_since: float = 0.0
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pool = pool
        self._transport: Any = None
        self._answer: HttpResponse | None = None

    @property
    def alive(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def request(self, message: bytes) -> "HttpResponse":
        """Send, and wait for the head of the answer, which may come before the body has left."""
        answer = self._answer = HttpResponse(self)
        # The body is in memory anyway, so it is handed over whole: the loop reads before it writes, and an
        # early answer is seen even where the server stops reading.
        self._transport.write(message)
        try:
            await answer.head()
        except BaseException:
            self.abort()
            raise
        return answer

    async def tunnel(self, head: bytes) -> asyncio.Transport:
        """The socket, once the proxy has joined it to the origin; it is the caller's from then on."""
        answer = await self.request(head)
        if answer.status != 200:
            self.abort()
            raise network_error(
                f"The proxy refused a tunnel to {self.origin} (HTTP {answer.status}). "
                "Check the proxy's settings."
            )
        transport: asyncio.Transport = self._transport
        self._answer = None
        self.connection_lost(None)
        return transport

    def finished(self) -> None:
        """The answer was read to its end: back to the pool, if the connection is worth keeping."""
        answer, self._answer = self._answer, None
        if (
            answer is not None
            and answer.reusable
            and self.alive
            and not self._transport.get_write_buffer_size()
        ):
            self._transport.resume_reading()
            self.idle_since = asyncio.get_running_loop().time()
            self._pool.recycle(self)
        else:
            self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        self._transport.pause_reading()

    def resume(self) -> None:
        self._transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._pool.opened(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._pool.reading

    def buffer_updated(self, nbytes: int) -> None:
        if self._answer is None:
            self.abort()  # nobody asked: a server's goodbye on an idle connection, or a smuggled answer
        else:
            self._answer.received(self._pool.reading[:nbytes])  # the parser copies what it keeps

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._pool.lost(self)
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.lost(error)
        if not self.closed.done():
            self.closed.set_result(None)


class HttpResponse:
    """An answer, filled by the parser and read once; lets go of its connection at the end."""

    def __init__(self, connection: Connection) -> None:
        self.status: int = 0
        self.headers: dict[str, str] = {}
        self.reusable: bool = False
        self._connection: Connection | None = connection
        self._origin = connection.origin
        self._parser: Any = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._dry = 0
        self._touched = False
        self._paused = False
        self._has_head = False
        self._until_close = False
        self._complete = False
        self._error: ProviderError | None = None
        self._deadline: asyncio.TimerHandle | None = None
        """Set by `release`: what still comes is dropped, and the end must come before it."""

    async def head(self) -> None:
        while not self._has_head:
            if self._error is not None:
                raise self._error
            if self._connection is None:
                if self._touched:
                    raise network_error(
                        f"{self._origin} closed the connection before the response headers were "
                        "complete. Try again."
                    )
                raise NothingReceived
            await self._wait()

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._chunks:
            if self._complete:
                self._finish()
                raise StopAsyncIteration
            if self._error is not None:
                raise self._error
            if self._connection is None:
                raise _cut_error("The response was closed before all of it was read. Try again.")
            await self._wait()
        chunks, self._chunks, self._buffered = self._chunks, [], 0
        if self._paused:
            self._resume()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def release(self) -> None:
        if self._complete:
            self._finish()
        elif self._connection is not None and self._deadline is None:
            self._chunks, self._buffered = [], 0
            self._deadline = asyncio.get_running_loop().call_later(_RELEASE_SECONDS, self._close)
            if self._paused:
                self._resume()

    async def aclose(self) -> None:
        if self._complete:
            self._finish()
        elif self._deadline is None:
            self._close()

    # what the connection tells

    def received(self, data: memoryview) -> None:
        self._touched = True
        before = self._buffered
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass
        except (httptools.HttpParserError, httptools.HttpParserCallbackError) as error:
            self._break_off(f"a response that is not HTTP/1.1 ({error})")
        self._dry = 0 if self._buffered > before else self._dry + len(data)
        if self._dry > _DRY_BYTES and not self._complete:
            self._break_off(f"more than {_DRY_BYTES} bytes without any content")
        if self._deadline is not None:
            self._drop()
        elif self._buffered > _HIGH_WATER and not self._paused and not self._complete:
            self._pause()
        if self._has_head or self._error is not None:
            self._wake()

    def lost(self, error: Exception | None) -> None:
        self._connection = None
        self._parser = None  # it holds us: no cycle is left for the collector
        if self._has_head and not self._complete and self._error is None:
            if self._until_close and error is None:
                self._complete = True
            else:
                self._error = _cut_error(
                    f"{self._origin} closed the connection before the response was complete. Try again."
                )
        if self._deadline is not None:
            self._deadline.cancel()
        self._wake()

    # what the parser tells

    def on_message_begin(self) -> None:
        if self._complete:
            raise ValueError("a second response to one request")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            known = self.headers.get(key)
            self.headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        if self.status < 200 and self.status != 101:
            return
        self._has_head = True
        encoding = self.headers.get("transfer-encoding", "").lower()
        self._until_close = "content-length" not in self.headers and "chunked" not in encoding

    def on_body(self, data: bytes) -> None:
        self._chunks.append(data)
        self._buffered += len(data)

    def on_message_complete(self) -> None:
        if self._has_head:
            self._complete = True
            self.reusable = not self._until_close and self._parser.should_keep_alive()
        else:  # 100 Continue and its like
            self.headers = {}

    def _wait(self) -> asyncio.Future[None]:
        self._waiter = asyncio.get_running_loop().create_future()
        return self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _break_off(self, what: str) -> None:
        """The server left the protocol; what it said before, complete, still counts."""
        self.reusable = False
        if not self._complete and self._error is None:
            message = f"{self._origin} sent {what}. Check the address."
            self._error = _cut_error(message) if self._has_head else network_error(message)
        self._close()

    def _drop(self) -> None:
        self._chunks = []
        if self._complete:
            self._finish()
        elif self._buffered > _DRY_BYTES:
            self._close()

    def _finish(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        if self._connection is not None:
            connection, self._connection, self._parser = self._connection, None, None
            connection.finished()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.abort()

    def _pause(self) -> None:
        if self._connection is not None:
            self._paused = True
            self._connection.pause()

    def _resume(self) -> None:
        self._paused = False
        if self._connection is not None:
            self._connection.resume()


def network_error(message: str) -> ProviderError:
    return ProviderError(ErrorKind.NETWORK, message)


def _cut_error(message: str) -> ProviderError:
    return ProviderError(ErrorKind.STREAM_CUT, message)


# Without the first, a server may compress as it likes; without the second, some gateways let nobody in.
_ALWAYS = {"accept-encoding": "identity", "user-agent": "planck"}


def request_head(method: str, origin: Origin, target: str, headers: Mapping[str, str], length: int) -> bytes:
    return (
        _common_head(method, origin, target, tuple(headers.items())) + b"content-length: %d\r\n\r\n" % length
    )


@lru_cache(maxsize=16)
def _common_head(method: str, origin: Origin, target: str, headers: tuple[tuple[str, str], ...]) -> bytes:
    """All but the length, which alone differs between the requests of a session: checked and joined once."""
    lines = [f"{method} {target} HTTP/1.1", f"host: {origin.host_header}"]
    lines += [f"{name}: {value}" for name, value in {**_ALWAYS, **dict(headers)}.items()]
    if origin.proxy is not None and origin.proxy.userinfo and not origin.tls:
        lines.append(_proxy_authorization(origin.proxy))
    return _join_checked(lines)


def connect_head(origin: Origin, proxy: Origin) -> bytes:
    lines = [f"CONNECT {origin.authority} HTTP/1.1", f"host: {origin.authority}"]
    if proxy.userinfo:
        lines.append(_proxy_authorization(proxy))
    return _join_checked(lines) + b"\r\n"


def _proxy_authorization(proxy: Origin) -> str:
    from base64 import b64encode
    from urllib.parse import unquote_to_bytes

    return f"proxy-authorization: Basic {b64encode(unquote_to_bytes(proxy.userinfo)).decode()}"


def _join_checked(lines: list[str]) -> bytes:
    """No value of ours or of the user's may end a line."""
    head = "\r\n".join((*lines, ""))
    ends = len(lines)
    if head.count("\n") != ends or head.count("\r") != ends or "\0" in head:
        bad = next(line for line in lines if any(char in line for char in "\r\n\0"))
        name = bad.partition(":")[0].partition(" ")[0]
        raise ProviderError(
            ErrorKind.INVALID_ARGS,
            f"The header or address {name!r} contains a line break or a NUL character. "
            "Check the configured key and headers.",
        )
    try:
        return head.encode("latin-1")
    except UnicodeEncodeError:
        raise ProviderError(
            ErrorKind.INVALID_ARGS,
            "A header contains a character that HTTP does not allow. Check the configured key and headers.",
        ) from None
