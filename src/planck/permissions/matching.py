"""Whether a rule names a command: strictly, to vouch for it, and by any usual way, to forbid it."""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache

from planck.shell.launch import basename, find_launches, is_evaluated, runs_language
from planck.shell.plain import Segment, segments, sets_variables
from planck.shell.programs import find_family, find_program
from planck.shell.words import EXPANDED, Word

_SHORT = re.compile(r"-[A-Za-z]+")
_DIGITS = frozenset("0123456789")
_OPTION = ("-", "+")
"""`cargo +nightly` chooses a toolchain as an option would."""


class Match(StrEnum):
    NO = "no"
    MAYBE = "maybe"
    """The words do not tell; good enough to ask, never to allow."""
    YES = "yes"


_NO, _MAYBE, _YES = Match
"""To name a member of an enum by its class costs as much as a call."""


def vouches(words: Sequence[str], segment: Segment, allowed: Callable[[Segment], bool]) -> bool:
    """Tells whether an allowing rule covers a plain command. What bash evaluates is covered only by the very
    words; what the command starts must be among the rule's words, or be `allowed` itself."""
    if len(segment) < len(words) or not all(
        word.known and word.text == wanted for word, wanted in zip(segment, words, strict=False)
    ):
        return False
    if len(segment) > len(words) and (is_evaluated(segment) or runs_language(segment)):
        return False
    launches = find_launches(segment)
    if any(sets_variables(segment[len(words) : launch.at]) for launch in launches):
        return False
    return all(
        launch.at < len(words)
        or (bool(launch.words) and launch.words[0].known and allowed(launch.words))
        or (launch.script is not None and _is_allowed_script(launch.script, allowed))
        for launch in launches
    )


def _is_allowed_script(script: str, allowed: Callable[[Segment], bool]) -> bool:
    parts = segments(script)
    return parts is not None and all(allowed(segment) for segment in parts)


def holds(words: Sequence[str], commands: Iterable[Segment]) -> Match:
    """Tells whether a denying or asking rule is meant by one of the commands that a line starts."""
    best = _NO
    first = words[0]
    wanted = first.rpartition("/")[2]
    verb = words[1] if len(words) > 1 and words[1][:1] != "-" else ""
    for command in commands:
        program, other = command[0], False
        name = basename(program)
        if name == wanted:
            if verb and (len(command) == 1 or _has_another(command, verb, name)):
                continue
        elif not _names(wanted, program):
            if _is_part_of(wanted, program):
                # Each command of git is a program of its own, too: `git-push` is `git push`.
                command = (Word(wanted), Word(name[len(wanted) + 1 :]), *command[1:])
            elif wanted in list_families(name):
                command, other = (Word(wanted), *command[1:]), True
            else:
                continue
        found = _compare_rest(words, command)
        if found is _NO and len(words) > 1:
            found = _compare_verb(words, command)
        if found is _NO:
            continue
        if found is _YES and not other and ("/" not in first or program.text == first):
            return found
        best = _MAYBE
    return best


def list_others(names: Sequence[str]) -> list[str]:
    """Lists other names of programs: `git-push` is `git push`, `pip3` is `pip`, and `grm` may be `rm`."""
    more = [name.partition("-")[0] for name in names if "-" in name]
    # Most consist of a name only, and looking for more is slower.
    odd = [name for name in names if name[:1] == "g" or name[-1:] in _DIGITS or name[-4:-3] == "."]
    odd += more
    return more + [other for name in odd for other in list_families(name)] if odd else odd


@lru_cache(maxsize=512)
def list_families(name: str) -> tuple[str, ...]:
    """Names of the same program that a rule may have: `pip3` is a `pip`, and GNU's `grm` may be `rm`."""
    if name[-1:] in _DIGITS or name[-4:-3] == ".":  # most have neither, and that is a slower look
        name = find_family(name)
    return (name, name[1:]) if name[:1] == "g" else (name,)


def _has_another(command: Segment, verb: str, name: str) -> bool:
    """Tells quickly whether a command begins with a verb that its program knows as another than a rule's."""
    given = command[1]
    if not given.literal or given.text not in find_program(name).commands:
        return False
    same = _find_same(given.text, verb, name)
    if not same or len(command) == 2:
        return same is not None
    following = command[2]
    return following.known and following.text[:1] not in _OPTION and following.text not in same


@lru_cache(maxsize=512)
def _find_same(given: str, verb: str, name: str) -> frozenset[str] | None:
    """The words with which a known verb does what a rule's does: with `test`, `npm run` is `npm test`. None
    where it may do so without one."""
    synonyms = find_program(name).synonyms
    wanted, first = synonyms.get(verb, verb), synonyms.get(given, given)
    abbreviates = len(given) > 1 and wanted.startswith(given)
    if given == verb or abbreviates or wanted in (first, synonyms.get(first, first)) or " " in wanted:
        return None
    pairs = (key.partition(" ") for key, meant in synonyms.items() if meant == wanted)
    return frozenset(second for one, _, second in pairs if one == first and second)


def _names(wanted: str, program: Word) -> bool:
    name = basename(program)
    if program.literal:
        return name == wanted
    return EXPANDED not in name and fnmatchcase(wanted, name)


def _is_part_of(wanted: str, program: Word) -> bool:
    name = basename(program)
    return name.startswith(f"{wanted}-") and bool(find_program(wanted).commands)


def _compare_verb(words: Sequence[str], command: Segment) -> Match:
    """Compares the first words by what they do: synonyms do the same, and an unknown one may be an alias."""
    program = find_program(basename(command[0]))
    given = list_operands(command)
    if not given or words[1][:1] == "-":
        return _NO
    verb, wanted = given[0], program.synonyms.get(words[1], words[1])
    if verb == words[1]:
        return _NO  # the rest differs
    first = program.synonyms.get(verb, verb)
    for count, name in ((1, verb), (2, " ".join((first, *given[1:2])))):
        if program.synonyms.get(name, name) == wanted:
            rest = (command[0], Word(words[1]), *_drop_operands(command, count))
            return _compare_rest(words, rest)
    if program.commands:
        abbreviated = len(verb) > 1 and wanted.startswith(verb)
        return _MAYBE if abbreviated or verb not in program.commands else _NO
    # Where verbs are not listed, the rule's words may stand behind another one: `docker image push`.
    operands = [word for word in words[1:] if word[:1] != "-"]
    abbreviated = len(verb) > 1 and wanted.startswith(verb)
    return _MAYBE if abbreviated or {*operands}.issubset(given) else _NO


def list_operands(command: Segment) -> list[str]:
    """Returns the known words that are neither options nor, as far as the table tells, their values."""
    return [command[i].text for i in _find_operands(command)]


def _drop_operands(command: Segment, count: int) -> Segment:
    dropped = {*_find_operands(command)[:count]}
    return tuple(word for i, word in enumerate(command) if i and i not in dropped)


def _find_operands(command: Segment) -> list[int]:
    valued = find_program(basename(command[0])).valued
    found, skip = [], False
    for i, word in enumerate(command[1:], 1):
        if skip or not word.known or word.text.startswith(_OPTION):
            skip = not skip and word.text in valued
        else:
            found.append(i)
    return found


def _compare_rest(words: Sequence[str], command: Segment) -> Match:
    """Compares what follows the program: a rule's words in their order, its options wherever they stand."""
    given = command[1:]
    valued = find_program(basename(command[0])).valued
    result, i = _YES, 0
    for wanted in words[1:]:
        if wanted[:1] == "-":
            found = _find_option(wanted, given)
        else:
            found, i = _find_word(wanted, given, i, valued)
        if found is _NO:
            return found
        if found is _MAYBE:
            result = found
    return result


def _find_word(wanted: str, given: Segment, i: int, valued: frozenset[str]) -> tuple[Match, int]:
    """Finds a rule's word behind options. One that may be an option's value leaves a doubt."""
    sure, after_option = True, False
    while i < len(given):
        word, i = given[i], i + 1
        if not word.known:
            return _MAYBE, i
        if word.text == wanted:
            return (_YES if sure else _MAYBE), i
        if word.text.startswith(_OPTION):
            if word.text in valued:
                i, after_option = i + 1, False
            else:
                after_option = "=" not in word.text
        elif after_option:
            sure, after_option = False, False
        else:
            return _NO, i
    return _NO, i


def _find_option(wanted: str, given: Segment) -> Match:
    """`-rf` is also `-fr` and `-r x -f`; `--force` may be `-f`, and `--forc` is."""
    texts = [word.text for word in given if word.known]
    names = {text.partition("=")[0] for text in texts}
    if wanted in texts or wanted in names:
        return _YES
    doubt = _MAYBE if any(not word.known for word in given) else _NO
    if wanted in ("--force", "-f") and any(text[:1] == "+" for text in texts):
        doubt = _MAYBE  # `git push origin +main`
    short = {letter for text in texts if _SHORT.fullmatch(text) for letter in text[1:]}
    long = {text[2:3] for text in names if text.startswith("--")}
    if _SHORT.fullmatch(wanted):
        letters = set(wanted[1:])
        if letters <= short:
            return _YES
        folded = {letter.lower() for letter in short} | long
        return _MAYBE if {letter.lower() for letter in letters} <= folded else doubt
    abbreviated = any(len(name) > 2 and wanted.startswith(name) for name in names if name.startswith("--"))
    return _MAYBE if abbreviated or wanted[2:3] in short else doubt
