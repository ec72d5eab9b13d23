"""What would be started here: the sidecars and MCP servers that the configuration and the project name.

Nothing that the project's own files name is in the plan unless the folder is trusted.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from planck.config.load import ConfigError, edit_json, edit_user_file
from planck.config.project import Project
from planck.config.resources import Resources
from planck.records.outcome import ErrorKind, say_extra
from planck.workspace.paths.regular import read_regular

if TYPE_CHECKING:
    from planck.peers.tokens import TokenFile


class PlannedSidecar(msgspec.Struct, frozen=True):
    component: ClassVar[str] = "sidecar"
    name: str
    path: Path

    @property
    def place(self) -> Path:
        return self.path


class PlannedServer(msgspec.Struct, frozen=True):
    component: ClassVar[str] = "mcp"
    name: str
    entry: Any
    """As it was written: it is read when the server is opened, and may be refused then."""
    folder: Path
    """Where it runs."""

    @property
    def place(self) -> Path:
        return self.folder


PlannedPeer = PlannedSidecar | PlannedServer


class PeerPlan(msgspec.Struct, frozen=True):
    sidecars: tuple[PlannedSidecar, ...]
    servers: tuple[PlannedServer, ...]
    notices: tuple[str, ...] = ()
    """What was left out, and why."""

    def select(self, component: str = "", name: str = "", tool: str = "") -> list[PlannedPeer]:
        """Returns all, or only a component, one of it, or those that may have a tool of that name.

        A server has the tools whose names begin with its prefix; what begins with nobody's is a sidecar's.
        """
        every: tuple[PlannedPeer, ...] = (*self.sidecars, *self.servers)
        named = [p for p in every if component in ("", p.component) and name in ("", p.name)]
        if not tool:
            return named
        from planck.peers.server import tool_prefix

        servers = [p for p in named if isinstance(p, PlannedServer) and tool.startswith(tool_prefix(p.name))]
        return [*servers] or [peer for peer in named if isinstance(peer, PlannedSidecar)]


def plan_peers(resources: Resources) -> PeerPlan:
    """Reads files and starts nothing."""
    notices: list[str] = []
    sidecars = _plan_sidecars(resources, notices)
    entries = {**_read_project_servers(resources, notices), **resources.config.mcpServers}
    # In a folder that is not trusted, a program of the user's must not find the project's modules.
    folder = resources.workspace if resources.loaded.trusted else resources.home
    servers = tuple(PlannedServer(name, entry, folder) for name, entry in entries.items())
    wanted = any(not _is_disabled(server.entry) for server in servers)
    if wanted and (missing := find_missing_extra("MCP servers need")):
        notices.append(missing)
    return PeerPlan(sidecars, servers, tuple(notices))


def find_missing_extra(what: str) -> str:
    """Returns that the MCP SDK is missing, and what to do; "": it is there. `what` begins the sentence."""
    from importlib.util import find_spec

    if find_spec("mcp") is not None:
        return ""
    return f"{what} the extra `mcp`, which is not installed; {say_extra('mcp')}"


def list_servers(plan: PeerPlan) -> list[dict[str, Any]]:
    """Returns a row for each server that would be started here, without starting it."""
    return [{"name": server.name, **_describe(server.entry)} for server in plan.servers]


def find_tokens(project: Project, plan: PeerPlan, name: str) -> "TokenFile":
    """Returns what the user signed in with at a server; raises where there is none that has an address."""
    from planck.peers.server import read_server
    from planck.peers.tokens import TokenFile

    planned = plan.select("mcp", name)
    if not planned or not name:
        raise ConfigError(ErrorKind.NOT_FOUND, f'MCP server not found: {name!r}. Run "planck mcp list".')
    (server,) = planned
    assert isinstance(server, PlannedServer)
    spec = read_server(name, server.entry, project.environ)
    if not spec.url:
        raise ConfigError(
            ErrorKind.INVALID_ARGS,
            f"MCP server {name!r} is a local program and needs no sign-in. "
            "Only servers with a `url` support it.",
        )
    return TokenFile(project.home, name, spec.url, spec.client)


def add_server(
    home: Path,
    name: str,
    entry: Mapping[str, Any],
    environ: Mapping[str, str],
    *,
    workspace: Path | None = None,
) -> Path:
    """Writes it into the user's own configuration, or with a workspace into its `.mcp.json`, which other
    programs read too; all else in that file stays as it is."""
    from planck.peers.server import read_server

    checked = {key: value for key, value in entry.items() if value}
    read_server(name, checked, environ)
    with _edit_servers(home, workspace) as (file, servers):
        if name in servers:
            way_out = f'"planck mcp remove --project {name}"' if workspace else f'"planck mcp remove {name}"'
            raise ConfigError(
                ErrorKind.NOT_UNIQUE, f"An MCP server named {name!r} already exists. Run {way_out} first."
            )
        servers[name] = checked
    return file


def remove_server(home: Path, name: str, *, workspace: Path | None = None) -> Path:
    """Takes it out of the user's own configuration, or with a workspace out of its `.mcp.json`."""
    with _edit_servers(home, workspace) as (file, servers):
        if servers.pop(name, None) is None:
            raise ConfigError(
                ErrorKind.NOT_FOUND, f'{str(file)!r} has no MCP server {name!r}. Run "planck mcp list".'
            )
    return file


@contextmanager
def _edit_servers(home: Path, workspace: Path | None) -> Iterator[tuple[Path, dict[str, Any]]]:
    if workspace is None:
        with edit_user_file(home) as config:
            yield home / "config.json", _servers_in(config)
        return
    from planck.config.files import open_servers

    file = workspace / ".mcp.json"
    with edit_json(file) as config:
        try:
            servers = open_servers(config)
        except ValueError as problem:
            raise ConfigError(ErrorKind.INVALID_ARGS, f"{str(file)!r}: {problem}. Fix the file.") from None
        yield file, servers


def _plan_sidecars(resources: Resources, notices: list[str]) -> tuple[PlannedSidecar, ...]:
    workspace, named = resources.workspace, resources.config.sidecar
    own = workspace / ".planck" / "sidecar"
    paths = {"sidecar": named} if isinstance(named, str) else dict(named)
    paths = {name: path for name, path in paths.items() if path}
    inner = _find_inner_sidecars(own)
    if own.is_dir() and "sidecar" not in paths and (is_sidecar(own) or not inner):
        paths["sidecar"] = str(own)
    paths = inner | paths
    planned = []
    for name, text in paths.items():
        path = workspace / Path(text).expanduser()
        if resources.is_in_clone(path):
            notices.append(
                f"sidecar not started: {path} is in another session's clone; move it out of the clone"
            )
        elif resources.loaded.trusted or not path.resolve().is_relative_to(workspace.resolve()):
            planned.append(PlannedSidecar(name, path))
        elif not path.is_relative_to(own):  # of the project's own files the trust itself tells
            why = "the workspace is not trusted; review the sidecar's files, then pass --trust"
            notices.append(f"sidecar {path} not started: {why}")
    return tuple(planned)


def _find_inner_sidecars(own: Path) -> dict[str, str]:
    """Returns what `sidecar new NAME` makes: folders beside each other, where a project that is one sidecar
    with packages has none."""
    if not own.is_dir() or (own / "pyproject.toml").exists():
        return {}
    real = own.resolve()
    return {
        folder.name: str(folder)
        for folder in sorted(own.iterdir())
        # A link leads where trust does not look, and a package belongs to the sidecar above it.
        if folder.resolve() == real / folder.name
        and is_sidecar(folder)
        and not (folder / "__init__.py").exists()
    }


def is_sidecar(folder: Path) -> bool:
    return (folder / "sidecar.py").is_file() or (folder / "pyproject.toml").is_file()


def _read_project_servers(resources: Resources, notices: list[str]) -> dict[str, Any]:
    file = resources.workspace / ".mcp.json"
    if not resources.loaded.trusted or not file.is_file() or not file.stat().st_size:
        return {}
    try:
        from planck.config.files import drop_client_keys, find_servers

        found = find_servers(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, RecursionError) as problem:
        notices.append(f"{file} is ignored: {problem}; correct the file")
        return {}
    own = str(resources.home / "config.json")
    notices += drop_client_keys(found, str(file), own)
    return found


def read_servers(text: str) -> dict[str, Any]:
    """Returns the servers of a file, or of JSON that stands in its place; raises where there are none."""
    from planck.config.files import find_servers

    try:
        if not text.lstrip().startswith("{"):
            text = read_regular(Path(text).expanduser(), _MAX_BYTES).decode()
        return find_servers(json.loads(text))
    except OSError as problem:
        raise ConfigError(
            ErrorKind.READ_FAILED,
            f"Cannot read --mcp-config {text!r}: {problem.strerror}. Pass a readable file.",
        ) from None
    except (ValueError, RecursionError) as problem:
        raise ConfigError(
            ErrorKind.INVALID_ARGS, f"Invalid --mcp-config: {problem}. See docs/guides/mcp.md."
        ) from None


_MAX_BYTES = 4 << 20


def _servers_in(config: dict[str, Any]) -> dict[str, Any]:
    servers: Any = config.setdefault("mcpServers", {})
    if not isinstance(servers, dict):
        raise ConfigError(ErrorKind.INVALID_ARGS, "mcpServers in config.json must be an object. Correct it.")
    return servers


def _describe(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        return {"problem": "its mcpServers entry is not an object; correct it"}
    from planck.config.keys.secrets import (
        hide_in_arguments,
        hide_in_text,
    )  # for who looks, not for who starts them

    ways = (entry.get(key) for key in ("url", "serverUrl", "httpUrl"))
    url = next((str(way) for way in ways if way), "")
    command, args = entry.get("command", ""), entry.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(args if isinstance(args, list) else ()),
    ]
    how = hide_in_text(url or " ".join(map(str, [*words[:1], *hide_in_arguments(words[1:])])))
    # Values of env and headers are secrets as often as not: names only.
    return {
        "how": how,
        "transport": "http" if url else "stdio",
        "env": _list_names(entry.get("env", entry.get("environment"))),
        "headers": _list_names(entry.get("headers")),
        "disabled": _is_disabled(entry),
    }


def _is_disabled(entry: Any) -> bool:
    return isinstance(entry, dict) and (bool(entry.get("disabled")) or not entry.get("enabled", True))


def _list_names(pairs: Any) -> list[str]:
    return sorted(map(str, pairs)) if isinstance(pairs, dict) else []
