"""A git repository with files that git ignores, and a team in it, of which one works in a view."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from planck import Member, Planck, Team
from planck.headless import OpenSession
from planck.records.events import View, view
from planck.testing import ScriptedProvider
from planck.workspace.views.layers import Layers
from planck.workspace.views.mounting import Opener
from planck.workspace.views.overlay import OverlayView

NOBODY = 65534
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
    shutil.copytree(_templates[0], folder, symlinks=True)
    for number in range(3, count):
        (folder / f"src/file{number}.txt").write_text(f"old {number}\n")
    return folder


_templates: list[Path] = []
"""Made once, by `conftest`: `git init` and a commit take four processes."""


def make_template(folder: Path) -> None:
    for name in ("src/deep", "src/empty", "node_modules/pack"):
        (folder / name).mkdir(parents=True)
    for number in range(3):
        (folder / f"src/file{number}.txt").write_text(f"old {number}\n")
    (folder / "src/deep/x.txt").write_text("deep\n")
    (folder / ".gitignore").write_text("node_modules\n.env\n*.log\n")
    (folder / ".env").write_text("KEY=ours\n")
    (folder / "node_modules/pack/index.js").write_text("ours\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    _templates.append(folder)


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


class Tree:
    """A workspace with a view of it, and a plain copy to which the same things can be done."""

    def __init__(self, folder: Path, owner: int, opener: Opener) -> None:
        self.base = make_repository(folder / "work", 6)
        self.plain = folder / "plain"
        self.home = folder / "views"
        self.home.mkdir()
        shutil.copytree(self.base, self.plain, symlinks=True)
        for top in (self.base, self.plain):
            for path in (top, *top.rglob("*")):
                os.chown(path, owner, owner, follow_symlinks=False)
        self._opener = opener
        self._layers = Layers(str(self.base), str(self.home), os.environ)
        self.layers = self._layers.take()
        self.view = self.mount()

    def take(self) -> tuple[str, ...]:
        return self._layers.take()

    def mount(self, id: str = "v1", layers: tuple[str, ...] = ()) -> OverlayView:
        return OverlayView(id, str(self.base), str(self.home), layers or self.layers, self._opener)

    def mount_again(self) -> None:
        self.let_go()
        self.view = self.mount()

    def let_go(self, *, remove: bool = False) -> None:
        if not self.view.closed:
            self.view.closed = True
            self.view._close(remove=remove)

    def shown(self, view: OverlayView | None = None) -> dict[str, str | None]:
        return read_tree(f"/proc/self/fd/{(view or self.view).root}/.")


@contextmanager
def opened(folder: Path, owner: int = os.geteuid()) -> Iterator[Tree]:
    opener = Opener()
    folder.mkdir(exist_ok=True, parents=True)
    tree = Tree(folder, owner, opener)
    try:
        yield tree
    finally:
        tree.let_go()
        opener.close()


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
        return self.open_with(ScriptedProvider(lambda request: _answer(request, scripts)), **flags)

    def open_with(self, provider: ScriptedProvider, **flags: Any) -> Planck:
        flags = {"default_model": "double/m", "permissions": {"mode": "full"}, **flags}
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


Fact = TypeVar("Fact", bound=View)


def facts(session: OpenSession, *types: type[Fact]) -> list[Fact]:
    return [fact for event in session.recorded() if isinstance(fact := view(event), types)]
