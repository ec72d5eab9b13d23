"""Ollama's native API: its OpenAI endpoint silently cuts the prompt at the server's default context."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from planck.llm.endpoint import OLLAMA_ROOT, Endpoint
from planck.llm.exchange import Exchange, cut_error
from planck.llm.http_errors import provider_error, refusal
from planck.llm.parts import conclude, describe_unseen, json_arguments, json_object
from planck.llm.provider import Item, ProviderError, Request
from planck.llm.sse import JsonLines
from planck.llm.tool_bytes import ToolBytes
from planck.llm.transport import Transport, read_all
from planck.records import codec
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.history import BYTES_PER_TOKEN
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
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec, ToolSpec
from planck.records.usage import Usage

DIALECT = "ollama"


class Ollama:
    def __init__(self, endpoint: Endpoint, model: ModelSpec, transport: Transport) -> None:
        self._endpoint = endpoint
        self._model = model
        self._transport = transport
        self._root = (endpoint.base_url or OLLAMA_ROOT).removesuffix("/v1")
        self._headers = endpoint.bearer
        self._exchange = Exchange(transport, endpoint, f"{self._root}/api/chat", self._headers)
        self._tools = ToolBytes(_tool)
        self._wire_key = f"{DIALECT}:{model.model}"
        self._longest: int | None = None

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        window = await self._window(request)
        answer = _Answer(self._endpoint, self._model.model, f"call_{len(request.history.messages)}")
        body = self._body(request, window)
        async with aclosing(self._exchange.stream(body, answer, JsonLines())) as items:
            async for item in items:
                yield item

    async def _window(self, request: Request) -> int:
        """The context to ask for, within what the model can take; a prompt beyond it is refused here."""
        if self._longest is None:
            self._longest = await self._ask_longest()
        params = {**self._model.params, **request.params}
        wanted = params.get("num_ctx", self._model.context_window)
        if not isinstance(wanted, int) or wanted <= 0:
            wanted = self._longest or _UNTOLD
        window = min(wanted, self._longest or wanted)
        tokens = request.history.tokens(fixed=len(request.system) // BYTES_PER_TOKEN)
        if tokens > window:
            raise ProviderError(
                ErrorKind.CONTEXT_OVERFLOW,
                f"about {tokens} tokens do not fit into the {window} that "
                f"{self._model.model!r} was given; the conversation must be compacted",
                {"window": window, "longest": self._longest},
            )
        return window

    async def _ask_longest(self) -> int:
        """The most that the model can take, from `/api/show`; 0 where the server does not say."""
        question = codec.encode({"model": self._model.model})
        response = await self._transport.send("POST", f"{self._root}/api/show", self._headers, question)
        async with aclosing(response):
            if response.status == 200:
                return _longest(await read_all(response, _LARGEST_SHOWN))
            error = await refusal(response, self._endpoint)
        if error.err.kind is ErrorKind.PROVIDER_HTTP_ERROR and response.status in _NOT_THERE:
            return 0  # a stand-in for Ollama that has its chat alone
        raise error

    def _body(self, request: Request, window: int) -> list[bytes]:
        """The messages come last, so that each request of a session is a prefix of the next."""
        wire = request.history.wire(self._wire_key, self._encode)
        system = codec.encode({"role": "system", "content": request.system}) if request.system else b""
        messages = b",".join([system, *wire] if system else wire)
        return [self._settings(request, window), b',"messages":[', messages, b"]}"]

    def _settings(self, request: Request, window: int) -> bytes:
        params = {**self._model.params, **request.params}
        fields: dict[str, Any] = {"model": self._model.model, "stream": True}
        if "effort" in params:
            fields["think"] = params.pop("effort")
        fields |= {name: params.pop(name) for name in _TOP if name in params}
        options = {"num_predict": self._model.max_output} if self._model.max_output else {}
        options |= {name: value for name, value in params.items() if name not in _OURS}
        if "max_tokens" in options:
            options["num_predict"] = options.pop("max_tokens")
        fields["options"] = {**options, "num_ctx": window}
        settings = codec.encode(fields)[:-1]
        return settings + b',"tools":' + self._tools.of(request.tools) if request.tools else settings

    def _encode(self, message: Message) -> bytes:
        match message:
            case UserMessage():
                return codec.encode(self._user(message.parts))
            case AssistantMessage():
                return codec.encode(self._assistant(message))
            case ToolMessage():
                return b",".join(map(codec.encode, self._results(message)))

    def _user(self, parts: Sequence[Text | Image]) -> dict[str, Any]:
        seen = [part.data for part in parts if isinstance(part, Image) and self._model.images]
        said = [
            part.text if isinstance(part, Text) else describe_unseen(part)
            for part in parts
            if isinstance(part, Text) or not self._model.images
        ]
        wire: dict[str, Any] = {"role": "user", "content": "\n".join(said)}
        return {**wire, "images": seen} if seen else wire

    def _assistant(self, message: AssistantMessage) -> dict[str, Any]:
        wire: dict[str, Any] = {"role": "assistant", "content": message.text}
        own = (message.dialect, message.model) == (DIALECT, self._model.model)
        if calls := message.tool_calls:
            wire["tool_calls"] = [
                {"function": {"name": call.name, "arguments": json_object(call.arguments)}} for call in calls
            ]
            thoughts = "".join(part.text for part in message.parts if isinstance(part, Thinking))
            if own and thoughts:
                wire["thinking"] = thoughts
        return wire

    def _results(self, message: ToolMessage) -> list[dict[str, Any]]:
        wire: list[dict[str, Any]] = [
            {"role": "tool", "tool_name": result.name, "content": result.output} for result in message.results
        ]
        if images := [image for result in message.results for image in result.images]:
            wire.append(self._user((Text("Images from the tool results above:"), *images)))
        return wire


_LARGEST_SHOWN = 4_000_000
"""Bytes of an answer of `/api/show`, which lists every tensor."""


_NOT_THERE = frozenset({404, 405, 501})
_UNTOLD = 32_768
"""Asked for where neither the user nor the server names a length: never the server's own, silent default."""


def _longest(shown: bytes) -> int:
    try:
        info = codec.decode_as(shown, _Shown).model_info or {}
    except codec.DecodeError:
        info = {}
    for name, value in info.items():
        if name.endswith(".context_length") and isinstance(value, int) and value > 0:
            return value
    return 0


class _Shown(msgspec.Struct):
    model_info: dict[str, Any] | None = None


_TOP = ("think", "format", "keep_alive")
_OURS = frozenset({"model", "messages", "tools", "stream", "num_ctx"})


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


class _Function(msgspec.Struct, frozen=True):
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Call(msgspec.Struct):
    id: str = ""
    function: _Function = _Function()


class _Said(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Line(msgspec.Struct):
    message: _Said | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Line).decode


class _Answer:
    def __init__(self, endpoint: Endpoint, model: str, fallback_id: str) -> None:
        self.ended = False
        self._endpoint = endpoint
        self._model = model
        self._fallback_id = fallback_id
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []
        self._stop = StopReason.END
        self.usage = Usage()

    def feed(self, data: bytes) -> Sequence[Item]:
        line = _decode(data)
        if line.error:
            raise provider_error(0, {}, data, self._endpoint)
        items = self._feed_said(line.message) if line.message is not None else []
        if line.done:
            self.ended = True
            self._stop = StopReason.LENGTH if line.done_reason == "length" else StopReason.END
            self.usage = Usage(line.prompt_eval_count or 0, line.eval_count or 0)
        return items

    def message(self) -> AssistantMessage:
        if not self.ended:
            raise cut_error()
        parts: list[Part] = [Thinking("".join(self._thinking))] if self._thinking else []
        parts += [Text("".join(self._text)), *self._calls]
        return conclude(parts, self._stop, DIALECT, self._model, self.usage)

    def _feed_said(self, said: _Said) -> list[Item]:
        items: list[Item] = []
        if said.thinking:
            self._thinking.append(said.thinking)
            items.append(ThinkingDelta(text=said.thinking))
        if said.content:
            self._text.append(said.content)
            items.append(TextDelta(text=said.content))
        for call in said.tool_calls or ():
            id = call.id or f"{self._fallback_id}_{len(self._calls)}"
            self._calls.append(ToolCall("", id, call.function.name, json_arguments(call.function.arguments)))
        return items
