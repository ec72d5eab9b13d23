"""A transport without a socket: it plays a script's bytes in pieces of any size and ends as it is told."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from planck.http.transport import Response
from planck.llm.provider import ProviderError
from planck.records.outcome import ErrorKind
from tests.wire.script import SHOW
from tests.wire.server import Asked, Reply


class MemoryTransport:
    """Keeps what it was asked; `alter` may change the body, `broken` ends it as a lost connection would."""

    def __init__(
        self,
        script: Callable[[Asked], Reply],
        *,
        alter: Callable[[bytes], bytes] = lambda body: body,
        piece: int = 1 << 16,
        broken: bool = False,
    ) -> None:
        self.asked: list[Asked] = []
        self.addresses: list[str] = []
        self._script = script
        self._alter = alter
        self._piece = piece
        self._broken = broken

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Sequence[bytes] | bytes = b"",
        on_sent: object = None,
    ) -> Response:
        self.addresses.append(url)
        path = "/" + url.split("/", 3)[3]
        content = body if isinstance(body, bytes) else b"".join(body)
        lower = {name.lower(): value for name, value in headers.items()}
        self.asked.append(Asked(method, path, lower, content, 1))
        reply = self._script(self.asked[-1])
        whole = b"".join(piece for piece in reply.pieces if isinstance(piece, bytes))
        if path == SHOW:
            return MemoryResponse(reply.status, reply.headers, whole, self._piece, False)
        return MemoryResponse(reply.status, reply.headers, self._alter(whole), self._piece, self._broken)

    async def aclose(self) -> None:
        pass


class MemoryResponse:
    def __init__(
        self, status: int, headers: Mapping[str, str], body: bytes, piece: int, broken: bool
    ) -> None:
        self.status = status
        self.headers = headers
        self._body = body
        self._piece = piece
        self._broken = broken

    async def chunks(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), self._piece):
            yield self._body[at : at + self._piece]
        if self._broken:
            raise ProviderError(ErrorKind.STREAM_CUT, "the connection was lost")

    def release(self) -> None:
        pass

    async def aclose(self) -> None:
        pass
