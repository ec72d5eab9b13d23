"""One model call over HTTP: the request out, the events in, and what may go wrong between them."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from planck.llm.answer import Answer
from planck.llm.endpoint import Endpoint
from planck.llm.http_errors import provider_error, refusal
from planck.llm.provider import Item, ProviderError
from planck.llm.sse import Sse
from planck.llm.transport import Response, Transport, read_all
from planck.records import codec
from planck.records.events import Status, UsageDelta
from planck.records.outcome import ErrorKind


class Splitter(Protocol):
    def feed(self, chunk: bytes) -> list[bytes]: ...

    def rest(self) -> bytes | None: ...


_SIGN_OF_LIFE = 10.0
"""Seconds of bytes without a delta, such as a long tool call, after which we say that it goes on."""
_FAIR = 256
"""Events of one chunk before others run: whoever watches keeps up, and a burst starves nobody."""


class Exchange:
    """Calls one model at one address; what differs from call to call is the body and who reads the answer."""

    def __init__(
        self, transport: Transport, endpoint: Endpoint, url: str, headers: Mapping[str, str]
    ) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self._url = url
        self._headers = headers

    async def stream(
        self, body: Sequence[bytes] | bytes, answer: Answer, splitter: Splitter | None = None
    ) -> AsyncGenerator[Item, None]:
        """Yields deltas as they arrive, then the message. Closing it closes the connection."""
        events = splitter or Sse()
        response = await self._transport.send("POST", self._url, self._headers, body)
        async with aclosing(response):
            if response.status != 200:
                raise await refusal(response, self._endpoint)
            now = asyncio.get_running_loop().time
            alive = now()
            checked = splitter is not None
            counted = answer.usage
            async for chunk in response.chunks():
                if not checked and (checked := bool(chunk.strip())) and chunk.lstrip()[:1] in _NO_STREAM:
                    raise await _no_stream(chunk, response, self._endpoint)
                silent = True
                for number, data in enumerate(events.feed(chunk), 1):
                    if number % _FAIR == 0:
                        await asyncio.sleep(0)
                    for item in _read(answer, data):
                        silent = False
                        yield item
                    if answer.usage is not counted:
                        counted = answer.usage
                        yield UsageDelta(usage=counted)
                    if answer.ended:
                        break
                if not silent:
                    alive = now()
                elif now() - alive > _SIGN_OF_LIFE:
                    alive = now()
                    yield Status(component="model", state="working", detail="still writing")
                if answer.ended:
                    response.release()
                    break
        if not answer.ended and (rest := events.rest()) is not None:
            for item in _read_rest(answer, rest):
                yield item
        yield answer.build_message()


_NO_STREAM = (b"{", b"[", b"<")
"""No line of server-sent events begins so: it is an error, or a page, with the status of a success."""


async def _no_stream(begun: bytes, response: Response, endpoint: Endpoint) -> ProviderError:
    try:
        rest = await read_all(response)
    except ProviderError:
        rest = b""
    return provider_error(0, response.headers, begun + rest, endpoint)


def _read_rest(answer: Answer, data: bytes) -> Sequence[Item]:
    """Many a server leaves out the last line end; half an event says nothing, and `build_message` knows."""
    try:
        return _read(answer, data)
    except ProviderError as error:
        if error.err.kind is ErrorKind.STREAM_CUT:
            return ()
        raise


def _read(answer: Answer, data: bytes) -> Sequence[Item]:
    try:
        return answer.feed(data)
    except _UNREADABLE:
        pass
    try:
        return answer.feed(re.sub(_ESCAPES, _whole_characters, data))
    except _UNREADABLE as error:
        raise ProviderError(
            ErrorKind.STREAM_CUT,
            f"the server sent an event that can't be read: {error}; it can be tried again",
        ) from None


_UNREADABLE = (codec.DecodeError, UnicodeDecodeError, RecursionError)
_ESCAPES = rb"(?s)\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..|\\."


def _whole_characters(escape: re.Match[bytes]) -> bytes:
    """A server that cuts its text inside a surrogate pair loses that character, and not the answer."""
    return rb"\ufffd" if len(escape[0]) == len(rb"\ufffd") else escape[0]
