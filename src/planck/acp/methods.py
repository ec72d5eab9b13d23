"""What clients and agents ask of each other in the Agent Client Protocol, version 1: requests and answers."""

from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType

from planck.acp.schema import (
    CallDetails,
    ConfigOption,
    ContentBlock,
    OptionKind,
    Record,
    StopReason,
    WithMeta,
)

Marker: TypeAlias = dict[str, Any] | None
"""A capability that is there or not: an empty object says that it is."""


class Implementation(Record, frozen=True):
    name: str
    version: str
    title: str | None = None


class FileSystemCapabilities(Record, frozen=True):
    read_text_file: bool = False
    write_text_file: bool = False


class ClientSessionCapabilities(Record, frozen=True):
    compaction: Marker = None
    notices: Marker = None


class ElicitationCapabilities(WithMeta, frozen=True, kw_only=True):
    form: Marker = None
    url: Marker = None


class ClientCapabilities(WithMeta, frozen=True, kw_only=True):
    fs: FileSystemCapabilities | None = None
    terminal: bool = False
    session: ClientSessionCapabilities | None = None
    subagents: Marker = None
    elicitation: ElicitationCapabilities | None = None
    auth: dict[str, Any] | None = None


class InitializeRequest(WithMeta, frozen=True, kw_only=True):
    protocol_version: int
    client_capabilities: ClientCapabilities | None = None
    client_info: Implementation | None = None


class PromptCapabilities(Record, frozen=True):
    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class McpCapabilities(Record, frozen=True):
    http: bool = False
    sse: bool = False


class SessionCapabilities(Record, frozen=True, kw_only=True):
    list: Marker = None
    resume: Marker = None
    close: Marker = None
    delete: Marker = None
    fork: Marker = None
    additional_directories: Marker = None


class AgentCapabilities(WithMeta, frozen=True, kw_only=True):
    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()


class AuthMethod(Record, frozen=True, kw_only=True):
    id: str
    name: str
    description: str | None = None
    type: str | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] | None = None


class InitializeResponse(WithMeta, frozen=True, kw_only=True):
    protocol_version: int
    agent_capabilities: AgentCapabilities = AgentCapabilities()
    auth_methods: tuple[AuthMethod, ...] = ()
    agent_info: Implementation | None = None


class AuthenticateRequest(WithMeta, frozen=True, kw_only=True):
    method_id: str


class NamedValue(Record, frozen=True):
    """A variable of an environment, or a header."""

    name: str
    value: str


class McpServer(Record, frozen=True, kw_only=True):
    """A program (no `type`), or an address (`http`, `sse`); of each the fields are required, empty or not."""

    name: str
    type: str | None = None
    command: str | UnsetType = UNSET
    args: tuple[str, ...] | UnsetType = UNSET
    env: tuple[NamedValue, ...] | UnsetType = UNSET
    url: str | UnsetType = UNSET
    headers: tuple[NamedValue, ...] | UnsetType = UNSET


class SessionMode(Record, frozen=True):
    id: str
    name: str
    description: str | None = None


class SessionModes(Record, frozen=True):
    current_mode_id: str
    available_modes: tuple[SessionMode, ...]


class NewSessionRequest(WithMeta, frozen=True, kw_only=True):
    cwd: str
    mcp_servers: tuple[McpServer, ...] | UnsetType = UNSET
    additional_directories: tuple[str, ...] | None = None


class SessionSettings(WithMeta, frozen=True, kw_only=True):
    """What is answered to `session/load` and `session/resume`."""

    modes: SessionModes | None = None
    config_options: tuple[ConfigOption, ...] | None = None


class NewSessionResponse(SessionSettings, frozen=True, kw_only=True):
    session_id: str


class OpenSessionRequest(NewSessionRequest, frozen=True, kw_only=True):
    """`session/load`, `session/resume` and `session/fork` of one that there is."""

    session_id: str


class SessionRequest(WithMeta, frozen=True, kw_only=True):
    """`session/close`, `session/delete`, and the notification `session/cancel`."""

    session_id: str


class ListSessionsRequest(WithMeta, frozen=True, kw_only=True):
    cwd: str | None = None
    cursor: str | None = None


class ListedSession(WithMeta, frozen=True, kw_only=True):
    session_id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None


class ListSessionsResponse(WithMeta, frozen=True, kw_only=True):
    sessions: tuple[ListedSession, ...]
    next_cursor: str | None = None


class SetModeRequest(WithMeta, frozen=True, kw_only=True):
    session_id: str
    mode_id: str


class SetConfigOptionRequest(WithMeta, frozen=True, kw_only=True):
    session_id: str
    config_id: str
    value: str | bool
    type: str | None = None


class SetConfigOptionResponse(WithMeta, frozen=True, kw_only=True):
    config_options: tuple[ConfigOption, ...]


class PromptRequest(WithMeta, frozen=True, kw_only=True):
    session_id: str
    prompt: tuple[ContentBlock, ...]


class TokenUsage(Record, frozen=True, kw_only=True):
    """Unstable: what a turn took."""

    total_tokens: int
    input_tokens: int
    output_tokens: int
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class PromptResponse(WithMeta, frozen=True, kw_only=True):
    stop_reason: StopReason
    usage: TokenUsage | None = None


class PermissionOption(Record, frozen=True):
    option_id: str
    name: str
    kind: OptionKind


class PermissionRequest(WithMeta, frozen=True, kw_only=True):
    """`session/request_permission`, which an agent asks of its client."""

    session_id: str
    tool_call: CallDetails
    options: tuple[PermissionOption, ...]


class Selected(Record, frozen=True, tag_field="outcome", tag="selected"):
    option_id: str


class Cancelled(Record, frozen=True, tag_field="outcome", tag="cancelled"):
    pass


class PermissionResponse(WithMeta, frozen=True, kw_only=True):
    outcome: Selected | Cancelled


class FormElicitation(WithMeta, frozen=True, kw_only=True, tag_field="mode", tag="form"):
    """`elicitation/create`, which an agent asks of its client: values to fill in."""

    session_id: str
    message: str
    requested_schema: dict[str, Any]
    tool_call_id: str | None = None


class UrlElicitation(WithMeta, frozen=True, kw_only=True, tag_field="mode", tag="url"):
    """The same: a page to open."""

    session_id: str
    message: str
    elicitation_id: str
    url: str
    tool_call_id: str | None = None


class ElicitationResponse(WithMeta, frozen=True, kw_only=True):
    action: str
    """`accept`, `decline` or `cancel`."""
    content: dict[str, Any] | None = None


class Nothing(Record, frozen=True):
    """An answer that says only that it was done."""
