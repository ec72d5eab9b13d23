"""OpenAI Chat Completions, as the vendor and every compatible server speak it."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from planck.http.transport import Transport
from planck.llm.dialects.answer import DONE, Answer, Written, count_usage, is_said, read_count, read_counts
from planck.llm.dialects.dialect import Dialect, Json
from planck.llm.dialects.parts import (
    PromptPart,
    clean_id,
    clean_name,
    join_thoughts,
    read_arguments,
    repair_arguments,
)
from planck.llm.endpoint import Endpoint, openai_root
from planck.llm.provider import Item, Request
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.messages import AssistantMessage, Part, StopReason, Text, Thinking, ToolCall, ToolResult
from planck.records.specs import ModelSpec


class OpenAIChat(Dialect):
    name = "openai_chat"
    reserved: ClassVar[frozenset[str]] = frozenset({"model", "messages", "tools", "stream", "stream_options"})

    def __init__(self, endpoint: Endpoint, model: ModelSpec, transport: Transport) -> None:
        url = f"{openai_root(endpoint.base_url)}/chat/completions"
        super().__init__(endpoint, model, transport, url, {"accept": "text/event-stream", **endpoint.bearer})

    def render_settings(self, request: Request) -> Json:
        vendor = self.endpoint.is_vendor
        fields: Json = {
            "model": self.model.model,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self.model.max_output:
            fields["max_completion_tokens" if vendor else "max_tokens"] = self.model.max_output
        if vendor:
            fields["prompt_cache_key"] = request.agent_id
        params = self.merge_params(request)
        if "effort" in params:
            params["reasoning_effort"] = params.pop("effort")
        fields |= params
        if request.tools:
            if request.tool_choice:
                fields["tool_choice"] = request.tool_choice
            fields["tools"] = self.encode_tools(request.tools)
        return fields

    def render_part(self, part: PromptPart) -> Json:
        if isinstance(part, Text):
            return {"type": "text", "text": part.text}
        return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data}"}}

    def render_answer(self, message: AssistantMessage, own: bool) -> list[Json]:
        wire: Json = {"role": "assistant", "content": message.text or None}
        if calls := message.tool_calls:
            wire["tool_calls"] = [_call(call) for call in calls]
            # Servers that think between tool calls ask for the thoughts back; others refuse them elsewhere.
            if own and (thoughts := join_thoughts(message.parts)):
                wire["reasoning_content"] = thoughts
        elif not message.text:
            wire["content"] = ""
        return [wire]

    def render_result(self, result: ToolResult) -> Json:
        return {"role": "tool", "tool_call_id": clean_id(result), "content": result.output}

    def begin_answer(self, request: Request) -> Answer:
        return _Answer(self, request)


def _call(call: ToolCall) -> Json:
    function = {"name": clean_name(call.name), "arguments": repair_arguments(call.arguments)}
    return {"id": clean_id(call), "type": "function", "function": function}


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"null")
    """A piece of text; some servers send the object whole. Not decoded here: it may be anything."""


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


_NO_ID = msgspec.Raw(b"null")
_NO_USAGE = msgspec.Raw(b"null")
_NO_ERROR = msgspec.Raw(b"null")


class _Chunk(msgspec.Struct):
    id: msgspec.Raw = _NO_ID
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = _NO_USAGE
    error: msgspec.Raw = _NO_ERROR


_decode = msgspec.json.Decoder(_Chunk).decode

_STOPS = {
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "content_filter": StopReason.FILTER,
    "refusal": StopReason.REFUSAL,
}


class _Answer(Answer):
    shape = _Chunk

    def __init__(self, dialect: Dialect, request: Request) -> None:
        super().__init__(dialect, request)
        self._text = Written(self)
        self._thinking: Written | None = None
        self._open: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._by_id: dict[str, _OpenCall] = {}
        self._written: _OpenCall | None = None
        """The call of the newest fragment."""
        self._refused = False

    def feed(self, data: bytes) -> Sequence[Item]:
        if data == DONE:
            self.end()
            return ()
        chunk = _decode(data)
        if not self.response_id and chunk.id is not _NO_ID:
            self.name_response(chunk.id)
        # Most chunks have neither, and there is one for each token: they are not looked at twice.
        if (error := chunk.error) is not _NO_ERROR and is_said(error):
            raise self.error(data)
        if (spent := chunk.usage) is not _NO_USAGE and bytes(spent) != b"null":
            self._spend(read_counts(spent))
        if not chunk.choices:
            return ()
        choice = chunk.choices[0]
        if choice.finish_reason:
            self.stop = _STOPS.get(choice.finish_reason, StopReason.END)
        delta = choice.delta
        if delta is None:
            return ()
        if (text := delta.content) and not (delta.tool_calls or delta.reasoning_content or delta.reasoning):
            self._text.add(text)  # nearly every one
            return (TextDelta(text=text),)
        return self._delta(delta)

    def _spend(self, counted: object) -> None:
        entered, left = read_count(counted, "prompt_tokens"), read_count(counted, "completion_tokens")
        read = read_count(counted, "prompt_tokens_details", "cached_tokens")
        thought = read_count(counted, "completion_tokens_details", "reasoning_tokens")
        self.hear_usage(count_usage(entered, left, read, 0, thought))

    def is_whole(self) -> bool:
        calls = [call.arguments.text or "{}" for call in self._open]
        return bool(self._text or calls) and all(repair_arguments(text) == text.strip() for text in calls)

    def prepare(self, event: object) -> None:
        """Takes the thoughts out of `content`: Mistral sends both in one list."""
        choices = event.get("choices") if isinstance(event, dict) else None
        for choice in choices if isinstance(choices, list) else ():
            delta = choice.get("delta") if isinstance(choice, dict) else None
            content = delta.get("content") if isinstance(delta, dict) else None
            if isinstance(delta, dict) and isinstance(content, list):
                thoughts = [part for part in content if isinstance(part, dict) and "thinking" in part]
                delta["content"] = [part for part in content if part not in thoughts]
                if thoughts:
                    delta["reasoning_content"] = thoughts

    def build_parts(self) -> list[Part]:
        if self._refused:
            self.stop = StopReason.REFUSAL
        thoughts = [Thinking(self._thinking.text)] if self._thinking else []
        calls = [call.build(self.make_id(number)) for number, call in enumerate(self._open)]
        return [*thoughts, Text(self._text.text), *calls]

    def find_open_call(self) -> tuple[str, str, int]:
        call = self._written
        if call is None or self.stop is not None:
            return "", "", 0
        return call.name.text, call.arguments.beginning, len(call.arguments)

    def _delta(self, delta: _Delta) -> Sequence[Item]:
        items: list[Item] = []
        if thought := delta.reasoning_content or delta.reasoning:
            self._thinking = self._thinking or Written(self)
            self._thinking.add(thought)
            items.append(ThinkingDelta(text=thought))
        if text := delta.content or delta.refusal:
            self._refused = self._refused or not delta.content
            self._text.add(text)
            items.append(TextDelta(text=text))
        for fragment in delta.tool_calls or ():
            self._fragment(fragment)
        return items

    def _fragment(self, fragment: _CallDelta) -> None:
        call = self._written = self._call_of(fragment)
        function = fragment.function
        if function is None:
            return
        if function.name:
            call.name.add(function.name)
        if bytes(function.arguments) != b"null":
            call.arguments.add(read_arguments(function.arguments))

    def _call_of(self, fragment: _CallDelta) -> "_OpenCall":
        """By index; a server that leaves it out, or gives all calls the same, begins one with each new id."""
        if fragment.index is None:
            known = self._by_id.get(fragment.id) if fragment.id else None
            if known is None and not fragment.id and self._open:
                known = self._open[-1]
        else:
            known = self._by_index.get(fragment.index)
            if known is not None and _is_another(fragment, known):
                known = None
        if known is None:
            self.begin_call()
            known = _OpenCall(fragment.id or "", self)
            self._open.append(known)
            self._by_id.setdefault(known.id, known)
            if fragment.index is not None:
                self._by_index[fragment.index] = known
        return known


def _is_another(fragment: _CallDelta, known: "_OpenCall") -> bool:
    """Gemini's endpoint numbers every call 0; a new id without a name is one for the fragment."""
    return bool(
        known.id and fragment.id not in (None, "", known.id) and fragment.function and fragment.function.name
    )


class _OpenCall:
    def __init__(self, id: str, answer: Answer) -> None:
        answer.grow(id)
        self.id = id
        self.name = Written(answer)
        self.arguments = Written(answer)

    def build(self, fallback_id: str) -> ToolCall:
        return ToolCall("", self.id or fallback_id, self.name.text, self.arguments.text or "{}")
