"""OpenAI Chat Completions, as the vendor and every compatible server speak it."""

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
    UserMessage,
)
from planck.records.specs import ModelSpec, ToolSpec
from planck.records.usage import Usage

DIALECT = "openai_chat"


class OpenAIChat:
    def __init__(self, endpoint: Endpoint, model: ModelSpec, transport: Transport) -> None:
        self._endpoint = endpoint
        self._model = model
        url = f"{openai_root(endpoint.base_url)}/chat/completions"
        headers = {"accept": "text/event-stream", **endpoint.bearer}
        self._exchange = Exchange(transport, endpoint, url, headers)
        self._tools = ToolBytes(_tool)
        self._wire_key = f"{DIALECT}:{model.model}"

    def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        answer = _Answer(self._endpoint, self._model.model, f"call_{len(request.history.messages)}")
        return self._exchange.stream(self.body(request), answer)

    def body(self, request: Request) -> list[bytes]:
        """The messages come last, so that each request of a session is a prefix of the next."""
        wire = request.history.wire(self._wire_key, self._encode)
        system = codec.encode({"role": "system", "content": request.system}) if request.system else b""
        messages = b",".join([system, *wire] if system else wire)
        return [self._settings(request), b',"messages":[', messages, b"]}"]

    def _settings(self, request: Request) -> bytes:
        vendor = self._endpoint.is_vendor
        fields: dict[str, Any] = {
            "model": self._model.model,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self._model.max_output:
            fields["max_completion_tokens" if vendor else "max_tokens"] = self._model.max_output
        if vendor:
            fields["prompt_cache_key"] = request.agent_id
        fields |= _params({**self._model.params, **request.params})
        if request.tool_choice and request.tools:
            fields["tool_choice"] = request.tool_choice
        settings = codec.encode(fields)[:-1]
        return settings + b',"tools":' + self._tools.of(request.tools) if request.tools else settings

    def _encode(self, message: Message) -> bytes:
        match message:
            case UserMessage():
                return codec.encode({"role": "user", "content": self._content(message.parts)})
            case AssistantMessage():
                return codec.encode(self._assistant(message))
            case ToolMessage():
                return b",".join(self._results(message))

    def _content(self, parts: Sequence[Text | Image]) -> str | list[dict[str, Any]]:
        if len(parts) == 1 and isinstance(parts[0], Text):
            return parts[0].text
        return [self._part(part) for part in parts]

    def _part(self, part: Text | Image) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"type": "text", "text": part.text}
        if not self._model.images:
            return {"type": "text", "text": describe_unseen(part)}
        url = f"data:{part.media_type};base64,{part.data}"
        return {"type": "image_url", "image_url": {"url": url}}

    def _assistant(self, message: AssistantMessage) -> dict[str, Any]:
        wire: dict[str, Any] = {"role": "assistant", "content": message.text or None}
        if calls := message.tool_calls:
            wire["tool_calls"] = [_call(call) for call in calls]
            # Servers that think between tool calls ask for the thoughts back; others refuse them elsewhere.
            if (message.dialect, message.model) == (DIALECT, self._model.model):
                thoughts = "".join(part.text for part in message.parts if isinstance(part, Thinking))
                if thoughts:
                    wire["reasoning_content"] = thoughts
        elif not message.text:
            wire["content"] = ""
        return wire

    def _results(self, message: ToolMessage) -> list[bytes]:
        """One message a result; images follow in a user message, since a tool's may hold text only."""
        wire = [
            codec.encode({"role": "tool", "tool_call_id": wire_id(id), "content": result.output})
            for result in message.results
            for id in (result.provider_id or result.id,)
        ]
        if images := [image for result in message.results for image in result.images]:
            parts: list[Text | Image] = [Text("Images from the tool results above:"), *images]
            wire.append(codec.encode({"role": "user", "content": self._content(parts)}))
        return wire


def _params(params: dict[str, Any]) -> dict[str, Any]:
    """Passed through as they are, but for what only we may set; `effort` has its name in this dialect."""
    passed = {name: value for name, value in params.items() if name not in _OURS}
    if "effort" in passed:
        passed["reasoning_effort"] = passed.pop("effort")
    return passed


_OURS = frozenset({"model", "messages", "tools", "stream", "stream_options"})


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": wire_name(call.name), "arguments": json_text(call.arguments)}
    return {"id": wire_id(call.provider_id or call.id), "type": "function", "function": function}


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _CompletionDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode

_STOPS = {
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "content_filter": StopReason.FILTER,
    "refusal": StopReason.REFUSAL,
}


class _Answer:
    def __init__(self, endpoint: Endpoint, model: str, fallback_id: str) -> None:
        self.ended = False
        self._endpoint = endpoint
        self._model = model
        self._fallback_id = fallback_id
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._finish = ""
        self._refused = False
        self.usage = Usage()

    def feed(self, data: bytes) -> Sequence[Item]:
        if data == b"[DONE]":
            self.ended = True
            return ()
        chunk = _decode(data)
        if chunk.error:
            raise provider_error(0, {}, data, self._endpoint)
        if chunk.usage is not None:
            self.usage = _usage(chunk.usage)
        if not chunk.choices:
            return ()
        choice = chunk.choices[0]
        if choice.finish_reason:
            self._finish = choice.finish_reason
        return self._delta(choice.delta) if choice.delta is not None else ()

    def message(self) -> AssistantMessage:
        if not self._finish:
            raise cut_error()
        parts: list[Part] = [Thinking("".join(self._thinking))] if self._thinking else []
        parts.append(Text("".join(self._text)))
        parts += [call.build(f"{self._fallback_id}_{n}") for n, call in enumerate(self._calls)]
        stop = StopReason.REFUSAL if self._refused else _STOPS.get(self._finish, StopReason.END)
        return conclude(parts, stop, DIALECT, self._model, self.usage)

    def _delta(self, delta: _Delta) -> Sequence[Item]:
        items: list[Item] = []
        if thought := delta.reasoning_content or delta.reasoning:
            self._thinking.append(thought)
            items.append(ThinkingDelta(text=thought))
        if text := delta.content or delta.refusal:
            self._refused = self._refused or not delta.content
            self._text.append(text)
            items.append(TextDelta(text=text))
        for fragment in delta.tool_calls or ():
            self._fragment(fragment)
        return items

    def _fragment(self, fragment: _CallDelta) -> None:
        call = self._call_of(fragment)
        function = fragment.function
        if function is None:
            return
        if function.name:
            call.name += function.name
        if isinstance(function.arguments, str):
            call.arguments.append(function.arguments)
        elif function.arguments is not None:
            call.arguments.append(codec.encode_str(function.arguments))

    def _call_of(self, fragment: _CallDelta) -> "_OpenCall":
        """By index; a server that leaves it out, or gives all calls the same, begins one with each new id."""
        if fragment.index is None:
            known = next((call for call in self._calls if fragment.id and call.id == fragment.id), None)
            if known is None and not fragment.id and self._calls:
                known = self._calls[-1]
        else:
            known = self._by_index.get(fragment.index)
            if known is not None and _is_another(fragment, known):
                known = None
        if known is None:
            known = _OpenCall(fragment.id or "")
            self._calls.append(known)
            if fragment.index is not None:
                self._by_index[fragment.index] = known
        return known


def _is_another(fragment: _CallDelta, known: "_OpenCall") -> bool:
    """Gemini's endpoint numbers every call 0; a new id without a name is one for the fragment."""
    return bool(
        known.id and fragment.id not in (None, "", known.id) and fragment.function and fragment.function.name
    )


class _OpenCall:
    def __init__(self, id: str) -> None:
        self.id = id
        self.name = ""
        self.arguments: list[str] = []

    def build(self, fallback_id: str) -> ToolCall:
        return ToolCall("", self.id or fallback_id, self.name, "".join(self.arguments) or "{}")


def _usage(wire: _Usage) -> Usage:
    cached = (wire.prompt_tokens_details and wire.prompt_tokens_details.cached_tokens) or 0
    details = wire.completion_tokens_details
    return Usage(
        input_tokens=max((wire.prompt_tokens or 0) - cached, 0),
        output_tokens=wire.completion_tokens or 0,
        cache_read_tokens=cached,
        reasoning_tokens=(details and details.reasoning_tokens) or 0,
    )
