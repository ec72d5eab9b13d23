"""A session that is opened again goes on with what it was started with: no sleep and no restart widens it."""

from pathlib import Path
from typing import Any

import pytest

from planck.client import RemoteSession
from planck.headless import Inbox, Planck
from planck.records import codec
from planck.records.events import UsageSpent, view
from planck.testing import ScriptedProvider
from tests.api.bench import serving

WRITE: Any = [("write", {"path": "a.txt", "content": "a\n"})]
START: dict[str, Any] = {"max_steps": 3, "max_budget_usd": 2.0, "dry_run": True}
PRICED = [{"id": "m", "model": "m", "provider": "local", "price": {"input": 1.0, "output": 1_000_000}}]
"""A dollar for each token of an answer."""


async def read_options(session: RemoteSession) -> dict[str, Any]:
    """Of its newest run."""
    events = await session.ask("GET", "/events", type="session_started,session_resumed")
    options: dict[str, Any] = codec.decode(events.splitlines()[-1])["data"]["options"]
    return options


@pytest.mark.parametrize("mode", ["read-only", "plan", "workspace", "full"])
async def test_a_session_that_was_closed_here_is_opened_as_it_was(tmp_path: Path, mode: str) -> None:
    async with serving(tmp_path, lambda request: "yes") as server, server.client() as client:
        session = await client.start(mode="ask", **START)
        await session.ask("PATCH", "", {"mode": mode})
        await session.close()
        assert (await session.ask("POST", "/open", {}))["mode"] == mode
        options = await read_options(session)
        kept = {name: options[name] for name in ("mode", "max_steps", "dry_run", "budget")}
        assert kept == {"mode": mode, "max_steps": 3, "dry_run": True, "budget": 2.0}


async def test_what_was_started_dry_changes_nothing_after_a_restart_of_the_server(tmp_path: Path) -> None:
    free = {"permissions": {"mode": "workspace"}}
    async with serving(tmp_path, config=free) as server, server.client() as client:
        session = await client.start(dry_run=True)
    async with serving(tmp_path, [WRITE, "done"], config=free) as server, server.client() as client:
        again = client.session(session.id)
        assert (await again.run("write it"))["text"] == "done"
        assert [*(tmp_path / "work").iterdir()] == []


async def test_what_is_left_of_a_budget_is_all_there_is_after_a_sleep(tmp_path: Path) -> None:
    config = {"models": PRICED, "default_model": "m"}
    async with serving(tmp_path, lambda request: "yes", config=config) as server, server.client() as client:
        session = await client.start(max_budget_usd=1e6)
        spent = (await session.run("one"))["cost_usd"]
        assert spent > 0
        for number in (1, 2):
            await session.close()
            await session.ask("POST", "/open", {})
            assert (await read_options(session))["budget"] == pytest.approx(1e6 - number * spent)
            await session.run("more")


async def test_steps_that_nobody_chose_are_those_of_the_configuration(tmp_path: Path) -> None:
    async with serving(tmp_path, config={"limits": {"steps": 7}}) as server, server.client() as client:
        session = await client.start()
    async with serving(tmp_path, config={"limits": {"steps": 9}}) as server, server.client() as client:
        again = client.session(session.id)
        await again.ask("POST", "/open", {})
        assert (await read_options(again))["max_steps"] == 9


async def test_a_mode_of_another_process_is_never_wider_than_the_configured_one(tmp_path: Path) -> None:
    async with serving(tmp_path, lambda request: "yes") as server, server.client() as client:
        home, work = tmp_path / "home", tmp_path / "work"
        opened = {}
        for mode in ("full", "read-only"):
            async with Planck(home, work, environ={}, providers={"local": ScriptedProvider([])}) as planck:
                theirs = await planck.start(mode=mode, dry_run=True, max_steps=1)
            session = client.session(theirs.id)
            opened[mode] = (await session.ask("POST", "/open", {}))["mode"]
            options = await read_options(session)
            # Flags of a run in which nobody could be asked were for that run.
            assert (options["dry_run"], options["max_steps"], options["budget"]) == (False, 100, None)
        assert opened == {"full": "ask", "read-only": "read-only"}


async def test_a_run_s_budgets_hold_for_the_server_that_opens_its_session(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    double = ScriptedProvider(lambda request: "yes")
    options: Any = {"environ": {}, "providers": {"local": double}, "approver": Inbox()}
    async with Planck(tmp_path / "home", tmp_path / "work", **options) as planck:
        session = await planck.start(model="local/m", max_tokens=10**6)
        await session.run("one")
        (usage,) = [view(event) for event in session.recorded() if event.type == UsageSpent.type]
        await session.aclose()
    assert isinstance(usage, UsageSpent)
    async with serving(tmp_path) as server, server.client() as client:
        again = client.session(session.id)
        await again.ask("POST", "/open", {})
        assert (await read_options(again))["max_tokens"] == 10**6 - usage.usage.context_tokens
