"""Where the values of a TOOL.json script go: into variables, files and inputs, and from there to others."""

import re
from collections.abc import Set
from itertools import dropwhile

from planck.shell.launch import basename
from planck.shell.programs import find_program
from planck.shell.script import Command, Script
from planck.shell.words import Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?\+?=", re.DOTALL)
POSITIONAL = frozenset({"@", "*", *"0123456789"})
_COPIERS = frozenset({"tee", "cp", "mv", "ln", "install", "dd", "split", "sort", "rsync", "truncate"})
"""Programs that write to files which their words name."""
_EVERY_FILE = "*"


def find_assignments(command: Command) -> list[Word]:
    """Returns the words of a command that set variables."""
    words = unwrap(command)
    count = len(command) if words and find_program(basename(words[0])).assigns else len(command) - len(words)
    return [word for word in command[:count] if ASSIGNMENT.match(word.text)]


def skip_assignments(command: Command) -> list[Word]:
    return list(dropwhile(lambda word: ASSIGNMENT.match(word.text), command))


def unwrap(command: Command) -> list[Word]:
    """Returns a command without its assignments and without `command` or `builtin` in front."""
    words = skip_assignments(command)
    while words and words[0].text in {"command", "builtin"}:
        words = [word for i, word in enumerate(words[1:]) if i or not word.text.startswith("-")]
    return words


def find_carriers(script: Script, seed: frozenset[str] = frozenset()) -> frozenset[str]:
    """Returns the variables that may hold a value, or something made of one; those of `seed` do."""
    found = set(seed)
    if any(command[0].text == "set" for command in script.commands):
        found |= POSITIONAL
    onward: dict[str, set[str]] = {}  # from a variable to those that take its value
    for command in script.commands:
        for target, has_value, sources in _find_flows(command):
            found |= {target} if has_value else set()
            for source in sources:
                onward.setdefault(source, set()).add(target)
    fresh = list(found)
    while fresh:
        reached = onward.get(fresh.pop(), set()) - found
        found |= reached
        fresh += reached
    return frozenset(found)


def find_outputs(script: Script) -> frozenset[str]:
    """Returns the variables that hold the output of some command: it may have read a value."""
    return frozenset(
        match[1]
        for command in script.commands
        for word in command
        if word.runs and (match := ASSIGNMENT.match(word.text))
    )


def _find_flows(command: Command) -> list[tuple[str, bool, Set[str]]]:
    """Returns the variables that a command sets, whether to a value of ours, and from which others."""
    flows: list[tuple[str, bool, Set[str]]] = [
        (word.text.partition("=")[0].rstrip("+").partition("[")[0], word.has_value, word.names)
        for word in find_assignments(command)
    ]
    words = unwrap(command)
    names = [word.text for word in words]
    has_value = any(word.has_value for word in words)
    sources = {name for word in words for name in word.names}
    match names:
        case ["for" | "select", name]:
            flows.append((name, False, set(POSITIONAL)))
        case ["for" | "select", name, *_]:
            flows.append((name, has_value, sources))
        case ["read" | "mapfile" | "readarray", *targets]:
            flows += [(target, True, set()) for target in ("REPLY", "MAPFILE", *targets)]
        case ["getopts", *_]:
            flows.append(("OPTARG", True, set()))
        case ["printf", "-v", name, *_]:
            flows.append((name, has_value, sources))
    return flows


class Written:
    """The files that a script writes, by which of its commands."""

    def __init__(self, script: Script) -> None:
        self._files: list[tuple[int, str]] = []
        self._loops, self._at_once = script.has_loop, script.at_once
        places = {id(command): i for i, command in enumerate(script.commands)}
        for command, operator, target in script.redirections:
            if ">" in operator and target.text not in {"/dev/null", "/dev/stdout", "/dev/stderr"}:
                self._add(places.get(id(command), 0), target)
        for i, command in enumerate(script.commands):
            words = skip_assignments(command)
            while words and basename(words[0]) in {"sudo", "command", "env"}:
                words = words[1:]
            if words and basename(words[0]) in _COPIERS:
                for word in words[1:]:
                    self._add(i, word)

    def __bool__(self) -> bool:
        return bool(self._files)

    def _add(self, place: int, target: Word) -> None:
        name = target.text.rpartition("=")[2].rpartition("/")[2]
        if target.known and name and not name.startswith("-"):
            self._files.append((place, name))
        elif not target.known:
            self._files.append((place, _EVERY_FILE))

    def has(self, file: Word, place: int) -> bool:
        """Tells whether another command may have written the file by the time of that at `place`."""
        name = basename(file)
        return any(
            written in (name, _EVERY_FILE) or not file.known
            for i, written in self._files
            if i < place or self._loops or (self._at_once and i != place)
        )
