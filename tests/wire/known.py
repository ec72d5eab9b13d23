"""Every dialect that we speak, with the server that plays it and what is special to it."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planck.http.transport import Transport
from planck.llm.authorized import Authorized
from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Provider, Request
from planck.llm.retry import Retrying
from planck.records.events import Delivery, Envelope, Kind
from planck.records.history import History
from planck.records.messages import Part, Thinking
from planck.records.specs import ModelSpec
from planck.records.usage import Usage
from planck.testing.cassette import Recording
from planck.testing.faulty import Faulty
from tests.wire.anthropic import Anthropic
from tests.wire.google import Google
from tests.wire.ollama import Ollama
from tests.wire.openai_chat import OpenAIChat
from tests.wire.openai_responses import OpenAIResponses
from tests.wire.script import Dialect

KEY = "sk-secret-key-0123456789"


@dataclass(frozen=True)
class Known:
    server: Dialect
    type: str
    api: str = ""
    model: str = "m-1"
    thoughts: tuple[Part, ...] = (Thinking("well, let me see"),)
    """Parts in which this dialect carries thinking, as they come back out of a stream."""
    replays: Callable[[Any], Any] = lambda body: []
    """What of the thoughts is in a later request."""

    ids: bool = True
    """Calls come with ids of the vendor's."""
    counts: tuple[str, ...] = Usage.__struct_fields__
    """What of the usage the vendor tells."""
    wrap: Callable[[Provider], Provider] = lambda provider: provider
    label: str = ""
    forces: bool = True
    """A call can be required."""
    refuses: bool = True
    """The vendor tells an answer that was refused or filtered from a whole one."""

    @property
    def name(self) -> str:
        return self.label or (f"{self.type}-{self.api}" if self.api else self.type)

    def provider(self, root: str, transport: Transport, **fields: Any) -> Provider:
        endpoint = Endpoint("here", self.type, self.api, root, KEY)
        spec = {"images": True, "provider": "here", "model": self.model, **fields}
        return self.wrap(open_provider(endpoint, ModelSpec(**spec), transport))


def _anthropic_thoughts(body: Any) -> Any:
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [block for block in blocks if "thinking" in block["type"]]


def _google_signatures(body: Any) -> Any:
    parts = [part for content in body["contents"] for part in content["parts"]]
    return [part for part in parts if "thoughtSignature" in part]


KNOWN = (
    Known(
        Anthropic(),
        "anthropic",
        model="claude-sonnet-4-6",
        thoughts=(Thinking("well, let me see", "c2lnbmVk"), Thinking(data="b3BhcXVl")),
        replays=_anthropic_thoughts,
    ),
    Known(
        Google(),
        "google",
        model="gemini-3-pro",
        thoughts=(Thinking("well, let me see"), Thinking(signature="c2lnbmVk")),
        replays=_google_signatures,
    ),
    Known(OpenAIChat(), "openai", "chat"),
    Known(OpenAIChat(), "llama_cpp"),
    Known(
        OpenAIResponses(),
        "openai",
        "responses",
        thoughts=(Thinking("well, let me see", "rs_1", "c2lnbmVk"),),
        replays=lambda body: [item for item in body["input"] if item.get("type") == "reasoning"],
    ),
    Known(
        Ollama(), "ollama", ids=False, counts=("input_tokens", "output_tokens"), refuses=False, forces=False
    ),
)


def _wrapped(provider: Provider) -> Provider:
    """Everything that may stand around a dialect, each at rest: none may change what is promised."""
    calm = Faulty(provider, random.Random(1).random, rate=0.0)
    return Retrying(Recording(Authorized(_Unchanging(), lambda endpoint: calm)), lambda: 0.0, retries=0)


class _Unchanging:
    async def current(self) -> Endpoint:
        return _HERE

    async def renew(self, refused: Endpoint) -> Endpoint | None:
        return None


_HERE = Endpoint("here", "openai")
WRAPPED = Known(OpenAIChat(), "openai", "chat", wrap=_wrapped, label="wrapped")


def history(*texts: str) -> History:
    told = History()
    for number, text in enumerate(texts):
        told.apply(Envelope(id=f"e{number}", kind=Kind.PROMPT, sender="user", receiver="a", text=text))
        told.apply(Delivery(ids=(f"e{number}",), state="delivered"))
    return told


def request(*texts: str, **fields: Any) -> Request:
    return Request("a1", "be brief", history(*texts or ("hello",)), **fields)
