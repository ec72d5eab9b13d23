"""One suite for every `Library`: files, memory, PostgreSQL."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import msgspec
import pytest

from planck.records.events import Draft
from planck.records.outcome import ErrorKind, PlanckError
from planck.store.library import Library
from planck.store.memory import MemoryStore
from planck.store.postgres.library import PostgresLibrary
from planck.store.sqlite.library import FileLibrary
from planck.store.store import Store
from planck.toolkit.clock import RandomIds
from tests.memory_library import MemoryLibrary

IDS = RandomIds()


class Placed:
    """A library, and the workspace that it is seen from."""

    def __init__(self, library: Library, workspace: Path) -> None:
        self.library = library
        self.workspace = str(workspace)


Make = Callable[[str], Placed]
"""Makes the library of a workspace; all of one test see the same sessions."""


@pytest.fixture(params=["files", "memory", "postgres"])
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Make, None]:
    places = _make_places(request, tmp_path)
    yield places
    for library in places.made:
        await library.aclose()


class Places:
    """Libraries of several workspaces that see the same sessions."""

    def __init__(self, make: Callable[[Path], Library], root: Path) -> None:
        self._make = make
        self._root = root
        self.made: list[Library] = []

    def __call__(self, place: str) -> Placed:
        self.made.append(self._make(self._root / place))
        return Placed(self.made[-1], self._root / place)


def _make_places(request: pytest.FixtureRequest, root: Path) -> Places:
    match request.param:
        case "memory":
            shelf: dict[str, MemoryStore] = {}
            return Places(lambda place: MemoryLibrary(place, shelf), root)
        case "postgres":
            url = request.getfixturevalue("database")
            return Places(lambda place: PostgresLibrary(url, root / "copies", place), root)
    return Places(lambda place: FileLibrary(root / "sessions", place), root)


async def begin(at: Placed, id: str, name: str = "", *, created: str = "1") -> Store:
    """A session with its first event, open."""
    store = await at.library.create(id, name, IDS, {"workspace": at.workspace, "created": created})
    await store.append([Draft("t", None, 0, "session_started", msgspec.Raw(b"{}"))])
    return store


async def keep(at: Placed, id: str, name: str = "", created: str = "1") -> str:
    """A session that nobody has open; returns its name."""
    store = await begin(at, id, name, created=created)
    name = store.meta["name"]
    await at.library.close(store, id, name)
    return name


async def find(at: Placed, what: str) -> str:
    return (await asyncio.to_thread(at.library.find, what)).id


async def refuse(at: Placed, what: str) -> ErrorKind:
    with pytest.raises(PlanckError) as refused:
        await find(at, what)
    return refused.value.err.kind


async def test_a_session_is_found_by_its_id_its_name_and_how_one_of_them_begins(make: Make) -> None:
    at = make("w")
    await keep(at, "0123456789abcdef", "calm-fox")
    for what in ("0123456789abcdef", "calm-fox", "0123", "calm"):
        assert await find(at, what) == "0123456789abcdef"
    for what in ("012", "fox", "", "../x", "0123456789abcdef0"):
        assert await refuse(at, what) is ErrorKind.NOT_FOUND


async def test_a_beginning_of_two_is_unclear_and_an_exact_name_is_not(make: Make) -> None:
    at = make("w")
    await keep(at, "0123456789abcdef", "calm")
    await keep(at, "0123456789abcdee", "calm-fox")
    assert await refuse(at, "01234567") is ErrorKind.NOT_UNIQUE
    assert await refuse(at, "ca") is ErrorKind.NOT_UNIQUE
    assert await find(at, "calm") == "0123456789abcdef"


async def test_names_are_of_one_workspace_and_ids_of_all(make: Make) -> None:
    here, there = make("here"), make("there")
    await keep(here, "a" * 16, "calm-fox")
    assert await refuse(there, "calm-fox") is ErrorKind.NOT_FOUND
    assert await find(there, "a" * 16) == "a" * 16
    await keep(there, "b" * 16, "calm-fox")
    assert (await find(here, "calm-fox"), await find(there, "calm-fox")) == ("a" * 16, "b" * 16)


async def test_a_name_is_one_session_s_also_while_many_are_made_at_once(make: Make) -> None:
    at = make("w")
    made = await asyncio.gather(
        *(begin(at, f"{number:016}", "calm-fox") for number in range(8)), return_exceptions=True
    )
    stores = [one for one in made if not isinstance(one, BaseException)]
    refusals = [one for one in made if isinstance(one, BaseException)]
    assert len(stores) == 1
    assert {one.err.kind for one in refusals if isinstance(one, PlanckError)} == {ErrorKind.NOT_UNIQUE}
    await at.library.close(stores[0], stores[0].meta["id"], "calm-fox")


@pytest.mark.parametrize("name", ["../x", "", "a/b", "x" * 65, "-x"])
async def test_a_name_that_can_not_be_one_is_refused_in_a_rename(make: Make, name: str) -> None:
    at = make("w")
    store = await begin(at, "a" * 16, "calm-fox")
    with pytest.raises(PlanckError) as refused:
        async with at.library.rename(store, "calm-fox", name):
            pass
    assert refused.value.err.kind is ErrorKind.INVALID_ARGS
    await at.library.close(store, "a" * 16, "calm-fox")


async def test_a_rename_holds_once_its_block_ends_and_not_where_it_fails(make: Make) -> None:
    at = make("w")
    store = await begin(at, "a" * 16, "calm-fox")
    with pytest.raises(ZeroDivisionError):
        async with at.library.rename(store, "calm-fox", "bold-owl"):
            raise ZeroDivisionError
    assert await find(at, "calm-fox") == "a" * 16
    async with at.library.rename(store, "calm-fox", "bold-owl"):
        pass
    with pytest.raises(PlanckError) as taken:
        await begin(at, "b" * 16, "bold-owl")
    assert taken.value.err.kind is ErrorKind.NOT_UNIQUE
    await at.library.close(store, "a" * 16, "bold-owl")
    assert await find(at, "bold-owl") == "a" * 16
    assert await refuse(at, "calm-fox") is ErrorKind.NOT_FOUND
    again = await at.library.open("bold-owl")
    assert again.meta["name"] == "bold-owl"
    await at.library.close(again, "a" * 16, "bold-owl")


async def test_a_session_has_one_writer_and_the_next_one_goes_on_after_it(make: Make) -> None:
    at = make("w")
    store = await begin(at, "a" * 16, "calm-fox")
    with pytest.raises(PlanckError) as refused:
        await make("w").library.open("calm-fox")
    assert refused.value.err.kind is ErrorKind.WRITER_CONFLICT
    await at.library.close(store, "a" * 16, "calm-fox")
    again = await make("w").library.open("calm-fox")
    events = await again.append([Draft("t", None, 0, "error", msgspec.Raw(b"{}"))])
    assert [event.seq for event in events] == [2]
    assert [event.type for event in again.read()] == ["session_started", "error"]
    await at.library.close(again, "a" * 16, "calm-fox")


async def test_what_never_began_is_not_there_and_its_name_is_free(make: Make) -> None:
    at = make("w")
    meta = {"workspace": at.workspace, "created": "1"}
    store = await at.library.create("a" * 16, "calm-fox", IDS, meta)
    await at.library.discard(store)
    assert await refuse(at, "calm-fox") is ErrorKind.NOT_FOUND
    assert await keep(at, "b" * 16, "calm-fox") == "calm-fox"


async def test_without_a_name_it_gets_one_that_is_free(make: Make) -> None:
    at = make("w")
    names = {await keep(at, f"{number:016}") for number in range(20)}
    assert len(names) == 20
