"""docs/reference/seeds.md: each statement of the seeds holds or differs on purpose, and has a test."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "reference" / "seeds.md"
ROW = re.compile(r"^\| (.+?) \| (.+?) \| `(\S+?)::(\w+)` \|$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)]+)\)")


def rows() -> list[tuple[str, str, str, str]]:
    return [match.groups() for match in ROW.finditer(PAGE.read_text())]  # type: ignore[misc]


def test_every_line_of_the_table_is_a_row_of_it() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert len(rows()) == len(lines) - lines.count("| statement | here | test |")
    for number in range(5):
        assert f"## Seed 00{number}" in PAGE.read_text()


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:60])
def test_a_statement_holds_or_differs_and_its_test_is_there(row: tuple[str, str, str, str]) -> None:
    _, status, file, test = row
    assert status.startswith(("holds", "differs: "))
    tree = ast.parse((ROOT / file).read_text())
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert test in names
    for link in LINK.findall(status):
        assert (PAGE.parent / link).exists()


def test_what_differs_says_what_planck_does_instead() -> None:
    for _, status, _, _ in rows():
        assert not status.startswith("differs") or len(status.split()) > 5
