"""HTTP bodies are bounded like a line; event streams have the SDK's own limit on each event."""

from collections.abc import AsyncIterator, Callable

import httpx2

from planck.mcp.framing import MAX_LINE
from planck.mcp.meta import HTTP_FAILED
from planck.records.visible import fit_line


class BoundedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, on_gone: Callable[[str], None]) -> None:
        """`on_gone` hears why, when the server no longer knows the session that it gave us."""
        super().__init__()
        self._on_gone = on_gone

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.RemoteProtocolError("the body is compressed, which was not asked for")
        if response.status_code == 404 and "mcp-session-id" in request.headers and request.method == "POST":
            self._on_gone("it no longer knows our session (HTTP 404)")
        kind = response.headers.get("content-type", "")
        if not kind.startswith("text/event-stream") and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream)
        if response.status_code in _EXPLAINED and request.method == "POST" and "json" not in kind:
            return await _explain(response)
        return response


_CONNECTION_CLOSED = -32000
_EXPLAINED = {401, 403, 407, 429, *range(500, 600)}
"""Which the SDK tells as "an error response" and no more. Others, 400 and 404 first, mean something to it."""


async def _explain(response: httpx2.Response) -> httpx2.Response:
    """The same answer in the words of the protocol: a user learns that it is the token, not the network."""
    words = fit_line((await response.aread()).decode(errors="replace"), 200)
    await response.aclose()
    way_out = "; check `headers` of its entry" if response.status_code in (401, 403, 407) else ""
    status = f"HTTP {response.status_code} {response.reason_phrase}".rstrip()
    message = f"{status}{f': {words}' if words else ''}{way_out}"
    failed = {"code": _CONNECTION_CLOSED, "message": message, "data": HTTP_FAILED}
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
                raise httpx2.ReadError(f"the body is longer than {MAX_LINE} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
