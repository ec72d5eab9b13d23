"""One model call over HTTP: the request out, the events in, and what may go wrong between them."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from planck.http.sse import SPARSE, Sse, check_density
from planck.http.transport import Response, Transport, read_all
from planck.llm.dialects.answer import Answer, TooLarge, drop_negative
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item, ProviderError
from planck.records import codec
from planck.records.events import Status, UsageDelta
from planck.records.outcome import ErrorKind

if TYPE_CHECKING:
    from planck.llm.dialects.loops import Loop


class Splitter(Protocol):
    def feed(self, chunk: bytes) -> list[bytes]: ...

    def rest(self) -> bytes | None: ...


_SIGN_OF_LIFE = 1.0
"""Seconds between signs that an answer goes on though nothing of it can be shown, as of a long call."""
_LAST_WORDS = 4
_FAIR = 256
"""Items or events before others run: whoever watches keeps up, and a burst starves no clock."""


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
                from planck.llm.server_errors import refusal  # only for a failure

                raise await refusal(response, self._endpoint)
            pulse = _Pulse(answer)
            loop = _listen(answer.window)
            checked = splitter is not None
            counted = answer.usage
            handled = 0
            async for chunk in response.chunks():
                if not checked and (checked := bool(chunk.strip())) and chunk.lstrip()[:1] in _NO_STREAM:
                    raise await _no_stream(chunk, response, self._endpoint)
                for data in events.feed(chunk):
                    items = _read(answer, data)
                    if answer.stop is not None:
                        pulse.note_last_words()
                    if items:
                        pulse.beat()
                    for item in items:
                        yield item
                        handled += 1
                        if handled % _FAIR == 0:
                            await asyncio.sleep(0)
                    handled += 1
                    if handled % _FAIR == 0:
                        await asyncio.sleep(0)
                    if answer.usage is not counted:
                        counted = answer.usage
                        yield UsageDelta(usage=drop_negative(counted))
                    if items and loop and loop.hear(items):
                        answer.cut_loop()
                    if answer.ended or answer.too_large or answer.loops:
                        break
                if pulse.is_due():
                    yield Status(component="model", state="working", detail="still writing")
                if answer.too_large or answer.loops:
                    break  # and the connection is closed: nobody pays for what nobody reads
                if answer.ended:
                    response.release()
                    break
        if loop and loop.repeated:
            yield Status(component="model", state="repeats", detail=_tell_loop(loop.repeated))
        elif not (answer.ended or answer.too_large) and (rest := events.rest()) is not None:
            for item in _read_rest(answer, rest):
                yield item
        yield answer.build_message()


_SMALL = 32_768
"""Tokens of a window whose answers are listened to: a large model has a limit for its output."""


def _listen(window: int) -> "Loop | None":
    if window >= _SMALL:
        return None
    from planck.llm.dialects.loops import Loop

    return Loop(window)


def _tell_loop(repeated: str) -> str:
    said = " ".join(repeated.split())[:60]
    return f"the model kept repeating {said!r}, so its answer was cut off"


class _Pulse:
    """Tells when to say that an answer goes on: only where something was said, and not too often."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._now = asyncio.get_running_loop().time
        self._last = self._now()
        self._last_words = 0

    def note_last_words(self) -> None:
        """Why the model stopped, its count and its goodbye are words too; a server does not repeat them."""
        if self._last_words < _LAST_WORDS:
            self._last_words += 1
            self._answer.moved = True

    def beat(self) -> None:
        """What was said is shown: that says it."""
        if self._answer.moved:
            self._answer.moved = False
            self._last = self._now()

    def is_due(self) -> bool:
        """Once for each chunk: one that brought nothing does not speak for an earlier one."""
        moved, self._answer.moved = self._answer.moved, False
        if not moved or self._now() - self._last < _SIGN_OF_LIFE:
            return False
        self._last = self._now()
        return True


_NO_STREAM = (b"{", b"[", b"<")
"""No line of server-sent events begins so: it is an error, or a page, with the status of a success."""


async def _no_stream(begun: bytes, response: Response, endpoint: Endpoint) -> ProviderError:
    try:
        rest = await read_all(response)
    except ProviderError:
        rest = b""
    from planck.llm.server_errors import provider_error  # only for a failure

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
    """The items of one event; none where it makes the answer too large, which then says so itself."""
    if len(data) > SPARSE:
        check_density(data)
    try:
        return answer.feed(data)
    except TooLarge:
        return ()
    except _UNREADABLE as error:
        unread: Exception = error
    try:
        if len(data) <= _REPAIRED:
            return answer.feed(re.sub(_ESCAPES, _whole_characters, data))
    except TooLarge:
        return ()
    except _UNREADABLE as error:
        unread = error
    raise ProviderError(
        ErrorKind.STREAM_CUT,
        f"The model's server sent an invalid event: {unread}. Try again.",
    )


_UNREADABLE = (codec.DecodeError, UnicodeDecodeError, RecursionError)
_REPAIRED = 1_000_000
"""Bytes of an event at most: it takes a second for ten times as many, in which nothing else runs."""
_ESCAPES = rb"(?s)\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..|\\."


def _whole_characters(escape: re.Match[bytes]) -> bytes:
    """A server that cuts its text inside a surrogate pair loses that character, and not the answer."""
    return rb"\ufffd" if len(escape[0]) == len(rb"\ufffd") else escape[0]
