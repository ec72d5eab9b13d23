"""Google Gemini `streamGenerateContent`: our history as contents, its chunks as our items."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from planck.llm.endpoint import Endpoint
from planck.llm.exchange import Exchange, cut_error
from planck.llm.gemini_schema import declaration
from planck.llm.http_errors import provider_error
from planck.llm.parts import conclude, describe_unseen, json_arguments, json_object, wire_name
from planck.llm.provider import Item, ProviderError, Request
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
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec
from planck.records.usage import Usage

DIALECT = "google"
ROOT = "https://generativelanguage.googleapis.com"

_MINTED = "planck_"
"""Marks the ids that we gave to calls which came without one: they stay off the wire."""

_EMPTY = "(empty)"
_USER = b'{"role":"user"'
_CONTINUE = b'{"role":"user","parts":[{"text":"Continue."}]}'
_UNSIGNED = "skip_thought_signature_validator"
"""The documented stand-in for another model's calls: since Gemini 3 a call without a signature is refused."""


class Google:
    def __init__(self, endpoint: Endpoint, model: ModelSpec, transport: Transport) -> None:
        self._endpoint = endpoint
        self._model = model
        name = model.model.removeprefix("models/")
        path = f"/v1beta/models/{quote(name, safe='')}:streamGenerateContent?alt=sse"
        url = f"{endpoint.base_url or ROOT}{path}"
        headers = {
            "content-type": "application/json",
            **({"x-goog-api-key": endpoint.key} if endpoint.key else {}),
            **endpoint.headers,
        }
        self._exchange = Exchange(transport, endpoint, url, headers)
        self._signs_calls = not name.startswith(("gemini-1", "gemini-2"))
        self._tools = ToolBytes(declaration)
        self._wire_key = f"{DIALECT}:{model.model}"

    def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        answer = _Answer(self._endpoint, self._model.model, f"{_MINTED}{len(request.history.messages)}_")
        return self._exchange.stream(self.body(request), answer)

    def body(self, request: Request) -> list[bytes]:
        """The contents come last, so that each request of a session is a prefix of the next."""
        settings = codec.encode(_settings(self._model, request))[:-1]
        pieces = [settings, b"," if len(settings) > 1 else b""]
        if request.tools:
            pieces += [b'"tools":[{"functionDeclarations":', self._tools.of(request.tools), b"}],"]
        if request.system.strip():
            pieces += [b'"systemInstruction":{"parts":[{"text":', codec.encode(request.system), b"}]},"]
        return [*pieces, b'"contents":[', b",".join(self._contents(request)), b"]}"]

    def _contents(self, request: Request) -> list[bytes]:
        encoded = request.history.wire(self._wire_key, self._encode)
        contents = [content for content in encoded if content]
        if not contents or not contents[0].startswith(_USER):
            contents.insert(0, _CONTINUE)
        if not contents[-1].startswith(_USER):
            contents.append(_CONTINUE)
        return contents

    def _encode(self, message: Message) -> bytes:
        match message:
            case UserMessage():
                return _wrap(
                    "user", [self._encode_part(part) for part in message.parts] or [{"text": _EMPTY}]
                )
            case ToolMessage():
                images = [self._encode_part(image) for result in message.results for image in result.images]
                return _wrap("user", [*map(_result, message.results), *images])
            case AssistantMessage():
                ours = message.dialect == DIALECT and message.model == self._model.model
                return _wrap("model", self._encode_said(message, ours))

    def _encode_part(self, part: Text | Image) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"text": part.text or _EMPTY}
        return _image(part) if self._model.images else {"text": describe_unseen(part)}

    def _encode_said(self, message: AssistantMessage, ours: bool) -> list[dict[str, Any]]:
        if ours:
            return _encode_signed(message.parts)
        parts = [_encode_unsigned(part) for part in message.parts if not isinstance(part, Thinking)]
        if self._signs_calls:
            for part in parts:
                if "functionCall" in part:
                    part["thoughtSignature"] = _UNSIGNED
                    break
        return [part for part in parts if part.get("text") != ""]


_NAMES = {"max_tokens": "maxOutputTokens", "top_p": "topP", "top_k": "topK", "stop": "stopSequences"}
_OURS = frozenset({"contents", "tools", "systemInstruction", "model"})
_TOP_LEVEL = frozenset({"safetySettings", "cachedContent", "labels"})


def _settings(model: ModelSpec, request: Request) -> dict[str, Any]:
    params = {name: value for name, value in {**model.params, **request.params}.items() if name not in _OURS}
    body: dict[str, Any] = {name: params.pop(name) for name in sorted(_TOP_LEVEL & params.keys())}
    thinking = _thinking(model, params)
    generation = {_NAMES.get(name, name): value for name, value in params.items()}
    if isinstance(generation.get("stopSequences"), str):
        generation["stopSequences"] = [generation["stopSequences"]]
    if model.max_output:
        generation.setdefault("maxOutputTokens", model.max_output)
    if thinking:
        generation["thinkingConfig"] = thinking
    if generation:
        body["generationConfig"] = generation
    if request.tools and request.tool_choice == "required":
        body["toolConfig"] = {"functionCallingConfig": {"mode": "ANY"}}
    return body


_BUDGETS = {"none": 0, "minimal": 512, "low": 2048, "medium": 8192, "high": 24576}


def _thinking(model: ModelSpec, params: dict[str, Any]) -> dict[str, Any]:
    """`effort` as a level, or as a budget for the 2.5 family, which knows no levels."""
    config: dict[str, Any] = dict(params.pop("thinkingConfig", {}))
    effort = str(params.pop("effort", ""))
    if model.reasoning or effort not in ("", "none"):
        config.setdefault("includeThoughts", True)
    if effort and "gemini-2" in model.model:
        config.setdefault("thinkingBudget", _BUDGETS.get(effort, -1))
    elif effort:
        config.setdefault("thinkingLevel", "minimal" if effort == "none" else effort)
    return config


def _wrap(role: str, parts: list[dict[str, Any]]) -> bytes:
    return codec.encode({"role": role, "parts": parts}) if parts else b""


def _image(image: Image) -> dict[str, Any]:
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _result(result: ToolResult) -> dict[str, Any]:
    response = {"output" if result.ok else "error": result.output}
    return {
        "functionResponse": _with_id(
            result.provider_id, {"name": wire_name(result.name), "response": response}
        )
    }


def _with_id(id: str, body: dict[str, Any]) -> dict[str, Any]:
    return body if not id or id.startswith(_MINTED) else {"id": id, **body}


def _encode_signed(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """A signature without text belongs to the part after it; at the end, to an empty text of its own."""
    out: list[dict[str, Any]] = []
    signature = ""
    for part in parts:
        if isinstance(part, Thinking):
            if part.text and part.signature:
                out.append({"text": part.text, "thought": True, "thoughtSignature": part.signature})
            elif part.signature:
                signature = part.signature
            continue
        spoken = _encode_unsigned(part)
        if signature:
            spoken["thoughtSignature"] = signature
            signature = ""
        elif spoken.get("text") == "":
            continue
        out.append(spoken)
    if signature:
        out.append({"text": "", "thoughtSignature": signature})
    return out


def _encode_unsigned(part: Text | ToolCall) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    call = {"name": wire_name(part.name), "args": json_object(part.arguments)}
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


class _Spent(_Wire, frozen=True):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    cached_content_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None


class _Feedback(_Wire, frozen=True):
    block_reason: str | None = None


class _Chunk(_Wire, frozen=True):
    candidates: list[_Candidate] | None = None
    usage_metadata: _Spent | None = None
    prompt_feedback: _Feedback | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode

_REASONS = {
    "MAX_TOKENS": StopReason.LENGTH,
    "CONTINUATION": StopReason.LENGTH,
    "STOP": StopReason.END,
    "FINISH_REASON_UNSPECIFIED": StopReason.END,
}
"""Every other reason is a filter of some kind: no call of such an answer is run."""

_MALFORMED = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})


class _Answer:
    def __init__(self, endpoint: Endpoint, model: str, id_prefix: str) -> None:
        self.ended = False
        """Never set: counts may follow the chunk with the reason."""
        self._endpoint = endpoint
        self._model = model
        self._id_prefix = id_prefix
        self._parts: list[Part] = []
        self._fragments: list[str] = []
        self._thinking = False
        self._calls = 0
        self._stop: StopReason | None = None
        self.usage = Usage()

    def feed(self, data: bytes) -> Sequence[Item]:
        chunk = _decode(data)
        if chunk.error:
            raise provider_error(0, {}, data, self._endpoint)
        if chunk.usage_metadata:
            self.usage = _usage(chunk.usage_metadata)
        if chunk.prompt_feedback and chunk.prompt_feedback.block_reason:
            self._stop = StopReason.FILTER
        if not chunk.candidates:
            return ()
        candidate = chunk.candidates[0]
        parts = candidate.content.parts if candidate.content else None
        items = [item for part in parts or () if (item := self._part(part))]
        if candidate.finish_reason:
            self._finish(candidate.finish_reason, candidate.finish_message)
        return items

    def message(self) -> AssistantMessage:
        if self._stop is None:
            raise cut_error()
        self._flush()
        return conclude(self._parts, self._stop, DIALECT, self._model, self.usage)

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
        self._fragments.append(part.text)
        if part.thought_signature:
            self._flush(part.thought_signature)
        if not part.text:
            return None
        return ThinkingDelta(text=part.text) if thinking else TextDelta(text=part.text)

    def _call(self, call: _Call, signature: str | None) -> None:
        if call.will_continue:
            raise ProviderError(
                ErrorKind.PROVIDER_HTTP_ERROR, f"the server sent the call of {call.name!r} in pieces"
            )
        self._flush()
        if signature:
            self._parts.append(Thinking(signature=signature))
        id = call.id or f"{self._id_prefix}{self._calls}"
        self._calls += 1
        self._parts.append(ToolCall("", id, call.name, json_arguments(call.args)))

    def _flush(self, signature: str = "") -> None:
        text, self._fragments = "".join(self._fragments), []
        if self._thinking and (text or signature):
            self._parts.append(Thinking(text, signature))
        elif not self._thinking:
            if signature:
                self._parts.append(Thinking(signature=signature))
            if text:
                self._parts.append(Text(text))

    def _finish(self, reason: str, message: str | None) -> None:
        if reason in _MALFORMED:
            raise ProviderError(
                ErrorKind.STREAM_CUT,
                f"the model broke its own answer off ({reason}); try again",
                {"reason": message},
            )
        self._stop = _REASONS.get(reason, StopReason.FILTER)


def _usage(spent: _Spent) -> Usage:
    cached = spent.cached_content_token_count or 0
    prompt = (spent.prompt_token_count or 0) + (spent.tool_use_prompt_token_count or 0)
    thoughts = spent.thoughts_token_count or 0
    output = (spent.candidates_token_count or 0) + thoughts
    return Usage(max(prompt - cached, 0), output, cached, 0, thoughts)
