"""Ollama's native API: its OpenAI endpoint silently cuts the prompt at the server's default context."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, ClassVar

import msgspec

from planck.http.sse import JsonLines
from planck.http.transport import Transport, read_all
from planck.llm.dialects.answer import Answer, Written, is_said, read_count, read_counts
from planck.llm.dialects.dialect import Dialect, Json
from planck.llm.dialects.parts import PromptPart, embed_arguments, join_thoughts, read_arguments
from planck.llm.endpoint import LOCAL_ROOTS, Endpoint
from planck.llm.provider import Item, ProviderError, Request
from planck.llm.server_errors import refusal
from planck.records import codec
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.history import BYTES_PER_TOKEN
from planck.records.messages import AssistantMessage, Part, StopReason, Text, Thinking, ToolCall, ToolResult
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec
from planck.records.usage import Usage


class Ollama(Dialect):
    name = "ollama"
    reserved: ClassVar[frozenset[str]] = frozenset({"model", "messages", "tools", "stream"})

    def __init__(self, endpoint: Endpoint, model: ModelSpec, transport: Transport) -> None:
        self._root = (endpoint.base_url or LOCAL_ROOTS["ollama"]).removesuffix("/v1")
        self._longest: int | None = None
        super().__init__(endpoint, model, transport, f"{self._root}/api/chat", endpoint.bearer)

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        if self._longest is None:
            request.tally.unsent = True  # a question about the model costs nothing
            self._longest = await self._ask_longest()
        body, answer = self.encode_body(request), self.begin_answer(request)
        async with aclosing(self.exchange.stream(body, answer, request.tally, JsonLines())) as items:
            async for item in items:
                yield item

    async def _ask_longest(self) -> int:
        """The most that the model can take, from `/api/show`; 0 where the server does not say."""
        question = codec.encode({"model": self.model.model})
        response = await self.exchange.send(f"{self._root}/api/show", question)
        async with aclosing(response):
            if response.status == 200:
                return _longest(await read_all(response, _LARGEST_SHOWN))
            error = await refusal(response, self.endpoint)
        if error.err.kind is ErrorKind.PROVIDER_HTTP_ERROR and response.status in _NOT_THERE:
            return 0  # a stand-in for Ollama that has its chat alone
        raise error

    def render_settings(self, request: Request) -> Json:
        params = self.merge_params(request)
        window = self._window(request, params.pop("num_ctx", self.model.context_window))
        fields: Json = {"model": self.model.model, "stream": True}
        if "effort" in params:
            fields["think"] = params.pop("effort")
        fields |= {name: params.pop(name) for name in _TOP if name in params}
        options = {"num_predict": self.model.max_output} if self.model.max_output else {}
        options |= params
        if "max_tokens" in options:
            options["num_predict"] = options.pop("max_tokens")
        fields["options"] = {**options, "num_ctx": window}
        return {**fields, "tools": self.encode_tools(request.tools)} if request.tools else fields

    def _window(self, request: Request, wanted: Any) -> int:
        """The context to ask for, within what the model can take; a prompt beyond it is refused here."""
        if not isinstance(wanted, int) or wanted <= 0:
            wanted = self._longest or _UNTOLD
        window: int = min(wanted, self._longest or wanted)
        tokens = request.history.tokens(fixed=len(request.system) // BYTES_PER_TOKEN)
        if tokens > window:
            raise ProviderError(
                ErrorKind.CONTEXT_OVERFLOW,
                f"The conversation has about {tokens} tokens, but the context window of "
                f"{self.model.model!r} has {window}. Compact the conversation.",
                {"window": window, "longest": self._longest},
            )
        return window

    def render_prompt(self, parts: Sequence[PromptPart]) -> Json:
        shown = [self.describe_unseen(part) for part in parts]
        said = "\n".join(part.text for part in shown if isinstance(part, Text))
        images = [part.data for part in shown if not isinstance(part, Text)]
        wire: Json = {"role": "user", "content": said}
        return {**wire, "images": images} if images else wire

    def render_answer(self, message: AssistantMessage, own: bool) -> list[Json]:
        wire: Json = {"role": "assistant", "content": message.text}
        if calls := message.tool_calls:
            wire["tool_calls"] = [
                {"function": {"name": call.name, "arguments": embed_arguments(call.arguments)}}
                for call in calls
            ]
            if own and (thoughts := join_thoughts(message.parts)):
                wire["thinking"] = thoughts
        return [wire]

    def render_result(self, result: ToolResult) -> Json:
        return {"role": "tool", "tool_name": result.name, "content": result.output}

    def begin_answer(self, request: Request) -> Answer:
        return _Answer(self, request)


_TOP = ("think", "format", "keep_alive")

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
    prompt_eval_count: msgspec.Raw = msgspec.Raw(b"null")
    eval_count: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")


_decode = msgspec.json.Decoder(_Line).decode


class _Answer(Answer):
    shape = _Line

    def __init__(self, dialect: Dialect, request: Request) -> None:
        super().__init__(dialect, request)
        self._text = Written(self)
        self._thinking = Written(self)
        self._called: list[ToolCall] = []

    def feed(self, data: bytes) -> Sequence[Item]:
        line = _decode(data)
        if is_said(line.error):
            raise self.error(data)
        items = self._feed_said(line.message) if line.message is not None else []
        if line.done:
            self.ended = True
            self.stop = StopReason.LENGTH if line.done_reason == "length" else StopReason.END
            entered, left = (
                read_count(read_counts(one)) for one in (line.prompt_eval_count, line.eval_count)
            )
            self.hear_usage(Usage(entered or 0, left or 0))
        return items

    def build_parts(self) -> list[Part]:
        thoughts = [Thinking(self._thinking.text)] if self._thinking else []
        return [*thoughts, Text(self._text.text), *self._called]

    def _feed_said(self, said: _Said) -> list[Item]:
        items: list[Item] = []
        if said.thinking:
            self._thinking.add(said.thinking)
            items.append(ThinkingDelta(text=said.thinking))
        if said.content:
            self._text.add(said.content)
            items.append(TextDelta(text=said.content))
        for call in said.tool_calls or ():
            self.begin_call()
            id = call.id or self.make_id(len(self._called))
            arguments = read_arguments(call.function.arguments)
            self._called.append(ToolCall("", id, call.function.name, arguments))
            self.grow(id + call.function.name + arguments)
        return items
