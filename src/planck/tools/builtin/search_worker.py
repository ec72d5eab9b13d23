"""Where there is no ripgrep: lists files and finds lines, in a process of its own that can be killed.

Run by `isolated` with the standard library alone. A model's regular expression may
take for ever in this engine, which is why it runs here. Prints `path NUL` for files, `path NUL line:` and a
newline for lines.
"""

import json
import os
import re
import sys
from collections.abc import Iterator

from planck.workspace.paths.gitignore import Rule, ignored, open_regular, read_rules

MAX_FILE = 64 << 20


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
    rules: list[tuple[str, list[Rule]]] = []
    above = [] if start in ("", ".") else start.split("/")
    for depth in range(len(above)):
        folder = "/".join(above[:depth])
        rules.append((folder, read_rules(folder)))
    yield from _walk("/".join(above), rules)


def _walk(folder: str, above: list[tuple[str, list[Rule]]]) -> Iterator[str]:
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


def lines(path: str, expression: "re.Pattern[str]") -> Iterator[int]:
    try:
        with open(path, "rb", opener=open_regular) as file:
            content = file.read(MAX_FILE)
    except OSError:
        return
    if b"\0" in content[:8192]:
        return
    for number, line in enumerate(content.decode(errors="replace").split("\n"), 1):
        if expression.search(line.removesuffix("\r")):
            yield number


def run() -> None:
    sys.exit(main(json.loads(sys.argv[1])))
