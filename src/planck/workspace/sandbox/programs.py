"""Whether a program that runs with the user's rights lies where a confined command could replace it.

A hook, a server or a sidecar is started again and again: what an agent may write must not be what runs then.
Looked at are the program, the links that lead to it, the interpreter in its first line, scripts that it is
given, and the folder that it takes its orders from.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile

from planck.own_code import follow
from planck.shell.launch import find_launches
from planck.shell.programs import find_program
from planck.shell.words import EXPANDED, Word
from planck.workspace.paths.paths import is_inside, protected_name

_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "fi", "done"})
_WORDS_OF_BASH = frozenset(
    {"set", "unset", "shift", "read", "wait", "break", "continue", "return", "[[", "case", "for", "select"}
    | {"esac", "in"}
)
"""They run none of the words that follow, either."""
_ORDERING_VARIABLE = re.compile(
    r"\w*PATH|\w*LIB|\w*OPT|\w*OPTS|\w*OPTIONS|\w*FLAGS|\w*PRELOAD|\w*RC|\w*COMMAND|\w*CONFIG|ENV|BASH_ENV"
    r"|LD_\w+|DYLD_\w+|GIT_\w+|PYTHON\w+|NODE_\w+|PERL\w+|RUBY\w+|EDITOR|VISUAL|PAGER|SHELL"
)
"""Those whose value says what a program runs or imports."""
_FIRST_LINE = 512


def find_replaceable(
    argv: Sequence[str], cwd: str, environment: Mapping[str, str], roots: Sequence[str]
) -> str:
    """Returns what a command could replace, or "" where there is nothing."""
    others = {name: value for name, value in environment.items() if name != "PATH"}
    look = _Look(cwd, environment, roots)
    return look.at_command(argv) or look.at_environment(others)


def find_replaceable_in_script(
    script: str, cwd: str, environment: Mapping[str, str], roots: Sequence[str]
) -> str:
    """As above, of all commands of a shell script; one that can't be read is itself an answer."""
    script = _expand(script, cwd, environment)
    if _MADE_PATH.search(script):
        return script
    return _Look(cwd, environment, roots).at_script(script)


_INPUT_OF = "the standard input of "
"""Before the name of a program that reads its script from there."""
_MADE_PATH = re.compile(r"[)`]\"?/\w")
"""A path that begins with what a command says."""


def _expand(script: str, cwd: str, environment: Mapping[str, str]) -> str:
    """With the variables that are known now, and where it runs."""
    script = re.sub(r"\$\(\s*pwd\s*\)|`\s*pwd\s*`|\$\{PWD\}|\$PWD\b", lambda _: cwd, script)
    variable = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
    return variable.sub(lambda found: environment.get(found[1] or found[2], found[0]), script)


def is_replaceable(path: str, roots: Sequence[str]) -> bool:
    """Whether a confined command could write there, or change where the path leads."""
    look = _Look("/", {}, roots)
    return any(map(look.is_replaceable, follow(path)))


def tell_confined(what: str, replaceable: str) -> str:
    """`replaceable` is what `find_replaceable` returned."""
    if name := replaceable.removeprefix(_INPUT_OF) if replaceable.startswith(_INPUT_OF) else "":
        return (
            f"{what} runs in the sandbox, because {name} reads its script from standard input; "
            "use a script file outside the workspace or below .planck"
        )
    return (
        f"{what} runs in the sandbox, because an agent could replace {replaceable!r}; "
        "to run it with your permissions, keep its files outside the workspace or below .planck"
    )


class _Look:
    def __init__(self, cwd: str, environment: Mapping[str, str], roots: Sequence[str]) -> None:
        self._start = cwd
        self._cwds = [cwd]
        """Where it may run: a `cd` may fail, or be that of a subshell."""
        self._cwd = cwd
        self._path = environment.get("PATH", "")
        self._home = environment.get("HOME", "")
        self._roots = roots
        self._texts: set[str] = set()
        """Those that were looked at."""

    def at_script(self, script: str) -> str:
        lexer = shlex.shlex(script.replace("\n", " ; "), posix=True, punctuation_chars=";&|()<>`")
        lexer.whitespace_split = True
        lexer.commenters = ""
        words: list[str] = []
        try:
            tokens = [*lexer, ";"]
        except ValueError:
            return script
        for token in tokens:
            if not set(token) <= set(";&|()<>`"):
                words.append(token)
                continue
            if words and (found := self._at_words(words, certain=token.startswith("&&"))):
                return found
            if ")" in token and self._start not in self._cwds:
                self._cwds.append(self._start)
            words = []
        return ""

    def at_command(self, words: Sequence[str]) -> str:
        return self._at_words(words, certain=False)

    def at_environment(self, environment: Mapping[str, str]) -> str:
        return self._at_assignments(f"{name}={value}" for name, value in environment.items())

    def _at_words(self, words: Sequence[str], *, certain: bool) -> str:
        words = [*dropwhile(_KEYWORDS.__contains__, words)]
        if words and words[0] == "cd":
            folders = [word for word in words[1:] if not word.startswith("-")]
            places = [os.path.join(cwd, self._at_home(folders[0])) for cwd in self._cwds] if folders else []
            self._cwds = places if certain else [*self._cwds, *places]
            return ""
        for cwd in [*self._cwds]:
            self._cwd = cwd
            if found := self._at_assignments(words) or self._at_rest(words):
                return found
        return ""

    def _at_assignments(self, words: Iterable[str]) -> str:
        for word in words:
            name, equals, value = word.partition("=")
            if equals and _ORDERING_VARIABLE.fullmatch(name):
                for piece in re.split(r"[:\s=]", value):
                    path = self._absolute(piece)
                    if ("/" in piece or piece == "." or os.path.exists(path)) and self.is_replaceable(path):
                        return word
        return ""

    def _at_rest(self, words: Sequence[str]) -> str:
        """Of all programs that a command may start: those after one that starts others, too."""
        if found := self._at_texts([word for word in words if "=" in word], "echo"):
            return found
        words = [*dropwhile(re.compile(r"\w+=").match, words)]
        return (self._at_each(words) or self._at_launched(words)) if words else ""

    def _at_each(self, words: Sequence[str]) -> str:
        launched = False
        while words:
            name = os.path.basename(words[0])
            if found := self._at_one(words, launched=launched):
                return found
            known = find_program(name)
            launched |= known.launches or (known.prefix is not None and not known.is_project_tool)
            if not launched or _is_data(name):
                return ""
            words = words[1:]
        return ""

    def _at_launched(self, words: Sequence[str]) -> str:
        """Of what a command is known to start, by an option or a setting too."""
        known = find_program(os.path.basename(words[0]))
        if known.is_opaque and not known.launches:
            return ""  # `ssh` starts it elsewhere
        for launch in find_launches(tuple(Word(word, literal="$" not in word) for word in words)):
            found = ""
            if launch.words:
                found = self._at_rest([word.text.replace(EXPANDED, "$_") for word in launch.words])
            elif launch.script and launch.script not in self._texts:
                self._texts.add(launch.script)
                found = self.at_script(launch.script)
            if found:
                return found
        return ""

    def _at_one(self, words: Sequence[str], *, launched: bool) -> str:
        program, arguments = words[0], words[1:]
        name = os.path.basename(program)
        if launched and (program.startswith("-") or "=" in program):
            program = program.partition("=")[2]
            if not program:
                return words[0] if re.search(r"\s", words[0]) else ""
        if (program.startswith("$") and len(program) > 1) or program == "{}":
            return program
        if found := self._at_program(program) or self._at_texts(words, name):
            return found
        inside = is_inside(os.path.realpath(self._cwd), self._roots)
        known = find_program(name)
        if inside and known.is_project_tool:
            return f"{name} in {self._cwd}"
        if _is_data(name):
            return ""
        language = known.interpreter.language if known.interpreter else ""
        interprets = known.runs_file or (
            language in {"awk", "sed"} and any(word.startswith(("-f", "--file")) for word in arguments)
        )
        if interprets and (found := self._at_interpreter(name, arguments, inside)):
            return found
        for word in arguments:
            if found := self._at_argument(word.partition("=")[2] or word, interprets):
                return found
        return ""

    def _at_interpreter(self, name: str, arguments: Sequence[str], inside: bool) -> str:
        if inside and _imports_from_its_folder(name, arguments):
            return f"{name} in {self._cwd}"
        scripts = [word for word in arguments if not word.startswith("-")]
        if not scripts or scripts[0] == "/dev/stdin":
            return f"{_INPUT_OF}{name}"
        if re.search(r"[$*?{]", scripts[0]) and not _HAS_TEXT.search(" ".join(arguments)):
            return scripts[0]
        for word in arguments:
            if word.startswith("-I") and len(word) > 2 and self.is_replaceable(self._absolute(word[2:])):
                return word
            if name == "run-parts" and self.is_replaceable(self._absolute(word)):
                return word
        return ""

    def _at_texts(self, words: Sequence[str], name: str) -> str:
        """In words that are commands themselves: `sh -c "..."`, `echo "$(...)"`."""
        for word in words:
            texts = re.findall(r"\$\(([^()]*)\)|`([^`]*)`", word)
            if not _is_data(name) and re.search(r"\s", word) and not word.startswith("-"):
                texts.append((word, ""))
            for text in (one or other for one, other in texts):
                if text.strip() and text not in self._texts:
                    self._texts.add(text)
                    if found := self.at_script(text):
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
        for place in follow(path):
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
        return os.path.normpath(os.path.join(self._cwd, self._at_home(word)))

    def _at_home(self, word: str) -> str:
        return self._home + word[1:] if word.startswith("~/") and self._home else word


def _is_data(name: str) -> bool:
    """Whether it runs none of its words; the pager of `man` and `ag` may be a file that an agent wrote."""
    return (find_program(name).is_data and name not in ("man", "ag")) or name in _WORDS_OF_BASH


_HAS_TEXT = re.compile(r"(^|\s)-\w*[ce]\b")
"""`-c` or `-e`: the words that follow are no script."""


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


def _first_line(path: str) -> list[str]:
    try:
        # An opener: `open` refuses the descriptor of a folder, and closes only what it opened.
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            line = file.read(_FIRST_LINE).partition(b"\n")[0]
    except OSError:
        return []
    line = line.partition(b"\0")[0]  # as the kernel reads it
    return os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []


def list_parts(argv: Sequence[str], path: str, kept: Sequence[str] | None = None) -> tuple[str, ...]:
    """Returns the program's own installation, and what it is started with: what a sandbox must show of it.

    With `kept`, that is also the folder of a program, a script or an interpreter below `/tmp`: each loads
    what lies beside it. No folder is shown that holds one of `kept`.
    """
    program = shutil.which(argv[0], path=path) or argv[0]
    real = os.path.realpath(program)
    folder = os.path.dirname(os.path.dirname(program))
    installed = [folder] if os.path.isfile(os.path.join(folder, "pyvenv.cfg")) else []
    package, below, _ = real.partition("/node_modules/")
    installed += [package + below.rstrip("/")] if below else []
    given = [word for word in argv[1:] if os.path.isabs(word)]
    if kept is None:
        return (program, real, *installed, *given)
    for place in (program, real, *given, *map(os.path.realpath, given)):
        installed += _find_installation(place, kept)
    line = _first_line(real)
    if line and os.path.basename(line[0]) == "env":
        line = [word for word in line[1:] if not word.startswith("-") and "=" not in word]
    if line and line[0] != argv[0]:
        installed += list_parts(line[:1], path, kept)
    return (program, real, *installed, *given)


def _find_installation(place: str, kept: Sequence[str]) -> list[str]:
    """The prefix of a program in `bin`, else its folder, where a sandbox would hide it."""
    from planck.workspace.sandbox.bubblewrap import PRIVATE  # it needs most of this package

    folder = os.path.dirname(place)
    prefix = os.path.dirname(folder) if os.path.basename(folder) == "bin" else folder
    for found in (prefix, folder):
        hidden = is_inside(found, PRIVATE) and found not in PRIVATE
        if hidden and not any(is_inside(one, (found,)) for one in kept):
            return [found]
    return []
