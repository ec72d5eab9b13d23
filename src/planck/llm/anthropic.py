"""The Anthropic Messages API: our history as its messages, its event stream as our items."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import msgspec

from planck.llm.endpoint import Endpoint
from planck.llm.exchange import Exchange, cut_error
from planck.llm.http_errors import provider_error
from planck.llm.parts import conclude, describe_unseen, json_object, wire_id, wire_name
from planck.llm.provider import Item, Request
from planck.llm.tool_bytes import ToolBytes
from planck.llm.transport import Transport
from planck.records import codec
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.messages import (
    AssistantMessage,
    Image,
    Message,
    Part,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from planck.records.specs import ModelSpec, ToolSpec
from planck.records.usage import Usage

DIALECT = "anthropic"
ROOT = "https://api.anthropic.com"
VERSION = "2023-06-01"

_MAX_TOKENS = 32_000
"""The API insists on a limit; a model that the catalog does not know is a new one, which writes this much."""

_EMPTY = "(empty)"
_NO_OUTPUT = "(no output)"
_CONTINUE = b'{"role":"user","content":[{"type":"text","text":"Continue."}]}'

_CACHE = b',"cache_control":{"type":"ephemeral"}'
_USER = b'{"role":"user"'
_TAIL = b"}]}"
_MARKED_MESSAGES = 2
"""The newest user-role messages that carry a cache marker: the last one writes the cache, the one before it
finds what the previous request wrote even when a step added more blocks than the server looks back over."""


class Anthropic:
    def __init__(self, endpoint: Endpoint, model: ModelSpec, transport: Transport) -> None:
        self._endpoint = endpoint
        self._model = model
        url = f"{endpoint.base_url or ROOT}/v1/messages"
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "anthropic-version": VERSION,
            **({"x-api-key": endpoint.key} if endpoint.key else {}),
            **endpoint.headers,
        }
        self._exchange = Exchange(transport, endpoint, url, headers)
        self._tools = ToolBytes(_tool)
        self._wire_key = f"{DIALECT}:{model.model}"

    def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        answer = _Answer(self._endpoint, self._model.model, f"call_{len(request.history.messages)}")
        return self._exchange.stream(self.body(request), answer)

    def body(self, request: Request) -> list[bytes]:
        """The messages come last: each request of a session is a prefix of the next, markers aside."""
        pieces = [codec.encode(_settings(self._model, request))[:-1]]
        if request.tools:
            pieces += [b',"tools":', self._tools.of(request.tools)]
        if request.system.strip():
            pieces += [b',"system":[{"type":"text","text":', codec.encode(request.system), _CACHE, b"}]"]
        return [*pieces, b',"messages":[', b",".join(self._messages(request)), b"]}"]

    def _messages(self, request: Request) -> list[bytes]:
        encoded = request.history.wire(self._wire_key, self._encode)
        messages = [message for message in encoded if message]
        if not messages or not messages[0].startswith(_USER):
            messages.insert(0, _CONTINUE)
        if not messages[-1].startswith(_USER):
            messages.append(_CONTINUE)
        _mark(messages)
        return messages

    def _encode(self, message: Message) -> bytes:
        match message:
            case UserMessage():
                return _wrap("user", [self._encode_part(part) for part in message.parts] or [_text(_EMPTY)])
            case ToolMessage():
                return _wrap("user", [self._result(result) for result in message.results])
            case AssistantMessage():
                ours = message.dialect == DIALECT and message.model == self._model.model
                return _wrap(
                    "assistant", [block for part in message.parts if (block := _encode_said(part, ours))]
                )

    def _encode_part(self, part: Text | Image) -> dict[str, Any]:
        if isinstance(part, Text):
            return _text(part.text if part.text.strip() else _EMPTY)
        return _image(part) if self._model.images else _text(describe_unseen(part))

    def _result(self, result: ToolResult) -> dict[str, Any]:
        text = _text(result.output if result.output.strip() else _NO_OUTPUT)
        block = {"type": "tool_result", "tool_use_id": wire_id(result.provider_id or result.id)}
        return {**block, "is_error": not result.ok, "content": [text, *map(self._encode_part, result.images)]}


_OURS = frozenset({"model", "messages", "tools", "system", "stream"})
"""What only we may say: a second key of the same name would make the request ambiguous."""


def _settings(model: ModelSpec, request: Request) -> dict[str, Any]:
    params = {**model.params, **request.params}
    body: dict[str, Any] = {"model": model.model, "stream": True}
    body["max_tokens"] = params.pop("max_tokens", None) or model.max_output or _MAX_TOKENS
    if effort := params.pop("effort", None):
        body |= _effort(str(effort), params)
    if stop := params.pop("stop", None):
        body["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if request.tools and request.tool_choice == "required":
        body["tool_choice"] = {"type": "any"}
    return body | {name: value for name, value in params.items() if name not in _OURS}


def _effort(effort: str, params: dict[str, Any]) -> dict[str, Any]:
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"output_config": {**params.pop("output_config", {}), "effort": effort}}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _mark(messages: list[bytes]) -> None:
    """Put cache markers on the newest user-role messages of this request; the cached bytes stay unmarked."""
    left = _MARKED_MESSAGES
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if left and message.startswith(_USER) and message is not _CONTINUE:
            messages[index] = message[: -len(_TAIL)] + _CACHE + _TAIL
            left -= 1
        if not left:
            return


def _wrap(role: str, blocks: list[dict[str, Any]]) -> bytes:
    """One wire message, its last block last, so that `_mark` can extend it; nothing to say is no message."""
    return codec.encode({"role": role, "content": blocks}) if blocks else b""


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(image: Image) -> dict[str, Any]:
    source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    return {"type": "image", "source": source}


def _encode_said(part: Part, ours: bool) -> dict[str, Any] | None:
    match part:
        case Text():
            return _text(part.text) if part.text.strip() else None
        case ToolCall():
            call = {"type": "tool_use", "id": wire_id(part.provider_id or part.id)}
            return {**call, "name": wire_name(part.name), "input": json_object(part.arguments)}
        case Thinking():
            return _encode_thought(part) if ours else None


def _encode_thought(part: Thinking) -> dict[str, Any] | None:
    if part.data:
        return {"type": "redacted_thinking", "data": part.data}
    if part.signature:
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    return None


class _Spent(msgspec.Struct, frozen=True, rename={"details": "output_tokens_details"}):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    details: dict[str, int | None] | None = None


class _Start(msgspec.Struct, frozen=True):
    usage: _Spent | None = None


class _Block(msgspec.Struct, frozen=True):
    type: str
    id: str = ""
    name: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    input: dict[str, Any] | None = None
    """Empty while fragments follow; a server that has the whole call at once may send it here."""


class _Delta(msgspec.Struct, frozen=True):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Event(msgspec.Struct, frozen=True):
    """All events in one shape: what a known event lacks is at its default, what is unknown is skipped."""

    type: str
    index: int = 0
    message: _Start | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Spent | None = None


_decode = msgspec.json.Decoder(_Event).decode


class _Open:
    """A content block while its fragments arrive."""

    def __init__(self, block: _Block) -> None:
        self.block = block
        self.fragments: list[str] = []
        self.signature = block.signature
        self.stopped = False
        if first := block.text or block.thinking:
            self.fragments.append(first)

    @property
    def half_a_call(self) -> bool:
        return self.block.type == "tool_use" and not self.stopped


class _Answer:
    def __init__(self, endpoint: Endpoint, model: str, fallback_id: str) -> None:
        self.ended = False
        self._fallback_id = fallback_id
        self._endpoint = endpoint
        self._model = model
        self._blocks: dict[int, _Open] = {}
        self._stop: str | None = None
        self.usage = Usage()

    def feed(self, data: bytes) -> Sequence[Item]:
        event = _decode(data)
        match event.type:
            case "content_block_delta":
                return self._delta(event)
            case "content_block_start" if event.content_block:
                return self._start(event.index, event.content_block)
            case "content_block_stop":
                if block := self._blocks.get(event.index):
                    block.stopped = True
            case "message_start" if event.message:
                self._spend(event.message.usage)
            case "message_delta":
                self._spend(event.usage)
                if event.delta and event.delta.stop_reason:
                    self._stop = event.delta.stop_reason
            case "message_stop":
                self.ended = True
            case "error":
                raise provider_error(0, {}, data, self._endpoint)
            case _:
                pass
        return ()

    def message(self) -> AssistantMessage:
        if not self.ended or self._stop is None:
            raise cut_error()
        stop = _STOPS.get(self._stop, StopReason.END)
        if stop is StopReason.END and any(block.half_a_call for block in self._blocks.values()):
            raise cut_error()
        blocks = sorted(self._blocks.items())
        parts = [part for at, block in blocks if (part := _part(block, f"{self._fallback_id}_{at}"))]
        return conclude(parts, stop, DIALECT, self._model, self.usage)

    def _start(self, index: int, block: _Block) -> Sequence[Item]:
        self._blocks[index] = _Open(block)
        if block.text:
            return (TextDelta(text=block.text),)
        return (ThinkingDelta(text=block.thinking),) if block.thinking else ()

    def _delta(self, event: _Event) -> Sequence[Item]:
        block, delta = self._blocks.get(event.index), event.delta
        if block is None or delta is None or block.stopped:
            return ()
        match delta.type:
            case "text_delta":
                block.fragments.append(delta.text)
                return (TextDelta(text=delta.text),) if delta.text else ()
            case "input_json_delta":
                block.fragments.append(delta.partial_json)
            case "thinking_delta":
                block.fragments.append(delta.thinking)
                return (ThinkingDelta(text=delta.thinking),) if delta.thinking else ()
            case "signature_delta":
                block.signature += delta.signature
            case _:
                pass
        return ()

    def _spend(self, spent: _Spent | None) -> None:
        """Counts are cumulative: a later one replaces an earlier one, a missing one leaves it."""
        if spent is None:
            return
        was, thinking = self.usage, (spent.details or {}).get("thinking_tokens")
        self.usage = Usage(
            _newer(spent.input_tokens, was.input_tokens),
            _newer(spent.output_tokens, was.output_tokens),
            _newer(spent.cache_read_input_tokens, was.cache_read_tokens),
            _newer(spent.cache_creation_input_tokens, was.cache_write_tokens),
            _newer(thinking, was.reasoning_tokens),
        )


_STOPS = {
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
}


def _newer(count: int | None, was: int) -> int:
    return was if count is None else count


def _part(block: _Open, fallback_id: str) -> Part | None:
    text = "".join(block.fragments)
    match block.block.type:
        case "text":
            return Text(text)
        case "thinking":
            return Thinking(text, block.signature)
        case "redacted_thinking":
            return Thinking(data=block.block.data)
        case "tool_use":
            arguments = text or codec.encode_str(block.block.input or {})
            return ToolCall("", block.block.id or fallback_id, block.block.name, arguments)
        case _:
            return None
