"""The guides do what they say: their Python runs, their files are written, their commands print that.

In a guide, in order and in one workspace of its own: `python` blocks share a namespace and may `await`; a
block with a path after its language is that file; in `console` blocks `$ ` starts a command, the lines below
it are its output, and `...` stands for anything.
"""

import ast
import asyncio
import doctest
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GUIDES = Path(__file__).parent.parent / "docs" / "guides"
DECISIONS = GUIDES.parent / "decisions"
BLOCK = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@pytest.mark.parametrize("guide", sorted(GUIDES.glob("*.md")), ids=lambda path: path.name)
def test_a_guide_does_what_it_says(guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    text = guide.read_text()
    names: dict[str, Any] = {"__name__": "guide"}
    for block in BLOCK.finditer(text):
        language, path, body = block.groups()
        where = f"{guide.name}:{text[: block.start()].count(chr(10)) + 2}"
        if path:
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(body)
        elif language == "python":
            run_python(body, names, where)
        elif language == "console":
            run_console(body, where)


def run_python(body: str, names: dict[str, Any], where: str) -> None:
    code = compile(body, where, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, names)
    if inspect.iscoroutine(result):
        asyncio.run(result)


def run_console(body: str, where: str) -> None:
    for command, expected in COMMAND.findall(body):
        done = subprocess.run(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert doctest.OutputChecker().check_output(expected, done.stdout, flags), (
            f"{where}: {command}\nexpected: {expected}\ngot: {done.stdout}"
        )


def test_a_guide_that_lies_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):
        run_python("assert await __import__('asyncio').sleep(0, False)\n", {}, "here")
    with pytest.raises(AssertionError, match="expected: b"):
        run_console("$ echo a\nb\n", "here")
    run_console("$ echo a b c\na ... c\n$ true\n", "here")


def test_every_decision_has_a_number_of_its_own_in_its_name_and_title() -> None:
    pages = sorted(DECISIONS.glob("*.md"))
    assert [int(page.name[:4]) for page in pages] == [*range(1, len(pages) + 1)]
    titles = {page.name: page.read_text().splitlines()[0] for page in pages}
    assert {name: t for name, t in titles.items() if not t.startswith(f"# {int(name[:4])}. ")} == {}


def test_the_readme_leads_to_every_guide() -> None:
    readme = (GUIDES.parent.parent / "README.md").read_text()
    assert [
        page.name for page in sorted(GUIDES.glob("*.md")) if f"docs/guides/{page.name}" not in readme
    ] == []
