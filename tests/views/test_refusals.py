"""Where the kernel mounts no view: what the user is told, and that the team works all the same."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planck import PlanckError
from planck.records.events import ViewOpened
from planck.records.outcome import ErrorKind
from planck.session.undo import Selection
from planck.workspace.views import overlay
from planck.workspace.views.mounting import Opener, ViewError, refuse_mount
from tests.library.program import results
from tests.views.place import ASK_BEN, Place, facts, git, make_team, read_tree

NO_NAMESPACES = "echo 0 > /proc/sys/user/max_user_namespaces"
_UNSHARE = ["unshare", "-Urm"]


def _refuse(monkeypatch: pytest.MonkeyPatch, number: int, step: str) -> None:
    def fail(self: Opener, request: dict[str, object]) -> Any:
        raise refuse_mount(number, step)

    monkeypatch.setattr(Opener, "open", fail)


async def test_without_namespaces_an_agent_gets_a_worktree_and_is_told_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, 1, "unshare")
    place = Place(tmp_path)
    (place.work / "src/file1.txt").write_text("not committed\n")
    before, status = read_tree(place.work), git(place.work, "status", "--porcelain")
    ben = [
        [("edit", {"path": "src/file0.txt", "old_string": "old", "new_string": "changed"})],
        [
            (
                "bash",
                {"command": "ls -a; cat src/file0.txt src/file1.txt; echo made > src/new.txt; touch .git"},
            )
        ],
        [("grep", {"pattern": "made|changed"})],
        [("read", {"path": str(place.work / "src/new.txt")})],
        "done",
    ]
    async with place.open([ASK_BEN, "over"], ben) as planck:
        session = await planck.start(make_team(), mode="workspace")
        await session.run("go")
        [opened] = facts(session, ViewOpened)
        assert (opened.backend, opened.exact) == ("worktree", False)
        assert opened.notice == (
            "no view of its own for 'ben': user namespaces are not allowed here (unshare: Operation not "
            "permitted); it gets a git worktree, without what git ignores. "
            '"workspace": "shared" is the other way'
        )
        said = results(session)
        assert "changed 0\nnot committed\n" in said[1]
        assert ".env" not in said[1]
        assert "node_modules" not in said[1]
        assert "src/file0.txt:1:changed 0" in said[2]
        assert "src/new.txt:1:made" in said[2]
        assert "made" in said[3]
        ben_spec = session.members[1]
        assert "This is your own git worktree" in ben_spec.base
        assert str(place.views / session.id / opened.view / "upper") in ben_spec.base
        assert read_tree(place.work) == before
        assert git(place.work, "status", "--porcelain") == status
        id = session.id
    async with place.open([ASK_BEN, "over"], [[("bash", {"command": "cat src/new.txt"})], "done"]) as planck:
        session = await planck.resume(id)
        await session.run("again")
        assert results(session)[-2] == "made\n"


async def test_a_view_that_would_lie_on_an_overlay_names_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, 22, "mount")
    place = Place(tmp_path)
    async with place.open(["over"], []) as planck:
        session = await planck.start(make_team(), mode="full")
        [opened] = facts(session, ViewOpened)
        assert (
            "views can't lie on an overlay: set views.folder to a volume; it gets a git worktree"
            in opened.notice
        )


async def test_without_namespaces_and_without_git_the_team_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, 28, "unshare")
    place = Place(tmp_path)
    subprocess.run(["rm", "-r", place.work / ".git"], check=True)
    async with place.open([], []) as planck:
        with pytest.raises(
            PlanckError, match="'ben' can't have a workspace of its own here: user name"
        ) as refused:
            await planck.start(make_team(), mode="full")
        assert refused.value.err.kind is ErrorKind.SANDBOX_UNAVAILABLE
        session = await planck.start(make_team(workspace="shared"), mode="full")
        assert len(session.members) == 2
    assert not place.views.exists() or not os.listdir(place.views)


async def test_a_spawn_that_can_have_no_view_says_so_and_starts_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, 28, "unshare")
    place = Place(tmp_path)
    subprocess.run(["rm", "-r", place.work / ".git"], check=True)
    who = {"type": "w", "name": "w", "description": "d", "system_prompt": "p", "workspace": "own"}
    async with place.open(
        [[("spawn_agent", who)], [("spawn_agent", {**who, "workspace": "shared"})], "over"], []
    ) as p:
        session = await p.start(mode="full")
        await session.run("go")
        refused, made = results(session)
        assert refused.startswith("sandbox_unavailable: 'w' can't have a workspace of its own here")
        assert json.loads(made)["name"] == "w"


@pytest.mark.parametrize(
    ("prepare", "text"),
    [
        (NO_NAMESPACES, "user namespaces are not allowed here (unshare: No space left on device)"),
        (
            "mkdir l u w m; mount -t overlay o -o lowerdir=l,upperdir=u,workdir=w,userxattr m; cd m",
            "views can't lie on an overlay: set views.folder to a volume",
        ),
    ],
)
def test_what_the_kernel_really_says_is_understood(tmp_path: Path, prepare: str, text: str) -> None:
    script = "import os; from planck.workspace.views.overlay import probe; print(probe(os.getcwd()))"
    done = subprocess.run(
        [*_UNSHARE, "sh", "-c", f'{prepare} && exec "$0" -c "$1"', sys.executable, script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no namespace to try it in: {done.stderr}")
    assert done.stdout == f"{text}\n"


async def test_a_view_that_cannot_be_mounted_again_names_the_reason_and_keeps_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    ben = [[("write", {"path": "new.txt", "content": "work"})], "done"]
    async with place.open([ASK_BEN, "over"], ben) as planck:
        session = await planck.start(make_team(), mode="full")
        await session.run("go")
    with monkeypatch.context() as patch:
        _refuse(patch, 1, "unshare")
        async with place.open([], []) as planck:
            with pytest.raises(
                PlanckError, match="The view of 'ben' cannot be opened again: user namesp"
            ) as no:
                await planck.resume(session.id)
            upper = Path(str(no.value).rpartition(" is in ")[2].rstrip("."))
            assert (upper / "new.txt").read_text() == "work"
    async with place.open([ASK_BEN, "over"], [[("read", {"path": "new.txt"})], "done"]) as planck:
        session = await planck.resume(session.id)
        await session.run("again")
        assert "work" in results(session)[-2]


_FULL = """
import asyncio, os, sys
from pathlib import Path
from tests.views.place import *
from tests.library.program import results

async def main(folder):
    make_template(folder / "template")
    place = Place(folder)
    ben = [
        [("write", {"path": "src/new.txt", "content": "small"})],
        [("bash", {"command": "head -c 9000000 /dev/zero > big; rm -f nothing; wc -c < src/new.txt"})],
        [("write", {"path": "src/file0.txt", "content": "x" * 100_000})],
        [("bash", {"command": "rm big; cat src/file0.txt src/new.txt; echo more >> src/new.txt"})],
        "done",
    ]
    async with place.open([ASK_BEN, "over"], ben, views={"folder": str(folder / "small")}) as planck:
        session = await planck.start(make_team(), mode="full")
        await session.run("go")
        print([said for said in results(session)])
        os.truncate(folder / "small/fill", 0)
        with open(folder / "small/fill", "wb") as fill:
            try:
                while fill.write(bytes(1 << 16)): fill.flush()
            except OSError: pass
        try:
            await planck.start(make_team(), mode="full")
        except Exception as refused:
            print(refused)

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_full_disk_fails_what_needs_room_and_loses_nothing(tmp_path: Path) -> None:
    mount = "mkdir small; mount -t tmpfs -o size=2m none small; touch small/fill"
    script = f'{mount} && cd "$2" && exec "$0" -c "$1" "$3"'
    words = (sys.executable, _FULL, str(Path(__file__).parents[2]), str(tmp_path))
    done = subprocess.run(
        [*_UNSHARE, "sh", "-c", script, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if "tmpfs" in done.stderr:
        pytest.skip("no small disk to try it on")
    said, refused = done.stdout.splitlines(), done.stdout.splitlines()[-1]
    assert "No space left on device" in said[0], done.stderr
    assert "write_failed: cannot write to 'src/file0.txt': No space left on device" in said[0]
    assert "old 0\\nsmall" in said[0]
    assert refused.startswith("write_failed: The disk of")


def test_a_probe_leaves_nothing_behind(tmp_path: Path) -> None:
    assert overlay.probe(str(tmp_path / "not/there/yet")) == ""
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_said_when_a_view_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "makedirs", fail)
    with pytest.raises(ViewError, match=r"is full\. Free some space, or set views.folder"):
        overlay.OverlayView("v", str(tmp_path), str(tmp_path / "views"), (), Opener())


async def test_no_worktree_is_made_where_git_would_start_a_program_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, 1, "unshare")
    place = Place(tmp_path)
    git(place.work, "config", "filter.x.clean", f"touch {tmp_path}/ran; cat")
    (place.work / ".gitattributes").write_text("* filter=x\n")
    async with place.open([], []) as planck:
        with pytest.raises(PlanckError, match="git configuration may start programs"):
            await planck.start(make_team(), mode="full")
    assert not (tmp_path / "ran").exists()


async def test_an_undo_leaves_out_what_happened_in_a_view(tmp_path: Path) -> None:
    place = Place(tmp_path)
    ben = [[("edit", {"path": "src/file0.txt", "old_string": "old", "new_string": "ben's"})], "done"]
    async with place.open([ASK_BEN, "over"], ben) as planck:
        session = await planck.start(make_team(), mode="full")
        await session.run("go")
        assert planck.changes(session.id, Selection()) == ()
    assert (place.work / "src/file0.txt").read_text() == "old 0\n"
