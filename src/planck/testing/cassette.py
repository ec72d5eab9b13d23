"""A model's answers on tape: recorded from any provider, played back without one, the first drift shown."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.records import codec
from planck.records.events import Status, TextBurst, TextDelta, ThinkingBurst, ThinkingDelta, UsageDelta
from planck.records.messages import AssistantMessage, Message
from planck.records.outcome import ErrorKind
from planck.records.specs import ToolSpec


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: ErrorKind
    message: str
    details: dict[str, Any] = {}
    retry_after: float | None = None


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """One model call, with the messages that the agent's call before had not yet: a tape grows linearly."""

    agent_id: str
    kept: int
    """How many messages of the call before it are in front of `messages`."""
    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    params: dict[str, Any] = {}
    tool_choice: str = ""
    items: tuple[dict[str, Any], ...] = ()
    failure: Failure | None = None


class Recording:
    """Passes a provider's stream through and keeps it; an abandoned call is kept as far as it went."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._shown: dict[str, tuple[Message, ...]] = {}
        self.calls: list[Call] = []

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        asked = _make_call(request, self._shown)
        at = len(self.calls)
        self.calls.append(asked)
        items: list[dict[str, Any]] = []
        failure: Failure | None = None
        try:
            async with aclosing(self._provider.stream(request)) as stream:
                async for item in stream:
                    items += map(
                        _pack, item.deltas if isinstance(item, TextBurst | ThinkingBurst) else (item,)
                    )
                    yield item
        except ProviderError as error:
            err = error.err
            failure = Failure(err.kind, err.message, err.details, error.retry_after)
            raise
        finally:
            self.calls[at] = msgspec.structs.replace(asked, items=tuple(items), failure=failure)

    def dump(self) -> bytes:
        """JSON lines: one call each, in the order in which they began."""
        return b"".join(codec.encode(call) + b"\n" for call in self.calls)


class Playback:
    """Answers each agent's calls as recorded; a request that differs fails, with the first place where.

    Ids of ours (16 hex digits) differ from run to run: each is paired with the one that stood in its place on
    the tape, an agent with the one that asked the same first, and answers come back with the ids of this run.
    """

    def __init__(self, tape: bytes) -> None:
        self._tapes: dict[str, list[Call]] = {}
        self._playing: dict[str, list[Call]] = {}
        self._shown: dict[str, tuple[Message, ...]] = {}
        self._ids: dict[str, str] = {}
        for line in tape.splitlines():
            call = codec.decode_as(line, Call)
            self._tapes.setdefault(call.agent_id, []).append(call)

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        now = _make_call(request, self._shown)
        tape = self._tape_of(now)
        if not tape:
            raise _refuse(request.agent_id, "the tape has no more calls from this agent")
        call = tape.pop(0)
        if found := _find_drift(call, now, self._ids):
            raise _refuse(request.agent_id, found)
        for packed in call.items:
            yield _unpack(_translate(packed, self._ids))
        if call.failure is not None:
            failure = call.failure
            raise ProviderError(
                failure.kind, failure.message, dict(failure.details), retry_after=failure.retry_after
            )

    @property
    def left(self) -> int:
        """Calls on the tape that nobody made."""
        return sum(len(calls) for tapes in (self._tapes, self._playing) for calls in tapes.values())

    def _tape_of(self, now: Call) -> list[Call]:
        if now.agent_id not in self._playing and self._tapes:
            same = (
                id for id, calls in self._tapes.items() if not _find_drift(calls[0], now, dict(self._ids))
            )
            self._playing[now.agent_id] = self._tapes.pop(next(same, next(iter(self._tapes))))
        return self._playing.get(now.agent_id, [])


def _find_drift(recorded: Call, now: Call, ids: dict[str, str]) -> str:
    """Says where two requests first differ, and how; empty where they do not. Pairs the ids that it meets."""
    return _find_difference("", _as_request(recorded), _as_request(now), ids)


def _make_call(request: Request, shown: dict[str, tuple[Message, ...]]) -> Call:
    messages = tuple(request.history.balanced)
    before = shown.get(request.agent_id, ())
    kept = _count_common(before, messages)
    shown[request.agent_id] = messages
    return Call(
        request.agent_id,
        kept,
        messages[kept:],
        request.system,
        tuple(request.tools),
        request.params,
        request.tool_choice,
    )


def _count_common(before: Sequence[Message], now: Sequence[Message]) -> int:
    """Messages are shared between calls, so nearly every comparison is one of identity."""
    pairs = enumerate(zip(before, now, strict=False))
    differing = (at for at, (one, other) in pairs if one is not other and one != other)
    return next(differing, min(len(before), len(now)))


def _as_request(call: Call) -> Any:
    asked = msgspec.to_builtins(call)
    return {name: value for name, value in asked.items() if name not in {"items", "failure"}}


def _find_difference(path: str, recorded: Any, now: Any, ids: dict[str, str]) -> str:
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key in [*recorded, *(key for key in now if key not in recorded)]:
            if found := _find_difference(f"{path}.{key}".lstrip("."), recorded.get(key), now.get(key), ids):
                return found
        return ""
    if isinstance(recorded, list | tuple) and isinstance(now, list | tuple):
        for at, (one, other) in enumerate(zip(recorded, now, strict=False)):
            if found := _find_difference(f"{path}[{at}]", one, other, ids):
                return found
        if len(recorded) != len(now):
            return f"the length of {path} is {len(recorded)} on the tape and {len(now)} now"
        return ""
    if recorded == now or (
        isinstance(recorded, str) and isinstance(now, str) and _pair_ids(recorded, now, ids)
    ):
        return ""
    return f"{path} is {_shorten(recorded)} on the tape and {_shorten(now)} now"


_ID = re.compile(r"\b[0-9a-f]{16}\b")


def _pair_ids(recorded: str, now: str, ids: dict[str, str]) -> bool:
    if _ID.split(recorded) != _ID.split(now):
        return False
    pairs = zip(_ID.findall(recorded), _ID.findall(now), strict=True)
    return all(ids.setdefault(old, new) == new for old, new in pairs)


def _translate(packed: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    if not ids:
        return packed
    text = _ID.sub(lambda id: ids.get(id[0], id[0]), codec.encode_str(packed))
    translated: dict[str, Any] = codec.decode(text)
    return translated


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _refuse(agent_id: str, what: str) -> ProviderError:
    return ProviderError(
        ErrorKind.INVALID_RESPONSE,
        f"Agent {agent_id!r} differs from its tape: {what}. Record the tape again if that is intended.",
        {"drift": what, "permanent": True},
    )


_ITEMS: dict[str, type[Any]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "usage": UsageDelta,
    "status": Status,
    "message": AssistantMessage,
}
_NAMES = {type_: name for name, type_ in _ITEMS.items()}


def _pack(item: Item) -> dict[str, Any]:
    return {_NAMES[type(item)]: msgspec.to_builtins(item)}


def _unpack(packed: dict[str, Any]) -> Item:
    ((name, value),) = packed.items()
    item: Item = msgspec.convert(value, _ITEMS[name])
    return item
