"""JSON-RPC as MCP uses it, and the messages of MCP that Planck speaks without the SDK.

A sidecar and its host speak these over a pipe, and so does the server of a team's tools. Third-party servers
and everything over HTTP need the SDK.
"""

from typing import Any

import msgspec

from planck import __version__
from planck.workspace.process import rpc

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Of the protocol, oldest first: what is spoken here is the same in all of them."""

INITIALIZE, INITIALIZED = "initialize", "notifications/initialized"
PING = "ping"
LIST_TOOLS, TOOLS_CHANGED = "tools/list", "notifications/tools/list_changed"
CALL_TOOL, PROGRESS = "tools/call", "notifications/progress"


class Peer(rpc.Peer):
    protocol = "MCP's lifecycle and tools"
    cancel_method = "notifications/cancelled"
    answers_cancelled = False
    skips_long_lines = False


class Implementation(msgspec.Struct, frozen=True):
    name: str
    version: str = __version__


class Initialize(msgspec.Struct, frozen=True, rename="camel"):
    client_info: Any
    protocol_version: str = VERSIONS[-1]
    capabilities: dict[str, Any] = {}


class Initialized(msgspec.Struct, frozen=True, rename="camel"):
    protocol_version: str
    server_info: Any = None
    capabilities: dict[str, Any] = {}


class CallParams(msgspec.Struct, frozen=True):
    name: str
    arguments: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class ToolList(msgspec.Struct, frozen=True):
    tools: list[Any]


class CallResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    content: list[Any]
    is_error: bool = False
    structured_content: Any = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class Progress(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    progress_token: int | str
    progress: float
    total: float | None = None
    message: str | None = None
