"""A git repository with files that git ignores, and a team in it, of which one works in a view."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planck import Member, Planck, Team
from planck.testing import ScriptedProvider

_GIT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
ASK_BEN = [("ask_agent", {"identifier": "ben", "identifier_type": "name", "question": "?"})]


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "safe.directory=*")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, env=_GIT, capture_output=True, text=True, check=True
    )
    return done.stdout


def make_repository(folder: Path, count: int = 3) -> Path:
    """With tracked files, ignored ones, and an empty folder."""
    for name in ("src/deep", "src/empty", "node_modules/pack"):
        (folder / name).mkdir(parents=True)
    for number in range(count):
        (folder / f"src/file{number}.txt").write_text(f"old {number}\n")
    (folder / "src/deep/x.txt").write_text("deep\n")
    (folder / ".gitignore").write_text("node_modules\n.env\n*.log\n")
    (folder / ".env").write_text("KEY=ours\n")
    (folder / "node_modules/pack/index.js").write_text("ours\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def read_tree(folder: Path | str) -> dict[str, str | None]:
    """Returns every name with its content, or what a link leads to; without git's own."""
    found: dict[str, str | None] = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if not name.startswith(".git/") and name != ".git":
            found[name] = (
                os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else None
            )
    return found


class Place:
    """A home and a repository, and a team whose worker `ben` has a workspace of his own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.work = make_repository(folder / "work")

    @property
    def views(self) -> Path:
        return self.home / "views"

    def open(self, lead: list[Any], ben: list[Any], **flags: Any) -> Planck:
        scripts = {"lead": iter(lead), "ben": iter(ben)}
        flags = {"default_model": "double/m", "permissions": {"mode": "full"}, **flags}
        provider = ScriptedProvider(lambda request: _answer(request, scripts))
        return Planck(
            self.home,
            self.work,
            environ={"PATH": "/usr/bin:/bin"},
            flags={"providers": {"double": {"type": "ollama"}}, **flags},
            providers={"double": provider},
        )


def _answer(request: Any, scripts: dict[str, Iterator[Any]]) -> Any:
    leads = "spawn_agent" in {one.name for one in request.tools}
    return next(scripts["lead" if leads else "ben"])


def make_team(**more: Any) -> Team:
    ben = {"type": "builder", "name": "ben", "workspace": "own", "tools": TOOLS, **more}
    return Team(members=[Member(type="orchestrator", tools=TOOLS), Member(**ben)])


TOOLS = ("bash", "read", "write", "edit", "grep", "glob", "list_dir")

