"""A server's new or changed tools are held back until a person takes them; no turn waits for that."""

import asyncio
import hashlib
import logging
from typing import TYPE_CHECKING

from planck.mcp.listing import ListedTool
from planck.peers.sessions import Sessions
from planck.permissions.gate import Gate
from planck.permissions.question import ToolChange
from planck.records import codec
from planck.records.visible import fit_line
from planck.toolkit.journal import Journal
from planck.toolkit.scribe import Scribe

if TYPE_CHECKING:
    from planck.peers.open_peer import OpenServer

log: logging.Logger = logging.getLogger(__name__)

_MAX_QUESTIONS = 5
"""To one server's changes: one that changes without end must not wear its user out."""
_AT_ONCE = 10
"""Tools in one question; the others wait for the next."""
_DESCRIPTION = 800
_PARAMETERS = 400
_BEFORE = 40
"""Characters shown before the first difference."""


class ServerChanges:
    """One server's tools as they were taken, by the digest of what a model is told of them, and those that it
    changed since: at most one question about them is open."""

    def __init__(self, server: "OpenServer", sessions: Sessions) -> None:
        self._server = server
        self._sessions = sessions
        self._taken: dict[str, ListedTool] = {}
        self._held: list[ListedTool] = []
        """New or changed, and not taken."""
        self._refused: set[str] = set()
        """Digests, for good: saying the same again is no new question."""
        self._questions = 0
        self._asking: asyncio.Task[None] | None = None
        self._asked_in: Journal | None = None
        sessions.changes.append(self)

    def admit(self, tools: tuple[ListedTool, ...]) -> list[ListedTool]:
        """Returns what the user took, at first everything; the rest is asked about, or held back."""
        if not self._taken:
            self._taken = {one.spec.name: one for one in tools}
        same = [one for one in tools if self._is_taken(one)]
        self._held = [one for one in tools if one not in same]
        if self._held:
            way_out = "you will be asked about them" if self._ask() else "restart Planck to use them"
            names = ", ".join(listed.spec.name for listed in self._held[:10])
            self._server.changed_state(
                "connected",
                f"these tools are new or have changed, so agents cannot use them yet: {names}; {way_out}",
            )
        return same

    def leave(self, journal: Journal) -> None:
        """Asks another session what this one, which ends, was asked and did not answer."""
        if self._asking is not None and self._asked_in is journal:
            self._asking.cancel()
            self._asking = self._asked_in = None
            self._ask()

    def cancel(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    def _is_taken(self, one: ListedTool) -> bool:
        taken = self._taken.get(one.spec.name)
        return taken is not None and taken.digest == one.digest

    def _ask(self) -> bool:
        """Returns whether somebody is asked: False where nobody can be, or there were too many questions."""
        if self._asking is not None:
            return True
        found = self._sessions.find_gate()
        tools = [one for one in self._held if one.digest not in self._refused][:_AT_ONCE]
        if found is None or self._sessions.closed or not tools or self._questions >= _MAX_QUESTIONS:
            return False
        self._questions += 1
        self._asked_in, gate = found
        self._asking = self._sessions.start(self._decide(tools, gate, Scribe(self._asked_in, None)))
        return True

    async def _decide(self, tools: list[ListedTool], gate: Gate, scribe: Scribe) -> None:
        """Cancelled when its session ends or all do; the caller that cancels it decides what comes after."""
        text = "\n".join(_compare(self._taken.get(one.spec.name), one) for one in tools)
        digest = hashlib.sha256(codec.encode([one.digest for one in tools])).hexdigest()
        change = ToolChange(self._server.name, ", ".join(one.spec.name for one in tools), text, digest)
        try:
            allowed = await gate.agree(change, scribe)
        except Exception:  # an approver is anybody's code, and no answer is no
            log.exception("Could not ask about tool changes on MCP server %r", self._server.name)
            allowed = False
        if allowed:
            self._taken |= {one.spec.name: one for one in tools}
        else:
            self._refused |= {one.digest for one in tools}
        self._asking = self._asked_in = None
        self._server.list_again()


def _compare(before: ListedTool | None, now: ListedTool) -> str:
    new, parameters = now.spec.description, codec.encode_str(now.spec.parameters)
    if before is None:
        lines = [f"{now.spec.name} is new", f"  description: {_cut(new, _DESCRIPTION)}"]
        return "\n".join([*lines, f"  parameters: {_cut(parameters, _PARAMETERS)}"])
    old, old_parameters = before.spec.description, codec.encode_str(before.spec.parameters)
    lines = [f"{now.spec.name} has changed"]
    if old != new:
        lines += [f"  old description: {_from_difference(old, new, _DESCRIPTION)}"]
        lines += [f"  new description: {_from_difference(new, old, _DESCRIPTION)}"]
    if old_parameters != parameters:
        lines += [f"  old parameters: {_from_difference(old_parameters, parameters, _PARAMETERS)}"]
        lines += [f"  new parameters: {_from_difference(parameters, old_parameters, _PARAMETERS)}"]
    return "\n".join(lines)


def _from_difference(text: str, other: str, width: int) -> str:
    """From a little before the first difference: what was added at the end of a long text is seen."""
    pairs = enumerate(zip(text, other, strict=False))
    at = next((index for index, (mine, theirs) in pairs if mine != theirs), min(len(text), len(other)))
    start = max(at - _BEFORE, 0)
    return ("…" if start else "") + _cut(text[start:], width, len(text))


def _cut(text: str, width: int, total: int = 0) -> str:
    """`total`: characters of the whole text, where this is only its end."""
    note = f" [{total or len(text)} characters in total]" if len(text) > width else ""
    return fit_line(text, width) + note
