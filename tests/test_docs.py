"""README and the guides do what they say, on a machine without a key.

In each page, in order and in its own workspace: `python` blocks share a namespace and may `await`; a block
with a path after its language is that file; in `console` blocks `$ ` starts a command, the lines below it are
its output, and `...` stands for anything. README's `sh` block installs Planck from a copy of this checkout.
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

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
GUIDES = ROOT / "docs" / "guides"
DECISIONS = ROOT / "docs" / "decisions"
BLOCK = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY")
SLOW = ("sidecars.md", "mcp.md")
"""Each starts several servers with the SDK, a second of processor time for each of them."""


@pytest.mark.parametrize(
    "guide",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.heavy] if path.name in SLOW else [])
        for path in (README, *sorted(GUIDES.glob("*.md")))
    ],
)
def test_a_guide_does_what_it_says(guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # `planck demo` leaves its folder for its user to look at
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
    readme = README.read_text()
    assert [
        page.name for page in sorted(GUIDES.glob("*.md")) if f"docs/guides/{page.name}" not in readme
    ] == []


def test_every_block_of_the_readme_runs_as_a_test() -> None:
    readme = README.read_text()
    languages = [language for language, _, _ in BLOCK.findall(readme)]
    assert set(languages) == {"sh", "console", "python"}
    assert len(languages) * 2 == readme.count("```")
    assert readme.count("\n") <= 120


@pytest.mark.heavy
def test_the_install_commands_of_the_readme_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [commands] = [body for language, _, body in BLOCK.findall(README.read_text()) if language == "sh"]
    checkout, env = tmp_path / "checkout", tmp_path / "env"
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    for name, value in (
        ("HOME", tmp_path),
        ("TMPDIR", tmp_path),
        ("PATH", f"{env}/bin:{os.environ['PATH']}"),
    ):
        monkeypatch.setenv(name, str(value))
    for command in (
        ["git", "clone", "-q", str(ROOT), str(checkout)],
        [sys.executable, "-m", "venv", str(env)],
        ["bash", "-ec", f"cd {checkout}\n{commands}"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
        if "No matching distribution" in done.stderr or "Failed to establish" in done.stderr:
            pytest.skip(f"the package registry can't be reached: {done.stderr[-200:]}")
        assert done.returncode == 0, done.stdout + done.stderr
    assert "runtime: planck" in done.stdout


SRC = ROOT / "src" / "planck"


@pytest.mark.parametrize("page", ["AGENTS.md", "docs/architecture.md"])
def test_every_file_class_and_function_that_developers_read_about_exists(page: str) -> None:
    names = set(re.findall(r"`([\w./-]+)`", (ROOT / page).read_text()))
    modules = [path.read_text() for path in SRC.rglob("*.py")]
    assert [name for name in sorted(names) if not _is_there(name, modules)] == []


def _is_there(name: str, modules: list[str]) -> bool:
    if re.fullmatch(r"[A-Z]\w+\.\w+", name):
        owner, _, own = name.partition(".")
        return any(_defines(text, owner) and re.search(rf"\b{own}\b", text) for text in modules)
    if "/" not in name or name[0] == "/":
        return True
    if any((base / f"{name}{ending}").exists() for base in (SRC, ROOT) for ending in ("", ".py")):
        return True
    file, _, own = name.rpartition(".")
    return (SRC / f"{file}.py").exists() and _defines((SRC / f"{file}.py").read_text(), own)


def _defines(text: str, name: str) -> bool:
    return bool(re.search(rf"^ *(?:async def|def|class) {name}\b|^{name}\b", text, re.MULTILINE))


def test_a_home_that_is_gone_is_found() -> None:
    modules = ["class There:\n    def here(self): ..."]
    assert _is_there("There.here", modules)
    assert not _is_there("There.gone", modules)
    assert not _is_there("Gone.here", modules)
    assert _is_there("records/board.apply", [])
    assert not _is_there("records/board.gone", [])
    assert not _is_there("records/gone", [])
