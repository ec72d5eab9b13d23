"""A root is a folder, not a path: where another folder has its path, no door reads or writes anything.

Agents of another session may work in a folder above. They can move the root away, or a folder above it, and
put a link to private files in its place.
"""

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck import Planck
from planck.cli.errors import UsageError
from planck.cli.session import make_input
from planck.session.undo import Selection
from planck.testing.scripted import ScriptedProvider
from planck.workspace.paths import beneath
from planck.workspace.paths.paths import Root, WorkspaceError
from tests.api.bench import serving
from tests.api.test_roles import ask

SECRET = "-----the private text-----"
SWAPS = [(swap, target) for swap in ("root", "parent") for target in (".ssh", "elsewhere")]
IDS = [f"{swap} to {target}" for swap, target in SWAPS]


class Ground(msgspec.Struct):
    """A root below a folder that others may change, and what they would show instead."""

    top: Path
    root: Path
    target: Path
    parent: bool

    def swap(self) -> None:
        place = self.root.parent if self.parent else self.root
        place.rename(f"{place}-moved")
        place.symlink_to(self.target)

    def list_outside(self) -> dict[str, str]:
        files = sorted(path for path in self.target.rglob("*") if path.is_file())
        return {str(path.relative_to(self.target)): path.read_text() for path in files}


@pytest.fixture(params=SWAPS, ids=IDS)
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    swap, name = request.param
    target = tmp_path / "user" / name
    for folder in (target, target / "sub"):  # as the root, and as the folder above it
        folder.mkdir(parents=True)
        (folder / "id_rsa").write_text(SECRET)
        (folder / "mine").write_text(SECRET)
    root = tmp_path / "top" / "ws" / "sub"
    root.mkdir(parents=True)
    (root / "mine").write_text("mine")
    made = Ground(tmp_path, root, target, swap == "parent")
    before = made.list_outside()
    yield made
    assert made.list_outside() == before
    assert (made.root.is_symlink(), made.root.parent.is_symlink()) == (not made.parent, made.parent)


def open_planck(ground: Ground, script: Any, *, added: bool = False) -> Planck:
    (ground.top / "other").mkdir()
    return Planck(
        ground.top / "home",
        ground.top / "other" if added else ground.root,
        environ={"HOME": str(ground.top / "user"), "PATH": "/usr/bin:/bin"},
        providers={"double": ScriptedProvider(script)},
        add_dirs=(ground.root,) if added else (),
    )


@pytest.mark.parametrize("added", [False, True], ids=["workspace", "add-dir"])
async def test_no_tool_opens_a_folder_that_replaced_the_root(ground: Ground, added: bool) -> None:
    at = f"{ground.root}/" if added else ""
    calls = [
        ("read", {"path": f"{at}id_rsa"}),
        ("list_dir", {"path": at or "."}),
        ("grep", {"pattern": "private", "path": at or "."}),
        ("grep", {"pattern": "private", "path": f"{at}id_rsa"}),
        ("glob", {"pattern": "**/id_*", "path": at or "."}),
        ("write", {"path": f"{at}authorized_keys", "content": "x"}),
        ("write", {"path": f"{at}new/authorized_keys", "content": "x"}),
        ("write", {"path": f"{at}id_rsa", "content": "x"}),
        ("edit", {"path": f"{at}id_rsa", "old_string": "private", "new_string": "x"}),
        *([] if added else [("bash", {"command": "cat id_rsa; echo x > authorized_keys"})]),
    ]

    steps = iter(range(9))

    def say(asked: Any) -> Any:
        step = next(steps)
        if step == 0:
            return [("read", {"path": f"{at}mine"})]
        if step == 1:
            ground.swap()
            return calls
        return "done"

    async with open_planck(ground, say, added=added) as planck:
        session = await planck.start(model="double/m", mode="workspace", stored=False)
        await session.run("go")
        ends = [json.loads(bytes(one.data)) for one in session.recorded() if one.type == "tool_end"]
    assert "mine" in ends[0]["output"]
    assert SECRET not in repr(ends)
    assert "id_rsa (" not in repr(ends)
    shown = {end["output"][:70] for end in ends[1:]}
    assert len(ends) == 1 + len(calls)
    assert {text.split(":")[0] for text in shown} == {"permission_denied"}, shown


async def test_a_local_undo_writes_nothing_there(ground: Ground) -> None:
    script: list[Any] = [[("write", {"path": "authorized_keys", "content": "x"})], "done"]
    async with open_planck(ground, script) as planck:
        session = await planck.start(model="double/m", mode="workspace")
        await session.run("go")
        undone = await session.undo(session.undo_plan(Selection()))
        agreed = session.undo_plan(Selection(call=undone))
        ground.swap()
        for confined in (False, True):
            (step,) = session.undo_plan(Selection(call=undone), confined=confined).steps
            assert "has been replaced" in step.conflict
            with pytest.raises(WorkspaceError, match="has been replaced"):
                await session.undo(agreed, confined=confined)


async def test_a_stored_session_that_is_held_undoes_nothing_there(ground: Ground) -> None:
    script: list[Any] = [[("write", {"path": "authorized_keys", "content": "x"})], "done"]
    async with open_planck(ground, script) as planck:
        session = await planck.start(model="double/m", mode="workspace")
        await session.run("go")
        undone = await session.undo(session.undo_plan(Selection()))
        await session.aclose()
        async with planck.hold(session.id) as held:
            ground.swap()
            (step,) = held.undo_plan(Selection(call=undone)).steps
            assert "has been replaced" in step.conflict
        with pytest.raises(WorkspaceError, match="has been replaced"):
            planck.hold(session.id)
        with pytest.raises(WorkspaceError, match="has been replaced"):
            await planck.resume(session.id)


async def test_a_server_shows_and_writes_nothing_there(ground: Ground) -> None:
    served = ground.top / "served"
    served.mkdir()
    (served / "work").symlink_to(ground.root)
    script: list[Any] = [[("write", {"path": "authorized_keys", "content": "x"})], "done"]
    async with serving(served, script) as server:
        started = await ask(server, "submit", "POST", "/sessions", {"mode": "workspace", "prompt": "go"})
        at = f"/sessions/{started.json['id']}"
        await ask(server, "submit", "GET", f"{at}/result?after=0")

        async def undo(body: dict[str, Any]) -> Any:
            plan = await ask(server, "submit", "POST", f"{at}/undo/plan", body)
            if plan.status != 200:
                return plan
            return await ask(server, "submit", "POST", f"{at}/undo", {"plan_id": plan.json["plan_id"]})

        undone = await undo({})
        assert (await ask(server, "submit", "GET", "/files/content?path=mine")).status == 200
        ground.swap()
        again = await undo({"selection": {"call": undone.json["call_id"]}})
        listed = await ask(server, "submit", "GET", "/files?path=.")
        shown = await ask(server, "submit", "GET", "/files/content?path=id_rsa")
        new = await ask(server, "submit", "POST", "/sessions", {"prompt": "@id_rsa"})
    assert (again.status, listed.status, shown.status, new.status) == (409, 403, 403, 403)
    assert SECRET not in repr([one.body for one in (again, listed, shown, new)])
    assert b"id_rsa" not in listed.body


async def test_no_file_is_attached_from_there(ground: Ground) -> None:
    async with open_planck(ground, ["done"]) as planck:
        options = Namespace(prompt="see @mine", image=[])
        assert "mine" in repr(await make_input(planck, options, "see @mine"))
        ground.swap()
        with pytest.raises(UsageError, match="has been replaced"):
            await make_input(planck, options, "see @mine")


@pytest.mark.parametrize("openat2", [True, False])
def test_a_root_and_its_copies_refuse_a_replaced_folder(
    ground: Ground, openat2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not openat2:
        monkeypatch.setattr(beneath, "_has_openat2", lambda: False)
    root = Root(ground.root)
    with root.reading("mine") as fd:
        assert os.read(fd, 9) == b"mine"
    user = root.of_user(protected=False)
    ground.swap()
    for one in (root, user):
        with pytest.raises(WorkspaceError, match="has been replaced"), one.reading("mine"):
            pass
        with pytest.raises(WorkspaceError, match="has been replaced"), one.writing("mine"):
            pass
        with pytest.raises(WorkspaceError, match="has been replaced"):
            one.check()


def test_a_folder_that_is_moved_into_its_place_is_refused_without_a_link(tmp_path: Path) -> None:
    for name in ("ws", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    root = Root(tmp_path / "ws")
    (tmp_path / "ws").rename(tmp_path / "moved")
    (tmp_path / "other").rename(tmp_path / "ws")
    with pytest.raises(WorkspaceError, match="has been replaced"), root.reading("a"):
        pass
    (tmp_path / "ws").rename(tmp_path / "other")
    (tmp_path / "moved").rename(tmp_path / "ws")  # it is the folder of the beginning again
    with root.reading("a") as fd:
        assert os.read(fd, 9) == b"ws"


def test_a_folder_that_is_made_later_is_the_root_of_all_copies(tmp_path: Path) -> None:
    root = Root(tmp_path / "ws")
    copy = root.of_user(protected=True)
    root.check()  # a missing folder is not a replaced one
    (tmp_path / "ws").mkdir()
    with root.folder():
        (tmp_path / "ws").rename(tmp_path / "moved")
    (tmp_path / "ws").mkdir()
    with pytest.raises(WorkspaceError, match="has been replaced"), copy.folder():
        pass
