"""A model that says what a script tells it to: the twin of every dialect, for tests and demos."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any

import msgspec

from planck.llm.provider import Item, ProviderError, Request
from planck.records import codec
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.messages import AssistantMessage, Message, Part, StopReason, Text, Thinking, ToolCall
from planck.records.outcome import Err, ErrorKind
from planck.records.usage import Usage


class Say(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with more to it than a text or some calls."""

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    """(name, arguments); arguments that are a string go out as they are, broken JSON too."""
    thinking: str = ""
    stop: StopReason | None = None
    usage: Usage = Usage(input_tokens=10, output_tokens=5)
    error: Err | BaseException | None = None
    """Raised after the deltas: a stream that breaks."""
    wait: asyncio.Event | None = None
    """Awaited before the message: a stream that stalls until a test says so."""


Scripted = Say | str | list[tuple[str, Any]] | Err | BaseException
Script = Sequence[Scripted] | Callable[[Request], Scripted | Awaitable[Scripted]]

DIALECT = "scripted"


class Asked(msgspec.Struct, frozen=True):
    """What the model was shown in one call."""

    agent_id: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]


class ScriptedProvider:
    """Answers from a list in order, from a function, or one of these by agent id; keeps what it heard."""

    def __init__(self, script: Script | Mapping[str, Script], model: str = "scripted") -> None:
        self._scripts = dict(script) if isinstance(script, Mapping) else {"": script}
        self._model = model
        self._next: dict[str, int] = {}
        self.asked: list[Asked] = []
        self.open_streams: int = 0

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        position = len(request.history.messages)
        self.asked.append(
            Asked(
                request.agent_id,
                request.system,
                tuple(request.history.messages),
                tuple(spec.name for spec in request.tools),
            )
        )
        self.open_streams += 1
        try:
            say = _as_say(await self._answer(request))
            for item in _make_deltas(say):
                await asyncio.sleep(0)  # as a socket would: others run between two deltas
                yield item
            if say.wait is not None:
                await say.wait.wait()
            if isinstance(say.error, Err):
                raise ProviderError(say.error.kind, say.error.message, say.error.details)
            if say.error is not None:
                raise say.error
            yield _make_message(say, self._model, position)
        finally:
            self.open_streams -= 1

    async def _answer(self, request: Request) -> Scripted:
        who = request.agent_id if request.agent_id in self._scripts else ""
        script = self._scripts.get(who, ())
        if callable(script):
            found = script(request)
            return await found if isawaitable(found) else found
        number = self._next.get(who, 0)
        self._next[who] = number + 1
        if number >= len(script):
            return Err(
                ErrorKind.INTERNAL_ERROR,
                f"Agent {request.agent_id!r} asked for answer {number + 1}, but its script has only "
                f"{len(script)}. Add another.",
            )
        return script[number]


def _as_say(answer: Scripted) -> Say:
    match answer:
        case Say():
            return answer
        case str():
            return Say(text=answer)
        case Err() | BaseException():
            return Say(error=answer)
        case _:
            return Say(calls=answer)


def _make_deltas(say: Say) -> list[Item]:
    thoughts = [ThinkingDelta(text=word) for word in _split_words(say.thinking)]
    return [*thoughts, *(TextDelta(text=word) for word in _split_words(say.text))]


def _split_words(text: str) -> list[str]:
    words = text.split(" ")
    return [word for word in (*(f"{word} " for word in words[:-1]), words[-1]) if word]


def _make_message(say: Say, model: str, position: int) -> AssistantMessage:
    parts: list[Part] = []
    if say.thinking:
        parts.append(Thinking(say.thinking))
    if say.text:
        parts.append(Text(say.text))
    for number, (name, arguments) in enumerate(say.calls):
        text = arguments if isinstance(arguments, str) else codec.encode_str(arguments)
        parts.append(ToolCall("", f"call_{position}_{number}", name, text))
    stop = say.stop or (StopReason.TOOL_CALLS if say.calls else StopReason.END)
    return AssistantMessage(tuple(parts), DIALECT, model, stop, say.usage)
