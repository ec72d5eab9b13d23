"""What the Agent Client Protocol, version 1, says of a session: content and updates, as records.

Field names are the protocol's in camel case. Fields that we never look at are left out: readers skip what
they do not know. The requests are in `methods`; the published schema checks both in tests/acp.
"""

from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET, Raw, field

from planck.records import codec

PROTOCOL_VERSION = 1
Meta: TypeAlias = dict[str, Any] | None
ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]
CallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
OptionKind: TypeAlias = Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    pass


class WithMeta(Record, frozen=True, kw_only=True):
    meta: Meta = field(name="_meta", default=None)


# --- content -----------------------------------------------------------------------------------------------


class TextContent(Record, frozen=True, tag_field="type", tag="text"):
    text: str


class ImageContent(Record, frozen=True, tag_field="type", tag="image"):
    data: str
    mime_type: str
    uri: str | None = None


class AudioContent(Record, frozen=True, tag_field="type", tag="audio"):
    data: str
    mime_type: str


class ResourceLink(Record, frozen=True, tag_field="type", tag="resource_link"):
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


class ResourceContents(Record, frozen=True):
    """Either the text or, in base64, the bytes."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class EmbeddedResource(Record, frozen=True, tag_field="type", tag="resource"):
    resource: ResourceContents


ContentBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


class Content(Record, frozen=True, tag_field="type", tag="content"):
    content: ContentBlock


class Diff(Record, frozen=True, omit_defaults=False, tag_field="type", tag="diff"):
    path: str
    new_text: str
    old_text: str | None = None
    """None: the file is new, which is said: some clients look for the field."""


class TerminalContent(Record, frozen=True, tag_field="type", tag="terminal"):
    terminal_id: str


CallContent: TypeAlias = Content | Diff | TerminalContent


class Location(Record, frozen=True):
    path: str
    line: int | None = None


# --- updates of a session ----------------------------------------------------------------------------------


class _Update(WithMeta, frozen=True, kw_only=True, tag_field="sessionUpdate"):
    pass


class UserMessageChunk(_Update, frozen=True, kw_only=True, tag="user_message_chunk"):
    content: ContentBlock
    message_id: str | None = None


class AgentMessageChunk(_Update, frozen=True, kw_only=True, tag="agent_message_chunk"):
    content: ContentBlock
    message_id: str | None = None


class AgentThoughtChunk(_Update, frozen=True, kw_only=True, tag="agent_thought_chunk"):
    content: ContentBlock
    message_id: str | None = None


class ToolCallStarted(_Update, frozen=True, kw_only=True, tag="tool_call"):
    tool_call_id: str
    title: str
    name: str | None = None
    kind: ToolKind | None = None
    status: CallStatus | None = None
    content: tuple[CallContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None


class CallDetails(WithMeta, frozen=True, kw_only=True):
    """What changed of a call; a permission request shows the same."""

    tool_call_id: str
    title: str | None = None
    name: str | None = None
    kind: ToolKind | None = None
    status: CallStatus | None = None
    content: tuple[CallContent, ...] | None = None
    """The whole of it: it takes the place of what was there."""
    locations: tuple[Location, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None


class ToolCallUpdate(
    CallDetails, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_update"
):
    pass


class PlanEntry(Record, frozen=True):
    content: str
    status: Literal["pending", "in_progress", "completed"]
    priority: Literal["high", "medium", "low"]


class PlanEntries(_Update, frozen=True, kw_only=True, tag="plan"):
    entries: tuple[PlanEntry, ...]


class CommandInput(Record, frozen=True):
    hint: str


class AvailableCommand(Record, frozen=True):
    name: str
    description: str
    input: CommandInput | None = None


class AvailableCommandsUpdate(_Update, frozen=True, kw_only=True, tag="available_commands_update"):
    available_commands: tuple[AvailableCommand, ...]


class CurrentModeUpdate(_Update, frozen=True, kw_only=True, tag="current_mode_update"):
    current_mode_id: str


class SelectOption(Record, frozen=True):
    """A value, or a group of them: then `value` is empty."""

    name: str
    value: str = ""
    description: str | None = None
    group: str | None = None
    options: "tuple[SelectOption, ...] | None" = None


class SelectConfig(Record, frozen=True, kw_only=True, tag_field="type", tag="select"):
    id: str
    name: str
    current_value: str
    options: tuple[SelectOption, ...]
    category: str | None = None
    description: str | None = None


class BooleanConfig(Record, frozen=True, kw_only=True, tag_field="type", tag="boolean"):
    id: str
    name: str
    current_value: bool
    category: str | None = None
    description: str | None = None


ConfigOption: TypeAlias = SelectConfig | BooleanConfig


class ConfigOptionUpdate(_Update, frozen=True, kw_only=True, tag="config_option_update"):
    config_options: tuple[ConfigOption, ...]


class SessionInfoUpdate(_Update, frozen=True, kw_only=True, tag="session_info_update"):
    title: str | None = None
    updated_at: str | None = None


class Cost(Record, frozen=True):
    amount: float
    currency: str


class UsageUpdate(_Update, frozen=True, kw_only=True, tag="usage_update"):
    used: int
    """Tokens of the window that are full."""
    size: int
    cost: Cost | None = None


class NoticeUpdate(_Update, frozen=True, kw_only=True, tag="notice"):
    """Only to a client that offers `session.notices`."""

    severity: str
    title: str
    description: str | None = None


class CompactionUpdate(_Update, frozen=True, kw_only=True, tag="compaction_update"):
    """Only to a client that offers `session.compaction`."""

    compaction_id: str
    status: str
    summary: tuple[ContentBlock, ...] | None = None
    error: str | None = None


class AgentState(Record, frozen=True):
    state: str
    """`running`, `idle` or `requires_action`."""
    stop_reason: str | None = None


class SubagentSession(Record, frozen=True):
    cancel: dict[str, Any] | None = None


class SubagentUpdate(_Update, frozen=True, kw_only=True, tag="subagent_update"):
    """Only to a client that offers `subagents`; it comes before all else about the child."""

    session_id: str
    title: str | None = None
    description: str | None = None
    capabilities: SubagentSession | None = None
    state: AgentState | None = None


class SessionMessage(_Update, frozen=True, kw_only=True, tag="session_message"):
    """Only to a client that offers `subagents`: what one session says to another, as seen in one of them."""

    message_id: str
    sender_session_id: str | None = None
    recipient_session_id: str | None = None
    content: tuple[ContentBlock, ...] | None = None


SessionUpdate: TypeAlias = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStarted
    | ToolCallUpdate
    | PlanEntries
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | NoticeUpdate
    | CompactionUpdate
    | SubagentUpdate
    | SessionMessage
)


class SessionNotification(WithMeta, frozen=True, kw_only=True):
    """`session/update`, as it is sent: one of the updates above."""

    session_id: str
    update: Record


class UnreadNotification(WithMeta, frozen=True, kw_only=True):
    """`session/update`, as it comes: `read_update` makes something of kinds and fields that are new too."""

    session_id: str
    update: Raw


def read_update(update: Raw) -> SessionUpdate | None:
    """Returns what can be understood of an update; None for a kind that we do not know.

    As the schema asks of readers: what is optional and out of form is left out, items of lists too.
    """
    try:
        return codec.decode_as(bytes(update), SessionUpdate)  # type: ignore[arg-type]  # a union is no type
    except codec.DecodeError:
        pass
    try:
        fields = codec.decode_as(bytes(update), dict[str, Any])
    except codec.DecodeError:
        return None
    kind = _KINDS.get(str(fields.get("sessionUpdate")))
    if kind is None:
        return None
    known = {one.encode_name: one for one in msgspec.structs.fields(kind)}
    sound = {
        name: value
        for name, given in fields.items()
        if name in known and (value := _keep_sound(given, known[name].type)) is not UNSET
    }
    try:
        return msgspec.convert({**sound, "sessionUpdate": fields["sessionUpdate"]}, kind)
    except msgspec.ValidationError:
        return None


def _keep_sound(given: Any, expected: Any) -> Any:
    if isinstance(given, list):
        given = [one for one in given if _fits([one], expected)]
    return given if _fits(given, expected) else UNSET


def _fits(given: Any, expected: Any) -> bool:
    try:
        msgspec.convert(given, expected)
    except msgspec.ValidationError:
        return False
    return True


_KINDS: dict[str, type[SessionUpdate]] = {
    str(one.__struct_config__.tag): one for one in get_args(SessionUpdate)
}
