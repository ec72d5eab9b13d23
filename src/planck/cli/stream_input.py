"""`--input-format stream-json`: messages on standard input, one JSON object a line, each a turn of its own.

    {"type": "user", "message": {"role": "user", "content": "fix the test"}}
    {"type": "user", "text": "and now the other one"}
    {"type": "interrupt"}

Content may be a list of `text` and `image` parts (base64). The run ends with the input.
"""

import asyncio
import sys
import threading
from typing import Any

from planck.cli.errors import UsageError
from planck.cli.streams import decode_input
from planck.headless import image_from_base64
from planck.records import codec
from planck.records.messages import Image, Text, UserMessage
from planck.records.outcome import ErrorKind, PlanckError

_MAX_LINE = 32 << 20
_AHEAD = 64
"""Messages that are read before they are needed, so that an `interrupt` behind them is seen."""


class StreamInput:
    """Reads in a thread of its own: a read can't be cancelled, and must not hold up the end."""

    def __init__(self, interrupt: Any) -> None:
        self._interrupt = interrupt
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[UserMessage | PlanckError | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._closed = False
        threading.Thread(target=self._read, daemon=True, name="stdin").start()

    async def next(self) -> UserMessage | None:
        """Returns the next message, None at the end; raises for a line that is none."""
        if self._closed:
            return None
        found = await self._queue.get()
        self._room.release()
        if isinstance(found, PlanckError):
            self._closed = True
            raise found
        self._closed = found is None
        return found

    def close(self) -> None:
        """No further message is taken."""
        self._closed = True
        self._queue.put_nowait(None)

    def _read(self) -> None:
        number = 0
        try:
            while line := sys.stdin.buffer.readline(_MAX_LINE):
                number += 1
                if line.strip():
                    self._hand_on(_read_line(decode_input(line, f"Line {number} of standard input"), number))
            self._hand_on(None)
        except PlanckError as failure:
            self._hand_on(failure)
        except (OSError, ValueError) as failure:
            text = f"Cannot read standard input: {failure}. Send one JSON object per line."
            self._hand_on(UsageError(ErrorKind.STDIN_ERROR, text))

    def _hand_on(self, found: UserMessage | PlanckError | str | None) -> None:
        try:
            if isinstance(found, str):
                self._loop.call_soon_threadsafe(self._interrupt)
                return
            self._room.acquire()
            self._loop.call_soon_threadsafe(self._queue.put_nowait, found)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return


def _read_line(line: str, number: int) -> UserMessage | str:
    """Returns a message, or the name of a control."""
    try:
        found = codec.decode(line)
    except codec.DecodeError as problem:
        raise _refuse(number, f"is not valid JSON: {problem}") from None
    if not isinstance(found, dict):
        raise _refuse(number, "is not a JSON object")
    request = found.get("request")
    control = request.get("subtype") if isinstance(request, dict) else None
    if found.get("type") == "interrupt" or control == "interrupt":
        return "interrupt"
    if found.get("type") not in ("user", "prompt"):
        raise _refuse(number, f"has the unknown type {found.get('type')!r} (known: `user`, `interrupt`)")
    inner = found.get("message")
    content = inner.get("content") if isinstance(inner, dict) else found.get("text")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list) or not parts:
        raise _refuse(number, "has neither `text` nor `message.content` (text, or a list of parts)")
    read = [_read_part(part, number) for part in parts]
    text = "\n".join(part.text for part in read if isinstance(part, Text))
    images = [part for part in read if isinstance(part, Image)]
    if not text.strip() and not images:
        raise _refuse(number, "has no text and no image")
    return UserMessage((Text(text), *images))


def _read_part(part: Any, number: int) -> Text | Image:
    match part:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image", "source": {"type": "base64", "data": str(data)}}:
            image = image_from_base64(data)
            if image is not None:
                return image
            raise _refuse(number, "has an invalid image (supported: base64-encoded png, jpeg, gif or webp)")
    raise _refuse(number, "has a part that is neither `text` nor a base64 `image`")


def _refuse(number: int, why: str) -> UsageError:
    example = '{"type": "user", "text": "fix the test"}'
    return UsageError(
        ErrorKind.INVALID_ARGS, f"Line {number} of standard input {why}. Send lines such as {example}."
    )
