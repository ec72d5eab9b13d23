"""MCP servers of the configuration: read, opened, and their tools made ours under `mcp__<server>__<tool>`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from planck.mcp.links import PeerError, http_link, process_link
from planck.mcp.listing import Listed
from planck.mcp.peer import Peer, Way
from planck.records.outcome import ErrorKind
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext
from planck.workspace.process import allowed

TIMEOUT = 300.0
_LATER = 10.0
"""The executor's clock stands behind ours, which knows the partial output and tells the peer to stop."""


class ServerSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of `mcpServers`, as other programs write it too."""

    type: str = ""
    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    timeout: int = 0
    """Milliseconds for a call; 0: the default."""
    disabled: bool = False
    description: str = ""


def read_server(name: str, raw: Any, environment: Mapping[str, str]) -> ServerSpec:
    """`${NAME}` and `${NAME:-default}` are taken from the environment; `PeerError` if the entry is wrong."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", name):
        raise PeerError(
            ErrorKind.INVALID_ARGS, f"mcpServers: {name!r} is no name; use letters, digits, `_`, `.` and `-`"
        )
    try:
        spec = msgspec.convert(_expanded(raw, environment), ServerSpec)
    except msgspec.ValidationError as problem:
        raise PeerError(ErrorKind.INVALID_ARGS, f"mcpServers.{name}: {problem}") from None
    if bool(spec.command) == bool(spec.url):
        raise PeerError(ErrorKind.INVALID_ARGS, f"mcpServers.{name}: give either `command` or `url`")
    if spec.url and not re.match(r"https?://", spec.url):
        raise PeerError(ErrorKind.INVALID_ARGS, f"mcpServers.{name}: {spec.url!r} is no http(s) address")
    if spec.type == "sse":
        raise PeerError(
            ErrorKind.INVALID_ARGS,
            f"mcpServers.{name}: the old SSE transport is not spoken; give a streamable HTTP `url`",
        )
    return spec


def way_to(spec: ServerSpec, workspace: Path, environment: Mapping[str, str]) -> Way:
    """A server's process knows the allowed names of our environment and what its own entry says."""
    if spec.url:
        return Way(lambda: http_link(spec.url, spec.headers))
    folder = workspace / spec.cwd if spec.cwd else workspace
    argv = (spec.command, *spec.args)
    env = {**allowed(environment), **spec.env}
    return Way(lambda: process_link(argv, cwd=folder, environment=env))


def prefix(server: str) -> str:
    return f"mcp__{re.sub(r'[^A-Za-z0-9_-]', '_', server)}__"


def mcp_tool(peer: Peer, listed: Listed, timeout: float = TIMEOUT) -> Tool:
    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return await peer.call(listed.name, args, timeout=timeout, progress=ctx.progress)

    return Tool(
        listed.spec.name,
        listed.spec.description,
        listed.spec.parameters,
        execute,
        effect=Effect.COMMAND,
        timeout=timeout + _LATER,
        plain_schema=True,
    )


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _expanded(value: Any, environment: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(lambda found: environment.get(found[1]) or found[2] or "", value)
        case list():
            return [_expanded(item, environment) for item in value]
        case dict():
            return {key: _expanded(item, environment) for key, item in value.items()}
    return value
