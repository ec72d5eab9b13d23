"""Sessions are found by name and id whatever became of the index, and a name is one session's."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from planck import Planck
from planck.records.outcome import ErrorKind, PlanckError
from planck.store.sqlite.library import FileLibrary
from planck.testing.scripted import ScriptedProvider


def open_planck(folder: Path) -> Planck:
    (folder / "work").mkdir(exist_ok=True)
    double = ScriptedProvider(lambda request: "ok")
    return Planck(folder / "home", folder / "work", environ={}, providers={"double": double})


async def start(planck: Planck, name: str = "") -> str:
    session = await planck.start(model="double/m", name=name)
    await session.aclose()
    return session.id


async def refusal(planck: Planck, name: str) -> ErrorKind:
    with pytest.raises(PlanckError) as refused:
        await planck.start(model="double/m", name=name)
    return refused.value.err.kind


def lose(index: Path) -> None:
    shutil.rmtree(index)


def empty(index: Path) -> None:
    for link in index.glob("[in].*"):
        link.unlink()


def mislead(index: Path) -> None:
    for link in index.glob("[in].*"):
        link.unlink()
        link.symlink_to("/etc/passwd")


@pytest.mark.parametrize("harm", [lose, empty, mislead])
async def test_sessions_are_found_without_the_index_too(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    async with open_planck(tmp_path) as planck:
        one, other = await start(planck, "one"), await start(planck, "other")
        harm(planck.sessions_dir / "index")
        for asked, id in (("one", one), ("other", other), (one, one), (other, other), ("oth", other)):
            session = await planck.resume(asked)
            assert session.id == id
            await session.aclose()


async def test_a_name_from_before_there_was_an_index_is_taken(tmp_path: Path) -> None:
    async with open_planck(tmp_path) as planck:
        await start(planck, "one")
        lose(planck.sessions_dir / "index")
        assert await refusal(planck, "one") is ErrorKind.NOT_UNIQUE  # nothing was looked at before
        await start(planck, "two")
        assert await refusal(planck, "one") is ErrorKind.NOT_UNIQUE  # all was looked at, once
        assert len(planck.archive.sessions()) == 2


async def test_a_log_that_was_removed_by_hand_has_no_name(tmp_path: Path) -> None:
    async with open_planck(tmp_path) as planck:
        id = await start(planck, "one")
        for file in planck.sessions_dir.glob(f"{id}_*"):
            file.unlink()
        assert await start(planck, "one") != id
        assert [info.name for info in planck.archive.sessions()] == ["one"]


async def test_the_same_name_in_another_workspace_is_another_session(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    async with (
        open_planck(tmp_path) as planck,
        Planck(
            tmp_path / "home", tmp_path / "there", environ={}, providers={"double": ScriptedProvider(["ok"])}
        ) as there,
    ):
        here_id, there_id = await start(planck, "one"), await start(there, "one")
        for owner, id in ((planck, here_id), (there, there_id)):
            session = await owner.resume("one")
            assert session.id == id
            await session.aclose()
        planck.archive.delete(here_id)
        assert await start(planck, "one") not in (here_id, there_id)
        assert await refusal(there, "one") is ErrorKind.NOT_UNIQUE


async def test_a_start_that_is_cancelled_leaves_no_session_and_no_name(tmp_path: Path) -> None:
    async with open_planck(tmp_path) as planck:
        for steps in range(40):
            begun = asyncio.ensure_future(planck.start(model="double/m", name="one"))
            for _ in range(steps):
                await asyncio.sleep(0)
            begun.cancel()
            ended = (await asyncio.gather(begun, return_exceptions=True))[0]
            if not isinstance(ended, BaseException):
                await ended.aclose()
                break
            assert isinstance(ended, asyncio.CancelledError)
            assert planck.archive.sessions() == []
        else:
            await start(planck, "one")
        assert [info.name for info in planck.archive.sessions()] == ["one"]


async def test_an_index_that_can_not_be_written_is_told_with_the_folder(tmp_path: Path) -> None:
    async with open_planck(tmp_path) as planck:
        planck.sessions_dir.mkdir(parents=True, mode=0o700)
        (planck.sessions_dir / "index").write_text("in the way")
        assert await refusal(planck, "one") is ErrorKind.LOG_WRITE_FAILED
        assert not list(planck.sessions_dir.glob("*.db"))


class SameIds:
    """As if every pair of words were taken: its first names are all the same."""

    def __init__(self) -> None:
        self.asked = 0

    def new(self, cause: str = "") -> str:
        self.asked += 1
        return f"{self.asked if self.asked > 12 else 1:016x}"


async def test_there_is_a_name_when_all_pairs_of_words_are_taken(tmp_path: Path) -> None:
    folder = FileLibrary(tmp_path / "sessions", tmp_path)
    first = folder.claim("a", "", SameIds())
    second = folder.claim("b", "", SameIds())
    assert second.name.startswith(f"{first.name.split('-')[0]}-")
    assert second.name != first.name
    for claim in (first, second):
        claim.lock.release()
