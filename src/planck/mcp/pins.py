"""What a server said of its tools when they were taken: what it says otherwise waits for a person's yes."""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from planck.records import codec
from planck.records.visible import fit_line

if TYPE_CHECKING:
    from planck.mcp.listing import Listed

MAX_QUESTIONS = 5
"""To one server's changes: one that changes without end must not wear its user out."""
_AT_ONCE = 10
"""Tools in one question; the others wait for the next."""
_DESCRIPTION = 800
_PARAMETERS = 400
_BEFORE = 40
"""Characters shown before the first difference."""


class Change(msgspec.Struct, frozen=True):
    server: str
    tools: "tuple[Listed, ...]"
    text: str
    """What it said and says now, each on one line: a text of the server's own can't look like ours."""

    @property
    def names(self) -> str:
        return ", ".join(listed.spec.name for listed in self.tools)

    @property
    def digest(self) -> str:
        return hashlib.sha256(codec.encode([listed.digest for listed in self.tools])).hexdigest()


class Agreed:
    """One server's tools, by the hash of everything that a model is told of them."""

    def __init__(self, server: str) -> None:
        self.held: tuple[Listed, ...] = ()
        self._server = server
        self._taken: dict[str, Listed] = {}
        self._refused: set[str] = set()
        self._asked = 0

    def sift(self, tools: "Iterable[Listed]") -> "tuple[Listed, ...]":
        """Those that are as they were taken; the first that it lists are taken. `held` has the others."""
        listed = tuple(tools)
        if not self._taken:
            self._taken = {one.spec.name: one for one in listed}
        same = tuple(one for one in listed if self._as_taken(one))
        self.held = tuple(one for one in listed if one not in same)
        return same

    def question(self) -> Change | None:
        """What nobody was asked about yet; None: nothing, or too often already."""
        open = [one for one in self.held if one.digest not in self._refused][:_AT_ONCE]
        if not open or self._asked >= MAX_QUESTIONS:
            return None
        self._asked += 1
        text = "\n".join(_shown(self._taken.get(one.spec.name), one) for one in open)
        return Change(self._server, tuple(open), text)

    def take(self, change: Change) -> None:
        self._taken |= {one.spec.name: one for one in change.tools}

    def refuse(self, change: Change) -> None:
        """For good: saying the same again is no new question."""
        self._refused |= {one.digest for one in change.tools}

    def _as_taken(self, one: "Listed") -> bool:
        taken = self._taken.get(one.spec.name)
        return taken is not None and taken.digest == one.digest


def _shown(before: "Listed | None", now: "Listed") -> str:
    new, parameters = now.spec.description, codec.encode_str(now.spec.parameters)
    if before is None:
        lines = [f"{now.spec.name} is new", f"  it says: {_cut(new, _DESCRIPTION)}"]
        return "\n".join([*lines, f"  parameters: {_cut(parameters, _PARAMETERS)}"])
    old, old_parameters = before.spec.description, codec.encode_str(before.spec.parameters)
    lines = [f"{now.spec.name} has changed"]
    if old != new:
        lines += [f"  it said: {_differing(old, new, _DESCRIPTION)}"]
        lines += [f"  it says: {_differing(new, old, _DESCRIPTION)}"]
    if old_parameters != parameters:
        lines += [f"  parameters were: {_differing(old_parameters, parameters, _PARAMETERS)}"]
        lines += [f"  parameters are:  {_differing(parameters, old_parameters, _PARAMETERS)}"]
    return "\n".join(lines)


def _differing(text: str, other: str, width: int) -> str:
    """From a little before the first difference: what was added at the end of a long text is seen."""
    pairs = enumerate(zip(text, other, strict=False))
    at = next((index for index, (mine, theirs) in pairs if mine != theirs), min(len(text), len(other)))
    start = max(at - _BEFORE, 0)
    return ("…" if start else "") + _cut(text[start:], width)


def _cut(text: str, width: int) -> str:
    note = f" [{len(text)} characters in all]" if len(text) > width else ""
    return fit_line(text, width) + note
