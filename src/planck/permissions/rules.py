"""The user's rules: which calls are allowed, asked or denied beyond what the mode says. Strictest wins."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from planck.records.outcome import ErrorKind, PlanckError
from planck.shell.script import Segment, segments


class RuleError(PlanckError):
    """A rule that can't be used; the message names it, its source and what to change."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorKind.INVALID_ARGS, message)


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


_STRICTNESS = (None, Decision.ALLOW, Decision.ASK, Decision.DENY)


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`{"tool": "bash", "command": "git push", "decision": "ask"}`: `command` is a prefix, in words.

    Where it is allowed, a `*` behind it says so, and `exact` says otherwise.
    """

    tool: str
    decision: Decision
    command: str = ""
    exact: bool = False
    """An allowed command is these words and no more."""
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

    def is_for(self, tool: str) -> bool:
        return fnmatchcase(tool, self.rule.tool) if self.any_tool else tool == self.rule.tool

    def __str__(self) -> str:
        what = f"{self.rule.tool} {' '.join(self.words)}".strip()
        if self.rule.exact:
            return f"{self.rule.decision} exactly {what!r} ({self.source})"
        return f"{self.rule.decision} {what!r} ({self.source})"


class Match(StrEnum):
    NO = "no"
    MAYBE = "maybe"
    """The words do not tell; good enough to ask, never to allow."""
    YES = "yes"


class Ruling(msgspec.Struct, frozen=True):
    """What the rules say of one call; `decision` None: nothing."""

    decision: Decision | None
    by: SourcedRule | None = None
    network: bool = False
    unconfined: bool = False
    unreadable: bool = False
    """The command could not be taken apart, so a rule that denies or asks might have matched."""


def load(raw: Iterable[Mapping[str, Any]], source: str) -> tuple[SourcedRule, ...]:
    """Parses the rules of one place and proves each by its own examples."""
    return tuple(_load_rule(entry, f"{source}, rule {number}") for number, entry in enumerate(raw, 1))


def apply_rules(rules: Sequence[SourcedRule], tool: str, args: Mapping[str, Any]) -> Ruling:
    """Judges each segment by itself, and the strictest holds: one that is allowed vouches for no other."""
    mine = [one for one in rules if one.is_for(tool)]
    if not mine:
        return Ruling(None)
    command = args.get("command")
    parts: tuple[Segment, ...] | None = ((),)
    if isinstance(command, str) and any(one.words for one in mine):
        parts = segments(command)
    if parts is None:
        return _judge_unreadable(mine)
    rulings = [_judge_segment(mine, segment) for segment in parts]
    if any(ruling.decision is None for ruling in rulings):
        rulings = [ruling for ruling in rulings if ruling.decision not in (None, Decision.ALLOW)]
        if not rulings:
            return Ruling(None)
    if len(rulings) == 1:
        return rulings[0]
    worst = max(rulings, key=lambda ruling: _STRICTNESS.index(ruling.decision))
    return msgspec.structs.replace(
        worst,
        network=all(ruling.network for ruling in rulings),
        unconfined=all(ruling.unconfined for ruling in rulings),
    )


def _judge_segment(rules: Sequence[SourcedRule], segment: Segment) -> Ruling:
    """Finds the strictest rule for one simple command, of equals the first. The rights it gives are those
    that every allowing rule gives."""
    found: list[tuple[Decision, SourcedRule]] = []
    program = _known_names(segment)
    for one in rules:
        if program and one.words and one.words[0] not in program:
            continue
        match _matches(one, segment):
            case Match.YES:
                found.append((one.rule.decision, one))
            case Match.MAYBE if one.rule.decision is not Decision.ALLOW:
                found.append((Decision.ASK, one))
    if not found:
        return Ruling(None)
    decision, by = max(found, key=lambda pair: _STRICTNESS.index(pair[0]))
    allowing = [one.rule for of, one in found if of is Decision.ALLOW]
    return Ruling(
        decision,
        by,
        network=bool(allowing) and all(one.network for one in allowing),
        unconfined=bool(allowing) and all(one.unconfined for one in allowing),
    )


def _known_names(segment: Segment) -> tuple[str, ...]:
    """Returns the names that the program surely has; none where it is expanded or starts others."""
    if not segment or not segment[0].literal:
        return ()
    text = segment[0].text
    name = text.rpartition("/")[2]
    return () if name in _LAUNCHERS else (text, name)


def _judge_unreadable(rules: Sequence[SourcedRule]) -> Ruling:
    """No rule with words can vouch; one that denies or asks might be meant; those without words hold."""
    whole = [one for one in rules if not one.words]
    ruling = _judge_segment(whole, ()) if whole else Ruling(None)
    narrowing = next((one for one in rules if one.words and one.rule.decision is not Decision.ALLOW), None)
    if narrowing is not None and ruling.decision in (None, Decision.ALLOW):
        return Ruling(Decision.ASK, narrowing, unreadable=True)
    return msgspec.structs.replace(ruling, unreadable=True)


_LAUNCHERS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "fish", "eval", "exec", "command", "builtin", "env", "sudo", "doas"}
    | {"su", "xargs", "nohup", "nice", "ionice", "setsid", "timeout", "stdbuf", "watch", "parallel"}
    | {"python", "python3", "perl", "ruby", "node", "awk", "find", "source", ".", "script", "strace", "time"}
    | {"unshare", "setpriv", "chroot", "ssh", "make", "busybox"}
)
"""Programs that start others: a narrowing rule can't see through them, so it asks."""


def _matches(one: SourcedRule, segment: Segment) -> Match:
    if not one.words:
        return Match.YES
    for word, wanted in zip(segment, one.words, strict=False):
        if not word.literal or word.text != wanted:
            break
    else:
        if len(segment) == len(one.words) or (len(segment) > len(one.words) and not one.rule.exact):
            return Match.YES
    if one.rule.decision is Decision.ALLOW:
        return Match.NO
    return Match.MAYBE if _might_match(one.words, segment) else Match.NO


def _might_match(words: tuple[str, ...], segment: Segment) -> bool:
    """Tells whether a narrowing rule could be meant: options between its words, a path before them, an
    expansion in their place, or a program that starts others."""
    program = segment[0]
    name = program.text.rpartition("/")[2]
    if not program.literal:
        return True
    if name != words[0]:
        return name in _LAUNCHERS
    if len(words) == 1:
        return True
    texts = iter([word.text if word.literal else None for word in segment[1:]])
    return all(any(text is None or text == word for text in texts) for word in words[1:])


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
    if rule.exact and (rule.decision is not Decision.ALLOW or not rule.command):
        raise RuleError(f"{source}: `exact` is for a `command` that is allowed; drop it")
    if rule.decision is not Decision.ALLOW and (rule.network or rule.unconfined):
        raise RuleError(f"{source}: `network` and `unconfined` are rights; only `allow` gives them")
    found = SourcedRule(rule, source, words, any(char in rule.tool for char in "*?["))
    _check_examples(found)
    return found


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
    parts = segments(example)
    return parts is not None and any(_matches(one, segment) is Match.YES for segment in parts)
