"""What every dialect shares, so that each is only an encoding of our history and a reader of its answers."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from planck.http.transport import Transport
from planck.llm.dialects.answer import Answer
from planck.llm.dialects.exchange import Exchange
from planck.llm.dialects.parts import PromptPart
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item, Request
from planck.records import codec
from planck.records.messages import AssistantMessage, Message, Text, ToolMessage, ToolResult, UserMessage
from planck.records.specs import ModelSpec, ToolSpec

Json = dict[str, Any]

_KEPT = 1024
"""System prompts that are remembered, one for each agent that shares the provider; and sets of tools."""
_TOOLS: dict[tuple[type, int], tuple[Sequence[ToolSpec], msgspec.Raw]] = {}


class Dialect:
    """A provider; a vendor's own says how things are rendered, as JSON, and how an answer begins.

    What it does not say is rendered as Chat Completions have it. Nothing of a request is kept but
    the bytes of what each one repeats.
    """

    name: ClassVar[str]
    messages_field: ClassVar[str] = "messages"
    reserved: ClassVar[frozenset[str]]
    """What only we may say: a second key of the same name would make the request ambiguous."""
    call_prefix: ClassVar[str] = "call_"

    def __init__(
        self, endpoint: Endpoint, model: ModelSpec, transport: Transport, url: str, headers: Mapping[str, str]
    ) -> None:
        self.endpoint = endpoint
        self.model = model
        self.exchange: Exchange = Exchange(transport, endpoint, url, headers)
        self._lead = f',"{self.messages_field}":['.encode()
        self._wire_key = f"{self.name}:{model.model}"
        self._systems: dict[str, bytes] = {}

    def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        return self.exchange.stream(self.encode_body(request), self.begin_answer(request), request.tally)

    def encode_body(self, request: Request) -> list[bytes]:
        """The messages come last, so that each request of a session is a prefix of the next."""
        settings = codec.encode(self.render_settings(request))[:-1]
        lead = self._lead if len(settings) > 1 else self._lead.removeprefix(b",")
        return [settings, lead, b",".join(self.encode_messages(request)), b"]}"]

    def begin_answer(self, request: Request) -> Answer:
        raise NotImplementedError

    def render_settings(self, request: Request) -> Json:
        """Everything of the body but the messages."""
        raise NotImplementedError

    def render_tool(self, spec: ToolSpec) -> Json:
        function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
        return {"type": "function", "function": function}

    def render_part(self, part: PromptPart) -> Json:
        raise NotImplementedError

    def render_parts(self, parts: Sequence[PromptPart]) -> list[Json]:
        return [self.render_part(self.describe_unseen(part)) for part in parts]

    def describe_unseen(self, part: PromptPart) -> PromptPart:
        """Words in place of an image that the model has no eyes for; everything else as it is."""
        if isinstance(part, Text) or self.model.images:
            return part
        return Text(f"[image ({part.media_type}) omitted: this model cannot see images]")

    def render_prompt(self, parts: Sequence[PromptPart]) -> Json:
        alone = parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else None
        return {"role": "user", "content": self.render_parts(parts) if alone is None else alone}

    def render_answer(self, message: AssistantMessage, own: bool) -> list[Json]:
        """`own`: the same dialect and model gave it, so its signatures and thoughts may go back."""
        raise NotImplementedError

    def render_result(self, result: ToolResult) -> Json:
        raise NotImplementedError

    def render_results(self, results: Sequence[ToolResult]) -> list[Json]:
        """One message a result; images follow in a user message, since a tool's may hold text only."""
        wire = [self.render_result(result) for result in results]
        images = [image for result in results for image in result.images]
        lead = Text("Images from the tool results above:")
        return [*wire, self.render_prompt((lead, *images))] if images else wire

    def encode_messages(self, request: Request) -> list[bytes]:
        history = self.encode_history(request)
        return [self._encode_system(request.system), *history] if request.system else history

    def _encode_system(self, text: str) -> bytes:
        """Encoded once for as long as it is the same: it has thousands of words, and each step sends it."""
        known = self._systems.get(text)
        if known is None:
            if len(self._systems) >= _KEPT:
                self._systems.clear()
            known = self._systems[text] = codec.encode({"role": "system", "content": text})
        return known

    def encode_history(self, request: Request) -> list[bytes]:
        """Each message is encoded once in the life of a history; the list is the history's own."""
        return request.history.wire(self._wire_key, self._encode)

    def merge_params(self, request: Request) -> Json:
        """The model's params and the request's, which are passed on but for what only we may say."""
        params = {**self.model.params, **request.params}
        return {name: value for name, value in params.items() if name not in self.reserved} if params else {}

    def encode_tools(self, specs: Sequence[ToolSpec]) -> msgspec.Raw:
        """All specs, encoded once for all sessions, for as long as the set is the same object."""
        key = type(self), id(specs)
        known = _TOOLS.get(key)
        if known is not None and known[0] is specs:
            return known[1]
        encoded = msgspec.Raw(codec.encode([self.render_tool(spec) for spec in specs]))
        if isinstance(specs, tuple):  # what may change in place is not remembered
            if len(_TOOLS) >= _KEPT:
                _TOOLS.clear()
            _TOOLS[key] = (specs, encoded)
        return encoded

    def _encode(self, message: Message) -> bytes:
        match message:
            case UserMessage():
                return codec.encode(self.render_prompt(message.parts))
            case AssistantMessage():
                own = message.dialect == self.name and message.model == self.model.model
                return b",".join(map(codec.encode, self.render_answer(message, own)))
            case ToolMessage():
                return b",".join(map(codec.encode, self.render_results(message.results)))
