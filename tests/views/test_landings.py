"""What may land, what may not, and what is never lost: landings of real views, without a team."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planck.records.events import (
    FileChanged,
    LandingFinished,
    LandingRefused,
    LandingSkipped,
    LandingStarted,
    view,
)
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.session.landing.finish import Worker
from planck.session.landing.landings import Landings
from planck.session.landing.words import Failed
from planck.store.memory import MemoryStore
from planck.toolkit.landing import Landed, Refused
from planck.workspace.paths.paths import Root
from planck.workspace.recording.local_images import LocalImages
from planck.workspace.views.layers import Layers
from planck.workspace.views.mounting import Opener
from planck.workspace.views.overlay import OverlayView
from tests.ports import CountedIds, FixedClock
from tests.views.place import NOBODY, git, make_repository, read_tree

LINES = [f"line {number}\n" for number in range(20)]


class Bed:
    """A repository, views of it, and a queue of landings with a log in memory."""

    def __init__(self, folder: Path) -> None:
        self.work = make_repository(folder / "work")
        (self.work / "text").write_text("".join(LINES))
        git(self.work, "add", "-A")
        self.home = str(folder / "home")
        self._layers = Layers(str(self.work), self.home, {"PATH": "/usr/bin:/bin"})
        self._opener = Opener()
        self._views: dict[str, OverlayView] = {}
        self._folder = folder
        self.store = MemoryStore()
        self.root = Root(self.work)
        self.roots: dict[str, Root] = {}
        self.landings = self.make_landings()

    def make_landings(self, check: Any = None) -> Landings:
        return Landings(
            self,
            SessionJournal(self.store, Bus(), FixedClock()),
            CountedIds(),
            lambda id: Worker(id, id, 1, self.roots.get(id, self.root)),
            images=LocalImages(self._folder / "images"),
            check=check,
        )

    def open(self, name: str) -> Path:
        """Opens a view; returns its top folder, as this process can use it."""
        opened = OverlayView(f"v-{name}", str(self.work), self.home, self._layers.take(), self._opener)
        self._views[name] = opened
        return Path(f"/proc/self/fd/{opened.root}")

    def find(self, agent_id: str) -> OverlayView | None:
        return self._views.get(agent_id)

    async def take_layers(self) -> tuple[str, ...]:
        return self._layers.take()

    def facts(self, *types: Any) -> list[Any]:
        return [fact for event in self.store.read() if isinstance(fact := view(event), types)]

    async def aclose(self) -> None:
        for one in self._views.values():
            await one.aclose()
        self._opener.close()


@pytest.fixture
async def bed(tmp_path: Path) -> Any:
    made = Bed(tmp_path)
    yield made
    await made.aclose()


def change(top: Path, number: int, text: str) -> None:
    lines = (top / "text").read_text().splitlines(keepends=True)
    lines[number] = text
    (top / "text").write_text("".join(lines))


async def test_of_two_views_that_change_one_line_one_is_refused_and_its_view_shows_both(bed: Bed) -> None:
    ada, ben = bed.open("ada"), bed.open("ben")
    change(ada, 3, "ada's\n")
    change(ben, 3, "ben's\n")
    change(ben, 15, "also ben's\n")
    (ben / "own").write_text("own\n")
    first, second = await asyncio.gather(bed.landings.propose("ada", "t"), bed.landings.propose("ben", "t"))
    assert isinstance(first, Landed)
    assert isinstance(second, Refused)
    assert (bed.work / "text").read_text() == "".join([*LINES[:3], "ada's\n", *LINES[4:]])
    assert not (bed.work / "own").exists()
    assert "<<<<<<< workspace\nada's\n=======\nben's\n>>>>>>> ben\nline 4\n" in (ben / "text").read_text()
    again = await bed.landings.propose("ben", "t")
    assert isinstance(again, Refused)
    assert "conflict markers" in again.text
    (ben / "text").write_text("".join([*LINES[:3], "both\n", *LINES[4:15], "also ben's\n", *LINES[16:]]))
    assert isinstance(await bed.landings.propose("ben", "t"), Landed)
    assert (bed.work / "text").read_text() == (ben / "text").read_text()
    assert (bed.work / "own").read_text() == "own\n"
    assert await bed.landings.propose("ben", "t") is None


async def test_after_three_refusals_the_delegator_is_told(bed: Bed) -> None:
    ben = bed.open("ben")
    change(ben, 3, "ben's\n")
    change(bed.work, 3, "mine\n")
    outcomes = [await bed.landings.propose("ben", "t") for _ in range(3)]
    assert [isinstance(one, Refused) and one.final for one in outcomes] == [False, False, True]
    assert len(bed.facts(LandingRefused)) == 3


async def test_a_red_check_lands_nothing(bed: Bed) -> None:
    ben = bed.open("ben")
    change(ben, 3, "ben's\n")
    before = read_tree(bed.work)

    async def check(prepared: Any) -> Failed:
        return Failed(2, "`make test` ended with exit code 2:\n1 failed")

    refused = await bed.make_landings(check).propose("ben", "t")
    assert isinstance(refused, Refused)
    assert "`make test` ended with exit code 2:\n1 failed" in refused.text
    assert read_tree(bed.work) == before
    [fact] = bed.facts(LandingRefused)
    assert (fact.why, fact.exit_code) == ("check", 2)
    assert not bed.facts(LandingStarted, FileChanged)


async def test_an_edit_between_the_check_and_the_landing_is_not_lost(bed: Bed) -> None:
    ben = bed.open("ben")
    change(ben, 3, "ben's\n")
    (ben / "src/file0.txt").write_text("ben's\n")

    async def check(prepared: Any) -> None:
        change(bed.work, 15, "mine\n")
        (bed.work / "src/file0.txt").write_text("mine\n")

    outcome = await bed.make_landings(check).propose("ben", "t")
    assert isinstance(outcome, Refused)  # one file was left alone, and the agent has to bring it together
    assert (bed.work / "text").read_text() == "".join(
        [*LINES[:3], "ben's\n", *LINES[4:15], "mine\n", *LINES[16:]]
    )
    assert (bed.work / "src/file0.txt").read_text() == "mine\n"
    assert [fact.path for fact in bed.facts(LandingSkipped)] == ["src/file0.txt"]
    assert [fact.paths for fact in bed.facts(LandingFinished)] == [1]
    assert "mine\n=======\nben's\n" in (ben / "src/file0.txt").read_text()
    assert (ben / "text").read_text() == (bed.work / "text").read_text()


def _link_out(top: Path) -> None:
    (top / "out").symlink_to("../../secret")


def _link_absolute(top: Path) -> None:
    (top / "out").symlink_to("/etc/passwd")


def _write_attributes(top: Path) -> None:
    (top / ".gitattributes").write_text("* filter=evil\n")
    (top / ".git").mkdir(exist_ok=True)


@pytest.mark.parametrize("do", [_link_out, _link_absolute])
async def test_a_link_that_leads_out_does_not_land(bed: Bed, do: Callable[[Path], None]) -> None:
    do(bed.open("ben"))
    before = read_tree(bed.work)
    refused = await bed.landings.propose("ben", "t")
    assert isinstance(refused, Refused)
    assert "leads out of the workspace" in refused.text
    assert read_tree(bed.work) == before


@pytest.mark.parametrize("mode", [0o4755, 0o2755])
async def test_a_file_that_would_run_as_its_owner_does_not_land(bed: Bed, mode: int) -> None:
    ben = bed.open("ben")
    (ben / "tool").write_text("#!/bin/sh\n")
    (ben / "tool").chmod(mode)
    refused = await bed.landings.propose("ben", "t")
    assert isinstance(refused, Refused)
    assert "tool: it sets the user or group id" in refused.text
    assert not (bed.work / "tool").exists()
    (ben / "tool").chmod(0o755)
    assert isinstance(await bed.landings.propose("ben", "t"), Landed)
    assert (bed.work / "tool").stat().st_mode & 0o7777 == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_what_root_lands_belongs_to_the_owner_of_the_workspace(folder: Path) -> None:
    bed = Bed(folder)  # where another user can reach it
    for place in (bed.work, *bed.work.rglob("*")):
        os.chown(place, NOBODY, NOBODY, follow_symlinks=False)
    ben = bed.open("ben")
    view = bed.find("ben")
    assert view is not None
    with view.acting():
        (ben / "made/deep").mkdir(parents=True)
        (ben / "made/deep/x").write_text("x\n")
        (ben / "link").symlink_to("made")
        change(ben, 3, "ben's\n")
    landed = await bed.landings.propose("ben", "t")
    assert isinstance(landed, Landed)
    assert landed.paths == ("link", "made", "made/deep", "made/deep/x", "text")
    assert {(bed.work / path).lstat().st_uid for path in landed.paths} == {NOBODY}
    await bed.aclose()


async def test_what_git_ignores_beside_a_submodule_does_not_land(bed: Bed, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.mkdir()
    (part / "x").write_text("x\n")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        git(part, *words)
    git(bed.work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    git(bed.work, "commit", "-qm", "part")
    ben = bed.open("ben")
    (ben / "part/new").write_text("new\n")
    (ben / "src/made.log").write_text("made\n")
    (ben / "src/new").write_text("new\n")
    landed = await bed.landings.propose("ben", "t")
    assert isinstance(landed, Landed)
    assert landed.paths == ("part/new", "src/new")


async def test_names_that_are_not_utf8_land_and_the_view_goes_on(bed: Bed) -> None:
    names = [os.fsdecode(name) for name in (b"a\nb", b"bad\xff", b"c\\,d:e")]
    ben = bed.open("ben")
    (ben / os.fsdecode(b"d\xfe")).mkdir()
    for name in (*names, os.fsdecode(b"d\xfe/in")):
        (ben / name).write_text("x\n")
    for text in ("x\n", "y\n"):
        (ben / names[1]).write_text(text)
        assert isinstance(await bed.landings.propose("ben", "t"), Landed)
        assert (bed.work / names[1]).read_text() == text
    assert read_tree(ben) == read_tree(bed.work)


async def test_protected_names_of_a_view_never_land(bed: Bed) -> None:
    ben = bed.open("ben")
    config = (bed.work / ".git/config").read_bytes()
    (ben / ".git/config").write_text("[core]\n\tfsmonitor = evil\n")
    for name in (".planck", ".agents", "src/.git"):
        (ben / name).mkdir()
        (ben / name / "x").write_text("evil\n")
    (ben / ".mcp.json").write_text("{}")
    (ben / "good").write_text("good\n")
    landed = await bed.landings.propose("ben", "t")
    assert isinstance(landed, Landed)
    assert landed.paths == ("good",)
    assert (bed.work / ".git/config").read_bytes() == config
    assert not any((bed.work / name).exists() for name in (".planck", ".agents", "src/.git", ".mcp.json"))


async def test_nothing_lands_through_a_link_that_the_workspace_has_by_now(bed: Bed, tmp_path: Path) -> None:
    ben = bed.open("ben")
    (ben / "src/deep/new").write_text("ben's\n")
    (tmp_path / "outside").mkdir()
    (bed.work / "src/deep/x.txt").unlink()
    (bed.work / "src/deep").rmdir()
    (bed.work / "src/deep").symlink_to(tmp_path / "outside")
    assert isinstance(await bed.landings.propose("ben", "t"), Refused)
    assert not [*(tmp_path / "outside").iterdir()]


async def test_what_an_agent_may_not_write_does_not_land_from_its_view(bed: Bed) -> None:
    from planck.records.authority import Confinement, Mode

    place = str(bed.work)
    bed.roots["ben"] = bed.root.under(Confinement(Mode.WORKSPACE, (place,), (f"{place}/src",)))
    ben = bed.open("ben")
    (ben / "src/new").write_text("allowed\n")
    (ben / "text").write_text("not allowed\n")
    refused = await bed.landings.propose("ben", "t")
    assert isinstance(refused, Refused)
    assert "text" in refused.text
    assert "src/new" not in refused.text
    (ben / "text").write_text("".join(LINES))
    assert isinstance(await bed.landings.propose("ben", "t"), Landed)
    assert (bed.work / "src/new").read_text() == "allowed\n"


async def test_what_git_ignores_stays_in_the_view_and_is_named(bed: Bed) -> None:
    ben = bed.open("ben")
    (ben / "node_modules/pack/index.js").write_text("ben's\n")
    (ben / ".env").write_text("KEY=bens\n")
    (ben / "good").write_text("good\n")
    landed = await bed.landings.propose("ben", "t")
    assert isinstance(landed, Landed)
    assert landed.paths == ("good",)
    assert (bed.work / ".env").read_text() == "KEY=ours\n"
    assert (bed.work / "node_modules/pack/index.js").read_text() == "ours\n"


async def test_a_binary_conflict_keeps_both_versions_until_one_is_chosen(bed: Bed) -> None:
    (bed.work / "blob").write_bytes(b"\0old")
    git(bed.work, "add", "-A")
    ben = bed.open("ben")
    (ben / "blob").write_bytes(b"\0bens")
    (bed.work / "blob").write_bytes(b"\0mine")
    assert isinstance(await bed.landings.propose("ben", "t"), Refused)
    assert (ben / "blob").read_bytes() == b"\0bens"
    assert (ben / "blob.planck-conflict").read_bytes() == b"\0mine"
    assert isinstance(await bed.landings.propose("ben", "t"), Refused)
    (ben / "blob.planck-conflict").unlink()
    assert isinstance(await bed.landings.propose("ben", "t"), Landed)
    assert (bed.work / "blob").read_bytes() == b"\0bens"
