"""A session that is deleted while somebody reads it was there, or is not found."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.headless import Archive, Selection
from planck.records.outcome import PlanckError
from planck.store.sqlite.directory import remove_log
from planck.testing.scripted import ScriptedProvider

_POINTS = 12
"""At so many moments of each reading the session is deleted, spread over the calls that the reading makes."""

Reading = Callable[[Planck, str], object]

OF_ONE: dict[str, Reading] = {
    "changes": lambda planck, id: planck.changes(id, Selection()),
    "check_own": lambda planck, id: planck.archive.check_own(id),
    "costs": lambda planck, id: planck.archive.costs(id),
    "detail": lambda planck, id: planck.archive.detail(id),
    "events": lambda planck, id: list(planck.archive.events(id)),
    "fold": lambda planck, id: planck.archive.fold(id),
    "info": lambda planck, id: planck.archive.info(id),
    "page": lambda planck, id: planck.export_page(id),
    "markdown": lambda planck, id: list(planck.archive.render_markdown(id)),
    "recorded": lambda planck, id: list(planck.archive.recorded(id)),
    "result": lambda planck, id: planck.archive.result(id),
    "why_blocked": lambda planck, id: planck.archive.why_blocked(id),
}
OF_ALL: dict[str, Reading] = {
    "search": lambda planck, _: list(planck.archive.search("go")),
    "sessions": lambda planck, _: planck.archive.sessions(),
    "stats": lambda planck, _: planck.archive.stats(),
}


@pytest.fixture
async def planck(tmp_path: Path) -> Any:
    (tmp_path / "work").mkdir()
    providers = {"double": ScriptedProvider(["hi", "ho"])}
    async with Planck(home=tmp_path / "home", workspace=tmp_path / "work", providers=providers) as planck:
        kept = await planck.start(model="double/m", name="kept")
        await kept.run("go")
        await kept.aclose()
        yield planck


@pytest.fixture
async def doomed(planck: Planck, tmp_path: Path) -> "Doomed":
    session = await planck.start(model="double/m", name="doomed")
    await session.run("go")
    # As another process would see it: the last events are in the WAL only.
    doomed = Doomed(session.id, planck.archive, tmp_path)
    await session.aclose()
    return doomed


class Doomed:
    """A session that can be put back after each delete."""

    def __init__(self, id: str, archive: Archive, folder: Path) -> None:
        self.id = id
        self._archive = archive
        self._place = next(folder.glob(f"home/sessions/{id}_*.db")).parent
        self._kept = folder / "kept"
        self._kept.mkdir()
        for file in self._files():
            shutil.copy2(file, self._kept)

    def put_back(self) -> None:
        for file in self._kept.iterdir():
            shutil.copy2(file, self._place)

    def delete_at(self, moment: int, read: Callable[[], object]) -> tuple[int, str]:
        """Deletes the session before the n-th call into C; returns the number of calls and the outcome."""
        calls = 0

        def count(_frame: object, event: str, _function: object) -> None:
            nonlocal calls
            if event == "c_call":
                calls += 1
                if calls == moment:
                    sys.setprofile(None)
                    self._archive.delete(self.id)

        sys.setprofile(count)
        try:
            read()
        except PlanckError as failure:
            return calls, failure.err.kind.value
        finally:
            sys.setprofile(None)
        return calls, "read"

    def _files(self) -> list[Path]:
        return [*self._place.glob(f"{self.id}_*")]


def _read_at_each_moment(planck: Planck, doomed: Doomed, read: Reading) -> set[str]:
    calls, outcome = doomed.delete_at(-1, lambda: read(planck, doomed.id))
    assert outcome == "read"
    outcomes = set()
    for moment in range(1, calls + 1, max(1, calls // _POINTS)):
        outcomes.add(doomed.delete_at(moment, lambda: read(planck, doomed.id))[1])
        doomed.put_back()
    return outcomes


@pytest.mark.parametrize("name", OF_ONE)
async def test_one_that_is_deleted_while_it_is_read_was_there_or_is_not_found(
    planck: Planck, doomed: Doomed, name: str
) -> None:
    assert _read_at_each_moment(planck, doomed, OF_ONE[name]) == {"read", "not_found"}


@pytest.mark.parametrize("name", OF_ALL)
async def test_one_that_is_deleted_meanwhile_hides_none_of_the_others(
    planck: Planck, doomed: Doomed, name: str
) -> None:
    assert _read_at_each_moment(planck, doomed, OF_ALL[name]) == {"read"}


def test_a_delete_that_is_cut_short_leaves_no_log_without_its_last_events(tmp_path: Path) -> None:
    log = tmp_path / "a_fox.db"
    log.touch()
    (tmp_path / "a_fox.db-wal").mkdir()  # no unlink removes it: the delete ends here
    with pytest.raises((IsADirectoryError, PermissionError)):
        remove_log(log)
    assert not log.exists()
