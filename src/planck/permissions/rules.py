"""The user's rules: which calls are allowed, asked or denied beyond what the mode says. Strictest wins."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import msgspec

from planck.permissions.matching import Match, holds, vouches
from planck.records.outcome import ErrorKind, PlanckError
from planck.shell.launch import basename
from planck.shell.plain import Segment, segments
from planck.shell.reach import Reach, find_reach

WEB = "web_fetch"
"""The tool whose rules may name a host."""


class RuleError(PlanckError):
    """A rule that can't be used; the message names it, its source and what to change."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorKind.INVALID_ARGS, message)


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`{"tool": "bash", "command": "git push", "decision": "ask"}`: `command` is a prefix, in words.

    Where it is allowed, a `*` behind it says so, and `exact` says otherwise.
    """

    tool: str
    decision: Decision
    command: str = ""
    exact: bool = False
    """An allowed command is these words and no more."""
    host: str = ""
    """Of `web_fetch`: a host, or `*.example.org` for all below one."""
    network: bool = False
    """An allowed command may use the network, inside the sandbox."""
    unconfined: bool = False
    """An allowed command runs outside the sandbox."""
    match: tuple[str, ...] = ()
    """Examples it must match, checked when it is loaded: commands, or tool names without `command`."""
    not_match: tuple[str, ...] = ()


class SourcedRule(msgspec.Struct, frozen=True):
    """A rule that proved itself, with the place where the user wrote it."""

    rule: Rule
    source: str
    words: tuple[str, ...]
    any_tool: bool = False
    """`tool` is a pattern."""
    program: str = ""
    """The first of the words, without its folder."""

    def is_for(self, tool: str) -> bool:
        return fnmatchcase(tool, self.rule.tool) if self.any_tool else tool == self.rule.tool

    def __str__(self) -> str:
        what = f"{self.rule.tool} {' '.join(self.words) or self.rule.host}".strip()
        if self.rule.exact:
            return f"{self.rule.decision} exactly {what!r} ({self.source})"
        return f"{self.rule.decision} {what!r} ({self.source})"


class Ruling(msgspec.Struct, frozen=True):
    """What the rules say of one call; `decision` None: nothing."""

    decision: Decision | None
    by: SourcedRule | None = None
    network: bool = False
    unconfined: bool = False
    unreadable: bool = False
    """The command is more than plain words, so no rule that allows could vouch for it."""
    note: str = ""
    """What could not be known of the command, where that decided."""


def load(raw: Iterable[Mapping[str, Any]], source: str) -> tuple[SourcedRule, ...]:
    """Parses the rules of one place and proves each by its own examples."""
    return tuple(_load_rule(entry, f"{source}, rule {number}") for number, entry in enumerate(raw, 1))


def apply_rules(rules: Sequence[SourcedRule], tool: str, args: Mapping[str, Any]) -> Ruling:
    """What a rule denies or asks holds for the whole call; what is allowed must be so in each part."""
    mine = [one for one in rules if (one.is_for(tool) if one.any_tool else one.rule.tool == tool)]
    if any(one.rule.host for one in mine):
        mine = _choose_by_host(mine, tool, args)
    if not mine:
        return Ruling(None)
    command = args.get("command")
    parts: tuple[Segment, ...] | None = ((),)
    found = Ruling(None)
    if isinstance(command, str) and any(one.words for one in mine):
        line = _read_line(command) if len(command) <= _MAX_KEPT else _Line(command)
        parts = line.parts
        narrowing = [one for one in mine if one.words and one.rule.decision is not Decision.ALLOW]
        found = _narrow(narrowing, line.reach) if narrowing else found
    for one in mine:
        if one.words or one.rule.decision is Decision.ALLOW or found.decision is Decision.DENY:
            continue
        if found.decision is not one.rule.decision:
            found = Ruling(one.rule.decision, one)
    if found.decision is not None:
        return msgspec.structs.replace(found, unreadable=True) if parts is None else found
    allowing = [one for one in mine if one.rule.decision is Decision.ALLOW]
    if not allowing:
        return Ruling(None, unreadable=parts is None)
    if parts is None:
        allowing = [one for one in allowing if not one.words]
        return msgspec.structs.replace(_allow(allowing, [((), False)]), unreadable=True)
    return _allow(allowing, _place(parts, moved=args.get("cwd") not in (None, "", ".")))


def _choose_by_host(rules: Sequence[SourcedRule], tool: str, args: Mapping[str, Any]) -> list[SourcedRule]:
    """Leaves out the rules of other hosts; what is no address is no host of any rule, and is not fetched."""
    from planck.llm.address import read_host

    host = read_host(str(args.get("url", ""))) if tool == WEB else ""
    return [one for one in rules if not one.rule.host or _is_host(one.rule.host, host)]


def _is_host(pattern: str, host: str) -> bool:
    pattern = pattern.lower().rstrip(".")
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return bool(host) and host == pattern


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
    if not reach.unknown and all(words[0].literal for words in reach.commands):
        names = {basename(words[0]) for words in (*reach.commands, *reach.perhaps)}
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
            found = Ruling(Decision.ASK, one, note="it might be meant here")
        elif reach.unknown:
            found = Ruling(Decision.ASK, one, note=f"it might be meant here: {reach.unknown}")
    return found


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


def _load_rule(entry: Mapping[str, Any], source: str) -> SourcedRule:
    try:
        rule = msgspec.convert(entry, Rule)
    except msgspec.ValidationError as problem:
        raise RuleError(f"{source}: {problem}; see docs/guides/permissions.md") from None
    words: tuple[str, ...] = ()
    if rule.command:
        if not fnmatchcase("bash", rule.tool):
            raise RuleError(f"{source}: only bash has a `command`; drop it or the tool {rule.tool!r}")
        begins = rule.decision is Decision.ALLOW and not rule.exact
        parts = segments(rule.command.removesuffix(" *") if begins else rule.command)
        if parts is None or len(parts) != 1 or not all(word.literal for word in parts[0]):
            raise RuleError(
                f"{source}: {rule.command!r} is not the beginning of one plain command; use words only"
            )
        words = tuple(word.text for word in parts[0])
    if rule.host and (rule.command or not fnmatchcase(WEB, rule.tool)):
        raise RuleError(f"{source}: only web_fetch has a `host`; drop it or the tool {rule.tool!r}")
    if rule.host and not _HOST.fullmatch(rule.host):
        raise RuleError(f"{source}: {rule.host!r} is no host; write example.org, or *.example.org")
    if rule.exact and (rule.decision is not Decision.ALLOW or not rule.command):
        raise RuleError(f"{source}: `exact` is for a `command` that is allowed; drop it")
    if rule.decision is not Decision.ALLOW and (rule.network or rule.unconfined):
        raise RuleError(f"{source}: `network` and `unconfined` are rights; only `allow` gives them")
    program = words[0].rpartition("/")[2] if words else ""
    found = SourcedRule(rule, source, words, any(char in rule.tool for char in "*?["), program)
    _check_examples(found)
    return found


_HOST = re.compile(r"(\*\.)?[\w.-]+|[\da-fA-F:.]+")


def _check_examples(one: SourcedRule) -> None:
    for examples, wanted in ((one.rule.match, True), (one.rule.not_match, False)):
        for example in examples:
            if _example_matches(one, example) is not wanted:
                says = "does not match" if wanted else "matches"
                raise RuleError(
                    f"{one.source}: {one.rule.command or one.rule.tool!r} {says} its own example "
                    f"{example!r}; correct one of the two",
                )


def _example_matches(one: SourcedRule, example: str) -> bool:
    if not one.words:
        return fnmatchcase(example, one.rule.tool)
    if one.rule.decision is not Decision.ALLOW:
        return holds(one.words, find_reach(example, segments(example)).commands) is Match.YES
    parts = segments(example) or ()
    return any(one in _Allowing((one,), moved=False).find(segment) for segment in parts)
