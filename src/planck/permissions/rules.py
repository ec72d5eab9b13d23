"""The user's rules: which calls are allowed, asked or denied beyond what the mode says. Strictest wins."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from planck.records.outcome import ErrorKind, PlanckError
from planck.records.tools import COMMAND_TOOLS, HOST_TOOLS


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
    """Of a tool that fetches: a host, or `*.example.org` for all below one."""
    network: bool = False
    """An allowed command may use the network, inside the sandbox."""
    write: bool = True
    """An allowed command may write in the workspace, in mode `ask`, which gives that to no other."""
    unconfined: bool = False
    """An allowed command runs outside the sandbox."""
    project: str = ""
    """The canonical folder that it is for, as a workspace; empty: every one."""
    project_id: str = ""
    """Which folder that was when the rule was saved: another one in its place is another project."""
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
        exactly = "exactly " if self.rule.exact else ""
        where = f", only in {self.rule.project}" if self.rule.project else ""
        return f"{self.rule.decision} {exactly}{what!r} ({self.source}{where})"


class Chosen(msgspec.Struct, frozen=True):
    """The rules for one tool, by what they do."""

    every: tuple[SourcedRule, ...]
    by_host: bool
    worded: bool
    """Some name a command."""
    narrowing: tuple[SourcedRule, ...]
    """They name a command, and ask or deny."""
    programs: frozenset[str]
    """Which those name."""
    general: tuple[SourcedRule, ...]
    """They ask or deny, whatever the command."""
    allowing: tuple[SourcedRule, ...]

    @classmethod
    def of(cls, rules: "Sequence[SourcedRule]") -> "Chosen":
        strict = [one for one in rules if one.rule.decision is not Decision.ALLOW]
        narrowing = tuple(one for one in strict if one.words)
        return cls(
            tuple(rules),
            any(one.rule.host for one in rules),
            any(one.words for one in rules),
            narrowing,
            frozenset(one.program for one in narrowing),
            tuple(one for one in strict if not one.words),
            tuple(one for one in rules if one.rule.decision is Decision.ALLOW),
        )


class Ruling(msgspec.Struct, frozen=True, gc=False):
    """What the rules say of one call; `decision` None: nothing."""

    decision: Decision | None
    by: SourcedRule | None = None
    network: bool = False
    write: bool = True
    unconfined: bool = False
    unreadable: bool = False
    """The command is more than plain words, so no rule that allows could vouch for it."""
    note: str = ""
    """What could not be known of the command, where that decided."""


def load(raw: Iterable[Mapping[str, Any]], source: str) -> tuple[SourcedRule, ...]:
    """Parses the rules of one place and proves each by its own examples."""
    return tuple(_load_rule(entry, f"{source}, rule {number}") for number, entry in enumerate(raw, 1))


def apply_rules(rules: Sequence[SourcedRule], tool: str, args: Mapping[str, Any], folder: str = "") -> Ruling:
    """What a rule denies or asks holds for the whole call; what is allowed must be so in each part.

    `folder` is where commands start: the scripts that a command names are read there, if it is given.
    """
    kept = _KEPT.get((id(rules), tool))
    mine = kept[1] if kept is not None and kept[0] is rules else _choose(rules, tool)
    if mine.by_host:
        mine = Chosen.of(_choose_by_host(mine.every, tool, args))
    if not mine.every:
        return Ruling(None)
    from planck.permissions.ruling import weigh  # what reads bash is large, and most starts have no rule

    return weigh(mine, args, folder)


def _choose(rules: Sequence[SourcedRule], tool: str) -> Chosen:
    chosen = Chosen.of([one for one in rules if one.is_for(tool)])
    if isinstance(rules, tuple):  # what can't change
        if len(_KEPT) >= _MAX_KEPT:
            _KEPT.clear()
        _KEPT[id(rules), tool] = (rules, chosen)
    return chosen


_MAX_KEPT = 64
_KEPT: "dict[tuple[int, str], tuple[Sequence[SourcedRule], Chosen]]" = {}
"""By the very rules, which a session has once: hashing them would cost more than a decision."""


def _choose_by_host(rules: Sequence[SourcedRule], tool: str, args: Mapping[str, Any]) -> list[SourcedRule]:
    """Leaves out the rules of other hosts; what is no address is no host of any rule, and is not fetched."""
    from planck.http.address import read_host

    host = read_host(str(args.get("url", ""))) if tool in HOST_TOOLS else ""
    return [one for one in rules if not one.rule.host or _is_host(one.rule.host, host)]


def _is_host(pattern: str, host: str) -> bool:
    pattern = pattern.lower().rstrip(".")
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return bool(host) and host == pattern


def _load_rule(entry: Mapping[str, Any], source: str) -> SourcedRule:
    try:
        rule = msgspec.convert(entry, Rule)
    except msgspec.ValidationError as problem:
        raise RuleError(f"{source}: {problem}. See docs/guides/permissions.md.") from None
    words: tuple[str, ...] = ()
    if rule.command:
        if not _names_one(rule.tool, COMMAND_TOOLS):
            known = " or ".join(COMMAND_TOOLS)
            raise RuleError(
                f"{source}: `command` is valid only in rules for {known}. Remove `command`, or "
                f"change the tool {rule.tool!r}."
            )
        begins = rule.decision is Decision.ALLOW and not rule.exact
        from planck.permissions.ruling import read_words

        words = read_words(rule.command.removesuffix(" *") if begins else rule.command)
        if not words:
            raise RuleError(
                f"{source}: {rule.command!r} is not a plain command, or the beginning of one. "
                "Use plain words, without shell syntax."
            )
    if rule.host and (rule.command or not _names_one(rule.tool, HOST_TOOLS)):
        known = " or ".join(HOST_TOOLS)
        raise RuleError(
            f"{source}: `host` is valid only in rules for {known}. Remove `host`, or change the tool "
            f"{rule.tool!r}."
        )
    if rule.host and not re.fullmatch(_HOST, rule.host):
        raise RuleError(f"{source}: {rule.host!r} is not a host. Write example.org or *.example.org.")
    if rule.exact and (rule.decision is not Decision.ALLOW or not rule.command):
        raise RuleError(f"{source}: `exact` is valid only in a rule that allows a `command`. Remove `exact`.")
    if rule.decision is not Decision.ALLOW and (rule.network or rule.unconfined or not rule.write):
        raise RuleError(
            f"{source}: `network`, `write` and `unconfined` are valid only with the decision `allow`. "
            "Remove them."
        )
    if rule.project and not rule.project.startswith(("/", "~/")):
        raise RuleError(f"{source}: `project` {rule.project!r} is not an absolute path. Write all of it.")
    if rule.project_id and not rule.project:
        raise RuleError(f"{source}: `project_id` is valid only with `project`. Remove it.")
    program = words[0].rpartition("/")[2] if words else ""
    found = SourcedRule(rule, source, words, any(char in rule.tool for char in "*?["), program)
    _check_examples(found)
    return found


def _names_one(pattern: str, tools: Iterable[str]) -> bool:
    return any(fnmatchcase(tool, pattern) for tool in tools)


_HOST = r"(\*\.)?[\w.-]+|[\da-fA-F:.]+"


def _check_examples(one: SourcedRule) -> None:
    if not one.rule.match and not one.rule.not_match:
        return
    from planck.permissions.ruling import matches_example

    for examples, wanted in ((one.rule.match, True), (one.rule.not_match, False)):
        for example in examples:
            if matches_example(one, example) is not wanted:
                says, key = ("does not match", "match") if wanted else ("matches", "not_match")
                raise RuleError(
                    f"{one.source}: {one.rule.command or one.rule.tool!r} {says} {example!r}, an example in "
                    f"its own `{key}`. Correct the rule or the example.",
                )
