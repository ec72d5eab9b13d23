"""Files that people and other programs write in their own way: JSON with comments, maps of MCP servers."""

import json
import re
from typing import Any

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


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


def _is_server(entry: dict[str, Any]) -> bool:
    """Whether it is one itself: a bare map may have one named `mcp`."""
    return any(isinstance(entry.get(way), str | list) for way in _WAYS)


_KEYS = ("mcpServers", "mcp_servers", "servers", "mcp")
_WAYS = frozenset({"command", "url", "serverUrl", "httpUrl"})
