"""The MCP servers of the user's own configuration: listed, added, removed, tried."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planck.headless.config import ConfigError
from planck.headless.headless import Planck
from planck.headless.peers import Report
from planck.mcp.client import ServerSpec, read_server
from planck.records.outcome import ErrorKind


def add(home: Path, name: str, entry: Mapping[str, Any], environ: Mapping[str, str]) -> Path:
    """Into `config.json` of the home; all else in it stays as it is."""
    checked = {key: value for key, value in entry.items() if value}
    read_server(name, checked, environ)
    file, config = _read(home)
    servers = config.setdefault("mcpServers", {})
    if name in servers:
        raise ConfigError(
            ErrorKind.NOT_UNIQUE, f"there is a server named {name!r}; `planck mcp remove {name}` first"
        )
    servers[name] = checked
    _write(file, config)
    return file


def remove(home: Path, name: str) -> Path:
    file, config = _read(home)
    if name not in config.get("mcpServers", {}):
        raise ConfigError(
            ErrorKind.NOT_FOUND, f"{str(file)!r} has no server {name!r}; `planck mcp list` shows them"
        )
    del config["mcpServers"][name]
    _write(file, config)
    return file


def listed(planck: Planck) -> list[dict[str, Any]]:
    """What would be started here, without starting it."""
    rows = []
    for component, name, entry in planck.peers.plan:
        if component == "mcp":
            rows.append({"name": name, **_shown(name, entry)})
    return rows


async def tried(planck: Planck, component: str, name: str = "") -> list[Report]:
    """Started, listed and ended again."""
    async with planck:
        planck.peers.start(component, name)
        await planck.peers.settled()
        return planck.peers.reports()


def _shown(name: str, entry: Any) -> dict[str, Any]:
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


def _read(home: Path) -> tuple[Path, dict[str, Any]]:
    file = home / "config.json"
    try:
        config = json.loads(file.read_text("utf-8")) if file.exists() else {}
    except (OSError, ValueError) as problem:
        raise ConfigError(
            ErrorKind.READ_FAILED, f"{str(file)!r} can't be read: {problem}; correct it"
        ) from None
    if not isinstance(config, dict) or not isinstance(config.get("mcpServers", {}), dict):
        raise ConfigError(ErrorKind.INVALID_ARGS, f"{str(file)!r} must hold a JSON object")
    return file, config


def _write(file: Path, config: Mapping[str, Any]) -> None:
    """Whole or not at all; a header may be a key, so nobody else reads it."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=".config-")
    try:
        with os.fdopen(descriptor, "w") as out:
            json.dump(config, out, indent=2, ensure_ascii=False)
            out.write("\n")
        os.replace(temporary, file)
    except OSError as problem:
        os.unlink(temporary)
        raise ConfigError(ErrorKind.WRITE_FAILED, f"{str(file)!r} can't be written: {problem}") from None


__all__ = ["ServerSpec", "add", "listed", "remove", "tried"]
