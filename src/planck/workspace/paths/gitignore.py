"""What git ignores: by `.gitignore`, `.git/info/exclude` and the user's own file. Standard library alone."""

import os
import re

Rule = tuple["re.Pattern[str]", bool, bool]
"""Expression over the path relative to the .gitignore's folder; negated; folders only."""


def ignored(path: str, is_folder: bool, rules: list[tuple[str, list[Rule]]]) -> bool:
    """The last rule that matches decides, the deepest file first."""
    for folder, own in reversed(rules):
        inner = path[len(folder) + 1 :] if folder else path
        if not inner.isascii():
            inner = os.fsencode(inner).decode("latin-1")  # git compares bytes: `?` is one of them
        for expression, negated, folders_only in reversed(own):
            if (is_folder or not folders_only) and expression.fullmatch(inner):
                return not negated
    return False


def read_rules(folder: str, excludes: str = "") -> list[Rule]:
    """Those of the repository that begins here come first, so that every .gitignore overrules them; before
    them those of `excludes`, the file for all repositories of the user."""
    own = _read_rules(folder, os.path.realpath(excludes)) if excludes else []
    return [*own, *_read_rules(folder, ".git/info/exclude"), *_read_rules(folder, ".gitignore")]


def open_regular(path: str, flags: int) -> int:
    """An opener that neither waits nor follows a link. `open` closes what it got when that is a folder."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


def _read_rules(folder: str, name: str) -> list[Rule]:
    try:
        with open(os.path.join(folder, name), "rb", opener=open_regular) as file:
            text = file.read(1 << 20).removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    except OSError:
        return []
    return [rule for line in text.split("\n") if (rule := _rule(line))]


def _rule(line: str) -> Rule | None:
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
