"""Values on their way through an author's variables: where one would be evaluated, the script is refused."""

import re

from planck.shell.script import EXPANDED, Command, ShellText, Word, names_in, refused

EVALUATING = frozenset(
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
        *["mapfile", "readarray", "getopts", "wait", "enable", "shopt", "jobs"],
    }
)
DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly"})
_EVALUATED_NAMES = frozenset(
    {
        *["BASH_ENV", "ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "IFS", "SHELLOPTS"],
        *["RANDOM", "SRANDOM", "OPTIND", "HISTCMD", "BASHPID", "SECONDS", "EPOCHSECONDS", "LINENO"],
    }
)
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?\+?=", re.DOTALL)
_POSITIONAL = {"@", "*", *"0123456789"}
"""Variables that a shell evaluates, or that are integers: bash evaluates what is assigned to one."""


def check(text: ShellText, carriers: set[str]) -> None:
    """Raise where one of the `carriers` reaches a construct that evaluates it."""
    if found := carriers & _EVALUATED_NAMES:
        raise refused(f"a value can't be assigned to {min(found)}, which a shell evaluates")
    evaluated = [*text.evaluated, *(use for command in text.commands for use in _evaluating_uses(command))]
    for what, names in evaluated:
        if found := carriers & names:
            raise refused(f"${min(found)} carries a value into {what}, which evaluates it")


def carriers(text: ShellText) -> set[str]:
    """The variables that may hold a value, or something made of one."""
    found: set[str] = set()
    if text.defines_functions or any(command[0].text == "set" for command in text.commands):
        found |= _POSITIONAL
    onward: dict[str, set[str]] = {}
    """From a variable to those that take its value."""
    for command in text.commands:
        for target, has_value, sources in _flows(command):
            found |= {target} if has_value else set()
            for source in sources:
                onward.setdefault(source, set()).add(target)
    fresh = list(found)
    while fresh:
        reached = onward.get(fresh.pop(), set()) - found
        found |= reached
        fresh += reached
    return found


def without_assignments(command: Command) -> list[Word]:
    first = next((i for i, word in enumerate(command) if not ASSIGNMENT.match(word.text)), len(command))
    return command[first:]


def declares(words: list[Word], attributes: str) -> bool:
    options = [word.text for word in words[1:] if word.text[:1] in {"-", "+"}]
    return words[0].text in DECLARING and any(set(option) & set(attributes) for option in options)


def _flows(command: Command) -> list[tuple[str, bool, set[str]]]:
    """The variables that a command sets, whether to a value of ours, and from which others."""
    flows = [
        (match[1], word.has_value, word.names) for word in command if (match := ASSIGNMENT.match(word.text))
    ]
    words = _unwrapped(command)
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


def _unwrapped(command: Command) -> list[Word]:
    words = without_assignments(command)
    while words and words[0].text in {"command", "builtin"}:
        words = [word for i, word in enumerate(words[1:]) if i or not word.text.startswith("-")]
    return words


def _evaluating_uses(command: Command) -> list[tuple[str, set[str]]]:
    """The variables whose values this command would evaluate."""
    uses = [
        ("an array's index", word.names)
        for word in command
        if (match := ASSIGNMENT.match(word.text)) and EXPANDED in (match[2] or "")
    ]
    words = _unwrapped(command)
    if not words:
        return uses
    name = words[0].text
    every = {found for word in words for found in word.names}
    if name in EVALUATING:
        if name in {"eval", "trap", "let"}:  # what is quoted here is a script too: `eval 'eval $v'`
            every |= {found for word in words[1:] for found in names_in(word.text)}
        uses.append((repr(name), every))
    elif declares(words, "in"):
        raise refused(
            f"{name} -i or -n, and placeholders, do not go together: bash evaluates what is assigned"
        )
    elif name in DECLARING:
        named = [word for word in words[1:] if EXPANDED in word.text.partition("=")[0]]
        uses.append((repr(name), {found for word in named for found in word.names}))
    elif name in {"test", "[", "printf"} and {"-v", "-R"} & {word.text for word in words}:
        uses.append((f"{name} -v", every))
    elif name != command[0].text and words[0].names:
        uses.append(("a command's name", words[0].names))
    return uses
