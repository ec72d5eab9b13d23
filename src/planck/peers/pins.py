"""What a server said of its tools when they were taken: what it says otherwise waits for a person's yes."""

import hashlib

from planck.mcp.listing import ListedTool
from planck.permissions.question import ToolChange
from planck.records import codec
from planck.records.visible import fit_line

_MAX_QUESTIONS = 5
"""To one server's changes: one that changes without end must not wear its user out."""
_AT_ONCE = 10
"""Tools in one question; the others wait for the next."""
_DESCRIPTION = 800
_PARAMETERS = 400
_BEFORE = 40
"""Characters shown before the first difference."""


class Pins:
    """One server's tools, by the digest of everything that a model is told of them."""

    def __init__(self, server: str) -> None:
        self.held: list[ListedTool] = []
        """New or changed, and not taken."""
        self._server = server
        self._taken: dict[str, ListedTool] = {}
        self._refused: set[str] = set()
        """Digests, for good: saying the same again is no new question."""
        self._asked: list[ListedTool] = []
        self._questions = 0

    def admit(self, tools: tuple[ListedTool, ...]) -> list[ListedTool]:
        """Returns those that are as they were taken, at first all of them; the rest is held."""
        if not self._taken:
            self._taken = {one.spec.name: one for one in tools}
        same = [one for one in tools if self._is_taken(one)]
        self.held = [one for one in tools if one not in same]
        return same

    def next_change(self) -> ToolChange | None:
        """What nobody was asked about yet, for one question; None: nothing, or too often already."""
        tools = [one for one in self.held if one.digest not in self._refused][:_AT_ONCE]
        if not tools or self._questions >= _MAX_QUESTIONS:
            return None
        self._questions += 1
        self._asked = tools
        text = "\n".join(_compare(self._taken.get(one.spec.name), one) for one in tools)
        digest = hashlib.sha256(codec.encode([one.digest for one in tools])).hexdigest()
        return ToolChange(self._server, ", ".join(one.spec.name for one in tools), text, digest)

    def decide(self, *, allowed: bool) -> None:
        """Takes or refuses what the last question was about."""
        if allowed:
            self._taken |= {one.spec.name: one for one in self._asked}
        else:
            self._refused |= {one.digest for one in self._asked}

    def _is_taken(self, one: ListedTool) -> bool:
        taken = self._taken.get(one.spec.name)
        return taken is not None and taken.digest == one.digest


def _compare(before: ListedTool | None, now: ListedTool) -> str:
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
