"""Whether a program that runs with the user's rights lies where a confined command could replace it.

A hook, a server or a sidecar is started again and again: what an agent may write must not be what runs then.
Looked at are the program, the links that lead to it, the interpreter in its first line, scripts that it is
given, and the folder that it takes its orders from.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence

from planck.workspace.paths import is_inside, protected_name

_INTERPRETERS = re.compile(
    r"(python|pypy|node|nodejs|bash|sh|dash|zsh|fish|ksh|perl|ruby|php|lua|Rscript|tsx|ts-node|java|source|\.)"
    r"[\d.]*"
)
_ORDERED_BY_THEIR_FOLDER = frozenset(
    {"npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "deno", "make", "gmake", "just", "task", "cargo"}
    | {"go", "uv", "uvx", "poetry", "pdm", "hatch", "pipenv", "pipx", "tox", "nox", "pytest", "pre-commit"}
    | {"mvn", "gradle", "rake", "bundle", "composer", "dotnet", "ant", "sbt", "mix", "stack", "cabal"}
    | {"bazel", "cmake", "ctest", "ninja", "meson", "husky", "lefthook", "lint-staged"}
)
"""They look for a file in the folder that they run in, and do what it says."""
_PREFIXES = frozenset(
    {"env", "exec", "command", "time", "nice", "nohup", "sudo", "timeout", "xargs", "stdbuf", "setsid", "if"}
    | {"then", "else", "elif", "do", "while", "until", "!", "{", "builtin", "eval"}
)
_MAX_LINKS = 40
_FIRST_LINE = 512


def find_replaceable(
    argv: Sequence[str], cwd: str, environment: Mapping[str, str], roots: Sequence[str]
) -> str:
    """Returns what a command could replace, or "" where there is nothing."""
    return _Look(cwd, environment, roots).at_command(argv)


def find_replaceable_in_script(
    script: str, cwd: str, environment: Mapping[str, str], roots: Sequence[str]
) -> str:
    """As above, of all commands of a shell script; one that can't be read is itself an answer."""
    variable = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
    script = variable.sub(lambda found: environment.get(found[1] or found[2], found[0]), script)
    lexer = shlex.shlex(script.replace("\n", " ; "), posix=True, punctuation_chars=";&|()<>`")
    lexer.whitespace_split = True
    lexer.commenters = ""
    look = _Look(cwd, environment, roots)
    words: list[str] = []
    try:
        tokens = [*lexer, ";"]
    except ValueError:
        return script
    for token in tokens:
        if not set(token) <= set(";&|()<>`"):
            words.append(token)
            continue
        if words and (found := look.at_command(words)):
            return found
        words = []
    return ""


def outside_path(path: str, roots: Sequence[str]) -> str:
    """A `PATH` without folders in which a command could put a program."""
    kept = [place for place in path.split(":") if os.path.isabs(place)]
    return ":".join(place for place in kept if not is_inside(os.path.realpath(place), roots))


def is_replaceable(path: str, roots: Sequence[str]) -> bool:
    """Whether a confined command could write there, or change where the path leads."""
    look = _Look("/", {}, roots)
    return any(map(look.is_replaceable, _follow(path)))


def tell_confined(what: str, replaceable: str) -> str:
    return (
        f"{what} runs in the sandbox: an agent could replace {replaceable!r}; "
        "keep it outside the workspace, or below .planck, to run it with your rights"
    )


class _Look:
    def __init__(self, cwd: str, environment: Mapping[str, str], roots: Sequence[str]) -> None:
        self._cwd = cwd
        self._path = environment.get("PATH", "")
        self._home = environment.get("HOME", "")
        self._roots = roots

    def at_command(self, words: Sequence[str]) -> str:
        words = [*_without_prefixes(words)]
        if not words:
            return ""
        program, arguments = words[0], words[1:]
        if program == "cd" and arguments:
            self._cwd = os.path.join(self._cwd, os.path.expanduser(arguments[0]))
            return ""
        name = os.path.basename(program)
        if found := self._at_program(program):
            return found
        inside = is_inside(os.path.realpath(self._cwd), self._roots)
        if inside and name in _ORDERED_BY_THEIR_FOLDER:
            return f"{name} in {self._cwd}"
        interprets = _INTERPRETERS.fullmatch(name) is not None
        if interprets and inside and _imports_from_its_folder(name, arguments):
            return f"{name} in {self._cwd}"
        for word in arguments:
            if found := self._at_argument(word.partition("=")[2] or word, interprets):
                return found
        return ""

    def _at_program(self, program: str) -> str:
        if "/" in program:
            return self._at_file(self._absolute(program))
        path = ":".join(os.path.join(self._cwd, place) for place in self._path.split(":"))
        found = shutil.which(program, path=path)
        return self._at_file(found) if found else ""

    def _at_argument(self, word: str, interprets: bool) -> str:
        """A script for an interpreter, there or not; for anything else a file that could be run."""
        path = self._absolute(word)
        if os.path.isdir(path):
            return ""
        if os.path.isfile(path) and (interprets or os.access(path, os.X_OK)):
            return self._at_file(path)
        return self._at_file(path) if interprets and "/" in word and not word.startswith("-") else ""

    def _at_file(self, path: str, depth: int = 3) -> str:
        for place in _follow(path):
            if self.is_replaceable(place):
                return path
        interpreter = _first_line(path)
        if not interpreter or not depth:
            return ""
        program, *words = interpreter
        if os.path.basename(program) == "env":
            words = [word for word in words if not word.startswith("-") and "=" not in word]
            return self._at_program(words[0]) if words else ""
        return self._at_file(program, depth - 1)

    def is_replaceable(self, place: str) -> bool:
        return any(
            is_inside(place, (root,)) and protected_name(os.path.relpath(place, root)) is None
            for root in self._roots
        )

    def _absolute(self, word: str) -> str:
        if word.startswith("~/") and self._home:
            word = self._home + word[1:]
        return os.path.normpath(os.path.join(self._cwd, word))


def _without_prefixes(words: Sequence[str]) -> Iterator[str]:
    """The words from the program on: assignments and programs that start another are left out."""
    begun = False
    for word in words:
        if not begun and (
            word in _PREFIXES or re.match(r"\w+=", word) or re.fullmatch(r"-\S*|[\d.]+\w?", word)
        ):
            continue
        begun = True
        yield word


def _imports_from_its_folder(name: str, arguments: Sequence[str]) -> bool:
    """Python with `-c`, `-m` or a script from its input looks for modules where it runs."""
    if not name.startswith(("python", "pypy")):
        return False
    for word in arguments:
        if not word.startswith("-"):
            return False
        letters = word[1:] if not word.startswith("--") else ""
        if "I" in letters or "P" in letters:
            return False
        if letters.endswith(("c", "m")) or word == "-":
            return True
    return True


def _follow(path: str) -> Iterator[str]:
    """The path, each link on the way, and where it ends."""
    for _ in range(_MAX_LINKS):
        yield os.path.normpath(path)
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            break
    yield os.path.realpath(path)
    yield os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _first_line(path: str) -> list[str]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            line = file.read(_FIRST_LINE).partition(b"\n")[0]
    except OSError:
        return []
    return os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
