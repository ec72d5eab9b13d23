"""Commands that would read a value as something else than data: as a script, a variable's name, an option.

An expanded variable is data to bash itself; these are the commands that look at it twice. A value may come to
them by way of the author's variables: those that hold one, or something made of one, are its carriers.
"""

import re
from itertools import dropwhile, pairwise, takewhile

from planck.shell.script import Command, Script, Slot, find_names, read
from planck.shell.words import EXPANDED, VALUE, Quote, ShellError, Word

RUN_A_PROGRAM = "nice -n 0 -- "
"""In front of a command that an expansion names: it runs programs only, so that none of them is `eval`."""

_EVALUATING = frozenset(
    {"eval", "let", "trap", "source", ".", "alias", "complete", "compgen", "bind", "fc", "unset", "read"}
    | {"mapfile", "readarray", "getopts", "wait", "enable", "shopt", "jobs"}
)
_DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly"})
_EVALUATED_NAMES = frozenset(
    {"BASH_ENV", "ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "IFS", "SHELLOPTS"}
    | {"RANDOM", "SRANDOM", "OPTIND", "HISTCMD", "BASHPID", "SECONDS", "EPOCHSECONDS", "LINENO"}
)
"""Variables that a shell evaluates, or that are integers: bash evaluates what is assigned to one."""
_POSITIONAL = {"@", "*", *"0123456789"}
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?\+?=", re.DOTALL)
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash"})
_HARMLESS = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "echo", "printf", "ls", "cat", "which", "man", "test", "["}
)
"""Commands that run nothing: `bash` is a mere word among their arguments."""
_RESHELLING = frozenset(
    {"ssh", "rsh", "mosh", "su", "runuser", "sg", "watch", "script", "parallel", "at", "batch", "tmux"}
    | {"screen"}
)
"""Programs that hand their words to a shell."""


def check(script: Script) -> None:
    """Raises for a placeholder that some command would evaluate; marks the commands that a value names."""
    if script.has_coproc:
        raise ShellError("coproc and placeholders do not go together; put it in a script")
    carriers = _find_carriers(script)
    for command in script.commands:
        _check_command(command, script, carriers)
    _check_carriers(script, carriers)


def _check_command(command: Command, script: Script, carriers: set[str]) -> None:
    for word in command:
        if (match := _ASSIGNMENT.match(word.text)) and VALUE in (match[2] or ""):
            raise ShellError("a value can't be an array's index, which bash evaluates")
    words = _skip_assignments(command)
    if not words:
        return
    if words[0].nested:
        raise ShellError("the output of a command that sees a value can't name a command")
    if _is_unknown(words[0]) and (len(words) > 1 or words[0].has_value or words[0].names & carriers):
        script.pieces[words[0].at] = RUN_A_PROGRAM
    _check_builtin(words)
    _check_shells(words, script)


def _is_unknown(name: Word) -> bool:
    """Tells whether bash finds out only when it runs what the command's name is."""
    return name.text not in {"[", "{", "}"} and any(c in name.text for c in VALUE + EXPANDED + "*?[{")


def _check_builtin(words: list[Word]) -> None:
    name, rest = words[0].text, words[1:]
    if not any(word.has_value for word in rest):
        return
    before = [word.text for word in takewhile(lambda word: not word.has_value, rest)]
    if name in _EVALUATING or (name == "set" and "--" not in before):
        raise ShellError(f"a value can't be an argument of {name!r}, which evaluates it")
    if name.rpartition("/")[2] in _RESHELLING:
        raise ShellError(f"a value can't be an argument of {name!r}, which hands it to another shell")
    if name in _DECLARING:
        _check_declaration(words)
    elif name in {"test", "["}:
        _check_test(rest)
    elif name == "printf":
        _check_printf(rest)
    elif name in {"command", "builtin", "exec"}:
        inner = _operands(rest)
        if inner and inner[0].has_value and (inner[0].nested or name != "exec"):
            raise ShellError(f"a value can't name what {name!r} runs")
        if name != "exec" and inner:
            _check_builtin(inner)


def _check_declaration(words: list[Word]) -> None:
    name = words[0].text
    if _declares(words, "aA"):
        raise ShellError(f"{name} -a or -A and a value do not go together: bash evaluates its index")
    for word in words[1:]:
        name_part = word.text.partition("=")[0]
        if word.has_value and (VALUE in name_part or EXPANDED in name_part):
            raise ShellError(f"a value can't name what {name!r} declares")


def _check_test(rest: list[Word]) -> None:
    for word, following in pairwise(rest):
        # A value that is `-v` makes a variable's name of the word after it, and bash evaluates its index.
        if following.has_value and (word.text in {"-v", "-R"} or _is_unknown(word)):
            raise ShellError(
                "a value after -v, or after another value, can't be tested; compare with = or -n"
            )


def _check_printf(rest: list[Word]) -> None:
    operands = _operands(rest)
    options = rest[: len(rest) - len(operands)]
    named = any(word.text.startswith("-v") or _is_unknown(word) for word in options)
    formatted = len(operands) > 1 and (operands[0].has_value or EXPANDED in operands[0].text)
    if named or formatted:
        raise ShellError("a value can't be printf's format, nor the name after -v; use '%s'")


def _operands(rest: list[Word]) -> list[Word]:
    for i, word in enumerate(rest):
        if word.text == "--":
            return rest[i + 1 :]
        if not word.text.startswith("-"):
            return rest[i:]
    return []


def _check_shells(words: list[Word], script: Script) -> None:
    if words[0].text in _HARMLESS:
        return
    for i, word in enumerate(words):
        sure = word.text.rpartition("/")[2] in _SHELLS or bool(word.names & {"SHELL", "BASH"})
        if sure or (i == 0 and _is_unknown(word)):
            script.evaluated.append(("sh -c", _check_shell(words[i + 1 :], sure=sure)))
            _keep_word(words[i + 1 :], script)


def _keep_word(words: list[Word], script: Script) -> None:
    """An absent value is an empty word here: without one the shell would take its input for the script."""
    operand = next((word for word in words if word.text[:1] not in {"-", "+"}), None)
    slot = script.pieces[operand.at + 1] if operand and operand.text == VALUE else None
    if isinstance(slot, Slot) and slot.quote is Quote.WORD:
        slot.quote = Quote.BARE


def _check_shell(rest: list[Word], *, sure: bool) -> set[str]:
    """Returns the variables whose values become the shell's script.

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
        raise ShellError(
            "a value can't stand in the script of sh -c; pass it as an argument: sh -c '… \"$1\"' sh {{x}}"
        )
    if runs_text and takes_value:
        _check_script(rest)
    if not sure or runs_text:
        return rest[0].names if rest and runs_text else set()
    if all(word.may_vanish and not word.has_value for word in rest):
        raise ShellError("a shell that reads its script from its input, and placeholders, do not go together")
    if rest[0].nested:
        raise ShellError("a value can't be part of a script that a shell reads")
    if rest[0].has_value and len(rest) > 1 and not dashes:
        raise ShellError("a value can't stand where a shell takes options; put -- before it")
    return set()


def _check_script(rest: list[Word]) -> None:
    """`sh -c 'script' sh {{x}}`: the script is the author's, and its parameters are values."""
    inner = read(rest[0].text.replace(EXPANDED, "_"))
    inner.defines_functions = True
    carriers = _find_carriers(inner)
    # `"$@"` runs the author's own program where that is its first word.
    named = not rest[2:] or _is_unknown(rest[2])
    for command in inner.commands:
        words = _skip_assignments(command)
        if words and named and _is_unknown(words[0]) and words[0].names & carriers:
            raise ShellError("a value can't name the command in a script of sh -c")
        if words:
            _check_shells(words, inner)
    _check_carriers(inner, carriers)


def _check_carriers(script: Script, carriers: set[str]) -> None:
    """Raises where one of the `carriers` reaches a construct that evaluates it."""
    if found := carriers & _EVALUATED_NAMES:
        raise ShellError(f"a value can't be assigned to {min(found)}, which a shell evaluates")
    evaluated = [
        *script.evaluated,
        *(use for command in script.commands for use in _find_evaluating_uses(command)),
    ]
    for what, names in evaluated:
        if found := carriers & names:
            raise ShellError(f"${min(found)} carries a value into {what}, which evaluates it")


def _find_carriers(script: Script) -> set[str]:
    """Returns the variables that may hold a value, or something made of one."""
    found: set[str] = set()
    if script.defines_functions or any(command[0].text == "set" for command in script.commands):
        found |= _POSITIONAL
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
    return found


def _skip_assignments(command: Command) -> list[Word]:
    return list(dropwhile(lambda word: _ASSIGNMENT.match(word.text), command))


def _declares(words: list[Word], attributes: str) -> bool:
    options = [word.text for word in words[1:] if word.text[:1] in {"-", "+"}]
    return words[0].text in _DECLARING and any(set(option) & set(attributes) for option in options)


def _find_flows(command: Command) -> list[tuple[str, bool, set[str]]]:
    """Returns the variables that a command sets, whether to a value of ours, and from which others."""
    flows = [
        (match[1], word.has_value, word.names) for word in command if (match := _ASSIGNMENT.match(word.text))
    ]
    words = _unwrap(command)
    names = [word.text for word in words]
    has_value = any(word.has_value for word in words)
    sources = {name for word in words for name in word.names}
    match names:
        case ["for" | "select", name]:
            flows.append((name, False, _POSITIONAL))
        case ["for" | "select", name, *_]:
            flows.append((name, has_value, sources))
        case ["read" | "mapfile" | "readarray", *targets]:
            flows += [(target, True, set()) for target in ("REPLY", "MAPFILE", *targets)]
        case ["getopts", *_]:
            flows.append(("OPTARG", True, set()))
        case ["printf", "-v", name, *_]:
            flows.append((name, has_value, sources))
    return flows


def _unwrap(command: Command) -> list[Word]:
    words = _skip_assignments(command)
    while words and words[0].text in {"command", "builtin"}:
        words = [word for i, word in enumerate(words[1:]) if i or not word.text.startswith("-")]
    return words


def _find_evaluating_uses(command: Command) -> list[tuple[str, set[str]]]:
    """Returns the variables whose values this command would evaluate, and what evaluates them."""
    uses = [
        ("an array's index", word.names)
        for word in command
        if (match := _ASSIGNMENT.match(word.text)) and EXPANDED in (match[2] or "")
    ]
    words = _unwrap(command)
    if not words:
        return uses
    name = words[0].text
    every = {found for word in words for found in word.names}
    if name in _EVALUATING:
        if name in {"eval", "trap", "let"}:  # what is quoted here is a script too: `eval 'eval $v'`
            every |= {found for word in words[1:] for found in find_names(word.text)}
        uses.append((repr(name), every))
    elif _declares(words, "in"):
        raise ShellError(
            f"{name} -i or -n, and placeholders, do not go together: bash evaluates what is assigned"
        )
    elif name in _DECLARING:
        named = [word for word in words[1:] if EXPANDED in word.text.partition("=")[0]]
        uses.append((repr(name), {found for word in named for found in word.names}))
    elif name in {"test", "[", "printf"} and {"-v", "-R"} & {word.text for word in words}:
        uses.append((f"{name} -v", every))
    elif name != command[0].text and words[0].names:
        uses.append(("a command's name", words[0].names))
    return uses
