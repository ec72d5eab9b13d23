"""A server's tools are pinned as the user took them: what it says otherwise waits for a person's yes."""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from planck.records import codec
from planck.records.visible import fit_line

if TYPE_CHECKING:
    from planck.mcp.listing import ListedTool

MAX_QUESTIONS = 5
"""To one server's changes: one that changes without end must not wear its user out."""
_AT_ONCE = 10
"""Tools in one question; the others wait for the next."""
_DESCRIPTION = 800
_PARAMETERS = 400
_BEFORE = 40
"""Characters shown before the first difference."""


class ToolChange(msgspec.Struct, frozen=True):
    server: str
    tools: "tuple[ListedTool, ...]"
    text: str
    """What it said and says now, each on one line: a text of the server's own can't look like ours."""

    @property
    def names(self) -> str:
        return ", ".join(listed.spec.name for listed in self.tools)

    @property
    def digest(self) -> str:
        return hashlib.sha256(codec.encode([listed.digest for listed in self.tools])).hexdigest()


class Pins:
    """One server's tools, by the hash of everything that a model is told of them."""

    def __init__(self, server: str) -> None:
        self.held: tuple[ListedTool, ...] = ()
        self._server = server
        self._pinned: dict[str, ListedTool] = {}
        self._refused: set[str] = set()
        self._asked = 0

    def admit(self, tools: "Iterable[ListedTool]") -> "tuple[ListedTool, ...]":
        """Returns those that are as they were taken; what it lists first is taken. `held` has the others."""
        listed = tuple(tools)
        if not self._pinned:
            self._pinned = {one.spec.name: one for one in listed}
        same = tuple(one for one in listed if self._is_pinned(one))
        self.held = tuple(one for one in listed if one not in same)
        return same

    def next_change(self) -> ToolChange | None:
        """Returns what nobody was asked about yet, to be asked now; None: nothing, or too often already."""
        open = [one for one in self.held if one.digest not in self._refused][:_AT_ONCE]
        if not open or self._asked >= MAX_QUESTIONS:
            return None
        self._asked += 1
        text = "\n".join(_compare(self._pinned.get(one.spec.name), one) for one in open)
        return ToolChange(self._server, tuple(open), text)

    def take(self, change: ToolChange) -> None:
        self._pinned |= {one.spec.name: one for one in change.tools}

    def refuse(self, change: ToolChange) -> None:
        """Refuses it for good: saying the same again is no new question."""
        self._refused |= {one.digest for one in change.tools}

    def _is_pinned(self, one: "ListedTool") -> bool:
        pinned = self._pinned.get(one.spec.name)
        return pinned is not None and pinned.digest == one.digest


def _compare(before: "ListedTool | None", now: "ListedTool") -> str:
    new, parameters = now.spec.description, codec.encode_str(now.spec.parameters)
    if before is None:
        lines = [f"{now.spec.name} is new", f"  it says: {_cut(new, _DESCRIPTION)}"]
        return "\n".join([*lines, f"  parameters: {_cut(parameters, _PARAMETERS)}"])
    old, old_parameters = before.spec.description, codec.encode_str(before.spec.parameters)
    lines = [f"{now.spec.name} has changed"]
    if old != new:
        lines += [f"  it said: {_from_difference(old, new, _DESCRIPTION)}"]
        lines += [f"  it says: {_from_difference(new, old, _DESCRIPTION)}"]
    if old_parameters != parameters:
        lines += [f"  parameters were: {_from_difference(old_parameters, parameters, _PARAMETERS)}"]
        lines += [f"  parameters are:  {_from_difference(parameters, old_parameters, _PARAMETERS)}"]
    return "\n".join(lines)


def _from_difference(text: str, other: str, width: int) -> str:
    """From a little before the first difference: what was added at the end of a long text is seen."""
    pairs = enumerate(zip(text, other, strict=False))
    at = next((index for index, (mine, theirs) in pairs if mine != theirs), min(len(text), len(other)))
    start = max(at - _BEFORE, 0)
    return ("…" if start else "") + _cut(text[start:], width)


def _cut(text: str, width: int) -> str:
    note = f" [{len(text)} characters in all]" if len(text) > width else ""
    return fit_line(text, width) + note
