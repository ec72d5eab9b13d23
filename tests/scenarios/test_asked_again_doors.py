"""The same question by the doors that people use: over HTTP, at `planck run -r`, and in a conversation."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from planck.headless import Archive
from planck.records.events import ToolEnd, view
from tests.api.bench import serving
from tests.killed_asking import NAME
from tests.scenarios.test_asked_again import killed, place, written
from tests.terminal import on_terminal
from tests.wire import chat
from tests.wire.server import WireServer

__all__ = ["killed", "place"]


def read_ends(folder: Path) -> list[tuple[str, bool]]:
    log = Archive(folder / "home" / "sessions", folder / "work").recorded(NAME)
    found = [fact for event in log if isinstance(fact := view(event), ToolEnd)]
    return [(fact.name, fact.ok) for fact in found]


def ends(allow: bool) -> list[tuple[str, bool]]:
    return [("read", True), ("write", allow), ("hang", False), ("write", allow)]


@pytest.mark.parametrize("allow", [True, False], ids=["yes", "no"])
@pytest.mark.parametrize("door", ["open", "prompts"])
async def test_over_http_the_questions_are_in_the_inbox_again(place: Path, door: str, allow: bool) -> None:
    async with serving(place, ["it is done", "well"]) as server, server.client() as client:
        (row,) = (await client.ask("GET", "/sessions")).data["items"]
        session = client.session(row["id"])
        await session.ask("POST", f"/{door}", {"text": "and more"} if door == "prompts" else {})
        items: list[Any] = []
        async with asyncio.timeout(30):
            while len(items) < 2:
                items = (await client.ask("GET", "/approvals")).data["items"]
        for one in items:
            said = {"allow": allow, "digest": one["digest"]}
            await client.ask("POST", f"/approvals/{one['id']}", said)
        result = None
        async with asyncio.timeout(30):
            while result is None:
                result = await session.ask("GET", "/result", after=row["head"])
    assert read_ends(place) == ends(allow)
    assert sorted(written(place)) == (["b", "c"] if allow else [])


@pytest.mark.parametrize("allow", [True, False], ids=["yes", "no"])
@pytest.mark.parametrize("door", [("run", "-r", NAME), ("-r", NAME)], ids=["run -r", "conversation"])
async def test_at_a_terminal_the_questions_come_first(
    place: Path, door: tuple[str, ...], allow: bool
) -> None:
    async with WireServer([chat.text("it is done")]) as model:
        providers = {"local": {"type": "openai", "base_url": model.url}}
        (place / "home" / "config.json").write_text(json.dumps({"providers": providers}))
        run = await on_terminal(*door, home=place / "home", work=place / "work", columns=100)
        at = 0
        for name, shown in (("b", "[1/2]"), ("c", "once")):  # a key before the second question does not count
            at = await run.until(f"asks: write {name}.txt", at)
            at = await run.until(f"modifies {name}.txt", at)
            at = await run.until(shown, at)
            run.type("y" if allow else "n")
        at = await run.until("it is done", at)
        if door[0] == "-r":
            run.type("/exit\r")
        assert await run.end() == 0, run.text
    assert read_ends(place) == ends(allow)
    assert sorted(written(place)) == (["b", "c"] if allow else [])
