"""An MCP server of the configuration is read and launched; its tools are ours as `mcp__<server>__<tool>`."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import msgspec

from planck.mcp.instances import Instances
from planck.mcp.listing import ListedTool
from planck.mcp.transport import Launch, Link, PeerError, open_address, open_process
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
    """Takes `${NAME}` and `${NAME:-default}` from the environment; a wrong entry raises `PeerError`."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", name):
        raise PeerError(
            ErrorKind.INVALID_ARGS, f"mcpServers: {name!r} is no name; use letters, digits, `_`, `.` and `-`"
        )
    try:
        spec = msgspec.convert(_expand(raw, environment), ServerSpec)
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


class ServerLauncher:
    """Launches a server of the configuration."""

    def __init__(self, spec: ServerSpec, folder: Path, environment: Mapping[str, str]) -> None:
        """A server's process knows the allowed names of our environment and what its own entry says."""
        self.confinable = not spec.url
        self._spec = spec
        self._cwd = folder / spec.cwd if spec.cwd else folder
        self._environment = {**allowed(environment), **spec.env}

    def plan_launch(self, confinement: Confinement | None) -> Launch:
        if self._spec.url:
            return _AddressLaunch(self._spec)
        return _ProcessLaunch(self._spec, self._cwd, self._environment, confinement)


class _AddressLaunch(Launch):
    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec

    def open(self) -> AbstractAsyncContextManager[Link]:
        return open_address(self._spec.url, self._spec.headers)


class _ProcessLaunch(Launch):
    def __init__(
        self, spec: ServerSpec, cwd: Path, environment: Mapping[str, str], confinement: Confinement | None
    ) -> None:
        self._argv = (spec.command, *spec.args)
        self._cwd = cwd
        self._environment = environment
        self._confinement = confinement
        self._made_of = _made_of(self._argv, environment["PATH"]) if confinement else ()

    def open(self) -> AbstractAsyncContextManager[Link]:
        return open_process(
            self._argv,
            cwd=self._cwd,
            environment=self._environment,
            confinement=self._confinement,
            made_of=self._made_of,
        )


def _made_of(argv: Sequence[str], path: str) -> tuple[str | Path, ...]:
    """Returns the program's own installation, and what it is started with."""
    program = Path(shutil.which(argv[0], path=path) or argv[0])
    folder = program.parent.parent
    installed = (folder,) if (folder / "pyvenv.cfg").is_file() else ()
    words = (word for word in argv[1:] if os.path.isabs(word))
    return (program, os.path.realpath(program), *installed, *words)


def tool_prefix(server: str) -> str:
    return f"mcp__{re.sub(r'[^A-Za-z0-9_-]', '_', server)}__"


class ServerTools:
    """Makes the tools that a server lists ours."""

    def __init__(self, instances: Instances, timeout: float = TIMEOUT) -> None:
        self._instances = instances
        self._timeout = timeout

    def make(self, listed: ListedTool) -> Tool:
        return Tool(
            listed.spec.name,
            listed.spec.description,
            listed.spec.parameters,
            _ServerCall(self._instances, listed.name, self._timeout).execute,
            effect=Effect.COMMAND,
            timeout=self._timeout + _LATER,
            plain_schema=True,
            confinable=self._instances.confinable,
        )


class _ServerCall:
    def __init__(self, instances: Instances, name: str, timeout: float) -> None:
        self._instances = instances
        self._name = name
        self._timeout = timeout

    async def execute(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        peer = await self._instances.find(ctx.confinement)
        if isinstance(peer, Err):
            return peer
        return await peer.call(self._name, args, timeout=self._timeout, progress=ctx.progress)


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _expand(value: Any, environment: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _VARIABLE.sub(lambda found: environment.get(found[1]) or found[2] or "", value)
        case list():
            return [_expand(item, environment) for item in value]
        case dict():
            return {key: _expand(item, environment) for key, item in value.items()}
    return value
