"""The files that hooks run: a hook's own text is protected, and so must be what it starts.

Read are hooks and shell scripts, and the configuration of lefthook and pre-commit. What npm, make and other
project tools run, and what a script of another language imports or starts, can't be told from the text.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from glob import glob
from itertools import pairwise

from planck.workspace.git.repository import end_at_nul
from planck.workspace.paths.paths import is_inside, stamp_file
from planck.workspace.paths.regular import read_regular

_MAX_BODY = 65_536
_MAX_FILES = 64
"""Of one repository: a hook runs a handful."""
_MAX_FOLDERS = 4
_SHELLS = re.compile(rb"#![^\n]*\b(?:ba|da|k|z)?sh\b|(?!#!)")
"""How a text begins that a shell reads."""
HERE = "\x02"
"""Stands for the folder of a script until it is known."""
TOP = "\x03"
"""The same for the top folder of the worktree."""


class _Body:
    """What a text runs, before anybody looks which of it is there."""

    def __init__(self) -> None:
        self.folders = [TOP]
        """Where it may be when it runs something."""
        self.named: dict[str, bool] = {}
        """Paths, and whether each counts only if it is there."""
        self.searched: list[str] = []
        """Folders of which it runs whatever is in them."""

    def add(self, path: str, *, there: bool = False) -> None:
        self.named[path] = self.named.get(path, True) and there


def list_run(hooks: list[str], worktree: str, roots: tuple[str, ...]) -> Iterator[str]:
    """Yields the files that hooks start, and those that these start, there or not, inside the roots."""
    left, seen = [*hooks], {*hooks}
    while left and len(seen) < _MAX_FILES + len(hooks):
        file = left.pop(0)
        stamp = stamp_file(file)
        if stamp is None:
            continue
        for path in _resolve(_read(file, stamp, file in hooks), os.path.dirname(file), worktree):
            real = os.path.realpath(path)
            for place in {path, real} - seen:
                if is_inside(os.path.realpath(os.path.dirname(place)), roots):
                    yield place
                seen.add(place)
            if is_inside(real, roots):
                left.append(real)


def _resolve(body: _Body, here: str, worktree: str) -> Iterator[str]:
    folders = [_place(folder, here, worktree) for folder in body.folders]
    searched = [*body.searched]
    for named, there in body.named.items():
        for folder in folders:
            path = os.path.normpath(os.path.join(folder, _place(named, here, worktree)))
            if pattern := re.search(r"/[^/]*[*?\[]", path):
                searched.append(path[: pattern.start()])
                yield from sorted(glob(path))[:_MAX_FILES]
            elif os.path.isfile(path) or not (there or os.path.isdir(path)):
                yield path
    for named in searched:
        path = os.path.normpath(os.path.join(worktree, _place(named, here, worktree)))
        if is_inside(path, (worktree,)) and path != worktree and not _INSTALLED.search(path):
            yield path


def _place(path: str, here: str, worktree: str) -> str:
    return os.path.expanduser(path.replace(HERE, here).replace(TOP, worktree))


@lru_cache(maxsize=256)
def _read(file: str, stamp: object, is_hook: bool) -> _Body:
    """`stamp` is that of the file, so that a change is read."""
    body = _Body()
    try:
        data = read_regular(file, _MAX_BODY)
    except OSError:
        return body
    text = end_at_nul(data)
    if os.path.basename(file) in _CONFIGURATIONS or file.endswith((".yaml", ".yml")):
        for line in _find_run_lines(text):
            _read_shell(line, body)
    elif _SHELLS.match(data) and b"\0" not in data:
        _read_shell(text, body)
    elif is_hook:  # another language: what looks like a path of a script that is there
        for word in re.split(r"[\s;&|()<>'\"`$={},\[\]]+", text):
            if "/" in word or _SCRIPT.search(word):
                body.add(word, there=True)
    if is_hook:
        _add_configurations(text, body)
    return body


_SCRIPT = re.compile(r"\.(?:sh|bash|py|[cm]?js|ts|pl|rb|php)$")

_LEFTHOOK = [
    f"{dot}lefthook{local}.{kind}"
    for dot in ("", ".")
    for local in ("", "-local")
    for kind in ("yml", "yaml", "toml", "json")
]
_CONFIGURATIONS = frozenset({".pre-commit-config.yaml", *_LEFTHOOK})


def _add_configurations(text: str, body: _Body) -> None:
    """Files in which the programs that install hooks look for what to run."""
    if "lefthook" in text:
        for name in (*_LEFTHOOK, ".lefthook", ".lefthook-local"):
            body.add(f"{TOP}/{name}")
    if "pre-commit" in text and "hook-impl" in text:
        found = re.search(r"--config[= ]['\"]?([^\s'\")]+)", text)
        body.add(f"{TOP}/{found[1] if found else '.pre-commit-config.yaml'}")


def _find_run_lines(text: str) -> Iterator[str]:
    """Yields the commands of a configuration: `entry: ...`, `run: ...`, and the block below `run: |`."""
    block = -1
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip(" -"))
        if block >= 0 and (indent > block or not line.strip()):
            yield line.strip()
            continue
        block = -1
        if found := re.match(r"[\s{,-]*[\"']?(?:entry|run|runner)[\"']?\s*[:=]\s*(.*?),?\s*$", line):
            if found[1][:1] in ("|", ">"):
                block = indent
            else:
                yield found[1].strip("\"'")


_INSTALLED = re.compile(r"/(?:node_modules|\.?venv|env|vendor|target|build|dist|\.tox)(?:/|$)")
"""Folders that package managers and builds fill: what a hook finds there is no script of the project."""
_KNOWN = (
    (
        re.compile(
            r"\$\(\s*(?:readlink -f|realpath)(?: --)? \"?(\$(?:0|\{?BASH_SOURCE(?:\[0\])?\}?))\"?\s*\)"
        ),
        r"\1",
    ),
    (
        re.compile(r"\$\(\s*git rev-parse --(?:absolute-)?git-dir\s*\)|\$\{?GIT_DIR\b\}?"),
        f"{TOP}/.git",
    ),
    (
        re.compile(r"\$\(\s*git rev-parse --show-toplevel[^)]*\)|`git rev-parse --show-toplevel[^`]*`"),
        TOP,
    ),
    (re.compile(r"\$\(\s*pwd\s*\)|`\s*pwd\s*`|\$\{?(?:PWD|GIT_WORK_TREE)\b\}?"), TOP),
    (re.compile(r"\$\(\s*dirname (?:-- )?\"?\$(?:0|\{0\}|\{?BASH_SOURCE(?:\[0\])?\}?)\"?\s*\)"), HERE),
    (re.compile(r"`dirname (?:-- )?\"?\$0\"?`|\$\{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}"), HERE),
    (re.compile(rf"\$\(\s*cd (?:-- )?\"?({HERE}[^\"\s)&;]*)\"?\s*(?:&&|;)\s*pwd(?: -P)?\s*\)"), r"\1"),
    (re.compile(r"\$\{HOME\}|\$HOME\b"), "~"),
)  # fmt: skip
"""Substitutions whose outcome is known: `pwd` is the top of the worktree, where git starts a hook."""
_ASSIGNMENT = re.compile(
    r"""^[ \t]*(?:export[ \t]+|readonly[ \t]+|local[ \t]+)?(\w+)=("[^"\n$`]*"|'[^'\n]*'|[^\s;&|$`"']+)""",
    re.MULTILINE,
)


def spell_known(text: str) -> str:
    """Returns a script with the substitutions replaced whose outcome is `HERE` or `TOP`."""
    for pattern, known in _KNOWN:
        text = pattern.sub(known, text)
    return text


def _read_shell(text: str, body: _Body) -> None:
    from planck.shell.reach import find_reach  # few repositories have hooks

    text = _DEFAULT.sub(r"\1", spell_known(text))
    for name, value in dict.fromkeys((*_ASSIGNMENT.findall(text),)):
        text = _replace(text, name, value.strip("\"'").replace("\\", ""))
    for name, values in _ARRAY.findall(text):
        text = re.sub(rf'"?\$\{{{name}\[[@*]\]\}}"?', values.replace("\\", r"\\"), text)
    functions = {name for names in _FUNCTION.findall(text) for name in names if name}
    for entry in (entry for value in _PATHS.findall(text) for entry in value.strip("\"'").split(":")):
        if entry and "$" not in entry:
            body.searched.append(entry)
    fed = False
    for line in (*_cut(text), *_list_rounds(text)):
        reach = find_reach(line, None)
        for words in (*reach.commands, *reach.perhaps):
            given = [word.text for word in words]
            _add_command(given, body)
            if given[0] in functions:  # which may start what it is given
                _add_command(given[1:], body)
            fed = fed or _reads_input(given)
    for file in _FED.findall(text) if fed else ():
        body.add(file, there=True)


_DEFAULT = re.compile(r"\$\{\w+:?[-=]([^}\s]*)\}")
_ARRAY = re.compile(r"\b(\w+)=\(([^()]*)\)")
_FUNCTION = re.compile(r"^\s*(?:function\s+)?(\w+)\s*\(\)|[;{]\s*(\w+)\s*\(\)", re.MULTILINE)
_PATHS = re.compile(r"\bPATH=(\"[^\"\n]*\"|\S+)")
_FED = re.compile(r"(?:(?<!<)<|\bcat)\s*['\"]?([^\s<>|;&()'\"$*]+)")
"""What may come to the input of a shell."""
_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s+([^;\n]+)")
_READ = re.compile(r"\bls\s+([^|;\n]+)\|\s*while\s[^;\n]*\bread\s+(?:-r\s+)?(\w+)")
_MAX_ROUNDS = 12


def _list_rounds(text: str) -> Iterator[str]:
    """Yields a text with the values of its loops in their places."""
    loops = [*_LOOP.findall(text), *((name, values) for values, name in _READ.findall(text))]
    rounds = [(name, value) for name, values in loops for value in values.split() if "$" not in value]
    for name, value in rounds[:_MAX_ROUNDS]:
        yield from _cut(_replace(text, name, value.strip("\"'")))


def _replace(text: str, name: str, value: str) -> str:
    return re.sub(rf"\$(?:{name}\b|\{{{name}\}})", lambda _: value, text)


def _cut(text: str) -> list[str]:
    """The whole text if the reader takes it at once, else its lines."""
    from planck.shell.plain import MAX_LENGTH

    return [text] if len(text) <= MAX_LENGTH else text.splitlines()


def _add_command(words: list[str], body: _Body) -> None:
    from planck.shell.programs import find_program

    program, *rest = words or [""]
    operands = [word for word in rest if not word.startswith("-")]
    if program in ("cd", "pushd"):
        if operands and len(body.folders) < _MAX_FOLDERS:
            folder = _strip(operands[0])[0]
            above = "" if folder.startswith((TOP, HERE, "~")) else body.folders[-1]
            body.folders.append(os.path.join(above, folder))
        return
    if "/" in program:
        path, exact = _strip(program)
        body.add(path, there=not exact)
    name = os.path.basename(program)
    known = find_program(name)
    if name == "run-parts":
        body.searched += operands[-1:]
    if name in ("cp", "install", "ln") and operands and _SCRIPT.search(operands[0]):
        body.add(_strip(operands[0])[0], there=True)
    for option, value in pairwise(rest):
        if known.runs_file and option in ("-r", "--require", "--import"):
            body.add(value, there=True)
    if known.is_shell and operands[1:] and "-c" in rest:
        _add_command(
            operands[1:] if "$0" in operands[0] else operands[2:] if "$@" in operands[0] else [], body
        )
    if not (name in (".", "source") or known.is_shell or known.runs_file):
        return
    if known.is_shell and any(re.fullmatch(r"-[a-z]*n[a-z]*", word) for word in rest):
        return  # it checks what it reads, and runs nothing
    if "-m" in rest and (module := rest[rest.index("-m") + 1 :]):
        below = module[0].replace(".", "/")
        for path in (f"{below}.py", f"{below}/__main__.py"):
            body.add(path, there=True)
    elif not any(re.fullmatch(r"-\w*c" if known.is_shell else r"-\w*[ce]", word) for word in rest):
        _add_script(operands, body)


def _reads_input(words: list[str]) -> bool:
    """Whether it is a shell or an interpreter that is named no program of its own."""
    from planck.shell.programs import find_program

    known = find_program(os.path.basename(words[0]))
    return (known.is_shell or known.runs_file) and all(re.fullmatch(r"-[^cem]*", word) for word in words[1:])


def _add_script(operands: list[str], body: _Body) -> None:
    """The first that looks like one: before it the value of an option may stand."""
    for word in operands:
        path, exact = _strip(word)
        if "/" in path or "." in path:
            body.add(path, there=not exact)
            return
        body.add(path, there=True)


def _strip(word: str) -> tuple[str, bool]:
    """A word without the expansion that it begins with, which is mostly the top folder; and whether it had
    none."""
    from planck.shell.words import EXPANDED

    path = word.lstrip(EXPANDED)
    if path == word:
        return word, EXPANDED not in word
    return path.lstrip("/") or ".", False
