"""OpenAI Responses, stateless: nothing is stored there, and encrypted reasoning travels with the history."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import msgspec

from planck.llm.endpoint import Endpoint, openai_root
from planck.llm.exchange import Exchange, cut_error
from planck.llm.http_errors import provider_error
from planck.llm.parts import conclude, describe_unseen, json_text, wire_id, wire_name
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

DIALECT = "openai_responses"


class OpenAIResponses:
    def __init__(self, endpoint: Endpoint, model: ModelSpec, transport: Transport) -> None:
        self._endpoint = endpoint
        self._model = model
        url = f"{openai_root(endpoint.base_url)}/responses"
        headers = {"accept": "text/event-stream", **endpoint.bearer}
        self._exchange = Exchange(transport, endpoint, url, headers)
        self._tools = ToolBytes(_tool)
        self._wire_key = f"{DIALECT}:{model.model}"

    def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        params = _params({**self._model.params, **request.params})
        most = params.get("max_output_tokens") or self._model.max_output
        answer = _Answer(
            self._endpoint,
            self._model.model,
            f"call_{len(request.history.messages)}",
            most if isinstance(most, int) else 0,
        )
        return self._exchange.stream(self._body(request), answer)

    def _body(self, request: Request) -> list[bytes]:
        """The items come last, so that each request of a session is a prefix of the next."""
        items = b",".join(request.history.wire(self._wire_key, self._encode))
        return [self._settings(request), b',"input":[', items, b"]}"]

    def _settings(self, request: Request) -> bytes:
        params = {**self._model.params, **request.params}
        fields: dict[str, Any] = {"model": self._model.model, "stream": True, "store": False}
        if request.system:
            fields["instructions"] = request.system
        if self._model.max_output:
            fields["max_output_tokens"] = self._model.max_output
        if self._endpoint.is_vendor:
            fields["prompt_cache_key"] = request.agent_id
        if self._model.reasoning or "effort" in params or "reasoning" in params:
            fields["include"] = ["reasoning.encrypted_content"]
        fields |= _params(params)
        if request.tool_choice and request.tools:
            fields["tool_choice"] = request.tool_choice
        settings = codec.encode(fields)[:-1]
        return settings + b',"tools":' + self._tools.of(request.tools) if request.tools else settings

    def _encode(self, message: Message) -> bytes:
        match message:
            case UserMessage():
                return codec.encode({"role": "user", "content": self._content(message.parts)})
            case AssistantMessage():
                return b",".join(map(codec.encode, self._items(message)))
            case ToolMessage():
                return b",".join(codec.encode(self._result(result)) for result in message.results)

    def _content(self, parts: Sequence[Text | Image]) -> str | list[dict[str, Any]]:
        if len(parts) == 1 and isinstance(parts[0], Text):
            return parts[0].text
        return [self._part(part) for part in parts]

    def _part(self, part: Text | Image) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"type": "input_text", "text": part.text}
        if not self._model.images:
            return {"type": "input_text", "text": describe_unseen(part)}
        url = f"data:{part.media_type};base64,{part.data}"
        return {"type": "input_image", "image_url": url, "detail": "auto"}

    def _items(self, message: AssistantMessage) -> list[dict[str, Any]]:
        """Reasoning goes back only where it came from, and never last: the server wants what it led to."""
        own = (message.dialect, message.model) == (DIALECT, self._model.model)
        items: list[dict[str, Any]] = []
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

    def _result(self, result: ToolResult) -> dict[str, Any]:
        output: Any = result.output
        if result.images:
            output = [self._part(Text(result.output)), *map(self._part, result.images)]
        id = wire_id(result.provider_id or result.id)
        return {"type": "function_call_output", "call_id": id, "output": output}


_OURS = frozenset({"model", "input", "tools", "stream", "store", "instructions", "previous_response_id"})


def _params(params: dict[str, Any]) -> dict[str, Any]:
    """Passed through as they are, but for what only we may set; `effort` has its place in this dialect."""
    passed = {name: value for name, value in params.items() if name not in _OURS}
    if "effort" in passed:
        passed["reasoning"] = {"effort": passed.pop("effort"), **passed.get("reasoning", {})}
    if "max_tokens" in passed:
        passed["max_output_tokens"] = passed.pop("max_tokens")
    return passed


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": False,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    id = wire_id(call.provider_id or call.id)
    return {
        "type": "function_call",
        "call_id": id,
        "name": wire_name(call.name),
        "arguments": json_text(call.arguments),
    }


def _reasoning(part: Thinking) -> dict[str, Any]:
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


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    error: Any = None
    incomplete_details: _Incomplete | None = None
    output: list[_OutputItem] | None = None
    usage: _Usage | None = None


class _Ended(msgspec.Struct):
    response: _Response


_type = msgspec.json.Decoder(_Type).decode
_delta = msgspec.json.Decoder(_Delta).decode
_item_done = msgspec.json.Decoder(_ItemDone).decode
_ended = msgspec.json.Decoder(_Ended).decode


class _Answer:
    def __init__(self, endpoint: Endpoint, model: str, fallback_id: str, most: int) -> None:
        self.ended = False
        self._most = most
        self._endpoint = endpoint
        self._model = model
        self._fallback_id = fallback_id
        self._texts: dict[int, list[str]] = {}
        self._summary = (-1, 0)
        self._items: dict[int, _OutputItem] = {}
        self._stop = StopReason.END
        self.usage = Usage()

    def feed(self, data: bytes) -> Sequence[Item]:
        if data == b"[DONE]":
            return ()
        match _type(data).type:
            case "response.output_text.delta" | "response.refusal.delta":
                return self._text(_delta(data))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._feed_thought(_delta(data))
            case "response.output_item.done":
                done = _item_done(data)
                index = len(self._items) if done.output_index is None else done.output_index
                self._items[index] = done.item
            case "response.completed" | "response.incomplete":
                self._end(_ended(data).response)
            case "response.failed":
                raise provider_error(
                    0, {}, codec.encode({"error": _ended(data).response.error}), self._endpoint
                )
            case "error":
                raise provider_error(0, {}, data, self._endpoint)
        return ()

    def message(self) -> AssistantMessage:
        if not self.ended:
            raise cut_error()
        parts: list[Part] = []
        for index in sorted({*self._items, *self._texts}):
            if item := self._items.get(index):
                parts += self._parts(item, index)
            else:
                parts.append(Text("".join(self._texts[index])))
        return conclude(parts, self._stop, DIALECT, self._model, self.usage)

    def _text(self, event: _Delta) -> Sequence[Item]:
        self._texts.setdefault(event.output_index, []).append(event.delta)
        return (TextDelta(text=event.delta),) if event.delta else ()

    def _feed_thought(self, event: _Delta) -> Sequence[Item]:
        at = (event.output_index, event.summary_index)
        gap = "\n\n" if at != self._summary and event.summary_index else ""
        self._summary = at
        return (ThinkingDelta(text=gap + event.delta),) if event.delta else ()

    def _end(self, response: _Response) -> None:
        self.ended = True
        if response.usage is not None:
            self.usage = _usage(response.usage)
        if response.incomplete_details is not None:
            filtered = response.incomplete_details.reason == "content_filter"
            self._stop = StopReason.FILTER if filtered else StopReason.LENGTH
        elif 0 < self._most <= self.usage.output_tokens:
            self._stop = StopReason.LENGTH  # llama.cpp calls an answer completed that it cut at the limit
        if not self._items:  # a server that sends no `done` for each item still sends them all here
            self._items = dict(enumerate(response.output or ()))

    def _parts(self, item: _OutputItem, index: int) -> list[Part]:
        match item.type:
            case "message":
                return [self._read_said(content) for content in item.content or ()]
            case "function_call":
                id = item.call_id or item.id or f"{self._fallback_id}_{index}"
                return [ToolCall("", id, item.name or "", item.arguments or "{}")]
            case "reasoning":
                told = item.summary or item.content or ()
                text = "\n\n".join(content.text or "" for content in told)
                return [Thinking(text, item.id or "", item.encrypted_content or "")]
        return []

    def _read_said(self, content: _Content) -> Part:
        if content.refusal:
            self._stop = StopReason.REFUSAL
        return Text(content.text or content.refusal or "")


def _usage(wire: _Usage) -> Usage:
    entered, left = wire.input_tokens_details or _Details(), wire.output_tokens_details or _Details()
    read, written = entered.cached_tokens or 0, entered.cache_write_tokens or 0
    return Usage(
        input_tokens=max((wire.input_tokens or 0) - read - written, 0),
        output_tokens=wire.output_tokens or 0,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=left.reasoning_tokens or 0,
    )
