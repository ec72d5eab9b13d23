"""Commands that would read a value as something else than data: as a script, a variable's name, an option.

An expanded variable is data to bash itself; these are the commands that look at it twice.
"""

import re
from itertools import pairwise

from planck.tools.shell_text import EXPANDED, VALUE, Command, Quote, ShellText, Slot, Word, refused

RUN_A_PROGRAM = "nice -n 0 -- "
"""In front of a command that an expansion names: it runs programs only, so that none of them is `eval`."""

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash"})
_HARMLESS = frozenset(
    {*["grep", "egrep", "fgrep", "rg", "ag", "echo", "printf", "ls", "cat", "which", "man", "test", "["]}
)
"""Commands that run nothing: `bash` is a mere word among their arguments."""
_RESHELLING = frozenset(
    {
        *["ssh", "rsh", "mosh", "su", "runuser", "sg", "watch", "script"],
        *["parallel", "at", "batch", "tmux", "screen"],
    }
)
"""Programs that hand their words to a shell."""
_EVALUATING = frozenset(
    {
        *[
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
        ],
        *["mapfile", "readarray", "getopts", "wait", "enable", "shopt"],
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
    carriers = _carriers(text)
    for command in text.commands:
        _check_command(command, text, carriers)
    _check_variables(text, carriers)


def _check_command(command: Command, text: ShellText, carriers: set[str]) -> None:
    assignments = _assignments(command)
    for word, match in assignments:
        if match[1] in _EVALUATED_NAMES and word.has_value:
            raise refused(f"a value can't be assigned to {match[1]}, which a shell evaluates")
        if VALUE in (match[2] or ""):
            raise refused("a value can't be an array's index, which bash evaluates")
    words = command[len(assignments) :]
    if not words:
        return
    if words[0].nested:
        raise refused("the output of a command that sees a value can't name a command")
    if _is_unknown(words[0]) and (len(words) > 1 or words[0].has_value or words[0].names & carriers):
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


def _is_unknown(name: Word) -> bool:
    """Whether bash finds out only when it runs what the command's name is."""
    return name.text not in {"[", "{", "}"} and any(c in name.text for c in VALUE + EXPANDED + "*?[{")


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
        if following.has_value and (word.text in {"-v", "-R"} or _is_unknown(word)):
            raise refused("a value after -v, or after another value, can't be tested; compare with = or -n")


def _check_printf(rest: list[Word]) -> None:
    operands = _operands(rest)
    options = rest[: len(rest) - len(operands)]
    named = any(word.text.startswith("-v") or _is_unknown(word) for word in options)
    formatted = len(operands) > 1 and (operands[0].has_value or EXPANDED in operands[0].text)
    if named or formatted:
        raise refused("a value can't be printf's format, nor the name after -v; use '%s'")


def _operands(rest: list[Word]) -> list[Word]:
    for i, word in enumerate(rest):
        if word.text == "--":
            return rest[i + 1 :]
        if not word.text.startswith("-"):
            return rest[i:]
    return []


def _check_shells(words: list[Word], text: ShellText) -> None:
    if words[0].text in _HARMLESS:
        return
    for i, word in enumerate(words):
        sure = word.text.rpartition("/")[2] in _SHELLS or bool(word.names & {"SHELL", "BASH"})
        if sure or (i == 0 and _is_unknown(word)):
            text.evaluated.append(("sh -c", _check_shell(words[i + 1 :], sure=sure)))
            _keep_word(words[i + 1 :], text)


def _keep_word(words: list[Word], text: ShellText) -> None:
    """An absent value is an empty word here: without one the shell would take its input for the script."""
    operand = next((word for word in words if word.text[:1] not in {"-", "+"}), None)
    slot = text.pieces[operand.at + 1] if operand and operand.text == VALUE else None
    if isinstance(slot, Slot) and slot.quote is Quote.WORD:
        slot.quote = Quote.BARE


def _check_shell(rest: list[Word], *, sure: bool) -> set[str]:
    """The variables whose values become the shell's script.

    `sure`: it is a shell; else an expansion names it, and it may be one.
    """
    runs_text = False
    while rest and rest[0].text[:1] in {"-", "+"} and not rest[0].has_value and rest[0].text != "--":
        option = rest.pop(0).text
        runs_text |= "c" in option and not option.startswith("--")
        if option.lstrip("-+") in {"o", "O", "rcfile", "init-file"} and rest:
            rest.pop(0)
    dashes = bool(rest) and rest[0].text == "--"
    rest = rest[dashes:]
    takes_value = any(word.has_value for word in rest)
    if (
        runs_text
        and rest
        and (rest[0].has_value or "{}" in rest[0].text or (rest[0].may_vanish and takes_value))
    ):
        raise refused(
            "a value can't stand in the script of sh -c; pass it as an argument: sh -c '… \"$1\"' sh {{x}}"
        )
    if not sure or runs_text:
        return rest[0].names if rest and runs_text else set()
    if all(word.may_vanish and not word.has_value for word in rest):
        raise refused("a shell that reads its script from its input, and placeholders, do not go together")
    if rest[0].nested:
        raise refused("a value can't be part of a script that a shell reads")
    if rest[0].has_value and len(rest) > 1 and not dashes:
        raise refused("a value can't stand where a shell takes options; put -- before it")
    return set()


def _check_variables(text: ShellText, carriers: set[str]) -> None:
    """Values that reach an evaluating construct by way of the author's own variables."""
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
    onward: dict[str, set[str]] = {}
    """From a variable to those that take its value."""
    for command in text.commands:
        for target, has_value, sources in _flows(command):
            carriers |= {target} if has_value else set()
            for source in sources:
                onward.setdefault(source, set()).add(target)
    fresh = list(carriers)
    while fresh:
        reached = onward.get(fresh.pop(), set()) - carriers
        carriers |= reached
        fresh += reached
    return carriers


def _flows(command: Command) -> list[tuple[str, bool, set[str]]]:
    """The variables that a command sets, whether to a value of ours, and from which others."""
    flows = [
        (match[1], word.has_value, word.names) for word in command if (match := _ASSIGNMENT.match(word.text))
    ]
    names = [word.text for word in command]
    if names[0] in {"for", "select"} and len(names) > 1:
        sources = {name for word in command for name in word.names} | (
            _POSITIONAL if len(names) == 2 else set()
        )
        flows.append((names[1], any(word.has_value for word in command), sources))
    elif names[0] in {"read", "mapfile", "readarray"}:
        flows += [(name, True, set()) for name in ("REPLY", "MAPFILE", *names[1:])]
    elif names[0] == "printf" and "-v" in names[:-1]:
        sources = {name for word in command for name in word.names}
        flows.append((names[names.index("-v") + 1], any(word.has_value for word in command), sources))
    return flows
