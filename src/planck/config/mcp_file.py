"""The servers of a file like `.mcp.json`, which every agent writes in its own way."""

from typing import Any


def find_servers(raw: Any) -> dict[str, Any]:
    """Returns the servers of a file that other programs read, too: under a key, or as a bare map."""
    if isinstance(raw, dict):
        for key in _KEYS:
            if isinstance(found := raw.get(key), dict) and not _is_server(found):
                return dict(found)
        if all(isinstance(entry, dict) and _WAYS & entry.keys() for entry in raw.values()):
            return dict(raw)
    raise ValueError("it is no map with `mcpServers`, nor one of servers by name")


def _is_server(entry: dict[str, Any]) -> bool:
    """Whether it is one itself: a bare map may have one named `mcp`."""
    return any(isinstance(entry.get(way), str | list) for way in _WAYS)


_KEYS = ("mcpServers", "mcp_servers", "servers", "mcp")
_WAYS = frozenset({"command", "url", "serverUrl", "httpUrl"})
