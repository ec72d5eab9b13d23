"""What rules say of one call: of a command line, part by part. Strictest wins."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import msgspec

from planck.permissions.matching import Match, holds, vouches
from planck.permissions.rules import Chosen, Decision, Ruling, SourcedRule
from planck.shell.launch import basename
from planck.shell.plain import Segment, segments
from planck.shell.reach import Reach, find_reach


def weigh(mine: Chosen, args: Mapping[str, Any]) -> Ruling:
    """`mine`: the rules for the tool that is called, at least one."""
    command = args.get("command")
    parts: tuple[Segment, ...] | None = ((),)
    found = Ruling(None)
    if mine.worded and isinstance(command, str):
        line = _read_line(command) if len(command) <= _MAX_KEPT else _Line(command)
        parts = line.parts
        found = _narrow(mine.narrowing, line.reach) if mine.narrowing else found
    for one in mine.general:
        if found.decision is not Decision.DENY and found.decision is not one.rule.decision:
            found = Ruling(one.rule.decision, one)
    if found.decision is not None:
        return msgspec.structs.replace(found, unreadable=True) if parts is None else found
    allowing = mine.allowing
    if not allowing:
        return Ruling(None, unreadable=parts is None)
    if parts is None:
        allowing = tuple(one for one in allowing if not one.words)
        return msgspec.structs.replace(_allow(allowing, [((), False)]), unreadable=True)
    return _allow(allowing, _place(parts, moved=args.get("cwd") not in (None, "", ".")))


def read_words(command: str) -> tuple[str, ...]:
    """The words of one plain command; none where it is more than that, or not all of them are known."""
    parts = segments(command)
    if parts is None or len(parts) != 1 or not all(word.literal for word in parts[0]):
        return ()
    return tuple(word.text for word in parts[0])


def matches_example(one: SourcedRule, example: str) -> bool:
    """Whether the rule holds for a command, or without a `command` for the name of a tool."""
    if not one.words:
        return fnmatchcase(example, one.rule.tool)
    if one.rule.decision is not Decision.ALLOW:
        return holds(one.words, find_reach(example, segments(example)).commands) is Match.YES
    parts = segments(example) or ()
    return any(one in _Allowing((one,), moved=False).find(segment) for segment in parts)


class _Line:
    """What a command line says by itself, whatever the rules are."""

    __slots__ = ("_command", "_reach", "parts")

    def __init__(self, command: str) -> None:
        self.parts = segments(command)
        self._command = command
        self._reach: Reach | None = None

    @property
    def reach(self) -> Reach:
        """Looked for only where a rule denies or asks."""
        if self._reach is None:
            self._reach = find_reach(self._command, self.parts)
        return self._reach


_MAX_KEPT = 2_000
"""Characters of a line that is remembered: it is judged, tried, asked about, and often run again."""
_read_line = lru_cache(maxsize=128)(_Line)


def _narrow(rules: Sequence[SourcedRule], reach: Reach) -> Ruling:
    """Finds the strictest rule that denies or asks, of several the first. One that only might be meant
    asks."""
    if not reach.unknown and (names := _list_programs(reach)) is not None:
        rules = [one for one in rules if one.program in names]
    found = Ruling(None)
    for one in rules:
        if found.decision is one.rule.decision or found.decision is Decision.DENY:
            continue
        match = holds(one.words, reach.commands)
        if match is Match.NO and holds(one.words, reach.perhaps) is not Match.NO:
            match = Match.MAYBE
        if match is Match.YES:
            found = Ruling(one.rule.decision, one)
        elif found.decision is not None:
            continue  # what might be meant asks, and one does already
        elif match is Match.MAYBE:
            found = Ruling(Decision.ASK, one, note="it may apply here")
        elif reach.unknown:
            found = Ruling(Decision.ASK, one, note=f"it may apply here: {reach.unknown}")
    return found


def _list_programs(reach: Reach) -> set[str] | None:
    """The names of all that may be started; None where one is known only when it runs."""
    names = set()
    for words in reach.commands:
        if not words[0].literal:
            return None
        names.add(words[0].text.rpartition("/")[2])
    for words in reach.perhaps:
        names.add(basename(words[0]))
    return names


def _place(parts: Sequence[Segment], *, moved: bool) -> list[tuple[Segment, bool]]:
    """Tells for each segment whether it runs in another folder than the workspace's."""
    placed = []
    for segment in parts:
        placed.append((segment, moved))
        moved = moved or bool(segment and segment[0].text in {"cd", "pushd", "popd"})
    return placed


def _allow(rules: Sequence[SourcedRule], parts: Sequence[tuple[Segment, bool]]) -> Ruling:
    """Allows if each part is vouched for: one that is allowed vouches for no other. The rights are those that
    every rule which vouches gives."""
    used: list[SourcedRule] = []
    for segment, moved in parts:
        mine = _Allowing(rules, moved).find(segment)
        if not mine:
            return Ruling(None)
        used += mine
    return Ruling(
        Decision.ALLOW,
        used[0],
        network=all(one.rule.network for one in used),
        unconfined=all(one.rule.unconfined for one in used),
    )


class _Allowing(msgspec.Struct, frozen=True):
    """The rules that allow, at one place of a line."""

    rules: Sequence[SourcedRule]
    moved: bool
    """In another folder than the workspace's, where `./x` is another program."""

    def find(self, segment: Segment) -> list[SourcedRule]:
        """Returns the rules that vouch for a plain command."""
        program = segment[0].text if segment else ""
        elsewhere = self.moved and "/" in program and not program.startswith("/")
        return [
            one
            for one in self.rules
            if not one.words
            or (
                one.words[0] == program
                and not elsewhere
                and (not one.rule.exact or len(segment) == len(one.words))
                and vouches(one.words, segment, self.covers)
            )
        ]

    def covers(self, segment: Segment) -> bool:
        return bool(self.find(segment))
