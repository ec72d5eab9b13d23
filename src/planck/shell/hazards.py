"""Commands that would read a value as something else than data: as a script, a variable's name, an option.

An expanded variable is data to bash itself; these are the commands that look at it twice.
"""

from itertools import pairwise

from planck.shell import flows, script
from planck.shell.flows import ASSIGNMENT, DECLARING, EVALUATING, declares, without_assignments
from planck.shell.script import EXPANDED, VALUE, Command, Quote, ShellText, Slot, Word, refused

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


def check(text: ShellText) -> None:
    """Raise for a placeholder that some command would evaluate; mark the commands that a value names."""
    carriers = flows.carriers(text)
    for command in text.commands:
        _check_command(command, text, carriers)
    flows.check(text, carriers)


def _check_command(command: Command, text: ShellText, carriers: set[str]) -> None:
    for word in command:
        if (match := ASSIGNMENT.match(word.text)) and VALUE in (match[2] or ""):
            raise refused("a value can't be an array's index, which bash evaluates")
    words = without_assignments(command)
    if not words:
        return
    if words[0].nested:
        raise refused("the output of a command that sees a value can't name a command")
    if _is_unknown(words[0]) and (len(words) > 1 or words[0].has_value or words[0].names & carriers):
        text.pieces[words[0].at] = RUN_A_PROGRAM
    _check_builtin(words)
    _check_shells(words, text)


def _is_unknown(name: Word) -> bool:
    """Whether bash finds out only when it runs what the command's name is."""
    return name.text not in {"[", "{", "}"} and any(c in name.text for c in VALUE + EXPANDED + "*?[{")


def _check_builtin(words: list[Word]) -> None:
    name, rest = words[0].text, words[1:]
    if not any(word.has_value for word in rest):
        return
    if name in EVALUATING or (name == "set" and not _after_dashes(rest)):
        raise refused(f"a value can't be an argument of {name!r}, which evaluates it")
    if name.rpartition("/")[2] in _RESHELLING:
        raise refused(f"a value can't be an argument of {name!r}, which hands it to another shell")
    if name in DECLARING:
        _check_declaration(words)
    elif name in {"test", "["}:
        _check_test(rest)
    elif name == "printf":
        _check_printf(rest)
    elif name in {"command", "builtin", "exec"}:
        inner = _operands(rest)
        if inner and inner[0].has_value and (inner[0].nested or name != "exec"):
            raise refused(f"a value can't name what {name!r} runs")
        if name != "exec" and inner:
            _check_builtin(inner)


def _after_dashes(rest: list[Word]) -> bool:
    first = next(i for i, word in enumerate(rest) if word.has_value)
    return "--" in [word.text for word in rest[:first]]


def _check_declaration(words: list[Word]) -> None:
    name = words[0].text
    if declares(words, "aA"):
        raise refused(f"{name} -a or -A and a value do not go together: bash evaluates its index")
    for word in words[1:]:
        name_part = word.text.partition("=")[0]
        if word.has_value and (VALUE in name_part or EXPANDED in name_part):
            raise refused(f"a value can't name what {name!r} declares")


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
    if runs_text and takes_value:
        _check_script(rest)
    if not sure or runs_text:
        return rest[0].names if rest and runs_text else set()
    if all(word.may_vanish and not word.has_value for word in rest):
        raise refused("a shell that reads its script from its input, and placeholders, do not go together")
    if rest[0].nested:
        raise refused("a value can't be part of a script that a shell reads")
    if rest[0].has_value and len(rest) > 1 and not dashes:
        raise refused("a value can't stand where a shell takes options; put -- before it")
    return set()


def _check_script(rest: list[Word]) -> None:
    """`sh -c 'script' sh {{x}}`: the script is the author's, and its parameters are values."""
    inner = script.read(rest[0].text.replace(EXPANDED, "_"))
    inner.defines_functions = True
    carriers = flows.carriers(inner)
    # `"$@"` runs the author's own program where that is its first word.
    named = not rest[2:] or _is_unknown(rest[2])
    for command in inner.commands:
        words = without_assignments(command)
        if words and named and _is_unknown(words[0]) and words[0].names & carriers:
            raise refused("a value can't name the command in a script of sh -c")
        if words:
            _check_shells(words, inner)
    flows.check(inner, carriers)
