"""One suite for every `Store`: the checks that are shipped for the stores of others, too."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from planck.store.memory import MemoryStore
from planck.store.postgres.library import PostgresLibrary
from planck.store.sqlite.store import SqliteStore
from planck.store.store import Store
from planck.testing.contracts import STORE_CHECKS
from planck.toolkit.clock import RandomIds


@pytest.fixture(params=["memory", "sqlite", "sqlite-power", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store, None]:
    meta = {"id": "abc", "name": "calm-fox"}
    made: Store
    if request.param == "memory":
        made = MemoryStore(meta)
    elif request.param == "postgres":
        library = PostgresLibrary(request.getfixturevalue("database"), tmp_path / "copies", tmp_path)
        made = await library.create("abc", "calm-fox", RandomIds(), {})
        yield made
        await made.aclose()
        await library.aclose()
        return
    else:
        durability = "power" if request.param == "sqlite-power" else "process"
        made = SqliteStore.create(tmp_path / "s" / "abc_calm-fox.db", meta, durability=durability)  # type: ignore[arg-type]  # a literal by construction
    yield made
    await made.aclose()


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
async def test_a_store_keeps_the_contract(store: Store, check: Callable[[Store], Awaitable[None]]) -> None:
    await check(store)


async def test_metadata_is_kept(store: Store) -> None:
    assert store.meta == {"id": "abc", "name": "calm-fox"}
