"""Files that other programs write too: JSON with comments, maps of MCP servers, locks for a change."""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


@contextmanager
def hold_lock(file: Path) -> Iterator[None]:
    """Keeps other processes and threads from changing a file between reading and replacing it.

    Where its folder can't be written nothing is held: the change itself then says so. Nothing may be awaited
    in it: a second one of the same loop would wait for ever.
    """
    try:  # a file beside it: one that is replaced keeps no lock
        fd = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def parse_relaxed(text: str) -> Any:
    """Raises ValueError (or RecursionError) as `json.loads` does, at the place where the file is wrong."""
    return json.loads(_TOKEN.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    """What is no JSON becomes as many blanks, so that lines and columns of a mistake stay right."""
    token = found[0]
    return token if token.startswith('"') else re.sub(r"[^\n]", " ", token)


def find_servers(raw: Any) -> dict[str, Any]:
    """Returns the servers of a file that other programs read, too: under a key, or as a bare map."""
    if isinstance(raw, dict):
        for key in _KEYS:
            if isinstance(found := raw.get(key), dict) and not _is_server(found):
                return dict(found)
        if all(isinstance(entry, dict) and _WAYS & entry.keys() for entry in raw.values()):
            return dict(raw)
    raise ValueError("expected a map with `mcpServers`, or a map of servers by name")


def open_servers(raw: dict[str, Any]) -> dict[str, Any]:
    """Returns the map of such a file that holds its servers; adds an empty one where there is none."""
    for key in _KEYS:
        if isinstance(found := raw.get(key), dict) and not _is_server(found):
            return found
    if raw and all(isinstance(entry, dict) and _WAYS & entry.keys() for entry in raw.values()):
        return raw
    servers: dict[str, Any] = raw.setdefault("mcpServers", {})
    if not isinstance(servers, dict):
        raise ValueError("`mcpServers` must be a map of servers by name")
    return servers


def _is_server(entry: dict[str, Any]) -> bool:
    """Whether it is one itself: a bare map may have one named `mcp`."""
    return any(isinstance(entry.get(way), str | list) for way in _WAYS)


_KEYS = ("mcpServers", "mcp_servers", "servers", "mcp")
_WAYS = frozenset({"command", "url", "serverUrl", "httpUrl"})


CLIENT_KEYS = ("client_id", "client_secret", "issuer")
"""Of an entry: how the user is known to a server's authority, and who may hear it."""


def drop_client_keys(servers: dict[str, Any], file: str, own: str) -> list[str]:
    """Takes out what only the user's `own` file may say; returns a notice for each entry of `file`."""
    notices = []
    for name, entry in servers.items():
        said = [key for key in CLIENT_KEYS if key in entry] if isinstance(entry, dict) else []
        if said:
            servers[name] = {key: value for key, value in entry.items() if key not in CLIENT_KEYS}
            keys = " and ".join(repr(f"mcpServers.{name}.{key}") for key in said)
            be = "is" if len(said) == 1 else "are"
            notices.append(f"{file}: {keys} {be} ignored. Set this server in {own} instead.")
    return notices
