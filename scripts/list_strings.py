"""Lists every text that a person or a model reads.

`python -m scripts.list_strings [--root DIR] [PART OF A PATH]` prints one text per line, as `path:line: text`,
without docstrings; `{}` marks a place that is filled in. To compare two versions, pass the root of each
checkout and diff the output. `tests/test_words.py` reads the same list.
"""

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
MARKDOWN = ("README.md", "CHANGELOG.md", "AGENTS.md", "docs/guides/*.md", "src/**/*.md")
# What has blanks and is written for a program.
_SQL = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|WITH|BEGIN|COMMIT|LISTEN|SET|LOCK|AND|WHERE)\b"
)
_WORDS = re.compile(r"[A-Za-z]{2,}[^A-Za-z]+[A-Za-z]{2,}")
_PAGE = re.compile(r"""^\s*(?:'[^']+'|\w+):\s*(['"`])(.*)\1,?$""")


class Text(NamedTuple):
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text!r}"


def list_texts(root: Path = ROOT) -> Iterator[Text]:
    for path in sorted((root / "src").rglob("*.py")):
        yield from _list_source(path, path.relative_to(root).as_posix())
    for path in sorted((root / "page" / "i18n").glob("*.js")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if found := _PAGE.match(line):
                yield Text(path.relative_to(root).as_posix(), number, found[2])
    for pattern in MARKDOWN:
        for path in sorted(root.glob(pattern)):
            yield from _list_markdown(path, path.relative_to(root).as_posix())


def _list_source(path: Path, name: str) -> Iterator[Text]:
    tree = ast.parse(path.read_text())
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if (kind := getattr(node, field, None)) is not None and not isinstance(kind, str):
                # What `Annotated` says is a text: of a key of the configuration, for example.
                skipped.update(id(part) for part in ast.walk(kind) if part is kind or _names_types(part))
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in ast.walk(node) if part is not node)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if _WORDS.search(text) and " " in text and not _SQL.match(text):
            yield Text(name, node.lineno, text)


def _names_types(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "|" in node.value


def _list_markdown(path: Path, name: str) -> Iterator[Text]:
    """The lines outside code blocks: what a block shows is made by a program, or is one."""
    inside = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside and _WORDS.search(line):
            yield Text(name, number, line)


def main() -> None:
    parser = argparse.ArgumentParser(description="List every text that a person or a model reads.")
    parser.add_argument("--root", type=Path, default=ROOT, help="The checkout to read")
    parser.add_argument("part", nargs="?", default="", help="Only paths that contain this")
    options = parser.parse_args()
    for text in list_texts(options.root):
        if options.part in text.path:
            print(text)


if __name__ == "__main__":
    main()
