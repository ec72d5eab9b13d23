"""Google Gemini `streamGenerateContent`: our history as contents, its chunks as our items."""

from collections.abc import Sequence
from typing import ClassVar
from urllib.parse import quote

import msgspec

from planck.http.transport import Transport
from planck.llm.dialects.answer import Answer, Written, count_usage, is_said, read_count, read_counts
from planck.llm.dialects.dialect import Dialect, Json
from planck.llm.dialects.gemini_schema import declare
from planck.llm.dialects.parts import PromptPart, clean_name, embed_arguments, fill_ends, read_arguments
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item, ProviderError, Request
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.messages import AssistantMessage, Part, StopReason, Text, Thinking, ToolCall, ToolResult
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec, ToolSpec
from planck.records.usage import Usage

ROOT = "https://generativelanguage.googleapis.com"

_MINTED = "planck_"
"""Marks the ids that we gave to calls which came without one: they stay off the wire."""

_EMPTY = "(empty)"
_CONTINUE = b'{"role":"user","parts":[{"text":"Continue."}]}'
_UNSIGNED = "skip_thought_signature_validator"
"""The documented stand-in for another model's calls: since Gemini 3 a call without a signature is refused."""


class Google(Dialect):
    name = "google"
    messages_field = "contents"
    reserved: ClassVar[frozenset[str]] = frozenset({"contents", "tools", "systemInstruction", "model"})
    call_prefix = _MINTED

    def __init__(self, endpoint: Endpoint, model: ModelSpec, transport: Transport) -> None:
        name = model.model.removeprefix("models/")
        path = f"/v1beta/models/{quote(name, safe='')}:streamGenerateContent?alt=sse"
        headers = {
            "content-type": "application/json",
            **({"x-goog-api-key": endpoint.key} if endpoint.key else {}),
            **endpoint.headers,
        }
        super().__init__(endpoint, model, transport, f"{endpoint.base_url or ROOT}{path}", headers)
        self._signs_calls = not name.startswith(("gemini-1", "gemini-2"))

    def render_settings(self, request: Request) -> Json:
        params = self.merge_params(request)
        fields: Json = {name: params.pop(name) for name in sorted(_TOP_LEVEL & params.keys())}
        if generation := _generation(self.model, params):
            fields["generationConfig"] = generation
        if request.tools and request.tool_choice == "required":
            fields["toolConfig"] = {"functionCallingConfig": {"mode": "ANY"}}
        if request.tools:
            fields["tools"] = [{"functionDeclarations": self.encode_tools(request.tools)}]
        if request.system.strip():
            fields["systemInstruction"] = {"parts": [{"text": request.system}]}
        return fields

    def render_tool(self, spec: ToolSpec) -> Json:
        return declare(spec)

    def encode_messages(self, request: Request) -> list[bytes]:
        return fill_ends(self.encode_history(request), _CONTINUE)

    def render_part(self, part: PromptPart) -> Json:
        if isinstance(part, Text):
            return {"text": part.text or _EMPTY}
        return {"inlineData": {"mimeType": part.media_type, "data": part.data}}

    def render_prompt(self, parts: Sequence[PromptPart]) -> Json:
        return {"role": "user", "parts": self.render_parts(parts) or [{"text": _EMPTY}]}

    def render_answer(self, message: AssistantMessage, own: bool) -> list[Json]:
        parts = _render_signed(message.parts) if own else self._render_foreign(message.parts)
        return [{"role": "model", "parts": parts}] if parts else []

    def render_results(self, results: Sequence[ToolResult]) -> list[Json]:
        images = self.render_parts([image for result in results for image in result.images])
        return [{"role": "user", "parts": [*map(self.render_result, results), *images]}]

    def render_result(self, result: ToolResult) -> Json:
        response = {"output" if result.ok else "error": result.output}
        called = {"name": clean_name(result.name), "response": response}
        return {"functionResponse": _with_id(result.provider_id, called)}

    def begin_answer(self, request: Request) -> Answer:
        return _Answer(self, request)

    def _render_foreign(self, said: Sequence[Part]) -> list[Json]:
        parts = [_render_unsigned(part) for part in said if not isinstance(part, Thinking)]
        if self._signs_calls:
            for part in parts:
                if "functionCall" in part:
                    part["thoughtSignature"] = _UNSIGNED
                    break
        return [part for part in parts if part.get("text") != ""]


_NAMES = {"max_tokens": "maxOutputTokens", "top_p": "topP", "top_k": "topK", "stop": "stopSequences"}
_TOP_LEVEL = frozenset({"safetySettings", "cachedContent", "labels"})


def _generation(model: ModelSpec, params: Json) -> Json:
    thinking = _thinking(model, params)
    generation = {_NAMES.get(name, name): value for name, value in params.items()}
    if isinstance(generation.get("stopSequences"), str):
        generation["stopSequences"] = [generation["stopSequences"]]
    if model.max_output:
        generation.setdefault("maxOutputTokens", model.max_output)
    if thinking:
        generation["thinkingConfig"] = thinking
    return generation


_BUDGETS = {"none": 0, "minimal": 512, "low": 2048, "medium": 8192, "high": 24576}


def _thinking(model: ModelSpec, params: Json) -> Json:
    """`effort` as a level, or as a budget for the 2.5 family, which knows no levels."""
    config: Json = dict(params.pop("thinkingConfig", {}))
    effort = str(params.pop("effort", ""))
    if model.reasoning or effort not in ("", "none"):
        config.setdefault("includeThoughts", True)
    if effort and "gemini-2" in model.model:
        config.setdefault("thinkingBudget", _BUDGETS.get(effort, -1))
    elif effort:
        config.setdefault("thinkingLevel", "minimal" if effort == "none" else effort)
    return config


def _with_id(id: str, body: Json) -> Json:
    return body if not id or id.startswith(_MINTED) else {"id": id, **body}


def _render_signed(parts: Sequence[Part]) -> list[Json]:
    """A signature without text belongs to the part after it; at the end, to an empty text of its own."""
    out: list[Json] = []
    signature = ""
    for part in parts:
        if isinstance(part, Thinking):
            if part.text and part.signature:
                out.append({"text": part.text, "thought": True, "thoughtSignature": part.signature})
            elif part.signature:
                signature = part.signature
            continue
        spoken = _render_unsigned(part)
        if signature:
            spoken["thoughtSignature"] = signature
            signature = ""
        elif spoken.get("text") == "":
            continue
        out.append(spoken)
    if signature:
        out.append({"text": "", "thoughtSignature": signature})
    return out


def _render_unsigned(part: Text | ToolCall) -> Json:
    if isinstance(part, Text):
        return {"text": part.text}
    call = {"name": clean_name(part.name), "args": embed_arguments(part.arguments)}
    return {"functionCall": _with_id(part.provider_id, call)}


class _Wire(msgspec.Struct, frozen=True, rename="camel"):
    """Names as Google spells them; null is the same as absent."""


class _Call(_Wire, frozen=True):
    name: str = ""
    id: str | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")
    will_continue: bool | None = None


class _WirePart(_Wire, frozen=True):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _Call | None = None


class _Content(_Wire, frozen=True):
    parts: list[_WirePart] | None = None


class _Candidate(_Wire, frozen=True):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _Feedback(_Wire, frozen=True):
    block_reason: str | None = None


class _Chunk(_Wire, frozen=True):
    candidates: list[_Candidate] | None = None
    usage_metadata: msgspec.Raw = msgspec.Raw(b"null")
    prompt_feedback: _Feedback | None = None
    response_id: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"null")


_decode = msgspec.json.Decoder(_Chunk).decode

_REASONS = {
    "MAX_TOKENS": StopReason.LENGTH,
    "CONTINUATION": StopReason.LENGTH,
    "STOP": StopReason.END,
    "FINISH_REASON_UNSPECIFIED": StopReason.END,
}
"""Every other reason is a filter of some kind: no call of such an answer is run."""

_MALFORMED = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})


class _Answer(Answer):
    """Never says that it ended: counts may follow the chunk with the reason."""

    shape = _Chunk

    def __init__(self, dialect: Dialect, request: Request) -> None:
        super().__init__(dialect, request)
        self._said: list[Part] = []
        self._written = Written(self)
        self._thinking = False
        self._called = 0

    def feed(self, data: bytes) -> Sequence[Item]:
        chunk = _decode(data)
        if is_said(chunk.error):
            raise self.error(data)
        if not self.response_id:
            self.name_response(chunk.response_id)
        if (counted := read_counts(chunk.usage_metadata)) is not None:
            self.hear_usage(_usage(counted))
        if chunk.prompt_feedback and chunk.prompt_feedback.block_reason:
            self.stop = StopReason.FILTER
        if not chunk.candidates:
            return ()
        candidate = chunk.candidates[0]
        parts = candidate.content.parts if candidate.content else None
        items = [item for part in parts or () if (item := self._part(part))]
        if candidate.finish_reason:
            self._finish(candidate.finish_reason, candidate.finish_message)
        return items

    def build_parts(self) -> list[Part]:
        self._flush()
        return self._said

    def _part(self, part: _WirePart) -> Item | None:
        if part.function_call:
            self._call(part.function_call, part.thought_signature)
            return None
        if part.text is None:
            return None
        thinking = bool(part.thought)
        if part.thought_signature or thinking is not self._thinking:
            self._flush()
        self._thinking = thinking
        self._written.add(part.text)
        if part.thought_signature:
            self._flush(part.thought_signature)
        if not part.text:
            return None
        return ThinkingDelta(text=part.text) if thinking else TextDelta(text=part.text)

    def _call(self, call: _Call, signature: str | None) -> None:
        if call.will_continue:
            raise ProviderError(
                ErrorKind.PROVIDER_HTTP_ERROR,
                f"Google sent the call to tool {call.name!r} in pieces, which Planck does not support. "
                "Use another model.",
            )
        self._flush()
        self.begin_call()
        if signature:
            self._said.append(Thinking(signature=signature))
        id = call.id or self.make_id(self._called)
        self._called += 1
        arguments = read_arguments(call.args)
        self._said.append(ToolCall("", id, call.name, arguments))
        self.grow(id + call.name + arguments + (signature or ""))

    def _flush(self, signature: str = "") -> None:
        if not self._written and not signature:
            return
        text = self._written.text
        if not self.too_large:  # then this is the last look at it
            self.grow(signature)
            self._written = Written(self)
        if self._thinking and (text or signature):
            self._said.append(Thinking(text, signature))
        elif not self._thinking:
            if signature:
                self._said.append(Thinking(signature=signature))
            if text:
                self._said.append(Text(text))

    def _finish(self, reason: str, message: str | None) -> None:
        if reason in _MALFORMED:
            raise ProviderError(
                ErrorKind.STREAM_CUT,
                f"The model aborted its answer ({reason}). Try again.",
                {"reason": message},
            )
        self.stop = _REASONS.get(reason, StopReason.FILTER)


def _usage(counted: object) -> Usage:
    asked, used = read_count(counted, "promptTokenCount"), read_count(counted, "toolUsePromptTokenCount")
    thoughts = read_count(counted, "thoughtsTokenCount") or 0
    output = (read_count(counted, "candidatesTokenCount") or 0) + thoughts
    read = read_count(counted, "cachedContentTokenCount")
    return count_usage((asked or 0) + (used or 0), output, read, 0, thoughts)
