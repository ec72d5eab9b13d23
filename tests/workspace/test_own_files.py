"""No file that Planck is loaded from shares an inode with a file that an agent may write."""

import importlib.metadata as metadata
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from planck import Planck
from planck.own_code import REQUIRED
from planck.own_files import NEEDED
from planck.records.authority import Mode

NAMES = ("planck", *REQUIRED, *NEEDED)
EXTRAS = {"certificates", "mcp", "otel", "sandbox", "postgres"}


class Linked:
    """An environment whose files all have a second name in a project, as uv makes them from its cache."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.site, self.project = folder / "tool/lib/site-packages", folder / "work"
        self.files = [f"{name}/sub/x.so" for name in names]
        self.files += [f"{name}/__init__.py" for name in names if name != "opentelemetry"]
        if "opentelemetry" in names:  # a namespace with a package in it
            self.files += [f"opentelemetry/sub/trace/{name}" for name in ("__init__.py", "x.py", "deep/x.py")]
        self.files += ["typing_extensions.py", "early.pth", "_cffi_backend.so", "regex.libs/libx.so"]
        for name in self.files:
            ours, theirs = self.site / name, self.project / ".venv" / name
            ours.parent.mkdir(parents=True, exist_ok=True)
            theirs.parent.mkdir(parents=True, exist_ok=True)
            ours.write_text(name)
            ours.chmod(0o755 if name.endswith(".so") else 0o444)
            os.utime(ours, (1_000_000_000, 1_000_000_000.5))
            os.link(ours, theirs)

    def list_shared(self) -> list[str]:
        return [name for name in self.files if (self.site / name).stat().st_nlink > 1]

    def describe(self) -> list[tuple[str, int, int]]:
        found = ((self.site / name, (self.site / name).stat()) for name in self.files)
        return [(path.read_text(), about.st_mode, about.st_mtime_ns) for path, about in found]

    async def start(self, mode: str) -> tuple[str, ...]:
        async with Planck(home=self.project.parent / "home", workspace=self.project) as planck:
            await planck.start(mode=mode, stored=False, model="ollama/m")
            return planck.list_notices(mode)


@pytest.fixture
def linked(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Linked:
    found = Linked(tmp_path, getattr(request, "param", ("regex", "opentelemetry")))
    monkeypatch.setattr(sys, "path", [*sys.path, str(found.site)])
    return found


@pytest.mark.parametrize("linked", [NAMES], ids=["every package"], indirect=True)
async def test_no_file_of_ours_is_shared_with_a_project_once_agents_may_write(linked: Linked) -> None:
    before = linked.describe()
    notices = await linked.start("workspace")
    assert linked.list_shared() == []
    assert linked.describe() == before
    assert not list(linked.site.rglob(".planck-*"))
    assert not [notice for notice in notices if "UV_LINK_MODE" in notice]


@pytest.mark.parametrize("mode", ["ask", "full"])
async def test_every_mode_that_writes_is_protected(linked: Linked, mode: str) -> None:
    await linked.start(mode)
    assert linked.list_shared() == []


async def test_a_session_that_writes_nothing_copies_nothing(linked: Linked) -> None:
    await linked.start("read-only")
    assert linked.list_shared() == linked.files


async def test_a_file_that_cant_be_copied_is_told_with_what_to_do(
    linked: Linked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(old: str, new: str) -> None:
        raise OSError(30, "Read-only file system", new)

    with monkeypatch.context() as patched:
        patched.setattr("planck.own_files.os.replace", refuse)
        notices = await linked.start("workspace")
    assert [notice for notice in notices if "UV_LINK_MODE=copy" in notice]
    assert not list(linked.site.rglob(".planck-*"))


def test_the_list_holds_all_that_our_packages_need_in_turn() -> None:
    """By what each installed distribution says of itself, for every extra that a user can choose."""
    known, left = dict[str, set[str]](), [("planck-agents", EXTRAS)]
    tops = set[str]()
    while left:
        name, extras = left.pop()
        if name in known and known[name] >= extras:
            continue
        known[name] = extras | known.get(name, set())
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system, or another Python
        for need in found.requires or ():
            word = re.match(r"([\w.-]+)(?:\[([^]]*)])?", need)
            when = {*re.findall(r"extra\s*==\s*['\"]([\w-]+)", need)}
            if word and (not when or when & extras):
                left.append((word[1], {one.strip() for one in (word[2] or "").split(",") if one.strip()}))
        code = (file for file in found.files or () if file.suffix in (".py", ".so") and len(file.parts) > 1)
        tops.update("/".join(file.parts[: 1 + (file.parts[0] == "google")]) for file in code)
    assert len(known) > 40
    # The rest of google's has descriptions of messages only.
    assert {top for top in tops if not top.startswith((".", "google/"))} - {*NAMES} == set()
    assert {"google/protobuf", "google/_upb"} <= tops & {*NAMES}


def test_what_of_ours_lies_in_the_workspace_is_told_only_where_it_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in mode full, which writes it, and not before mode workspace is refused."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "work/.venv"))
    (tmp_path / "work/.venv").mkdir(parents=True)
    told = []
    for workspace in (tmp_path / "work", tmp_path / "work/.venv"):
        planck = Planck(home=tmp_path / "home", workspace=workspace)
        for mode in Mode:
            if any("Planck runs from '.venv'" in notice for notice in planck.list_notices(mode)):
                told.append((workspace.name, mode))
    assert told == [("work", Mode.WORKSPACE)]
