"""Servers that mean harm, or are broken, in every dialect: silence, noise, and answers without an end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from planck.records import codec
from planck.records.messages import Part, StopReason, Text, ToolCall
from tests.wire.known import Known
from tests.wire.script import SHOW, Answer

MARK = "MARK"
Stream = Iterator[bytes]


def _until_marked(known: Known, part: Part) -> tuple[list[bytes], bytes]:
    """The frames before the one that says `MARK`, and that one."""
    stop = StopReason.TOOL_CALLS if isinstance(part, ToolCall) else StopReason.END
    frames = known.server.frames(Answer((part,), stop, fragment=1 << 30), known.model)
    at = next(at for at, frame in enumerate(frames) if MARK.encode() in frame)
    return frames[:at], frames[at]


def _begin(known: Known) -> list[bytes]:
    before, word = _until_marked(known, Text(MARK))
    return [*before, word]


def say_word_then(noise: Callable[[Known], bytes]) -> Callable[[Known], Stream]:
    def stream(known: Known) -> Stream:
        yield from _begin(known)
        yield from repeat(noise(known))

    return stream


def _blank_text(known: Known) -> bytes:
    return _until_marked(known, Text(MARK))[1].replace(MARK.encode(), b" \\n ")


def _empty_text(known: Known) -> bytes:
    return _until_marked(known, Text(MARK))[1].replace(MARK.encode(), b"")


def _comment(known: Known) -> bytes:
    return b"\n" if known.type == "ollama" else b": keep-alive\n\n"


def _unended_comment(known: Known) -> bytes:
    return b" " if known.type == "ollama" else b": keep-alive\n"


def _ping(known: Known) -> bytes:
    return b"{}\n" if known.type == "ollama" else b'event: ping\ndata: {"type":"ping"}\n\n'


def _blanks(known: Known) -> bytes:
    return b"   "


NOISE: dict[str, Callable[[Known], bytes]] = {
    "comments": _comment,
    "comments without an end": _unended_comment,
    "pings": _ping,
    "empty text": _empty_text,
    "blank text": _blank_text,
    "blanks": _blanks,
}


def write_for_ever(known: Known) -> Stream:
    before, word = _until_marked(known, Text(MARK))
    yield from before
    yield from repeat(word.replace(MARK.encode(), b"abcdefgh" * 512))


def argue_for_ever(known: Known) -> Stream:
    """One argument without an end; where a call comes in one piece, one line without an end."""
    before, call = _until_marked(known, ToolCall("", "c1", "read", codec.encode_str({"path": MARK})))
    yield from before
    if known.type in ("google", "ollama"):
        yield call.partition(MARK.encode())[0]
        yield from repeat(b"abcdefgh" * 512)
    first, _, rest = call.partition(MARK.encode())
    yield first + b"x" + rest
    yield from repeat(call.replace(MARK.encode(), b"abcdefgh" * 512))


def run_on_one_line(known: Known) -> Stream:
    yield b"" if known.type == "ollama" else b"data: "
    yield from repeat(b"x" * 4096)


def call_often(known: Known) -> Stream:
    calls = tuple(ToolCall("", f"c{n}", "read", '{"path":"x"}') for n in range(60_000))
    yield from known.server.frames(Answer(calls, StopReason.TOOL_CALLS, fragment=1 << 30), known.model)


def call_in_one_event(known: Known) -> Stream:
    """Millions of calls in one event, two bytes each."""
    many = b"[" + b"{}," * 3_000_000 + b"{}]"
    match known.server.name:
        case "anthropic":
            yield b'data: {"type":"x","many":' + many + b"}\n\n"
            yield from call_often(known)
        case "google":
            yield b'data: {"candidates":[{"content":{"parts":' + many + b"}}]}\n\n"
        case "openai_responses":
            item = many.replace(b"{}", b'{"type":"function_call"}')[:9_000_000].rpartition(b",")[0] + b"]"
            yield b'data: {"type":"response.completed","response":{"output":' + item + b"}}\n\n"
        case "ollama":
            yield b'{"message":{"tool_calls":' + many + b'},"done":true}\n'
        case _:
            yield b'data: {"choices":[{"delta":{"tool_calls":' + many + b"}}]}\n\n"


ENDLESS: dict[str, Callable[[Known], Stream]] = {
    "an endless answer": write_for_ever,
    "an endless argument": argue_for_ever,
    "an endless line": run_on_one_line,
    "60,000 calls": call_often,
    "3,000,000 calls in one event": call_in_one_event,
}


class HostileTransport:
    """Plays a stream without a socket, with a pause before each piece; it can't be read to its end."""

    def __init__(self, stream: Stream, pause: float = 0.0, *, pieces: int = 1) -> None:
        self.closed = False
        self.status = 200
        self.headers: Mapping[str, str] = {}
        self._stream = stream
        self._pause = pause
        self._pieces = pieces

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Sequence[bytes] | bytes = b"",
        on_sent: object = None,
    ) -> Any:
        return _Shown() if url.endswith(SHOW) else self

    async def chunks(self) -> AsyncIterator[bytes]:
        while pieces := [piece for _, piece in zip(range(self._pieces), self._stream, strict=False)]:
            await asyncio.sleep(self._pause)
            yield b"".join(pieces)

    def release(self) -> None: ...

    async def aclose(self) -> None:
        self.closed = True


class _Shown:
    status = 200
    headers: Mapping[str, str] = {}

    async def chunks(self) -> AsyncIterator[bytes]:
        yield b'{"model_info": {"llama.context_length": 128000}}'

    def release(self) -> None: ...

    async def aclose(self) -> None: ...
