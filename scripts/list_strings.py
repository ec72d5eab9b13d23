"""Lists every text that a person or a model reads: `python -m scripts.list_strings [PART OF A PATH]`.

One text a line, `path:line: text`, without docstrings; in a text that is filled in, `{}` is where. Compare two versions:
run it in both checkouts and diff the files. `tests/test_words.py` reads the same list.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
MARKDOWN = ("README.md", "CHANGELOG.md", "AGENTS.md", "docs/guides/*.md", "src/**/*.md")
# What has blanks and is written for a program.
_SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|WITH|BEGIN|COMMIT|LISTEN|SET|LOCK|AND|WHERE)\b")
_WORDS = re.compile(r"[A-Za-z]{2,}[^A-Za-z]+[A-Za-z]{2,}")
_PAGE = re.compile(r"""^\s*(?:'[^']+'|\w+):\s*(['"`])(.*)\1,?$""")


class Text(NamedTuple):
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text!r}"


def list_texts() -> Iterator[Text]:
    for path in sorted((ROOT / "src").rglob("*.py")):
        yield from _list_source(path)
    for path in sorted((ROOT / "page" / "i18n").glob("*.js")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if found := _PAGE.match(line):
                yield Text(_name(path), number, found[2])
    for pattern in MARKDOWN:
        for path in sorted(ROOT.glob(pattern)):
            yield from _list_markdown(path)


def _list_source(path: Path) -> Iterator[Text]:
    tree = ast.parse(path.read_text())
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in ast.walk(node) if part is not node)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if _WORDS.search(text) and " " in text and not _SQL.match(text):
            yield Text(_name(path), node.lineno, text)


def _list_markdown(path: Path) -> Iterator[Text]:
    """The lines outside code blocks: what a block shows is made by a program, or is one."""
    inside = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside and _WORDS.search(line):
            yield Text(_name(path), number, line)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def main() -> None:
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    for text in list_texts():
        if part in text.path:
            print(text)


if __name__ == "__main__":
    main()
