"""What a model server does, in our words; each dialect beside this file says it in its vendor's bytes.

The dialects are checked with the vendor's own SDK as client (`test_<vendor>_sdk.py`), so that our adapters
are tested against the vendor's idea of the wire and not against our own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from planck.records import codec
from planck.records.messages import Part, StopReason, Text
from planck.records.usage import Usage
from tests.wire.server import Asked, Reply, json_reply


@dataclass(frozen=True)
class Answer:
    """What the model says. `fragment` is the most characters that one delta carries."""

    parts: tuple[Part, ...]
    stop: StopReason = StopReason.END
    usage: Usage = field(default_factory=lambda: Usage(11, 7))
    fragment: int = 5


@dataclass(frozen=True)
class Fault:
    """How the server fails: instead of an answer, or (`after`) inside the stream, after that many frames."""

    name: str
    retry_after: str = ""
    after: int | None = None


FAULTS = ("auth", "forbidden", "model", "rate", "quota", "server", "unavailable", "overloaded", "too_long")

Step = Answer | Fault

SHOW = "/api/show"
"""Where Ollama is asked about a model before the first request; no step of a script is spent on it."""


class Dialect(Protocol):
    @property
    def name(self) -> str: ...

    def refuse(self, path: str, headers: Mapping[str, str], body: Any) -> str:
        """Why the vendor would answer 400 to this request; empty where it would not."""

    def streams(self, path: str, body: Any) -> bool: ...

    def frames(self, answer: Answer, model: str) -> list[bytes]: ...

    def whole(self, answer: Answer, model: str) -> Any:
        """The answer where no stream was asked for."""

    def fault(self, name: str) -> tuple[int, Any]: ...

    def fault_frame(self, name: str) -> bytes: ...


def play(dialect: Dialect, steps: Sequence[Step] | Callable[[Asked], Step]) -> Callable[[Asked], Reply]:
    """A script for `WireServer`; of a list the steps are taken in order, the last one again."""
    left = [] if callable(steps) else list(steps)

    def next_reply(asked: Asked) -> Reply:
        if callable(steps):
            return reply(dialect, steps(asked), asked)
        spent = len(left) > 1 and asked.path != SHOW
        return reply(dialect, left.pop(0) if spent else left[0], asked)

    return next_reply


def reply(dialect: Dialect, step: Step, asked: Asked) -> Reply:
    if asked.path == SHOW:
        return json_reply({"model_info": {"llama.context_length": 128_000}})
    body = asked.json
    if why := dialect.refuse(asked.path, asked.headers, body):
        return json_reply({"error": {"type": "invalid_request_error", "message": f"REFUSED: {why}"}}, 400)
    model = body.get("model", "m")
    if isinstance(step, Answer):
        if dialect.streams(asked.path, body):
            return Reply(dialect.frames(step, model))
        return json_reply(dialect.whole(step, model))
    if step.after is not None:
        good = dialect.frames(Answer((Text("well, well"),)), model)
        return Reply([*good[: step.after], dialect.fault_frame(step.name)])
    status, content = dialect.fault(step.name)
    return json_reply(content, status, {"retry-after": step.retry_after} if step.retry_after else {})


def sse(data: Any, event: str = "") -> bytes:
    return (f"event: {event}\n".encode() if event else b"") + b"data: " + codec.encode(data) + b"\n\n"


def pieces(text: str, size: int) -> Iterator[str]:
    """`text` in fragments of at most `size`; an empty text is one empty fragment."""
    yield from (text[at : at + size] for at in range(0, len(text), size)) if text else ("",)
