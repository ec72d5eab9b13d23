"""What the turn knows of a model: a stream of deltas that ends with exactly one message."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, Protocol

import msgspec

from planck.http.errors import ProviderError as ProviderError
from planck.records.events import Status, TextDelta, ThinkingDelta, UsageDelta
from planck.records.history import History
from planck.records.messages import AssistantMessage
from planck.records.specs import Limits, ToolSpec
from planck.records.usage import Tally


class Request(msgspec.Struct, frozen=True):
    """One model call. `history` is shared, not copied: a dialect reads its bytes and changes nothing."""

    agent_id: str
    system: str
    history: History
    tools: Sequence[ToolSpec] = ()
    params: dict[str, Any] = {}
    tool_choice: str = ""
    """Empty: the model decides. `required`: it must call a tool."""
    answer_bytes: int = Limits().answer_bytes
    calls: int = Limits().calls
    """What of an answer is read: beyond either it is cut, and says so by `length` with calls in it."""
    focus: str = ""
    """What a summary of the history must keep above all, in the user's words."""
    tally: Tally = msgspec.field(default_factory=Tally)
    """Whoever reads the stream keeps here what the call used, for the case that no answer comes of it."""
    tell: Callable[[Status], None] | None = None
    """Is told what becomes of a call whose stream nobody shows, such as one for a summary."""
    bursts: bool = False
    """The reader accepts deltas that arrived together as one `TextBurst` or `ThinkingBurst`."""


RETRYING = "retrying"
"""The state of a status that ends one attempt at a call: another follows."""
WAITING = "waiting"
"""The same, where the next one has to wait for a time that the server named."""
WITHOUT_TOOLS = "without_tools"
"""The same, where the next one is sent without tools."""

UNREAD_CALL = "unread_call"
"""Set in the details where the server could not make out what its own model wrote as a call."""

UNREADABLE = "unreadable"
"""Set in the details where an event of an answer that had begun could not be read."""

Item = TextDelta | ThinkingDelta | UsageDelta | Status | AssistantMessage


class Provider(Protocol):
    def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        """Deltas, then one `AssistantMessage`; fails with `ProviderError`. Closing it closes the socket."""
