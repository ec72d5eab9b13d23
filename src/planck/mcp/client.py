"""MCP servers of the configuration: read, opened, and their tools made ours under `mcp__<server>__<tool>`."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planck.mcp.listing import Listed
from planck.mcp.peer import Reach, Way
from planck.mcp.transport import PeerError, http_link, process_link
from planck.records.authority import Confinement
from planck.records.outcome import Err, ErrorKind
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


def way_to(
    spec: ServerSpec, workspace: Path, environment: Mapping[str, str], confinement: Confinement | None = None
) -> Way:
    """A server's process knows the allowed names of our environment and what its own entry says."""
    if spec.url:
        return Way(lambda: http_link(spec.url, spec.headers))
    folder = workspace / spec.cwd if spec.cwd else workspace
    argv = (spec.command, *spec.args)
    env = {**allowed(environment), **spec.env}
    made_of = _made_of(argv, env["PATH"]) if confinement else ()
    return Way(
        lambda: process_link(argv, cwd=folder, environment=env, confinement=confinement, made_of=made_of)
    )


def _made_of(argv: Sequence[str], path: str) -> tuple[str | Path, ...]:
    """The program's own installation, and what it is started with."""
    program = Path(shutil.which(argv[0], path=path) or argv[0])
    folder = program.parent.parent
    installed = (folder,) if (folder / "pyvenv.cfg").is_file() else ()
    words = (word for word in argv[1:] if os.path.isabs(word))
    return (program, os.path.realpath(program), *installed, *words)


def prefix(server: str) -> str:
    return f"mcp__{re.sub(r'[^A-Za-z0-9_-]', '_', server)}__"


def mcp_tool(reach: Reach, listed: Listed, timeout: float = TIMEOUT, *, confinable: bool = False) -> Tool:
    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        peer = await reach(ctx.confinement)
        if isinstance(peer, Err):
            return peer
        return await peer.call(listed.name, args, timeout=timeout, progress=ctx.progress)

    return Tool(
        listed.spec.name,
        listed.spec.description,
        listed.spec.parameters,
        execute,
        effect=Effect.COMMAND,
        timeout=timeout + _LATER,
        plain_schema=True,
        confinable=confinable,
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
