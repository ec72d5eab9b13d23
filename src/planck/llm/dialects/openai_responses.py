"""OpenAI Responses, stateless: nothing is stored there, and encrypted reasoning travels with the history."""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from planck.http.transport import Transport
from planck.llm.dialects.answer import (
    BEGINNING,
    DONE,
    Answer,
    Written,
    count_usage,
    is_said,
    read_count,
    read_counts,
)
from planck.llm.dialects.dialect import Dialect, Json
from planck.llm.dialects.parts import PromptPart, clean_id, clean_name, repair_arguments
from planck.llm.endpoint import Endpoint, openai_root
from planck.llm.provider import Item, Request
from planck.records import codec
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.messages import AssistantMessage, Part, StopReason, Text, Thinking, ToolCall, ToolResult
from planck.records.specs import ModelSpec, ToolSpec


class OpenAIResponses(Dialect):
    name = "openai_responses"
    messages_field = "input"
    reserved: ClassVar[frozenset[str]] = frozenset(
        {"model", "input", "tools", "stream", "store", "instructions", "previous_response_id"}
    )

    def __init__(self, endpoint: Endpoint, model: ModelSpec, transport: Transport) -> None:
        url = f"{openai_root(endpoint.base_url)}/responses"
        super().__init__(endpoint, model, transport, url, {"accept": "text/event-stream", **endpoint.bearer})

    def merge_params(self, request: Request) -> Json:
        """`effort` and `max_tokens` have other names in this dialect."""
        params = super().merge_params(request)
        if "effort" in params:
            params["reasoning"] = {"effort": params.pop("effort"), **params.get("reasoning", {})}
        if "max_tokens" in params:
            params["max_output_tokens"] = params.pop("max_tokens")
        return params

    def render_settings(self, request: Request) -> Json:
        params = self.merge_params(request)
        fields: Json = {"model": self.model.model, "stream": True, "store": False}
        if request.system:
            fields["instructions"] = request.system
        if self.model.max_output:
            fields["max_output_tokens"] = self.model.max_output
        if self.endpoint.is_vendor:
            fields["prompt_cache_key"] = request.agent_id
        if self.model.reasoning or "reasoning" in params:
            fields["include"] = ["reasoning.encrypted_content"]
        fields |= params
        if request.tools:
            if request.tool_choice:
                fields["tool_choice"] = request.tool_choice
            fields["tools"] = self.encode_tools(request.tools)
        return fields

    def render_tool(self, spec: ToolSpec) -> Json:
        return {
            "type": "function",
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
            "strict": False,
        }

    def render_part(self, part: PromptPart) -> Json:
        if isinstance(part, Text):
            return {"type": "input_text", "text": part.text}
        url = f"data:{part.media_type};base64,{part.data}"
        return {"type": "input_image", "image_url": url, "detail": "auto"}

    def render_answer(self, message: AssistantMessage, own: bool) -> list[Json]:
        """Reasoning goes back only where it came from, and never last: the server wants what it led to."""
        items: list[Json] = []
        for part in message.parts:
            match part:
                case Text():
                    items.append({"role": "assistant", "content": part.text})
                case ToolCall():
                    items.append(_call(part))
                case Thinking() if own and part.data:
                    items.append(_reasoning(part))
        while items and items[-1].get("type") == "reasoning":
            items.pop()
        return items or [{"role": "assistant", "content": ""}]

    def render_results(self, results: Sequence[ToolResult]) -> list[Json]:
        return [self.render_result(result) for result in results]

    def render_result(self, result: ToolResult) -> Json:
        output: Any = result.output
        if result.images:
            output = self.render_parts((Text(result.output), *result.images))
        return {"type": "function_call_output", "call_id": clean_id(result), "output": output}

    def encode_messages(self, request: Request) -> list[bytes]:
        return self.encode_history(request)

    def begin_answer(self, request: Request) -> Answer:
        most = self.merge_params(request).get("max_output_tokens") or self.model.max_output
        return _Answer(self, request, most if isinstance(most, int) else 0)


def _call(call: ToolCall) -> Json:
    return {
        "type": "function_call",
        "call_id": clean_id(call),
        "name": clean_name(call.name),
        "arguments": repair_arguments(call.arguments),
    }


def _reasoning(part: Thinking) -> Json:
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    id = {"id": part.signature} if part.signature else {}
    return {"type": "reasoning", **id, "summary": summary, "encrypted_content": part.data}


class _Type(msgspec.Struct):
    type: str = ""


class _Delta(msgspec.Struct):
    delta: str = ""
    output_index: int = 0
    summary_index: int = 0


class _Content(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _OutputItem(msgspec.Struct):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    content: list[_Content] | None = None
    summary: list[_Content] | None = None
    encrypted_content: str | None = None


class _ItemDone(msgspec.Struct):
    item: _OutputItem
    output_index: int | None = None
    """llama.cpp leaves it out: its items are in order."""


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")
    incomplete_details: _Incomplete | None = None
    output: list[_OutputItem] | None = None
    usage: msgspec.Raw = msgspec.Raw(b"null")


class _Ended(msgspec.Struct):
    response: _Response


_NO_ITEM = _OutputItem()

_type = msgspec.json.Decoder(_Type).decode
_delta = msgspec.json.Decoder(_Delta).decode
_item_done = msgspec.json.Decoder(_ItemDone).decode
_ended = msgspec.json.Decoder(_Ended).decode


class _Answer(Answer):
    def __init__(self, dialect: Dialect, request: Request, most: int) -> None:
        super().__init__(dialect, request)
        self._most = most
        self._texts: dict[int, Written] = {}
        self._arriving: dict[int, int] = {}
        """Bytes of fragments by item; the whole item, when it comes, counts in their place."""
        self._summary = (-1, 0)
        self._items: dict[int, _OutputItem] = {}
        self._called, self._at, self._begun = _NO_ITEM, 0, ""
        """The item that has begun and not ended, its number, and the beginning of its arguments."""

    def feed(self, data: bytes) -> Sequence[Item]:
        if data == DONE:
            self.end()
            return ()
        match _type(data).type:
            case "response.output_text.delta" | "response.refusal.delta":
                return self._text(_delta(data))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._feed_thought(_delta(data))
            case "response.function_call_arguments.delta":
                self._count(event := _delta(data))
                if len(self._begun) < BEGINNING:
                    self._begun += event.delta
            case "response.output_item.added":
                self._begin(data)
            case "response.output_item.done":
                done = _item_done(data)
                index = len(self._items) if done.output_index is None else done.output_index
                self.size -= self._arriving.pop(index, 0)
                self._texts.pop(index, None)
                self._called = _NO_ITEM
                self._take(index, done.item)
                self.grow(data)
            case "response.completed" | "response.incomplete":
                self._end(_ended(data).response)
            case "response.failed":
                error = _ended(data).response.error
                raise self.error(codec.encode({"error": error}) if is_said(error) else data)
            case "error":
                raise self.error(data)
        return ()

    def find_shape(self, data: bytes) -> type:
        match codec.decode_as(data, _Type).type:
            case "response.output_item.added" | "response.output_item.done":
                return _ItemDone
            case "response.completed" | "response.incomplete" | "response.failed":
                return _Ended
        return _Delta

    def prepare(self, event: object) -> None:
        """Spells out arguments that come as an object; a text in their place is a piece of them."""
        if not isinstance(event, dict) or event.get("type") != "response.function_call_arguments.delta":
            return
        if isinstance(delta := event.get("delta"), dict):
            event["delta"] = codec.encode_str(delta)

    def is_whole(self) -> bool:
        return self._called.type != "function_call" and bool(self._items or self._texts)

    def build_parts(self) -> list[Part]:
        parts: list[Part] = []
        for index in sorted({*self._items, *self._texts}):
            if item := self._items.get(index):
                parts += self._parts_of(item, index)
            else:
                parts.append(Text(self._texts[index].text))
        return parts

    def _begin(self, data: bytes) -> None:
        """Notes which call is being written; the whole item comes at its end, so nothing depends on this."""
        self._begun = ""
        try:
            added = _item_done(data)
        except codec.DecodeError:
            self._called, self._at = _NO_ITEM, 0
        else:
            self._called, self._at = added.item, added.output_index or 0

    def find_open_call(self) -> tuple[str, str, int]:
        if self._called.type != "function_call":
            return "", "", 0
        return self._called.name or "", self._begun, self._arriving.get(self._at, 0)

    def _text(self, event: _Delta) -> Sequence[Item]:
        if event.output_index not in self._texts:
            self._texts[event.output_index] = Written(self)
        self._texts[event.output_index].add(event.delta)
        self._arriving[event.output_index] = len(self._texts[event.output_index])
        return (TextDelta(text=event.delta),) if event.delta else ()

    def _feed_thought(self, event: _Delta) -> Sequence[Item]:
        at = (event.output_index, event.summary_index)
        gap = "\n\n" if at != self._summary and event.summary_index else ""
        self._summary = at
        self._count(event)
        return (ThinkingDelta(text=gap + event.delta),) if event.delta else ()

    def _end(self, response: _Response) -> None:
        self.ended = True
        self.stop = StopReason.END
        self.name_response(response.id)
        if (counted := read_counts(response.usage)) is not None:
            entered, left = read_count(counted, "input_tokens"), read_count(counted, "output_tokens")
            read = read_count(counted, "input_tokens_details", "cached_tokens")
            written = read_count(counted, "input_tokens_details", "cache_write_tokens")
            thought = read_count(counted, "output_tokens_details", "reasoning_tokens")
            self.hear_usage(count_usage(entered, left, read, written, thought))
        if response.incomplete_details is not None:
            filtered = response.incomplete_details.reason == "content_filter"
            self.stop = StopReason.FILTER if filtered else StopReason.LENGTH
        elif 0 < self._most <= self.usage.output_tokens:
            self.stop = StopReason.LENGTH  # llama.cpp calls an answer completed that it cut at the limit
        if not self._items:  # a server that sends no `done` for each item still sends them all here
            for index, item in enumerate(response.output or ()):
                self._take(index, item)

    def _count(self, event: _Delta) -> None:
        """What is not kept counts too: an argument without an end must have one."""
        before = self.size
        self.grow(event.delta)
        self._arriving[event.output_index] = self._arriving.get(event.output_index, 0) + self.size - before

    def _take(self, index: int, item: _OutputItem) -> None:
        self._items[index] = item
        if item.type == "function_call":
            self.begin_call()
        else:
            self.begin_part()

    def _parts_of(self, item: _OutputItem, index: int) -> list[Part]:
        match item.type:
            case "message":
                return [self._read_said(content) for content in item.content or ()]
            case "function_call":
                id = item.call_id or item.id or self.make_id(index)
                return [ToolCall("", id, item.name or "", item.arguments or "{}")]
            case "reasoning":
                told = item.summary or item.content or ()
                text = "\n\n".join(content.text or "" for content in told)
                return [Thinking(text, item.id or "", item.encrypted_content or "")]
        return []

    def _read_said(self, content: _Content) -> Part:
        if content.refusal:
            self.stop = StopReason.REFUSAL
        return Text(content.text or content.refusal or "")
