"""Servers and sidecars that fail: one line for each, however often it is started again."""

from collections.abc import Mapping
from typing import Any

from planck.records.visible import fit_line

_PEERS = ("mcp", "sidecar")
_FAILED = ("disconnected", "error")
_DETAIL = 200
"""Columns of the reason: what to do next is behind it."""


class PeerFailures:
    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self._reasons: dict[str, str] = {}
        """The peer of which each reason was told."""

    def describe(self, status: Mapping[str, Any]) -> str | None:
        """Returns the line for a status; None: it is not a peer's failure, empty: it was told before."""
        component, name, state = (str(status.get(key) or "") for key in ("component", "name", "state"))
        peer = (component, name)
        if component not in _PEERS:
            return None
        if state == "starting" and peer in self._told:
            return ""
        if state not in _FAILED:
            if state == "connected":
                self._told.discard(peer)
            return None
        if peer in self._told:
            return ""
        self._told.add(peer)
        detail = " ".join(str(status.get("detail") or "no reason was given").split())
        detail = fit_line(detail, _DETAIL).rstrip(".")
        if first := self._reasons.get(detail):
            return f"{name}: not started either, for the same reason as {first}."
        self._reasons[detail] = name
        if name not in detail:  # what all of them lack
            detail = f"{name}: {detail}"
        check = f"planck mcp test {name}" if component == "mcp" else "planck sidecar status"
        return f'{detail}. Its tools are missing. To check it, run "{check}".'
