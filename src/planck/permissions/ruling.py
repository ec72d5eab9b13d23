"""What rules say of one call: of a command line, part by part. Strictest wins."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import msgspec

from planck.permissions.matching import (
    Match,
    holds,
    list_families,
    list_operands,
    list_others,
    vouches,
)
from planck.permissions.rules import Chosen, Decision, Ruling, SourcedRule
from planck.shell.launch import basename, may_start_others
from planck.shell.plain import Segment, segments
from planck.shell.programs import PROGRAMS, UNKNOWN, VERBS, Program, find_program
from planck.shell.reach import Reach, find_handed, find_reach
from planck.shell.words import EXPANDED, Word

_NOTHING = Ruling(None)
_ALLOW, _ASK, _DENY = Decision
_NO, _MAYBE, _YES = Match
"""To name a member of an enum by its class costs as much as a call."""


def weigh(mine: Chosen, args: Mapping[str, Any], folder: str = "") -> Ruling:
    """`mine`: the rules for the tool that is called, at least one; `folder`: where commands start."""
    command = args.get("command")
    parts: tuple[Segment, ...] | None = ((),)
    found = _NOTHING
    if mine.worded and isinstance(command, str):
        line = _read_line(command) if len(command) <= _MAX_KEPT else _Line(command)
        parts = line.parts
        found = line.narrow(mine) if mine.narrowing else found
        looks = folder and mine.narrowing and found.decision is not _DENY
        if looks and ((started := line.started).scripts or started.packages or started.paths):
            place = os.path.join(folder, str(args.get("cwd") or ""))
            handed = [
                words for words in started.paths if os.access(os.path.join(place, words[0].text), os.X_OK)
            ]
            if started.scripts or started.packages or handed:
                from planck.permissions.scripts import weigh_scripts  # few lines name one

                narrow = partial(_narrow_reach, mine)
                wanted = [one.words for one in mine.narrowing]
                seen = weigh_scripts(started.reach, command, parts, place, narrow, wanted, handed)
                found = seen if found.decision is None or seen.decision is _DENY else found
    for one in mine.general:
        if found.decision is not _DENY and found.decision is not one.rule.decision:
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
    if one.rule.decision is not _ALLOW:
        return holds(one.words, find_reach(example, segments(example)).commands) is _YES
    parts = segments(example) or ()
    return any(one in _Allowing((one,), moved=False).find(segment) for segment in parts)


class _Line:
    """What a command line says by itself, whatever the rules are."""

    __slots__ = ("_by", "_command", "_narrowed", "_started", "parts")

    def __init__(self, command: str) -> None:
        self.parts = segments(command)
        self._command = command
        self._started: _Started | None = None
        self._by: Chosen | None = None
        self._narrowed = _NOTHING

    def narrow(self, mine: Chosen) -> Ruling:
        """Returns what rules say that deny or ask; a line is often judged again by the same ones."""
        if self._by is not mine:
            self._by, self._narrowed = mine, _narrow(mine, self.started)
        return self._narrowed

    @property
    def started(self) -> "_Started":
        """Looked for only where a rule denies or asks."""
        if self._started is None:
            self._started = _look_at(find_reach(self._command, self.parts))
        return self._started


class _Started(msgspec.Struct, frozen=True, gc=False):
    """What a line starts, and what is quickly asked of that."""

    reach: Reach
    names: frozenset[str] | None
    """Of all programs that may be started; None where one is known only when it runs."""
    scripts: bool
    """Whether one is named by a path where an agent may write."""
    packages: bool
    """Whether one starts scripts of a `package.json`."""
    unknown: tuple[Segment, ...]
    """Programs that nobody knows, with words behind them that they may start."""
    handed: tuple[Segment, ...]
    """What starts if these, or an `exec`, hand their words to a launcher or a shell."""
    paths: tuple[Segment, ...]
    """Words behind those programs that may name a script, with what follows."""


def _look_at(reach: Reach) -> _Started:
    names, scripts, packages, literal, hands = set[str](), False, False, True, False
    unknown: list[Segment] = []
    paths: list[Segment] = []
    for words in (*reach.commands, *reach.given) if reach.given else reach.commands:
        first = words[0]
        name = first.text
        if not first.literal:
            literal = False
        if "/" in name:
            scripts, name = True, basename(first)
        others, launcher = _look_up(name)
        names.update(others)
        packages = packages or name in _PACKAGED
        if launcher is None or len(words) == 1:
            continue
        if launcher is UNKNOWN or _may_launch(launcher, name, words):
            given = [word.text for word in words]
            behind, joined = given[1:], "".join(given)
            if "=" in joined:
                behind = [_take_value(word).text for word in words[1:]]
            if "/" in joined:
                paths += [words[i:] for i, text in enumerate(given) if i and "/" in text]
                behind = [text.rpartition("/")[2] for text in behind]
                hands = hands or _ROOT.search(joined) is not None
            names.update(behind, list_others(behind))
            unknown.append(words)
            if EXPANDED in joined or False in [word.literal for word in words]:
                literal = literal and not any(_list_expanded(words))
            hands = hands or " " in joined or "\t" in joined or "\n" in joined or may_start_others(behind)
    handed: tuple[Segment, ...] = ()
    if perhaps := reach.perhaps:
        hands = hands or bool(unknown) or any(len(words) > 1 or " " in words[0].text for words in perhaps)
        named = [basename(words[0]) for words in perhaps]
        names.update(named, list_others(named))
    if hands:
        rests = (words[i:] for words in unknown for i in range(1, len(words)))
        found = find_handed(chain(perhaps, rests))
        handed = found.commands
        if found.unknown:
            doubts = "; ".join(filter(None, (reach.unknown, found.unknown)))
            reach = msgspec.structs.replace(reach, unknown=doubts)
        literal = literal and all(words[0].literal for words in handed)
        named = [basename(words[0]) for words in handed]
        names.update(named, list_others(named))
    if reach.unknown and perhaps:  # then every rule is compared with these, also where they are expanded
        literal = literal and all(words[0].literal for words in perhaps)
    return _Started(
        reach, frozenset(names) if literal else None, scripts, packages, tuple(unknown), handed, tuple(paths)
    )


_PACKAGED = frozenset(name for name, row in PROGRAMS.items() if "package.json" in row.files)
_ROOT = re.compile(r"/(?:proc|lib|dev)")
"""Where a program behind another may be any."""


@lru_cache(maxsize=512)
def _look_up(name: str) -> tuple[tuple[str, ...], Program | None]:
    """All names of a program; and the program itself, if it may start words behind it: one that nobody knows,
    or by some of its verbs."""
    program = find_program(name)
    by_verb = program.commands or program.runners or program.verbs
    launches = program is UNKNOWN or program.launches or by_verb
    return (name, *list_others((name,))), program if launches else None


_MAX_KEPT = 2_000
"""Characters of a line that is remembered: it is judged, tried, asked about, and often run again."""
_read_line = lru_cache(maxsize=128)(_Line)


def _narrow_reach(mine: Chosen, reach: Reach) -> Ruling:
    """Scripts are remembered, and judged by the same rules."""
    kept = _KEPT.get((id(mine), id(reach)))
    if kept is not None and kept[0] is mine and kept[1] is reach:
        return kept[2]
    found = _narrow(mine, _look_at(reach))
    if len(_KEPT) >= _MAX_NARROWED:
        _KEPT.clear()
    _KEPT[id(mine), id(reach)] = (mine, reach, found)
    return found


_MAX_NARROWED = 64
_KEPT: dict[tuple[int, int], tuple[Chosen, Reach, Ruling]] = {}
"""By the very objects, which are the same while neither the rules nor the script change."""


def _narrow(mine: Chosen, started: _Started) -> Ruling:
    """Finds the strictest rule that denies or asks, of several the first. One that only might be meant
    asks."""
    reach, names = started.reach, started.names
    rules: Sequence[SourcedRule] = mine.narrowing
    if names is not None and not reach.unknown:
        if mine.programs.isdisjoint(names):
            return _NOTHING
        rules = [one for one in rules if one.program in names]
    found = _NOTHING
    perhaps = (*reach.perhaps, *started.handed)
    if started.unknown:
        perhaps += _list_trails(started.unknown, {one.program for one in rules})
    for one in rules:
        if found.decision is one.rule.decision or found.decision is _DENY:
            continue
        match = _NO
        if names is None or one.program in names:
            match = holds(one.words, reach.commands)
            if match is _NO and perhaps and holds(one.words, perhaps) is not _NO:
                match = _MAYBE
            if match is _NO and names is None and _may_expand_to(one, started.unknown):
                match = _MAYBE
        if match is _YES:
            found = Ruling(one.rule.decision, one)
        elif found.decision is not None:
            continue  # what might be meant asks, and one does already
        elif match is _MAYBE:
            found = Ruling(_ASK, one, note="it may apply here")
        elif reach.unknown:
            found = Ruling(_ASK, one, note=f"it may apply here: {reach.unknown}")
    return found


def _list_trails(commands: Sequence[Segment], programs: Set[str]) -> tuple[Segment, ...]:
    """Returns what programs that nobody knows would start, if they start the words behind their own."""
    found: list[Segment] = []
    for words in commands:
        for i in range(1, len(words)):
            name = basename(_take_value(words[i]))
            if name in programs or not programs.isdisjoint((name.partition("-")[0], *list_families(name))):
                found.append((Word(name), *words[i + 1 :]))
    return tuple(found)


def _list_expanded(words: Segment) -> Iterator[Segment]:
    """Yields what follows each word behind a program that the shell expands, if its next word is literal."""
    for i in range(1, len(words) - 1):
        if _is_expanded(words[i]) and not _is_expanded(words[i + 1]):
            yield words[i + 1 :]


def _is_expanded(word: Word) -> bool:
    return not word.literal or EXPANDED in word.text


def _may_expand_to(one: SourcedRule, commands: Sequence[Segment]) -> bool:
    """`made-up g?t push` may start git. Words behind an expansion are compared only where a rule names more
    than a program: a rule for `rm` would otherwise ask at every `made-up $file out.txt`."""
    return len(one.words) > 1 and any(
        holds(one.words, ((Word(one.program), *behind),)) is _YES
        for words in commands
        for behind in _list_expanded(words)
    )


def _take_value(word: Word) -> Word:
    """`--command=git` names a program, too."""
    text = word.text
    return Word(text.partition("=")[2], word.literal) if text[:1] == "-" and "=" in text else word


_NAMING = frozenset(
    {"add", "get", "i", "in", "info", "install", "list", "ls", "outdated", "remove", "rm", "search", "show"}
    | {"uninstall", "up", "update", "upgrade", "use", "view", "why"}
)
"""Verbs behind which packages are named, and none of them is started."""


def _may_launch(program: Program, name: str, words: Segment) -> bool:
    """Whether it does so with these words: a verb that is not known may be another program's name."""
    if program.launches:
        return True
    verb = words[1].text if words[1].text[:1] != "-" else next(iter(list_operands(words)), "")
    if verb in program.verbs:  # git has a reader of its own, and `run` is followed for every program
        return verb not in VERBS and "git" not in name
    return verb not in (program.commands or _NAMING)


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
        used += _drop_lesser(mine)
    return Ruling(
        _ALLOW,
        used[0],
        network=all(one.rule.network for one in used),
        write=all(one.rule.write for one in used),
        unconfined=all(one.rule.unconfined for one in used),
    )


def _drop_lesser(rules: list[SourcedRule]) -> list[SourcedRule]:
    """Leaves out rules of the same words as another that gives more: the user approved both."""
    return [
        one
        for one in rules
        if not any(
            (other.words, other.rule.exact) == (one.words, one.rule.exact)
            and _list_rights(other) > _list_rights(one)
            for other in rules
        )
    ]


def _list_rights(one: SourcedRule) -> frozenset[str]:
    rule = one.rule
    if rule.unconfined:
        return frozenset({"write", "network", "outside"})
    return frozenset({name for name in ("write", "network") if getattr(rule, name)})


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
