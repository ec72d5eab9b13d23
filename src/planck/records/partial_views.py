"""What the board reads of each event type: of a long one only the fields that count.

Nearly everything has a default: older logs lack what newer ones have.
"""

from typing import Any

import msgspec

from planck.records.usage import Usage


class Options(msgspec.Struct):
    mode: str = ""


class SessionStarted(msgspec.Struct):
    id: str = ""
    name: str = ""
    workspace: str = ""
    version: str = ""
    options: Options = msgspec.field(default_factory=Options)


class SessionChanged(msgspec.Struct):
    """Another name or another mode."""

    name: str = ""
    mode: str = ""


class Model(msgspec.Struct):
    provider: str = ""
    model: str = ""
    id: str = ""
    context_window: int = 128_000

    @property
    def label(self) -> str:
        return self.id or f"{self.provider}/{self.model}"


class Spec(msgspec.Struct):
    id: str
    type: str = ""
    name: str = ""
    role: str = ""
    model: Model = msgspec.field(default_factory=Model)
    delegator_id: str = ""


class AgentStarted(msgspec.Struct):
    agent: Spec


class AgentEnded(msgspec.Struct):
    status: str = ""
    reason: str = ""


class Message(msgspec.Struct, rename={"sender": "from", "receiver": "to"}):
    id: str
    kind: str = ""
    sender: str = ""
    receiver: str = ""
    correlation_id: str | None = None
    outcome: str = ""


class Delivery(msgspec.Struct):
    ids: tuple[str, ...] = ()
    state: str = ""


class Wait(msgspec.Struct):
    on: str
    message_id: str
    deadline: str = ""
    call_id: str | None = None


class Control(msgspec.Struct):
    action: str
    target: str = ""


class TurnStart(msgspec.Struct):
    message_id: str = ""


class TurnEnd(msgspec.Struct):
    status: str = ""


class Said(msgspec.Struct):
    usage: Usage = Usage()


class AssistantMessage(msgspec.Struct):
    message: Said


class ToolStart(msgspec.Struct):
    id: str
    name: str = ""
    args: Any = None


class ToolEnd(msgspec.Struct):
    id: str
    name: str = ""
    ok: bool = False


class UsageSpent(msgspec.Struct):
    usage: Usage = Usage()
    cost_usd: float | None = None
    estimated: Any = False


class Request(msgspec.Struct):
    id: str
    call_id: str = ""
    tool: str = ""
    text: str = ""
    adds: str = ""
    reason: str = ""
    digest: str = ""
    deadline: str = ""


class Decision(msgspec.Struct):
    call_id: str = ""
    decision: str = ""
    request_id: str = ""


class FileChanged(msgspec.Struct):
    path: str
    call_id: str = ""
    after_sha256: str = ""


class Compacted(msgspec.Struct):
    tokens_after: int = 0
    window: int = 0


class Nothing(msgspec.Struct):
    pass


class Forked(msgspec.Struct):
    session_id: str = ""
    at: int = 0


class ModelChanged(msgspec.Struct):
    model: Model


class Error(msgspec.Struct):
    kind: str = ""
    message: str = ""
