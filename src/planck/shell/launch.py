"""What one command starts besides itself: `env rm x` starts `rm x`, `sh -c 'rm x'` has a shell read a script.

Two readers need it: rules, which judge what is started like what is typed, and TOOL.json, where no value may
become such a script.
"""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from planck.shell.words import EXPANDED, Word

SHELLS = frozenset(
    {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash", "pwsh", "yash"}
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_OPAQUE = frozenset(
    {"python", "pypy", "perl", "ruby", "node", "nodejs", "lua", "luajit", "php", "tclsh", "expect", "julia"}
    | {"octave", "deno", "bun", "irb", "guile", "Rscript", "R", "osascript", "make", "gmake", "gdb", "lldb"}
    | {
        "vi",
        "vim",
        "nvim",
        "ex",
        "ed",
        "emacs",
        "m",
        "dc",
        "source",
        ".",
        "ssh",
        "rsh",
        "mosh",
        "at",
        "batch",
    }
    | {"crontab", "tmux", "screen", "parallel", "nsenter", "systemd-run", "enable", "bind", "socat"}
)
"""Programs that run a language of their own, a file, or commands elsewhere: nobody reads that here."""


_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})


class Launch(msgspec.Struct, frozen=True):
    """One thing that a command starts."""

    at: int
    """The word with which it begins; a rule that reaches so far names it itself."""
    words: tuple[Word, ...] = ()
    script: str | None = None
    """A text that a shell reads, instead of words."""
    unknown: str = ""
    """Why nobody knows beforehand what it is."""


class _Prefix(msgspec.Struct, frozen=True):
    """How a program's own words end, behind which the command stands."""

    valued: str = ""
    """Short options whose value is a word of its own."""
    long: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False


def _long(names: str) -> frozenset[str]:
    return frozenset(names.split())


_PREFIXES: Mapping[str, _Prefix] = {
    **dict.fromkeys(
        ("command", "builtin", "nohup", "setsid", "fakeroot", "eatmydata", "unbuffer"), _Prefix()
    ),
    **dict.fromkeys(
        ("linux32", "linux64", "dbus-run-session", "torsocks", "catchsegv", "busybox"), _Prefix()
    ),
    "toybox": _Prefix(),
    "exec": _Prefix("a"),
    "time": _Prefix("fo", _long("format output")),
    "nice": _Prefix("n", _long("adjustment")),
    "ionice": _Prefix("cnpPu", _long("class classdata")),
    "chrt": _Prefix("TPD", operands=1),
    "taskset": _Prefix(operands=1),
    "stdbuf": _Prefix("ioe", _long("input output error")),
    "timeout": _Prefix("ks", _long("kill-after signal"), operands=1),
    "env": _Prefix("uCa", _long("unset chdir argv0"), assigns=True),
    "sudo": _Prefix(
        "ugpChrtURTD", _long("user group prompt host role type other-user chroot chdir"), assigns=True
    ),
    "doas": _Prefix("uC"),
    "pkexec": _Prefix(long=_long("user")),
    "runuser": _Prefix("ugGw", _long("user group")),
    "xargs": _Prefix(
        "InPLdsEa", _long("replace max-args max-procs max-lines delimiter max-chars eof arg-file")
    ),
    "chroot": _Prefix(operands=1),
    "unshare": _Prefix("RwSG"),
    "setpriv": _Prefix(long=_long("reuid regid groups inh-caps bounding-set securebits")),
    "strace": _Prefix("oepsuabEOSIPX"),
    "ltrace": _Prefix("oepsunaAFl"),
    "flock": _Prefix("wE", _long("wait timeout conflict-exit-code"), operands=1),
    "watch": _Prefix("n", _long("interval")),
    "script": _Prefix(),
    "faketime": _Prefix(operands=1),
    "prlimit": _Prefix(),
    "numactl": _Prefix("CNmpil"),
    "valgrind": _Prefix(),
    "rlwrap": _Prefix(),
    "entr": _Prefix(),
    "xvfb-run": _Prefix("efnps"),
    "proxychains": _Prefix("f"),
    "firejail": _Prefix(),
}
_RUNNERS = {
    "uv": "run",
    "poetry": "run",
    "pipenv": "run",
    "pdm": "run",
    "hatch": "run",
    "conda": "run",
    "bundle": "exec",
    "mise": "exec",
    "direnv": "exec",
}
"""Programs that start another only behind this word."""
SCRIPT_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "su": ("-c", "--command", "--session-command"),
    "runuser": ("-c", "--command", "--session-command"),
    "sg": ("-c",),
    "script": ("-c", "--command"),
    "flock": ("-c", "--command"),
    "compgen": ("-C",),
    "complete": ("-C",),
    "mapfile": ("-C",),
    "readarray": ("-C",),
    "env": ("-S", "--split-string"),
    "tar": (
        *("--to-command", "--checkpoint-action", "-I", "--use-compress-program", "--rsh-command", "-F"),
        *("--info-script", "--new-volume-script"),
    ),
    "rsync": ("-e", "--rsh"),
    "split": ("--filter",),
    "sort": ("--compress-program",),
    "scp": ("-S",),
    "sftp": ("-S",),
    "git": ("--exec", "--upload-pack", "--receive-pack", "--ext-diff", "--extcmd"),
    "rg": ("--pre",),
    "npx": ("-c", "--call"),
    "npm": ("-c", "--call"),
    "nc": ("-e", "-c", "--exec", "--sh-exec"),
    "ncat": ("-e", "-c", "--exec", "--sh-exec"),
    "entr": ("-s",),
    "nodemon": ("--exec", "-x"),
    "fzf": ("--preview", "--bind"),
    "man": ("-P", "--pager"),
}
"""Options of programs that take a command line, by which a program starts another."""
_EVALUATES = frozenset(
    {"eval", "source", ".", "trap", "alias", "unalias", "enable", "hash", "bind", "complete", "compgen"}
    | {"compopt", "declare", "typeset", "local", "readonly", "let", "read", "mapfile", "readarray", "unset"}
    | {"getopts", "fc", "history", "shopt", "jobs", "coproc", "exec", "times"}
)
"""Builtins that evaluate a word (a script, an arithmetic index), or change what later words mean."""
_UNARY = frozenset(f"-{letter}" for letter in "abcdefghknprstuwxzGLNOS")
_BINARY = frozenset(
    {"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}
)
_PRINTF_STORES = re.compile(r"%[^a-zA-Z%]*[hlLjzt]*n")
"""`%n` of bash's printf sets the variable that its argument names: `printf %n PATH`."""


def basename(word: Word) -> str:
    return word.text.rpartition("/")[2]


def find_launches(words: tuple[Word, ...]) -> list[Launch]:
    """Returns what a command starts besides itself, as far as its words tell."""
    name = basename(words[0])
    special = _SPECIAL.get(name)
    found = list(special(words)) if special else []
    if name in SHELLS:
        found += _read_shell(words)
    elif name in _PREFIXES:
        found += _read_prefix(words, _PREFIXES[name])
    elif name in _RUNNERS and len(words) > 1 and words[1].text == _RUNNERS[name]:
        found += _read_operands(words, 2, _Prefix())
    if options := SCRIPT_OPTIONS.get(name):
        found += _read_options(words, options)
    return found


def starts_others(words: tuple[Word, ...]) -> bool:
    """Tells quickly whether there is more to a command than its words: a name that is expanded, or of which
    `find_launches` or `find_opacity` have something to say."""
    name = basename(words[0])
    if options := _BY_OPTION.get(name):
        return any(word.text.startswith(options) for word in words[1:])
    return not words[0].literal or name in _STARTERS or name.rstrip("0123456789.") in _OPAQUE


def _is_opaque(name: str) -> bool:
    return name in _OPAQUE or name.rstrip("0123456789.") in _OPAQUE


def find_opacity(words: tuple[Word, ...]) -> str:
    """Says why a command may start what no word of it names; empty where it can't."""
    name = basename(words[0])
    if _is_opaque(name):
        return f"what {name!r} starts is not in its words"
    if name in SHELLS:
        return "" if _find_script(words) is not None else f"{name!r} runs a file or its input"
    if name in _AWKS:
        plain = all(word.known and not re.search(r"system|\||getline|@", word.text) for word in words)
        return (
            ""
            if plain and not any(word.text.startswith("-f") for word in words)
            else f"{name!r} can start programs"
        )
    return ""


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
    return name in _EVALUATES


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


def _read_prefix(words: tuple[Word, ...], prefix: _Prefix) -> Iterable[Launch]:
    name = basename(words[0])
    if name == "command" and len(words) > 1 and re.fullmatch(r"-p?[vV]+", words[1].text):
        return ()  # it only says where a command is
    if name in {"flock", "script", "runuser"} and any(
        w.text.startswith(("-c", "--command")) for w in words[1:]
    ):
        return ()  # its script is read as an option's value
    return _read_operands(words, 1, prefix)


def _read_operands(words: tuple[Word, ...], i: int, prefix: _Prefix) -> Iterable[Launch]:
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
        return [Launch(len(words), unknown=f"{name!r} takes it from its input")] if name == "entr" else ()
    inner = words[i:]
    if name == "xargs":
        inner = (*inner, Word(EXPANDED, literal=False))
    if name in {"watch", "entr"}:
        return [_script(i, words[i:]), Launch(i, inner)]
    return [Launch(i, inner)]


def _takes_next(text: str, prefix: _Prefix) -> bool:
    if text.startswith("--"):
        return "=" not in text and text[2:] in prefix.long
    first = next((k for k, letter in enumerate(text[1:], 2) if letter in prefix.valued), 0)
    return first == len(text)


def _read_shell(words: tuple[Word, ...]) -> Iterable[Launch]:
    at = _find_script(words)
    if at is not None:
        return [_script(at, words[at : at + 1])]
    operands = [word for word in words[1:] if not word.text.startswith(("-", "+"))]
    reads_input = not operands or operands[0].text.startswith(("/dev/", "/proc/")) or not operands[0].known
    return [Launch(len(words) + 1, unknown=f"{basename(words[0])!r} reads its input")] if reads_input else ()


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
    return Launch(at, unknown="a script that is put together when it runs")


def _read_options(words: tuple[Word, ...], options: tuple[str, ...]) -> Iterable[Launch]:
    for i, word in enumerate(words[1:], 1):
        for option in options:
            glued = word.text.startswith(f"{option}=" if option.startswith("--") else option)
            if word.text == option and i + 1 < len(words):
                yield _script(i + 1, words[i + 1 : i + 2])
            elif glued and word.text != option:
                text = word.text[len(option) :].removeprefix("=").removeprefix("exec=")
                yield _script(i, [Word(text, literal=word.literal)])


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
        yield Launch(len(words) + 1, unknown="what 'find' is told is known only when it runs")


def _blank_braces(word: Word) -> Word:
    return Word(word.text.replace("{}", EXPANDED), literal=False) if "{}" in word.text else word


def _read_hash(words: tuple[Word, ...]) -> Iterable[Launch]:
    for i, word in enumerate(words[:-1]):
        if word.text == "-p":
            yield Launch(i + 1, words[i + 1 : i + 2])
            yield Launch(i + 1, unknown="'hash -p' gives a program another name")


def _read_alias(words: tuple[Word, ...]) -> Iterable[Launch]:
    for i, word in enumerate(words[1:], 1):
        if "=" in word.text:
            yield _script(i, [Word(word.text.partition("=")[2], literal=word.literal)])
            yield Launch(i, unknown="'alias' gives a command another name")


def _read_git(words: tuple[Word, ...]) -> Iterable[Launch]:
    """`-c alias.x='!rm'` and `-c core.pager=rm`: git hands the text to a shell."""
    for i, word in enumerate(words[:-1]):
        key, _, value = words[i + 1].text.partition("=")
        runs = value.startswith("!") or re.fullmatch(
            r"(?i)core\.(?:pager|editor|sshcommand|fsmonitor|askpass)|.*\.(?:external|textconv|cmd|command|clean"
            r"|smudge|program|helper|driver|editor)|pager\..*",
            key,
        )
        if word.text == "-c" and runs:
            yield _script(i + 1, [Word(value.removeprefix("!"), literal=words[i + 1].literal)])
    for i, word in enumerate(words[:-1]):
        if word.text in {"foreach", "run"} and i and words[i - 1].text in {"submodule", "bisect"}:
            rest = [k for k in range(i + 1, len(words)) if not words[k].text.startswith("--")]
            yield from [_script(rest[0], words[rest[0] :])] if rest else []


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
    "parallel": _read_joined,
    "jobs": _read_jobs,
    "coproc": _read_eval,
}
_STARTERS = frozenset({*_PREFIXES, *SHELLS, *_SPECIAL, *_RUNNERS, *SCRIPT_OPTIONS, *_AWKS, *_OPAQUE})
_BY_OPTION: Mapping[str, tuple[str, ...]] = {
    name: (*options, *(("-c", "foreach", "run") if name == "git" else ()))
    for name, options in SCRIPT_OPTIONS.items()
    if name == "git" or name not in {*_PREFIXES, *SHELLS, *_SPECIAL, *_RUNNERS, *_OPAQUE}
}
"""Programs that start others only if one of these words is there."""
