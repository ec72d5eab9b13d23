"""The files that hooks run: a hook's own text is protected, and so must be what it starts.

Read are hooks and shell scripts, and the configuration of lefthook and pre-commit. What npm, make and other
project tools run, and what a script of another language imports or starts, can't be told from the text.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache

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
    for named, there in body.named.items():
        for folder in folders:
            path = os.path.normpath(os.path.join(folder, _place(named, here, worktree)))
            if os.path.isfile(path) or not (there or os.path.isdir(path)):
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


_KNOWN = (
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

    text = spell_known(text)
    for name, value in dict.fromkeys((*_ASSIGNMENT.findall(text),)):
        plain = value.strip("\"'").replace("\\", "")
        text = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", plain, text)
    for line in _cut(text):
        reach = find_reach(line, None)
        for words in (*reach.commands, *reach.perhaps):
            _add_command([word.text for word in words], body)


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
    if not (name in (".", "source") or known.is_shell or known.runs_file):
        return
    if "-m" in rest and (module := rest[rest.index("-m") + 1 :]):
        below = module[0].replace(".", "/")
        for path in (f"{below}.py", f"{below}/__main__.py"):
            body.add(path, there=True)
    elif not any(re.fullmatch(r"-\w*c" if known.is_shell else r"-\w*[ce]", word) for word in rest):
        _add_script(operands, body)


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
