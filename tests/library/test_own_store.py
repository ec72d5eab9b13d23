"""A store that the program has: tested by the shipped contract, and a session in it."""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from planck import PlanckError
from planck.records.events import Draft, Event
from planck.store.store import CommitListener, Store
from planck.testing import ScriptedProvider
from planck.testing.contracts import STORE_CHECKS, check_store
from tests.library.line_store import LineStore
from tests.library.program import make_planck


def make_stores(folder: Path, kind: type[LineStore] = LineStore) -> Iterator[LineStore]:
    return (kind(folder / f"{number}.jsonl") for number in count())


async def test_a_store_of_a_page_keeps_the_contract(tmp_path: Path) -> None:
    stores = make_stores(tmp_path)

    async def make() -> Store:
        return next(stores)

    await check_store(make)
    assert len(STORE_CHECKS) > 10


class Forgetful(LineStore):
    def blob(self, name: str) -> bytes:
        return b""


class Silent(LineStore):
    def watch(self, listener: CommitListener) -> None: ...


class Misnumbering(LineStore):
    async def append(self, drafts: Sequence[Draft], then: CommitListener | None = None) -> list[Event]:
        events = await super().append(drafts, then)
        return list(reversed(events))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Forgetful, "blobs are kept once by their hash"),
        (Silent, "what a cancelled caller handed in is committed and announced"),
        (Misnumbering, "events are numbered from one and read back as written"),
    ],
)
async def test_the_contract_names_what_a_store_does_wrong(
    tmp_path: Path, kind: type[LineStore], said: str
) -> None:
    stores = make_stores(tmp_path, kind)

    async def make() -> Store:
        return next(stores)

    with pytest.raises(AssertionError, match=said):
        await check_store(make)


async def test_a_session_lives_in_the_store_of_the_program(tmp_path: Path) -> None:
    provider = ScriptedProvider([[("list_dir", {})], "one", "two"])
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start(store=LineStore(tmp_path / "log.jsonl"), id="order-7", name="mine")
        assert (await session.run("go")).text == "one"
        await session.rename("other")
        await session.aclose()
        assert list(p.archive.sessions()) == []
        assert not list((tmp_path / "home").rglob("*.db"))
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.resume(store=LineStore(tmp_path / "log.jsonl"))
        assert (session.id, session.name) == ("order-7", "other")
        assert (await session.run("on")).text == "two"
        assert len(provider.asked[-1].messages) == 5


async def test_a_store_is_started_once_and_resumed_after_that(tmp_path: Path) -> None:
    async with make_planck(tmp_path, ["one"]) as p:
        store = LineStore(tmp_path / "log.jsonl")
        with pytest.raises(PlanckError) as empty:
            await p.resume(store=store)
        assert empty.value.err.kind == "not_found"
        session = await p.start(store=store)
        with pytest.raises(PlanckError) as used:
            await p.start(store=store)
        assert used.value.err.kind == "not_unique"
        await session.aclose()
        assert store.closed


@pytest.mark.parametrize("given", [{}, {"id_or_name": "x", "store": object()}, {"store": object()}])
async def test_a_resume_takes_a_name_or_a_store(tmp_path: Path, given: dict[str, Any]) -> None:
    async with make_planck(tmp_path, []) as p:
        with pytest.raises(PlanckError) as refused:
            await p.resume(**given)
        assert refused.value.err.kind == "invalid_args"
