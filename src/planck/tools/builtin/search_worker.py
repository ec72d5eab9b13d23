"""Where there is no ripgrep: lists files and finds lines, in a process of its own that can be killed.

Run as a script, without the package: `python -I -S search_worker.py JSON`. A model's regular expression may
take for ever in this engine, which is why it runs here. Prints `path NUL` for files, `path NUL line:` and a
newline for lines.
"""

import json
import os
import re
import sys
from collections.abc import Iterator

MAX_FILE = 64 << 20
_Rule = tuple["re.Pattern[str]", bool, bool]
"""Expression over the path relative to the .gitignore's folder; negated; folders only."""


def main(request: dict[str, object]) -> int:
    start = str(request["start"])
    pattern = request.get("pattern")
    if pattern is None:
        for path in walk(start):
            sys.stdout.buffer.write(os.fsencode(path) + b"\0")
        return 0
    try:
        expression = re.compile(str(pattern), re.IGNORECASE if request.get("ignore_case") else 0)
    except re.error as problem:
        sys.stdout.buffer.write(f"regex parse error: {problem}\n".encode())
        return 2
    for path in [start] if os.path.isfile(start) else walk(start):
        for number in lines(path, expression):
            sys.stdout.buffer.write(b"%s\0%d:\n" % (os.fsencode(path), number))
        sys.stdout.buffer.flush()  # what was found counts even if the next file takes for ever
    return 0


def walk(start: str) -> Iterator[str]:
    """Files below, in order, without what a .gitignore (or .git/info/exclude) on the way excludes, `.git` and
    links.

    The way begins where we stand; for a whole path, in that folder itself.
    """
    if os.path.isabs(start):
        yield from _walk(start, [])
        return
    rules: list[tuple[str, list[_Rule]]] = []
    above = [] if start in ("", ".") else start.split("/")
    for depth in range(len(above)):
        folder = "/".join(above[:depth])
        rules.append((folder, read_rules(folder)))
    yield from _walk("/".join(above), rules)


def _walk(folder: str, above: list[tuple[str, list[_Rule]]]) -> Iterator[str]:
    rules = [*above, (folder, read_rules(folder))]
    try:
        with os.scandir(folder or ".") as found:
            entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or ignored(path, is_folder, rules):
            continue
        if is_folder:
            yield from _walk(path, rules)
        elif entry.is_file(follow_symlinks=False):
            yield path


def ignored(path: str, is_folder: bool, rules: list[tuple[str, list[_Rule]]]) -> bool:
    """The last rule that matches decides, the deepest file first."""
    for folder, own in reversed(rules):
        inner = path[len(folder) + 1 :] if folder else path
        if not inner.isascii():
            inner = os.fsencode(inner).decode("latin-1")  # git compares bytes: `?` is one of them
        for expression, negated, folders_only in reversed(own):
            if (is_folder or not folders_only) and expression.fullmatch(inner):
                return not negated
    return False


def read_rules(folder: str) -> list[_Rule]:
    """Those of the repository that begins here come first, so that every .gitignore overrules them."""
    return [*_read_rules(folder, ".git/info/exclude"), *_read_rules(folder, ".gitignore")]


def _open(path: str, flags: int) -> int:
    """An opener that neither waits nor follows a link. `open` closes what it got when that is a folder."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


def _read_rules(folder: str, name: str) -> list[_Rule]:
    try:
        with open(os.path.join(folder, name), "rb", opener=_open) as file:
            text = file.read(1 << 20).removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    except OSError:
        return []
    return [rule for line in text.split("\n") if (rule := _rule(line))]


def _rule(line: str) -> _Rule | None:
    line = re.sub(r"(?<!\\)[ \t\r]+$", "", line)
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line.removeprefix("!")
    line = line[1:] if line.startswith(("\\#", "\\!")) else line
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    anchored = "/" in line
    try:
        return (
            re.compile(("" if anchored else "(?:.*/)?") + _expression(line.lstrip("/")), re.DOTALL),
            negated,
            folders_only,
        )
    except re.error:
        return None


def _expression(glob: str) -> str:
    if glob == "**":
        return ".*"
    parts = re.split(r"(^(?:\*\*/)+|/(?:\*\*/)+|/\*\*$|\*+|\?|\[[!^]?\]?[^\]/]*\]|\\.)", glob)
    return "".join(_piece(part) for part in parts if part)


def _piece(part: str) -> str:
    if part in _PIECES:
        return _PIECES[part]
    if part.endswith("**/"):
        return f"{'/' if part.startswith('/') else ''}(?:.*/)?"
    if part.startswith("*"):
        return "[^/]*"
    if part.startswith("[") and part.endswith("]") and len(part) > 2:
        inner = re.sub(r"[\[\\&~|]", r"\\\g<0>", part[1:-1])  # signs of Python's own
        return f"(?!/)[^{inner[1:]}]" if inner[0] in "!^" else f"(?!/)[{inner}]"
    return re.escape(part[1:] if part.startswith("\\") and len(part) > 1 else part)


_PIECES = {"/**": "/.*", "?": "[^/]"}


def lines(path: str, expression: "re.Pattern[str]") -> Iterator[int]:
    try:
        with open(path, "rb", opener=_open) as file:
            content = file.read(MAX_FILE)
    except OSError:
        return
    if b"\0" in content[:8192]:
        return
    for number, line in enumerate(content.decode(errors="replace").split("\n"), 1):
        if expression.search(line.removesuffix("\r")):
            yield number


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
