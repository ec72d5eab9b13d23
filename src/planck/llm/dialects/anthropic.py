"""The Anthropic Messages API: our history as its messages, its event stream as our items."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from planck.http.transport import Transport
from planck.llm.dialects.answer import Answer, Written, cut_error, read_count, read_counts
from planck.llm.dialects.dialect import Dialect, Json
from planck.llm.dialects.parts import (
    FROM_USER,
    PromptPart,
    clean_id,
    clean_name,
    embed_arguments,
    fill_ends,
    read_arguments,
)
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item, Request
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.messages import AssistantMessage, Part, StopReason, Text, Thinking, ToolCall, ToolResult
from planck.records.specs import ModelSpec, ToolSpec

ROOT = "https://api.anthropic.com"
VERSION = "2023-06-01"

_MAX_TOKENS = 32_000
"""The API insists on a limit; a model that the catalog does not know is a new one, which writes this much."""

_EMPTY = "(empty)"
_NO_OUTPUT = "(no output)"
_CONTINUE = b'{"role":"user","content":[{"type":"text","text":"Continue."}]}'

_EPHEMERAL = {"type": "ephemeral"}
_CACHE = b',"cache_control":{"type":"ephemeral"}'
_TAIL = b"}]}"
_MARKED_MESSAGES = 2
"""The newest user-role messages that carry a cache marker: the last one writes the cache, the one before it
finds what the previous request wrote even when a step added more blocks than the server looks back over."""


class Anthropic(Dialect):
    name = "anthropic"
    reserved: ClassVar[frozenset[str]] = frozenset({"model", "messages", "tools", "system", "stream"})

    def __init__(self, endpoint: Endpoint, model: ModelSpec, transport: Transport) -> None:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "anthropic-version": VERSION,
            **({"x-api-key": endpoint.key} if endpoint.key else {}),
            **endpoint.headers,
        }
        super().__init__(endpoint, model, transport, f"{endpoint.base_url or ROOT}/v1/messages", headers)

    def render_settings(self, request: Request) -> Json:
        params = self.merge_params(request)
        fields: Json = {"model": self.model.model, "stream": True}
        fields["max_tokens"] = params.pop("max_tokens", None) or self.model.max_output or _MAX_TOKENS
        if effort := params.pop("effort", None):
            fields |= _effort(str(effort), params)
        if stop := params.pop("stop", None):
            fields["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        if request.tools and request.tool_choice == "required":
            fields["tool_choice"] = {"type": "any"}
        fields |= params
        if request.tools:
            fields["tools"] = self.encode_tools(request.tools)
        if request.system.strip():
            fields["system"] = [{"type": "text", "text": request.system, "cache_control": _EPHEMERAL}]
        return fields

    def render_tool(self, spec: ToolSpec) -> Json:
        return {"name": spec.name, "description": spec.description, "input_schema": spec.parameters}

    def encode_messages(self, request: Request) -> list[bytes]:
        messages = fill_ends(self.encode_history(request), _CONTINUE)
        _mark(messages)
        return messages

    def render_part(self, part: PromptPart) -> Json:
        if isinstance(part, Text):
            return _text(part.text if part.text.strip() else _EMPTY)
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        return {"type": "image", "source": source}

    def render_prompt(self, parts: Sequence[PromptPart]) -> Json:
        return {"role": "user", "content": self.render_parts(parts) or [_text(_EMPTY)]}

    def render_answer(self, message: AssistantMessage, own: bool) -> list[Json]:
        blocks = [block for part in message.parts if (block := _render_said(part, own))]
        return [{"role": "assistant", "content": blocks}] if blocks else []

    def render_results(self, results: Sequence[ToolResult]) -> list[Json]:
        return [{"role": "user", "content": [self.render_result(result) for result in results]}]

    def render_result(self, result: ToolResult) -> Json:
        text = _text(result.output if result.output.strip() else _NO_OUTPUT)
        block = {"type": "tool_result", "tool_use_id": clean_id(result), "is_error": not result.ok}
        return {**block, "content": [text, *self.render_parts(result.images)]}

    def begin_answer(self, request: Request) -> Answer:
        return _Answer(self, request)


def _effort(effort: str, params: Json) -> Json:
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"output_config": {**params.pop("output_config", {}), "effort": effort}}


def _mark(messages: list[bytes]) -> None:
    """Put cache markers on the newest user-role messages of this request; the cached bytes stay unmarked."""
    left = _MARKED_MESSAGES
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if left and message.startswith(FROM_USER) and message is not _CONTINUE:
            messages[index] = message[: -len(_TAIL)] + _CACHE + _TAIL
            left -= 1
        if not left:
            return


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _render_said(part: Part, own: bool) -> Json | None:
    match part:
        case Text():
            return _text(part.text) if part.text.strip() else None
        case ToolCall():
            call = {"type": "tool_use", "id": clean_id(part)}
            return {**call, "name": clean_name(part.name), "input": embed_arguments(part.arguments)}
        case Thinking():
            return _render_thought(part) if own else None


def _render_thought(part: Thinking) -> Json | None:
    if part.data:
        return {"type": "redacted_thinking", "data": part.data}
    if part.signature:
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    return None


class _Start(msgspec.Struct, frozen=True):
    id: msgspec.Raw = msgspec.Raw(b"null")
    usage: msgspec.Raw = msgspec.Raw(b"null")


class _Block(msgspec.Struct, frozen=True):
    type: str
    id: str = ""
    name: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")
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
    usage: msgspec.Raw = msgspec.Raw(b"null")


_decode = msgspec.json.Decoder(_Event).decode


class _Open:
    """A content block while its fragments arrive."""

    def __init__(self, block: _Block, answer: Answer) -> None:
        self.type, self.id, self.name, self.data = block.type, block.id, block.name, block.data
        self.written = Written(answer)
        self.signature = Written(answer)
        self.input = ""
        self.stopped = False
        self.written.add(block.text or block.thinking)
        self.signature.add(block.signature)
        answer.grow(block.data)
        if block.type == "tool_use":
            answer.begin_call()
            self.input = read_arguments(block.input)  # as text: what is raw keeps its whole event alive
        answer.grow(block.id + block.name + self.input)

    @property
    def half_a_call(self) -> bool:
        return self.type == "tool_use" and not self.stopped


class _Answer(Answer):
    shape = _Event

    def __init__(self, dialect: Dialect, request: Request) -> None:
        super().__init__(dialect, request)
        self._blocks: dict[int, _Open] = {}
        self._reason: str | None = None

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
                self.name_response(event.message.id)
            case "message_delta":
                self._spend(event.usage)
                if event.delta and event.delta.stop_reason:
                    self._reason = event.delta.stop_reason
            case "message_stop":
                self.end()
            case "error":
                raise self.error(data)
            case _:
                pass
        return ()

    def end(self) -> None:
        if self._reason is not None:
            self.stop = _STOPS.get(self._reason, StopReason.END)
        super().end()

    def build_parts(self) -> list[Part]:
        blocks = sorted(self._blocks.items())
        if self.stop is StopReason.END and any(block.half_a_call for _, block in blocks):
            raise cut_error()
        return [part for index, block in blocks if (part := _part(block, self.make_id(index)))]

    def find_open_call(self) -> tuple[str, str, int]:
        block = next((one for one in reversed(self._blocks.values()) if one.half_a_call), None)
        return (block.name, block.written.beginning, len(block.written)) if block else ("", "", 0)

    def _start(self, index: int, block: _Block) -> Sequence[Item]:
        self._blocks[index] = _Open(block, self)
        if block.text:
            return (TextDelta(text=block.text),)
        return (ThinkingDelta(text=block.thinking),) if block.thinking else ()

    def _delta(self, event: _Event) -> Sequence[Item]:
        block, delta = self._blocks.get(event.index), event.delta
        if block is None or delta is None or block.stopped:
            return ()
        match delta.type:
            case "text_delta":
                block.written.add(delta.text)
                return (TextDelta(text=delta.text),) if delta.text else ()
            case "input_json_delta":
                block.written.add(delta.partial_json)
            case "thinking_delta":
                block.written.add(delta.thinking)
                return (ThinkingDelta(text=delta.thinking),) if delta.thinking else ()
            case "signature_delta":
                block.signature.add(delta.signature)
            case _:
                pass
        return ()

    def _spend(self, spent: msgspec.Raw) -> None:
        """Counts are cumulative: a later one replaces an earlier one, a missing one leaves it."""
        if (counted := read_counts(spent)) is None:
            return
        counts = {
            "input_tokens": read_count(counted, "input_tokens"),
            "output_tokens": read_count(counted, "output_tokens"),
            "cache_read_tokens": read_count(counted, "cache_read_input_tokens"),
            "cache_write_tokens": read_count(counted, "cache_creation_input_tokens"),
            "reasoning_tokens": read_count(counted, "output_tokens_details", "thinking_tokens"),
        }
        known = {name: count for name, count in counts.items() if count is not None}
        self.usage = msgspec.structs.replace(self.usage, **known)


_STOPS = {
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
}


def _part(block: _Open, fallback_id: str) -> Part | None:
    text = block.written.text
    match block.type:
        case "text":
            return Text(text)
        case "thinking":
            return Thinking(text, block.signature.text)
        case "redacted_thinking":
            return Thinking(data=block.data)
        case "tool_use":
            return ToolCall("", block.id or fallback_id, block.name, text or block.input)
        case _:
            return None
