"""The MCP servers of the user's own configuration: listed, added, removed, tried."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planck.config.load import ConfigError, edit_user_file
from planck.headless.planck import Planck
from planck.mcp.client import ServerSpec, read_server
from planck.peers.peers import Report
from planck.records.outcome import ErrorKind


def add(home: Path, name: str, entry: Mapping[str, Any], environ: Mapping[str, str]) -> Path:
    """Into `config.json` of the home; all else in it stays as it is."""
    checked = {key: value for key, value in entry.items() if value}
    read_server(name, checked, environ)

    def change(config: dict[str, Any]) -> None:
        servers = _servers(config)
        if name in servers:
            raise ConfigError(
                ErrorKind.NOT_UNIQUE, f"there is a server named {name!r}; `planck mcp remove {name}` first"
            )
        servers[name] = checked

    edit_user_file(home, change)
    return home / "config.json"


def remove(home: Path, name: str) -> Path:
    file = home / "config.json"

    def change(config: dict[str, Any]) -> None:
        if _servers(config).pop(name, None) is None:
            raise ConfigError(
                ErrorKind.NOT_FOUND, f"{str(file)!r} has no server {name!r}; `planck mcp list` shows them"
            )

    edit_user_file(home, change)
    return file


def _servers(config: dict[str, Any]) -> dict[str, Any]:
    servers: Any = config.setdefault("mcpServers", {})
    if not isinstance(servers, dict):
        raise ConfigError(ErrorKind.INVALID_ARGS, "mcpServers must be a map in config.json; correct it")
    return servers


def listed(planck: Planck) -> list[dict[str, Any]]:
    """What would be started here, without starting it."""
    rows = []
    for component, name, entry in planck.peers.plan:
        if component == "mcp":
            rows.append({"name": name, **_shown(entry)})
    return rows


async def tried(planck: Planck, component: str, name: str = "") -> list[Report]:
    """Started, listed and ended again."""
    async with planck:
        planck.peers.start(component, name)
        await planck.peers.settled()
        return planck.peers.reports()


def _shown(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        return {"problem": "not a map"}
    how = entry.get("url") or " ".join([str(entry.get("command", "")), *map(str, entry.get("args", []))])
    # Values of env and headers are secrets as often as not: names only.
    return {
        "how": how,
        "transport": "http" if entry.get("url") else "stdio",
        "env": sorted(entry.get("env", {})),
        "headers": sorted(entry.get("headers", {})),
        "disabled": bool(entry.get("disabled", False)),
    }


__all__ = ["ServerSpec", "add", "listed", "remove", "tried"]
