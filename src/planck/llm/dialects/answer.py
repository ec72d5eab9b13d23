"""An answer while it arrives: what every dialect keeps of a stream, and the message that it becomes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import msgspec
from msgspec.structs import astuple, replace

from planck.llm.provider import Item, ProviderError, Request
from planck.records import codec
from planck.records.messages import AssistantMessage, Part, StopReason, Text, Thinking, ToolCall
from planck.records.outcome import ErrorKind
from planck.records.usage import Usage

if TYPE_CHECKING:
    from planck.llm.dialects.dialect import Dialect


_MOST_PARTS = 65_536
"""A stream of empty ones must come to an end too."""
_HEAD_BYTES = 65_536
"""What is kept of an answer that is too large: enough to see what it was, and little enough to go on with."""
_MAX_ID = 200
_MORE_CALLS = 2
"""Times the calls that may run: as many are read, so that each gets its result; nobody reads 60,000."""
TOKEN_BYTES = 4
"""So many bytes are at least one token: what a cut answer is said to have used, where the server did not."""


class TooLarge(Exception):
    """Raised inside `feed` where an answer exceeds what its request takes; the rest is not read."""


class Answer:
    """Builds one message from the events of one stream; a dialect's own has `feed` and `build_parts`.

    A dialect tells what it keeps by `grow`, `Written` and `begin_call`: that is also what counts as progress.
    """

    shape: type

    def __init__(self, dialect: "Dialect", request: Request) -> None:
        self._dialect = dialect
        self.server: str = dialect.endpoint.name
        self._position = len(request.history.messages)
        self.most_bytes: int = request.answer_bytes
        self._most_calls = request.calls * _MORE_CALLS
        self.size: int = 0
        """Bytes that were kept so far."""
        self._calls = 0
        self.parts: int = 0
        self.too_large: bool = False
        self.loops: bool = False
        self.bursts: bool = request.bursts
        self.window: int = dialect.model.context_window
        self.moved: bool = False
        """Something was said since whoever watches the stream set it to False: no ping, no blank."""
        self.ended: bool = False
        """The server has said its last word; what follows is not read."""
        self.usage: Usage = Usage()
        """What the server has counted so far; another object when it counted again."""
        self.stop: StopReason | None = None
        """Why the model stopped; None for as long as the server has not said."""
        self.response_id: str = ""
        """What the server calls this answer."""

    def feed(self, data: bytes) -> Sequence[Item]:
        """The deltas of one event; an event it does not know gives none. Raises `codec.DecodeError`."""
        raise NotImplementedError

    def find_shape(self, data: bytes) -> type:
        """Returns what the fields of an event are read into, for one that has them in other types."""
        return self.shape

    def prepare(self, event: object) -> None:
        """Changes such an event first, where its list of parts holds more than the text of one field."""

    def end(self) -> None:
        """Takes the server's mark that this was all; without a reason (Cortex), a whole answer ended well."""
        self.ended = True
        if self.stop is None and self.is_whole():
            self.stop = StopReason.END

    def is_whole(self) -> bool:
        """Whether an answer that ends without a reason says something, and has no half call."""
        return self.size > 0

    def build_parts(self) -> list[Part]:
        """All that was said, once the server has said why it stopped; may still change `stop`."""
        raise NotImplementedError

    def find_open_call(self) -> tuple[str, str, int]:
        """Returns the tool, the beginning of the arguments and their size, of the call that is being written.

        Asked about once a second, where nothing of the answer can be shown.
        """
        return "", "", 0

    def build_message(self) -> AssistantMessage:
        """Raises `stream_cut` where the server did not finish.

        An answer cut short by length, refusal or filter loses every call, since the last may be half a call
        and the rest were meant together with it.
        """
        self.usage = drop_negative(self.usage)
        if self.too_large:
            return self._build_head()
        if self.stop is None:
            raise cut_error()
        kept = [part for part in self.build_parts() if not isinstance(part, Text) or part.text]
        stop = self.stop
        if stop is not StopReason.END:
            kept = [part for part in kept if not isinstance(part, ToolCall)]
        elif any(isinstance(part, ToolCall) for part in kept):
            stop = StopReason.TOOL_CALLS
        return self._make_message(kept, stop, self.usage)

    def _build_head(self) -> AssistantMessage:
        """The beginning of every part: none of its calls is run, and `length` with calls in it says so."""
        parts, left = [], _HEAD_BYTES
        for part in self.build_parts():
            if isinstance(part, Thinking) and len(part.text) + len(part.signature) + len(part.data) > left:
                continue  # half a thought has no valid signature
            part = _shorten(part, left)
            left -= len(part.arguments if isinstance(part, ToolCall) else part.text)
            parts.append(part)
        return self._make_message(parts, StopReason.LENGTH, self._count_at_least())

    def _make_message(self, parts: list[Part], stop: StopReason, usage: Usage) -> AssistantMessage:
        name, model = self._dialect.name, self._dialect.model.model
        id = self.response_id or msgspec.UNSET
        return AssistantMessage(tuple(parts), name, model, stop, usage, id)

    def name_response(self, id: msgspec.Raw) -> None:
        """Takes the id of the response; one that is not a short plain text is ignored."""
        try:
            found = codec.decode(bytes(id))
        except codec.DecodeError:
            return
        if isinstance(found, str) and len(found) <= _MAX_ID and found.isascii() and found.isprintable():
            self.response_id = found

    def cut_loop(self) -> None:
        """Ends an answer that goes in circles as one that was cut: what was said until here is kept."""
        self.loops = True
        self.stop = StopReason.LENGTH
        self.usage = self._count_at_least()

    def _count_at_least(self) -> Usage:
        """What the server was not heard to count, since it does so at the end."""
        least = self.size // TOKEN_BYTES
        return replace(self.usage, output_tokens=max(self.usage.output_tokens, least))

    def hear_usage(self, usage: Usage) -> None:
        """Takes what the server has counted until now; a count without numbers replaces none that has."""
        if usage != Usage():
            self.usage = usage

    def grow(self, text: str | bytes) -> None:
        """Counts what is kept; raises `TooLarge` where that is too much. Blanks are no progress."""
        self.size += len(text) if isinstance(text, bytes) or text.isascii() else len(text.encode())
        if text and not text.isspace():
            self.moved = True
        if self.size > self.most_bytes:
            self.break_off()

    def begin_part(self) -> None:
        self.parts += 1
        if self.parts > _MOST_PARTS:
            self.break_off()

    def begin_call(self) -> None:
        self.begin_part()
        self._calls += 1
        self.moved = True
        if self._calls > self._most_calls:
            self.break_off()

    def break_off(self) -> NoReturn:
        self.too_large = True
        raise TooLarge

    def make_id(self, number: int) -> str:
        """The id of a call that came without one; the same in no other answer of the session."""
        return f"{self._dialect.call_prefix}{self._position}_{number}"

    def error(self, data: bytes) -> ProviderError:
        """The error that the server sent inside a stream that began well."""
        from planck.llm.server_errors import provider_error  # only for a failure

        return provider_error(0, {}, data[:_MOST_ERROR], self._dialect.endpoint)


_MOST_ERROR = 65_536
DONE = b"[DONE]"
"""The end mark of OpenAI's streams, which some servers send in every dialect."""
BEGINNING = 2_048
"""Bytes of a call's arguments in which its path is looked for, while the rest is written."""


class Written:
    """One text while it arrives, as bytes: a million fragments take what they say, and not an object each."""

    __slots__ = ("_answer", "_bytes")

    def __init__(self, answer: Answer) -> None:
        answer.parts += 1
        if answer.parts > _MOST_PARTS:
            answer.break_off()
        self._answer = answer
        self._bytes = bytearray()

    def add(self, text: str) -> None:
        answer, data = self._answer, text.encode("utf-8", "replace")
        self._bytes += data
        # As `grow` does it, which would be one more call for each delta.
        answer.size += len(data)
        if not answer.moved and text and not text.isspace():
            answer.moved = True
        if answer.size > answer.most_bytes:
            answer.break_off()

    def __len__(self) -> int:
        return len(self._bytes)

    @property
    def beginning(self) -> str:
        return self._bytes[:BEGINNING].decode("utf-8", "ignore")

    @property
    def text(self) -> str:
        """All of it; of an answer that is too large, the beginning."""
        kept = self._bytes[:_HEAD_BYTES] if self._answer.too_large else self._bytes
        return kept.decode("utf-8", "ignore")


def is_said(raw: msgspec.Raw) -> bool:
    """Whether a field that may hold anything holds something; it is not decoded for that."""
    return bytes(raw) not in (b"", b"null", b"false", b'""', b"{}", b"[]", b"0")


def _shorten(part: Part, most: int) -> Part:
    match part:
        case Text():
            return Text(part.text[:most])
        case ToolCall():
            short = {"provider_id": part.provider_id[:256], "name": part.name[:256]}
            return replace(part, arguments=part.arguments[:most] or "{}", **short)
        case Thinking():
            return part


def cut_error() -> ProviderError:
    return ProviderError(
        ErrorKind.STREAM_CUT, "The model's response ended before it was complete. Try again."
    )


def drop_negative(usage: Usage) -> Usage:
    """Nobody is paid back by a count below zero; one that has none is the same object."""
    counts = astuple(usage)
    return usage if min(counts) >= 0 else Usage(*(max(count, 0) for count in counts))


def read_counts(raw: msgspec.Raw) -> object:
    """Returns what a server counted, of any shape; None: nothing, or nothing that can be read."""
    if not is_said(raw):
        return None
    try:
        return codec.decode(raw)
    except codec.DecodeError:
        return None


def read_count(counted: object, *path: str) -> int | None:
    """Returns one number of what a server counted, however it writes numbers; None: it said none.

    How a server counts is no reason to lose its answer: `12.0` and `"12"` are 12, anything else is nothing.
    """
    for name in path:
        counted = counted.get(name) if isinstance(counted, dict) else None
    if counted is None or (type(counted) is int and 0 <= counted < 10**_MOST_DIGITS):
        return counted
    if isinstance(counted, str):
        known = counted.isascii() and counted.isdecimal() and len(counted) <= _MOST_DIGITS
        return int(counted) if known else None
    if isinstance(counted, bool) or not isinstance(counted, int | float):
        return None
    return int(counted) if 0 <= counted < 10**_MOST_DIGITS and counted == int(counted) else None


_MOST_DIGITS = 15
"""More tokens than any model has read; a number beyond that is a mistake, and would not fit into a log."""


def count_usage(
    entered: int | None, output: int | None, read: int | None, written: int | None, reasoning: int | None
) -> Usage:
    """The usage of a vendor that counts what its cache served and took among the tokens that `entered`."""
    fresh = (entered or 0) - (read or 0) - (written or 0)
    return Usage(max(fresh, 0), output or 0, read or 0, written or 0, reasoning or 0)
