"""Commands that would read a value as something else than data: as a script, a variable's name, an option.

An expanded variable is data to bash itself; these are the commands that look at it twice.
"""

import re
from itertools import pairwise

from planck.tools.shell_text import EXPANDED, VALUE, Command, ShellText, Word, refused

RUN_A_PROGRAM = "nice -n 0 -- "
"""In front of a command that a value names: it runs programs only, so a value can't choose `eval`."""

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash"})
_WRAPPERS = frozenset(
    {
        "env",
        "sudo",
        "doas",
        "nohup",
        "nice",
        "ionice",
        "timeout",
        "xargs",
        "setsid",
        "stdbuf",
        "exec",
        "command",
        "builtin",
        "chroot",
        "busybox",
        "strace",
    }
)
_RESHELLING = frozenset(
    {
        "ssh",
        "rsh",
        "mosh",
        "su",
        "runuser",
        "sg",
        "watch",
        "script",
        "parallel",
        "at",
        "batch",
        "tmux",
        "screen",
    }
)
"""Programs that hand their words to a shell."""
_EVALUATING = frozenset(
    {
        "eval",
        "let",
        "trap",
        "source",
        ".",
        "alias",
        "complete",
        "compgen",
        "bind",
        "fc",
        "unset",
        "read",
        "mapfile",
        "readarray",
        "getopts",
        "wait",
        "enable",
        "shopt",
    }
)
_DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly"})
_EVALUATED_NAMES = frozenset(
    {"BASH_ENV", "ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "IFS", "SHELLOPTS"}
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?\+?=", re.DOTALL)
_POSITIONAL = {"@", "*", *"0123456789"}


def check(text: ShellText) -> None:
    """Raise for a placeholder that some command would evaluate; mark the commands that a value names."""
    for command in text.commands:
        _check_command(command, text)
    _check_variables(text)


def _check_command(command: Command, text: ShellText) -> None:
    assignments = _assignments(command)
    for word, match in assignments:
        if match[1] in _EVALUATED_NAMES and word.has_value:
            raise refused(f"a value can't be assigned to {match[1]}, which a shell evaluates")
        if VALUE in (match[2] or ""):
            raise refused("a value can't be an array's index, which bash evaluates")
    words = command[len(assignments) :]
    if not words:
        return
    if words[0].nested or (words[0].has_value and EXPANDED in words[0].text):
        raise refused("the output of a command that sees a value can't name a command")
    if VALUE in words[0].text:
        text.pieces[words[0].at] = RUN_A_PROGRAM
    _check_builtin(words)
    _check_shells(words, text)


def _assignments(command: Command) -> list[tuple[Word, re.Match[str]]]:
    found = []
    for word in command:
        match = _ASSIGNMENT.match(word.text)
        if not match:
            break
        found.append((word, match))
    return found


def _check_builtin(words: list[Word]) -> None:
    name, rest = words[0].text, words[1:]
    if not any(word.has_value for word in rest):
        return
    if name in _EVALUATING or (name == "set" and not _after_dashes(rest)):
        raise refused(f"a value can't be an argument of {name!r}, which evaluates it")
    if name.rpartition("/")[2] in _RESHELLING:
        raise refused(f"a value can't be an argument of {name!r}, which hands it to another shell")
    if name in _DECLARING:
        _check_declaration(words)
    elif name in {"test", "["}:
        _check_test(rest)
    elif name == "printf":
        _check_printf(rest)
    elif name in {"command", "builtin"}:
        inner = _operands(rest)
        if inner and inner[0].has_value:
            raise refused(f"a value can't name what {name!r} runs")
        _check_builtin(inner)


def _after_dashes(rest: list[Word]) -> bool:
    first = next(i for i, word in enumerate(rest) if word.has_value)
    return "--" in [word.text for word in rest[:first]]


def _declares_a_number(words: list[Word]) -> bool:
    options = [word.text for word in words[1:] if word.text[:1] in {"-", "+"}]
    return words[0].text in _DECLARING and any(set(option) & set("inaA") for option in options)


def _check_declaration(words: list[Word]) -> None:
    name = words[0].text
    if _declares_a_number(words):
        raise refused(f"{name} -i, -n, -a or -A and a value do not go together: bash evaluates it")
    for word in words[1:]:
        if word.has_value and VALUE in word.text.partition("=")[0] + word.text[: "=" not in word.text]:
            raise refused(f"a value can't name what {name!r} declares")
        match = _ASSIGNMENT.match(word.text)
        if match and match[1] in _EVALUATED_NAMES and word.has_value:
            raise refused(f"a value can't be assigned to {match[1]}, which a shell evaluates")


def _check_test(rest: list[Word]) -> None:
    for word, following in pairwise(rest):
        # A value that is `-v` makes a variable's name of the word after it, and bash evaluates its index.
        if following.has_value and (word.text in {"-v", "-R"} or word.text[:1] in {VALUE, EXPANDED}):
            raise refused("a value after -v, or after another value, can't be tested; compare with = or -n")


def _check_printf(rest: list[Word]) -> None:
    operands = _operands(rest)
    options = rest[: len(rest) - len(operands)]
    values = [word.has_value for word in operands]
    if any(word.text.startswith("-v") for word in options) or (values[:1] == [True] and len(values) > 1):
        raise refused("a value can't be printf's format, nor the name after -v; use '%s'")


def _operands(rest: list[Word]) -> list[Word]:
    for i, word in enumerate(rest):
        if word.text == "--":
            return rest[i + 1 :]
        if not word.text.startswith("-"):
            return rest[i:]
    return []


def _check_shells(words: list[Word], text: ShellText) -> None:
    named_by_value = VALUE in words[0].text
    wrapped = words[0].text.rpartition("/")[2] in _WRAPPERS
    for i, word in enumerate(words):
        if word.text.rpartition("/")[2] in _SHELLS or (i == 0 and named_by_value):
            sure = wrapped or (i == 0 and not named_by_value)
            text.evaluated.append(("sh -c", _check_shell(words[i + 1 :], sure=sure)))


def _check_shell(rest: list[Word], *, sure: bool) -> set[str]:
    """The variables whose values become the shell's script.

    `sure`: it is the command that runs; else it may be a mere argument, as in `grep bash file`.
    """
    runs_text = False
    while rest and rest[0].text[:1] in {"-", "+"} and not rest[0].has_value and rest[0].text != "--":
        option = rest.pop(0).text
        runs_text |= "c" in option and not option.startswith("--")
        if option.lstrip("-+") in {"o", "O", "rcfile", "init-file"} and rest:
            rest.pop(0)
    dashes = bool(rest) and rest[0].text == "--"
    rest = rest[dashes:]
    if runs_text and rest and (rest[0].has_value or "{}" in rest[0].text):
        raise refused(
            "a value can't stand in the script of sh -c; pass it as an argument: sh -c '… \"$1\"' sh {{x}}"
        )
    if not sure or runs_text:
        return rest[0].names if rest and runs_text else set()
    if not rest:
        raise refused("a shell that reads its script from its input, and placeholders, do not go together")
    if rest[0].nested:
        raise refused("a value can't be part of a script that a shell reads")
    if rest[0].has_value and len(rest) > 1 and not dashes:
        raise refused("a value can't stand where a shell takes options; put -- before it")
    return set()


def _check_variables(text: ShellText) -> None:
    """Values that reach an evaluating construct by way of the author's own variables."""
    carriers = _carriers(text)
    evaluated = list(text.evaluated)
    for command in text.commands:
        words = command[len(_assignments(command)) :]
        if words and (words[0].text in _EVALUATING or _declares_a_number(words)):
            evaluated.append((repr(words[0].text), {name for word in words for name in word.names}))
    for what, names in evaluated:
        if found := carriers & names:
            raise refused(f"${min(found)} carries a value into {what}, which evaluates it")


def _carriers(text: ShellText) -> set[str]:
    carriers: set[str] = set()
    if text.defines_functions or any(command[0].text == "set" for command in text.commands):
        carriers |= _POSITIONAL
    while True:
        before = len(carriers)
        for command in text.commands:
            carriers |= _caught(command, carriers)
        if len(carriers) == before:
            return carriers


def _caught(command: Command, carriers: set[str]) -> set[str]:
    caught = {
        match[1]
        for word in command
        if (match := _ASSIGNMENT.match(word.text)) and (word.has_value or word.names & carriers)
    }
    names = [word.text for word in command]
    if names[0] in {"for", "select"} and len(names) > 1:
        if (
            any(word.has_value or word.names & (carriers | _POSITIONAL) for word in command)
            or len(names) == 2
        ):
            caught.add(names[1])
    elif names[0] in {"read", "mapfile", "readarray"}:
        caught |= {"REPLY", "MAPFILE", *names[1:]}
    elif names[0] == "printf" and "-v" in names[:-1]:
        caught.add(names[names.index("-v") + 1])
    return caught
