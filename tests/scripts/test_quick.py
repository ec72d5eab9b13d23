"""The choice of tests for a change: `make quick`."""

import subprocess
from pathlib import Path

import pytest

from scripts.quick import list_changes, select

FILES = {
    "src/planck/records/facts.py": "",
    "src/planck/store/sqlite/library.py": "from planck.records import facts",
    "src/planck/session/bus.py": "from planck.store import files",
    "src/planck/http/sse.py": "from planck.records import facts",
    "tests/help.py": "",
    "tests/records/test_facts.py": "",
    "tests/store/test_files.py": "from tests import help",
    "tests/session/test_bus.py": "",
    "tests/llm/test_sse.py": "",
    "tests/contracts/test_store.py": "import planck.store.sqlite.library",
    "tests/scenarios/test_run.py": "import planck.store.sqlite.library",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "reached"),
    [
        (
            "src/planck/store/sqlite/library.py",
            ["store/test_files", "contracts/test_store", "session/test_bus", "scenarios/test_run"],
        ),
        ("src/planck/session/bus.py", ["session/test_bus", "scenarios/test_run"]),
        ("tests/llm/test_sse.py", ["llm/test_sse"]),
        ("tests/help.py", ["store/test_files"]),
        ("tests/store/conftest.py", ["store/test_files"]),
        ("README.md", []),
    ],
)
def test_a_change_selects_what_it_reaches_and_the_nearest_first(
    tree: Path, changed: str, reached: list[str]
) -> None:
    assert select([changed], tree) == [f"tests/{name}.py" for name in reached]


def test_changes_are_edits_commits_after_the_base_and_untracked_files(tree: Path) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tree, check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "first")
    assert list_changes(tree) == []
    (tree / "tests/llm/test_sse.py").unlink()
    git("commit", "-a", "-m", "second")
    (tree / "tests/help.py").write_text("1")
    (tree / "new.py").touch()
    assert list_changes(tree) == ["new.py", "tests/help.py"]
    assert list_changes(tree, "HEAD~1") == ["new.py", "tests/help.py", "tests/llm/test_sse.py"]
    git("branch", "landed", "HEAD~1")
    git("branch", "--set-upstream-to", "landed")
    assert list_changes(tree) == ["new.py", "tests/help.py", "tests/llm/test_sse.py"]
