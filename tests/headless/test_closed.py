"""A closed session and a closed Planck say so, whatever they are asked; a rewind says why it can't be."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import planck
from planck import ErrorKind, Planck, Tool
from planck.headless import OpenSession, Selection
from planck.records.outcome import Err, PlanckError
from planck.testing import Say, ScriptedProvider

PROBE = Tool("probe", "", {}, lambda args, ctx: "probed")


def app(folder: Path, script: Any = lambda request: "ok") -> Planck:
    double = ScriptedProvider(script)
    return Planck(folder / "home", folder, environ={}, providers={"double": double})


async def look(session: OpenSession) -> None:
    async for _ in session.events():
        break


async def sync(work: Callable[[], object]) -> None:
    work()


ASKED: dict[str, Callable[[OpenSession], Awaitable[Any]]] = {
    "run": lambda one: one.run("go"),
    "prompt": lambda one: one.prompt("go"),
    "steer": lambda one: one.prompt("go", steer=True),
    "settled": lambda one: one.settled(),
    "add_tool": lambda one: one.add_tool(PROBE),
    "remove_tool": lambda one: one.remove_tool("read"),
    "change_model": lambda one: one.change_model("double/m"),
    "an unknown model": lambda one: one.change_model("nowhere/m"),
    "compact": lambda one: one.compact(),
    "rewind": lambda one: one.rewind(0),
    "stop": lambda one: one.stop(),
    "events": look,
    "interrupt": lambda one: sync(one.interrupt),
    "interrupt one": lambda one: sync(lambda: one.interrupt("worker")),
    "change_mode": lambda one: one.change_mode("ask"),
    "accept_plan": lambda one: one.accept_plan(),
    "prompt with an id": lambda one: one.prompt("go", id="key", agent="worker"),
    "rename": lambda one: one.rename("other"),
    "changes": lambda one: sync(one.changes),
    "live": lambda one: sync(one.live),
    "feed": lambda one: sync(one.feed),
    "result": lambda one: sync(lambda: one.result(0)),
    "undo_plan": lambda one: sync(lambda: one.undo_plan(Selection())),
}


async def test_whatever_a_closed_session_is_asked_it_says_that_it_is_closed(tmp_path: Path) -> None:
    async with app(tmp_path) as opened:
        session = await opened.start(model="double/m")
        await session.run("hi")
        head = session.head
        await session.aclose()
        await session.aclose()
        for name, ask in ASKED.items():
            with pytest.raises(PlanckError) as refused:
                await ask(session)
            assert refused.value.err.kind is ErrorKind.DETACHED, name
            assert f"resume('{session.id}')" in refused.value.err.message
        assert (session.closed, session.head, len(session.members)) == (True, head, 1)
        again = await opened.resume(session.id)
        assert (await again.run("on")).text == "ok"


async def test_whatever_a_closed_planck_is_asked_it_says_that_it_is_closed(tmp_path: Path) -> None:
    async with app(tmp_path) as opened:
        session = await opened.start(model="double/m")
    asked: list[Callable[[], Awaitable[Any]]] = [
        lambda: opened.start(model="double/m"),
        lambda: opened.resume(session.id),
        lambda: opened.model("double/m"),
        lambda: opened.try_model("double/m"),
        lambda: opened.list_models(),
        lambda: opened.check_team("any"),
    ]
    for ask in asked:
        with pytest.raises(PlanckError, match="This Planck object is closed") as refused:
            await ask()
        assert refused.value.err.kind is ErrorKind.DETACHED
    with pytest.raises(PlanckError, match="is closed"):
        await session.run("go")


async def test_a_run_that_waits_when_its_session_is_closed_ends(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def stall(request: Any) -> Any:
        begun.set()
        return Say(text="late", wait=asyncio.Event())

    async with app(tmp_path, stall) as opened, asyncio.timeout(30):
        session = await opened.start(model="double/m")
        run = asyncio.create_task(session.run("go"))
        await begun.wait()
        await session.prompt("one more, which nobody will read")
        await session.aclose()
        with pytest.raises(PlanckError, match="is closed"):
            await run


@pytest.mark.parametrize("to", [-1, 10_000, "3", None, 1.0, True])
async def test_a_rewind_to_no_event_returns_its_error(tmp_path: Path, to: Any) -> None:
    async with app(tmp_path) as opened:
        session = await opened.start(model="double/m")
        await session.run("hi")
        refused = await session.rewind(to)
        assert isinstance(refused, Err)
        assert refused.kind is ErrorKind.INVALID_ARGS
        assert await session.rewind(session.head) is None


@pytest.mark.parametrize("more", [{"team": "pair"}, {"name": "mine"}, {"stored": False}])
def test_run_with_resume_refuses_what_it_could_not_honour(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(PlanckError) as refused:
        planck.run("go", resume="mine", home=tmp_path / "home", workspace=tmp_path, **more)
    assert refused.value.err.kind is ErrorKind.INVALID_ARGS
    assert next(iter(more)) in refused.value.err.message
