"""What one command starts besides itself: `env rm x` starts `rm x`, `sh -c 'rm x'` has a shell read a script.

Two readers need it: rules, which judge what is started like what is typed, and TOOL.json, where no value may
become such a script.
"""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from planck.shell.programs import PROGRAMS, WHOLE, Builtin, Prefix, find_program
from planck.shell.words import EXPANDED, Word

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class Launch(msgspec.Struct, frozen=True, gc=False):
    """One thing that a command starts."""

    at: int
    """The word with which it begins; a rule that reaches so far names it itself."""
    words: tuple[Word, ...] = ()
    script: str | None = None
    """A text that a shell reads, instead of words."""
    unknown: str = ""
    """Why nobody knows beforehand what it is."""
    reads_input: bool = False
    """Whether standard input is what it runs."""


_UNARY = frozenset(f"-{letter}" for letter in "abcdefghknprstuwxzGLNOS")
_BINARY = frozenset(
    {"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}
)
_PRINTF_STORES = re.compile(r"%[^a-zA-Z%]*[hlLjzt]*n")
"""`%n` of bash's printf sets the variable that its argument names: `printf %n PATH`."""


def basename(word: Word) -> str:
    text = word.text
    return text.rpartition("/")[2] if "/" in text else text


def find_launches(words: tuple[Word, ...]) -> list[Launch]:
    """Returns what a command starts besides itself, as far as its words tell."""
    name = basename(words[0])
    program = find_program(name)
    special = _SPECIAL.get(name)
    found = list(special(words)) if special else []
    if program.is_shell:
        found += _read_shell(words)
    elif program.prefix is not None:
        found += _read_prefix(words, program.prefix)
    elif program.runners and (at := _find_runner(words, program.runners)):
        found += _read_operands(words, at, Prefix())
    elif name.startswith("ld-linux") or name == "ld.so":
        found += _read_operands(words, 1, Prefix())
    if (program.scripts or program.loading) and any([word.text[:1] == "-" for word in words]):  # noqa: C419
        found += _read_options(words, program.scripts)
        found += _read_loading(words, program.loading)
    return found


def _read_loading(words: tuple[Word, ...], options: tuple[str, ...]) -> Iterable[Launch]:
    name = basename(words[0])
    for option in options:
        for i, word in enumerate(words):
            if i and word.text[:1] == "-" and _is_option(word.text, option):
                yield Launch(i, unknown=f"the command line does not show what {name!r} loads with {option}")


_HIDING = ("/proc/", "/lib", "/dev/fd/", "/dev/std")
"""A program that is named there may be any."""


def starts_others(words: tuple[Word, ...]) -> bool:
    """Tells quickly whether there is more to a command than its words: a name that is expanded, or of which
    `find_launches` or `find_opacity` have something to say."""
    program = words[0].text
    name = program.rpartition("/")[2] if "/" in program else program
    if options := _BY_OPTION.get(name):
        return any(word.text.startswith(options) for word in words[1:])
    if not words[0].literal or name in _STARTERS:
        return True
    return program.startswith(_HIDING) or (name[-1:] in _VERSION and find_program(name).is_opaque)


def may_start_others(names: Iterable[str]) -> bool:
    """Tells quickly whether one of several programs may start others, with the right words behind it."""
    return not _MAY_START.isdisjoint(names) or any(
        [find_program(name).is_opaque for name in names if name[-1:] in _VERSION]  # noqa: C419
    )


def find_opacity(words: tuple[Word, ...]) -> str:
    """Says why a command may start what no word of it names; empty where it can't."""
    name = basename(words[0])
    program = find_program(name)
    if program.is_opaque or words[0].text.startswith(_HIDING):
        return f"the command line does not show what {name!r} starts"
    if program.is_shell:
        return "" if _find_script(words) is not None else f"{name!r} runs a file or standard input"
    if (program.interpreter or program.way_out) and runs_language(words):
        return f"{name!r} can start programs"
    return ""


def runs_language(words: tuple[Word, ...]) -> bool:
    """Tells whether a program that mostly reads text is told, in its own language, to start another."""
    program, rest = find_program(basename(words[0])), words[1:]
    language = program.interpreter.language if program.interpreter else ""
    if language == "awk":
        hidden = r"system|(?<!\|)\|(?!\|)|getline|@|--?(?:f|l|file|load|exec|include|i|E)(?:=|\Z)|-[flE]."
        return any(not word.known or re.search(hidden, word.text) for word in rest)
    if language == "sed":
        from planck.shell.interpreters import sed_starts_others

        return sed_starts_others(rest)
    way_out = program.way_out
    return way_out is not None and any(way_out.match(word.text) for word in rest)


def is_evaluated(words: tuple[Word, ...]) -> bool:
    """Tells whether bash itself may evaluate some of the words, or let them change what later ones mean."""
    name, rest = words[0].text, words[1:]
    match name:
        case "printf":
            return not rest or not rest[0].known or rest[0].text.startswith("-") or stores(rest[0].text)
        case "test" | "[":
            return not _is_plain_test(rest[:-1] if name == "[" else rest)
        case "wait":
            return any(not word.known or word.text.startswith("-p") for word in rest)
        case "set":
            return not _is_plain_set([word.text if word.known else "" for word in rest])
        case "export":
            from planck.shell.plain import is_harmless_assignment

            return not all(word.known and is_harmless_assignment(word.text) for word in rest)
    return find_program(name).builtin is not None


def stores(format: str) -> bool:
    """Tells whether bash's printf would set a variable that an argument names."""
    return _PRINTF_STORES.search(format) is not None


def _is_plain_test(rest: tuple[Word, ...]) -> bool:
    """Any words that are known; or one known operator among quoted expansions, which are one word each."""
    texts = [word.text if word.known else None for word in rest]
    if None not in texts:
        return not {"-v", "-R"} & set(texts)
    if not all(word.known or word.quoted for word in rest):
        return False
    match texts:
        case [operator, _]:
            return operator in _UNARY
        case ["!", operator, _]:
            return operator in _UNARY
        case [_, operator, _]:
            return operator in _BINARY
    return False


def _is_plain_set(texts: list[str]) -> bool:
    options = {"pipefail", "errexit", "nounset", "xtrace", "noglob"}
    return bool(texts) and all(
        text in options or re.fullmatch(r"[-+][euxfo]+", text) is not None for text in texts
    )


def _read_prefix(words: tuple[Word, ...], prefix: Prefix) -> Iterable[Launch]:
    name = basename(words[0])
    if name == "command" and len(words) > 1 and re.fullmatch(r"-p?[vV]+", words[1].text):
        return ()  # it only says where a command is
    found = list(_read_operands(words, 1, prefix))
    own = words[1 : found[0].at + 1 if found else None]  # `-c` behind the inner command is that one's
    if name in {"flock", "script", "runuser"} and any(
        _is_option(word.text, option) for word in own for option in ("-c", "--command")
    ):
        return ()  # its script is read as an option's value
    return found


_TELLING = frozenset({"--version", "--help", "-V", "-h", "-l", "-v", "-k", "--list"})
"""Options with which a launcher only says something, and starts nothing."""


def _read_operands(words: tuple[Word, ...], i: int, prefix: Prefix) -> Iterable[Launch]:
    """Skips a program's own words; what stands behind them is a command."""
    name = basename(words[0])
    left = prefix.operands
    options = True
    while i < len(words):
        word, text = words[i], words[i].text
        if options and not word.known and (left == 0 or word.text[:1] == "-"):
            break
        if options and text == "--":
            options = False
        elif options and text.startswith("-") and (text != "-" or prefix.assigns):
            i += _takes_next(text, prefix)
        elif prefix.assigns and _ASSIGNMENT.match(text):
            options = False
        elif left:
            left -= 1
            options = options and not word.known
        else:
            break
        i += 1
    if i >= len(words):
        why = f"{name!r} reads commands from standard input"
        reads = name == "entr" or (prefix.starts_shell and not any([w.text in _TELLING for w in words]))  # noqa: C419
        return [Launch(len(words), unknown=why, reads_input=True)] if reads else ()
    inner = words[i:]
    if name == "xargs":
        inner = (*(_put_input(word, words[1:i]) for word in inner), Word(EXPANDED, literal=False))
    if name in {"watch", "entr"}:
        return [_script(i, words[i:]), Launch(i, inner)]
    if "@" in inner[0].text[1:] and find_program(name).is_project_tool:
        package = inner[0].text[0] + inner[0].text[1:].partition("@")[0]  # `npx npm@latest` is `npx npm`
        return [Launch(i, inner), Launch(i, (Word(package), *inner[1:]))]
    return [Launch(i, inner)]


def _find_runner(words: tuple[Word, ...], runners: tuple[str, ...]) -> int:
    """Returns where the command of `uv run` begins; 0 where there is none. Its options may stand before."""
    last = len(words) if len(words) > 1 and words[1].text.startswith("-") else min(2, len(words))
    for i in range(1, last):
        for runner in runners:
            first, *rest = runner.split(" ") if " " in runner else (runner,)
            if words[i].text == first and [word.text for word in words[i + 1 : i + 1 + len(rest)]] == rest:
                return i + 1 + len(rest)
    return 0


def find_marks(options: tuple[Word, ...]) -> list[str]:
    """Returns what `xargs -I` replaces with its input."""
    marks = []
    for i, word in enumerate(options):
        for option, usual in (("-I", ""), ("-i", "{}"), ("--replace", "{}")):
            given = read_option(word.text, option)
            following = options[i + 1].text if option == "-I" and i + 1 < len(options) else usual
            marks += [] if given is None else [given or following]
    return [mark for mark in marks if mark]


def _put_input(word: Word, options: tuple[Word, ...]) -> Word:
    for mark in find_marks(options):
        if mark in word.text:
            text = word.text.replace(mark, EXPANDED)
            word = Word(text, literal=False, quoted=word.quoted, nested=True, names=word.names)
    return word


def _takes_next(text: str, prefix: Prefix) -> bool:
    if text.startswith("--"):
        return "=" not in text and any(name.startswith(text[2:]) for name in prefix.long)
    first = next((k for k, letter in enumerate(text[1:], 2) if letter in prefix.valued), 0)
    return first == len(text)


def _read_shell(words: tuple[Word, ...]) -> Iterable[Launch]:
    at = _find_script(words)
    if any(word.text.startswith(("--rc", "--init")) for word in words[1:]):
        return [Launch(len(words) + 1, unknown=f"{basename(words[0])!r} reads commands from a startup file")]
    if at is not None:
        return [_script(at, words[at : at + 1])]
    operands = [word for word in words[1:] if not word.text.startswith(("-", "+"))]
    reads_input = not operands or operands[0].text.startswith(("/dev/", "/proc/")) or not operands[0].known
    why = f"{basename(words[0])!r} reads commands from standard input"
    return [Launch(len(words) + 1, unknown=why, reads_input=True)] if reads_input else ()


def _find_script(words: tuple[Word, ...]) -> int | None:
    """Returns where the script of `sh -c` stands."""
    i, runs_text = 1, False
    while i < len(words) and (words[i].text[:1] in {"-", "+"} or not words[i].text.strip(EXPANDED)):
        text = words[i].text
        if text in {"--", "-"}:
            i += 1
            break
        runs_text |= not text.startswith("--") and "c" in text
        i += 1 + (
            text.lstrip("-+") in {"o", "O", "rcfile", "init-file"} or bool(re.fullmatch("-[a-z]*o", text))
        )
    return i if runs_text and i < len(words) else None


def _script(at: int, words: Iterable[Word]) -> Launch:
    words = list(words)
    if all(word.known for word in words):
        return Launch(at, script=" ".join(word.text for word in words))
    return Launch(at, unknown="a script is built at run time")


def read_option(text: str, option: str) -> str | None:
    """Returns what is glued to an option, which may be abbreviated or stand among short ones: "" where its
    value is the next word. None: this word is another."""
    if option.startswith("--"):
        name, equals, value = text.partition("=")
        short = len(name) > 2 and option.startswith(name) and name not in WHOLE
        return (value if equals else "") if short else None
    if len(option) > 2:  # a word behind one dash, as in `go test -exec x`
        return text[len(option) :].removeprefix("=") if text.startswith(option) else None
    found = re.match(rf"-(?!-)[A-Za-z0-9]*?{option[1]}", text)
    return text[found.end() :].removeprefix("=") if found else None


def _is_option(text: str, option: str) -> bool:
    return read_option(text, option) is not None


def _read_options(words: tuple[Word, ...], options: tuple[str, ...]) -> Iterable[Launch]:
    for i, word in enumerate(words[1:], 1):
        if word.text[:1] != "-":
            continue
        for option in options:
            text = read_option(word.text, option)
            if text:
                yield _script(i, [Word(text.removeprefix("exec="), literal=word.literal, names=word.names)])
            elif text is not None and i + 1 < len(words):
                following = words[i + 1]
                value = following.text.removeprefix("exec=") if "action" in option else following.text
                yield _script(i + 1, [Word(value, literal=following.literal)])


def _read_eval(words: tuple[Word, ...]) -> Iterable[Launch]:
    rest = words[2:] if len(words) > 1 and words[1].text == "--" else words[1:]
    return [_script(len(words) - len(rest), rest)] if rest else ()


def _read_trap(words: tuple[Word, ...]) -> Iterable[Launch]:
    rest = [i for i, word in enumerate(words) if i and word.text != "--"]
    return [_script(rest[0], words[rest[0] : rest[0] + 1])] if len(rest) > 1 else ()


def _read_find(words: tuple[Word, ...]) -> Iterable[Launch]:
    starts = [i for i, w in enumerate(words) if w.text in {"-exec", "-execdir", "-ok", "-okdir"}]
    for i in starts:
        end = next((k for k in range(i + 1, len(words)) if words[k].text in {";", "+"}), len(words))
        inner = tuple(_blank_braces(word) for word in words[i + 1 : end])
        if inner:
            yield Launch(i + 1, inner)
    if any(not word.known and word.text.startswith(EXPANDED) and not word.quoted for word in words[1:]):
        yield Launch(len(words) + 1, unknown="the arguments of 'find' are known only at run time")


def _blank_braces(word: Word) -> Word:
    return Word(word.text.replace("{}", EXPANDED), literal=False) if "{}" in word.text else word


def _read_hash(words: tuple[Word, ...]) -> Iterable[Launch]:
    for i, word in enumerate(words[:-1]):
        if word.text.startswith("-p"):
            yield Launch(i + 1, (Word(word.text[2:]),) if word.text[2:] else words[i + 1 : i + 2])
            yield Launch(i + 1, unknown="'hash -p' gives a program another name")


def _read_alias(words: tuple[Word, ...]) -> Iterable[Launch]:
    for i, word in enumerate(words[1:], 1):
        if "=" in word.text:
            yield _script(i, [Word(word.text.partition("=")[2], literal=word.literal)])
            yield Launch(i, unknown="'alias' gives a command another name")


_GIT_KEY = re.compile(
    r"(?i)core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|pager\..*|.*\.(?:external|textconv|cmd"
    r"|command|clean|smudge|process|program|helper|driver|editor|uploadpack|receivepack|packobjectshook"
    r"|defaultkeycommand|difffilter|update|tunnel)"
)
_GIT_HIDDEN = re.compile(r"(?i)(?:core\.hookspath|include(?:if)?\..*|init\.templatedir)(?:=|\Z)")
_GIT_SHORT = {"rebase": "-x", "difftool": "-x", "grep": "-O", "clone": "-u"}


def _read_git(words: tuple[Word, ...]) -> Iterable[Launch]:
    """`-c alias.x='!rm'` and `-c core.pager=rm`: git hands the text to a shell."""
    texts = [word.text for word in words]
    for i, word in enumerate(words[1:], 1):
        text, following = word.text, texts[i + 1] if i + 1 < len(texts) else ""
        if text == "-c" or (text.startswith("--c") and read_option(text, "--config") == ""):
            yield from _read_setting(i + 1, *following.partition("=")[::2], words[i + 1 :])
        elif text.startswith("--config="):
            yield from _read_setting(i, *text[9:].partition("=")[::2], words[i:])
        elif "config" in texts[1:i] and "." in text:
            yield from _read_setting(i + 1, text, following, words[i + 1 :])
        elif text.startswith("ext::"):
            yield _script(i, [Word(text[5:], literal=word.literal)])
        elif text.endswith("-filter") and i + 1 < len(words):
            yield _script(i + 1, words[i + 1 : i + 2])
        elif text.startswith(("--config-env", "--exec-path=", "--template", "--ext-d")):
            yield Launch(i, unknown=f"the command line does not show what git loads with {text!r}")
        elif text in _GIT_SHORT:
            for launch in _read_options(words[i:], (_GIT_SHORT[text],)):
                yield msgspec.structs.replace(launch, at=launch.at + i)
        elif text in {"foreach", "run"} and {"submodule", "bisect"} & set(texts[1:i]):
            rest = [k for k in range(i + 1, len(words)) if not texts[k].startswith("--")]
            yield from [_script(rest[0], words[rest[0] :])] if rest else []


def _read_setting(at: int, key: str, value: str, words: tuple[Word, ...]) -> Iterable[Launch]:
    """A setting of git, some of which are command lines."""
    if _GIT_HIDDEN.match(key):
        yield Launch(at, unknown=f"the git setting {key!r} points to files that git loads or runs")
    elif (
        value.startswith("!")
        or _GIT_KEY.fullmatch(key)
        or (key.startswith("alias.") and words and not words[0].known)
    ):
        yield _script(at, [Word(value.removeprefix("!"), literal=bool(words) and words[0].literal)])


def _read_ssh(words: tuple[Word, ...]) -> Iterable[Launch]:
    """`-o ProxyCommand=x` is a command line."""
    for i, word in enumerate(words[1:], 1):
        given = read_option(word.text, "-o")
        value = given or (words[i + 1].text if given == "" and i + 1 < len(words) else "")
        if found := re.match(r"(?i)\w*command[= ]*", value):
            yield _script(i if given else i + 1, [Word(value[found.end() :], literal=word.literal)])


def _read_tar(words: tuple[Word, ...]) -> Iterable[Launch]:
    """`tar cIf zstd x.tar`: letters without a dash take the words behind them in turn."""
    letters = words[1].text if len(words) > 1 and words[1].text[:1] != "-" else ""
    if re.search("[IF]", letters):
        for i in range(2, min(len(words), 2 + len(re.findall("[IFfbCTXgHKLNV]", letters)))):
            yield _script(i, words[i : i + 1])


def _read_fd(words: tuple[Word, ...]) -> Iterable[Launch]:
    for i, word in enumerate(words[1:], 1):
        if re.fullmatch(r"-[A-Za-z]*[xX]|--exec(-batch)?", word.text):
            yield Launch(i + 1, tuple(_blank_braces(inner) for inner in words[i + 1 :]))
            return
        if re.match(r"-[xX]|--exec(-batch)?=", word.text):
            yield Launch(i, unknown="the command line does not show what 'fd' starts")


def _read_joined(words: tuple[Word, ...]) -> Iterable[Launch]:
    """`ssh host rm x`, `parallel rm {}`: some words on, the rest is a command line."""
    for i in range(1, len(words)):
        if not words[i].text.startswith("-"):
            yield _script(i, [word for word in words[i:] if word.text != ":::"])


def _read_jobs(words: tuple[Word, ...]) -> Iterable[Launch]:
    return [Launch(2, words[2:])] if len(words) > 2 and words[1].text == "-x" else ()


_SPECIAL: Mapping[str, Callable[[tuple[Word, ...]], Iterable[Launch]]] = {
    "eval": _read_eval,
    "trap": _read_trap,
    "find": _read_find,
    "hash": _read_hash,
    "alias": _read_alias,
    "git": _read_git,
    "ssh": _read_joined,
    "scp": _read_ssh,
    "sftp": _read_ssh,
    "tar": _read_tar,
    "fd": _read_fd,
    "fdfind": _read_fd,
    "parallel": _read_joined,
    "jobs": _read_jobs,
    "coproc": _read_eval,
}
_BY_OPTION: Mapping[str, tuple[str, ...]] = {
    **{
        name: ("-", *(runner.split()[0] for runner in row.runners))
        for name, row in PROGRAMS.items()
        if (row.scripts or row.loading)
        and not (row.prefix or row.is_shell or row.is_opaque or name in _SPECIAL)
    },
    "git": (
        *("-c", "-x", "-O", "-u", "--up", "--rec", "--ex", "--op", "--con", "--te", "ext::", "foreach"),
        *("run", "rebase", "difftool", "clone", "config", "filter-branch", "--index-filter", "--tree-filter"),
    ),
}
"""Programs that start others only if a word begins so."""
_STARTERS = frozenset(_SPECIAL) | frozenset(
    name
    for name, row in PROGRAMS.items()
    if row.prefix
    or row.is_shell
    or row.is_opaque
    or row.runners
    or row.way_out
    or (row.interpreter and row.interpreter.language)
    or row.builtin is Builtin.DECLARES
)
_MAY_START = _STARTERS.union(_BY_OPTION)
_VERSION = frozenset("0123456789.")
"""What a name may end in that has another's row: `make4.3` is `make`."""
