"""One model call over HTTP: the request out, the events in, and what may go wrong between them."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from planck.http.sse import SPARSE, Sse, check_density
from planck.http.transport import NOT_STARTED, Response, Transport, read_all
from planck.llm.dialects.answer import DONE, Answer, TooLarge, drop_negative
from planck.llm.dialects.parts import read_begun
from planck.llm.endpoint import Endpoint
from planck.llm.provider import UNREADABLE, Item, ProviderError
from planck.records import codec
from planck.records.events import Status, TextBurst, TextDelta, ThinkingBurst, ThinkingDelta, UsageDelta
from planck.records.outcome import ErrorKind
from planck.records.tools import SUBJECT, find_subject
from planck.records.usage import Tally

if TYPE_CHECKING:
    from planck.llm.dialects.loops import Loop


class Splitter(Protocol):
    def feed(self, chunk: bytes) -> list[bytes]: ...

    def rest(self) -> bytes | None: ...


_SIGN_OF_LIFE = 1.0
"""Seconds between signs that an answer goes on though nothing of it can be shown, as of a long call."""
_LAST_WORDS = 4
_FAIR = 200
"""Events before other tasks run: readers keep up, and a flood does not starve a timer."""


class Exchange:
    """Calls one model at one address; what differs from call to call is the body and who reads the answer."""

    def __init__(
        self, transport: Transport, endpoint: Endpoint, url: str, headers: Mapping[str, str]
    ) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self._url = url
        self._headers = headers

    async def send(
        self, url: str, body: Sequence[bytes] | bytes, on_sent: Callable[[], None] | None = None
    ) -> Response:
        """Posts to an address of this server; where it does not run, the error says what to start."""
        try:
            return await self._transport.send("POST", url, self._headers, body, on_sent)
        except ProviderError as error:
            if NOT_STARTED not in error.err.details:
                raise
            from planck.llm.server_errors import tell_what_to_start  # only for a failure

            raise tell_what_to_start(error, self._endpoint) from None

    async def stream(
        self, body: Sequence[bytes] | bytes, answer: Answer, tally: Tally, splitter: Splitter | None = None
    ) -> AsyncGenerator[Item, None]:
        """Yields deltas as they arrive, then the message. Closing it closes the connection."""
        events = splitter or Sse()
        tally.unsent = True
        response = await self.send(self._url, body, tally.note_sent)
        tally.unsent = False
        try:
            if response.status != 200:
                from planck.llm.server_errors import refusal  # only for a failure

                raise await refusal(response, self._endpoint)
            pulse = _Pulse(answer)
            reading = _Reading(answer, pulse)
            checked = splitter is not None
            async for chunk in response.chunks():
                if not checked and (checked := bool(chunk.strip())) and chunk.lstrip()[:1] in _NO_STREAM:
                    raise await _no_stream(chunk, response, self._endpoint)
                unread = iter(events.feed(chunk))
                while True:
                    for item in reading.read(unread):
                        yield item
                    if not reading.more:
                        break
                    await asyncio.sleep(0)
                if reading.failure:
                    raise reading.failure
                if answer.moved and pulse.is_due():
                    yield _describe_call(answer)
                if answer.too_large or answer.loops:
                    break  # and the connection is closed: nobody pays for what nobody reads
                if answer.ended:
                    response.release()
                    break
        finally:
            await response.aclose()
        if reading.repeated:
            yield Status(component="model", state="repeats", detail=_tell_loop(reading.repeated))
        elif not (answer.ended or answer.too_large) and (rest := events.rest()) is not None:
            # Many a server leaves out the last line end; half an event says nothing, which the message tells.
            for item in reading.read(iter((rest,))):
                yield item
            if error := reading.failure:
                half = UNREADABLE in error.err.details and not _is_whole(rest)
                if not half and error.err.kind is not ErrorKind.STREAM_CUT:
                    raise error
        yield answer.build_message()


class _Reading:
    """What the events of one answer say, some events at a time: what came together goes on together."""

    def __init__(self, answer: Answer, pulse: "_Pulse") -> None:
        self._answer = answer
        self._pulse = pulse
        self._loop = _listen(answer.window)
        self._counted = answer.usage
        self._left = _FAIR
        self.more = False
        """Others have waited enough: the rest is for another turn of the loop."""
        self.failure: ProviderError | None = None
        """Of the event behind those that were read."""

    def read(self, events: Iterator[bytes]) -> Iterable[Item]:
        """Returns what some more events say."""
        answer, pulse, loop, said = self._answer, self._pulse, self._loop, False
        items: list[Item] = []
        feed = answer.feed
        self.more = False
        try:
            for data in events:
                if len(data) > SPARSE:
                    check_density(data)
                try:
                    read = feed(data)
                except TooLarge:  # which the answer says itself
                    read = ()
                except _UNREADABLE as unread:
                    read = _repair(answer, data, unread)
                if answer.stop is not None:
                    pulse.note_last_words()
                if read:
                    said = True
                    items += read
                if answer.usage is not self._counted:
                    self._counted = answer.usage
                    items += (UsageDelta(usage=drop_negative(answer.usage)),)
                if read and loop and loop.hear(read):
                    answer.cut_loop()
                if answer.ended or answer.too_large or answer.loops:
                    break
                self._left -= 1
                if not self._left:
                    self._left = _FAIR
                    self.more = True
                    break
        except ProviderError as failure:
            self.failure = failure
        if said:
            pulse.beat()
        return _join(items) if answer.bursts and len(items) > 1 else items

    @property
    def repeated(self) -> str:
        return self._loop.repeated if self._loop else ""


def _join(items: list[Item]) -> Iterator[Item]:
    for kind, run in groupby(items, type):
        same: list[Any] = list(run)
        if (kind is TextDelta or kind is ThinkingDelta) and len(same) > 1:
            texts: list[str] = [item.text for item in same]
            burst = TextBurst if kind is TextDelta else ThinkingBurst
            yield burst(text="".join(texts), texts=texts)
        else:
            yield from same


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
        """Once for each chunk that moved: one that brought nothing does not speak for an earlier one."""
        self._answer.moved = False
        if self._now() - self._last < _SIGN_OF_LIFE:
            return False
        self._last = self._now()
        return True


def _describe_call(answer: Answer) -> Status:
    """The sign that an answer goes on, with the call that is being written, as far as that can be told."""
    tool, begun, size = answer.find_open_call()
    subject = find_subject(tool, read_begun(begun)) if tool else ""
    detail = "still writing"
    return Status(
        component="model", state="working", name=tool[:SUBJECT], detail=detail, subject=subject, size=size
    )


_NO_STREAM = (b"{", b"[", b"<")
"""No line of server-sent events begins so: it is an error, or a page, with the status of a success."""


async def _no_stream(begun: bytes, response: Response, endpoint: Endpoint) -> ProviderError:
    try:
        rest = await read_all(response)
    except ProviderError:
        rest = b""
    from planck.llm.server_errors import provider_error  # only for a failure

    return provider_error(0, response.headers, begun + rest, endpoint)


def _is_whole(data: bytes) -> bool:
    try:
        codec.decode(data)
    except codec.DecodeError:
        return False
    return True


def _repair(answer: Answer, data: bytes, unread: Exception) -> Sequence[Item]:
    """Returns the items of an event that could not be read as it is; raises for one that can't be mended."""
    if data.strip() == DONE:
        answer.end()
        return ()
    try:
        if len(data) <= _REPAIRED:
            return _reread(answer, re.sub(_ESCAPES, _whole_characters, data))
    except TooLarge:
        return ()
    except _UNREADABLE as error:
        unread = error
    # Not tried again: a server that writes an event wrongly writes the next one so, and each is paid for.
    raise ProviderError(
        ErrorKind.INVALID_RESPONSE,
        f"{answer.server!r} sent an event that Planck can't read: {unread}. "
        "Check the provider's `type` and `api`, or use another model.",
        {"provider": answer.server, UNREADABLE: True},
    )


def _reread(answer: Answer, data: bytes) -> Sequence[Item]:
    try:
        return answer.feed(data)
    except codec.DecodeError:
        # Only for an event that is not as the vendor writes it.
        from planck.llm.dialects.lenient import reread

        return answer.feed(reread(data, answer.find_shape(data), answer.prepare))


_UNREADABLE = (codec.DecodeError, UnicodeDecodeError, RecursionError)
_REPAIRED = 1_000_000
"""Bytes of an event at most: it takes a second for ten times as many, in which nothing else runs."""
_ESCAPES = rb"(?s)\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..|\\."


def _whole_characters(escape: re.Match[bytes]) -> bytes:
    """A server that cuts its text inside a surrogate pair loses that character, and not the answer."""
    return rb"\ufffd" if len(escape[0]) == len(rb"\ufffd") else escape[0]
