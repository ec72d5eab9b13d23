"""Whether a rule names a command: strictly, to vouch for it, and by any usual way, to forbid it."""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase

from planck.shell.launch import basename, find_launches, is_evaluated, runs_language
from planck.shell.plain import Segment, segments, sets_variables
from planck.shell.programs import find_program
from planck.shell.words import EXPANDED, Word

_SHORT = re.compile(r"-[A-Za-z]+")


class Match(StrEnum):
    NO = "no"
    MAYBE = "maybe"
    """The words do not tell; good enough to ask, never to allow."""
    YES = "yes"


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
    best = Match.NO
    first = words[0]
    wanted = first.rpartition("/")[2]
    for command in commands:
        program = command[0]
        if not _names(wanted, program):
            continue
        found = _compare_rest(words, command)
        if found is Match.NO:
            continue
        if found is Match.YES and ("/" not in first or program.text == first):
            return found
        best = Match.MAYBE
    return best


def _names(wanted: str, program: Word) -> bool:
    name = basename(program)
    if program.literal:
        return name == wanted
    return EXPANDED not in name and fnmatchcase(wanted, name)


def _compare_rest(words: Sequence[str], command: Segment) -> Match:
    """Compares what follows the program: a rule's words in their order, its options wherever they stand."""
    given = command[1:]
    valued = find_program(basename(command[0])).valued
    result, i = Match.YES, 0
    for wanted in words[1:]:
        if wanted[:1] == "-":
            found = _find_option(wanted, given)
        else:
            found, i = _find_word(wanted, given, i, valued)
        if found is Match.NO:
            return found
        if found is Match.MAYBE:
            result = found
    return result


def _find_word(wanted: str, given: Segment, i: int, valued: frozenset[str]) -> tuple[Match, int]:
    """Finds a rule's word behind options. One that may be an option's value leaves a doubt."""
    sure, after_option = True, False
    while i < len(given):
        word, i = given[i], i + 1
        if not word.known:
            return Match.MAYBE, i
        if word.text == wanted:
            return (Match.YES if sure else Match.MAYBE), i
        if word.text.startswith("-"):
            if word.text in valued:
                i, after_option = i + 1, False
            else:
                after_option = "=" not in word.text
        elif after_option:
            sure, after_option = False, False
        else:
            return Match.NO, i
    return Match.NO, i


def _find_option(wanted: str, given: Segment) -> Match:
    """`-rf` is also `-fr` and `-r x -f`; `--force` may be `-f`, and `--forc` is."""
    texts = [word.text for word in given if word.known]
    names = {text.partition("=")[0] for text in texts}
    if wanted in texts or wanted in names:
        return Match.YES
    doubt = Match.MAYBE if any(not word.known for word in given) else Match.NO
    short = {letter for text in texts if _SHORT.fullmatch(text) for letter in text[1:]}
    long = {text[2:3] for text in names if text.startswith("--")}
    if _SHORT.fullmatch(wanted):
        letters = set(wanted[1:])
        if letters <= short:
            return Match.YES
        folded = {letter.lower() for letter in short} | long
        return Match.MAYBE if {letter.lower() for letter in letters} <= folded else doubt
    abbreviated = any(len(name) > 2 and wanted.startswith(name) for name in names if name.startswith("--"))
    return Match.MAYBE if abbreviated or wanted[2:3] in short else doubt
