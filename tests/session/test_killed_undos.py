"""An undo whose process is killed: what it did not do is offered again, and nothing says that it was done."""

from functools import partial
from pathlib import Path

import pytest

from planck import Planck
from planck.headless import Selection, UndoError
from planck.testing import ScriptedProvider
from tests.forks import make_folder, run_script

run = partial(run_script, Path(__file__).with_name("killed_undos.py"))


def test_a_killed_undo_is_finished_by_the_next_one(seed: int) -> None:
    with make_folder() as folder:
        assert run("kills", 7, folder, seed)["killed"] >= 8


@pytest.mark.soak
def test_an_undo_killed_before_each_call_to_the_file_system_is_finished_by_the_next_one(seed: int) -> None:
    with make_folder() as folder:
        assert run("kills", 1, folder, seed)["killed"] >= 80


async def test_a_finished_undo_that_the_user_reverts_by_hand_is_not_interrupted(
    tmp_path: Path,
) -> None:
    file = tmp_path / "work" / "a.txt"
    file.parent.mkdir()
    doubles = {"double": ScriptedProvider([[("write", {"path": "a.txt", "content": "new\n"})], "done"])}
    async with Planck(tmp_path / "home", file.parent, environ={}, providers=doubles) as planck:
        session = await planck.start(model="double/m", name="s", mode="full")
        await session.run("go")
        await session.undo(session.undo_plan(Selection()))
        await session.aclose()
        assert not file.exists()
        file.write_text("new\n")
        session = await planck.resume("s")
        assert [event.type for event in session.recorded() if event.type == "error"] == []
        await session.aclose()


LINES = [f"line {number}\n" for number in range(9)]
OLD, NEW = "".join(LINES), "".join(LINES).replace("line 4", "LINE FOUR")


@pytest.mark.parametrize(
    ("found", "offered"),
    [
        (NEW, OLD),
        (NEW + "mine\n", OLD + "mine\n"),
        ("mine\n" + NEW, "mine\n" + OLD),
        (OLD, None),
        (OLD + "mine\n", None),
        (OLD.replace("line 4", "my line"), None),
        (None, None),
    ],
)
async def test_what_a_file_is_now_says_whether_an_undo_was_done(
    tmp_path: Path, found: str | None, offered: str | None
) -> None:
    """Also around edits that the user made after the kill: the log has the same events in every case."""
    file = tmp_path / "work" / "a.txt"
    file.parent.mkdir()
    file.write_text(OLD)
    edit = ("edit", {"path": "a.txt", "old_string": "line 4", "new_string": "LINE FOUR"})
    doubles = {"double": ScriptedProvider([[edit], "done"])}
    async with Planck(tmp_path / "home", file.parent, environ={}, providers=doubles) as planck:
        session = await planck.start(model="double/m", name="s", mode="full")
        await session.run("go")
        await session.undo(session.undo_plan(Selection()))
        file.unlink()
        if found is not None:
            file.write_text(found)
        assert [change.undone for change in session.changes() if not change.undoes] == [offered is None]
        if offered is None:
            with pytest.raises(UndoError):
                session.undo_plan(Selection())
        else:
            await session.undo(session.undo_plan(Selection()))
            assert file.read_text() == offered
