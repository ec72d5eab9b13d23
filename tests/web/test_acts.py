"""What a person does on the page: go back, fork, take back, find, look at an earlier moment, set up."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Route

from planck.client import Client
from tests.api.bench import served
from tests.command import WAIT, Bench
from tests.web.chromium import Tab, chromium, needs_chromium
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

pytestmark = [pytest.mark.heavy, needs_chromium]
KEPT = "def total(prices):\n    return sum(prices)\n"


def work(asked: Asked) -> Reply:
    """Writes two files, then says which prompts it remembers."""
    messages = asked.json["messages"]
    if messages[-1]["role"] == "user" and "write" in str(messages[-1]["content"]):
        return chat.calls(
            ("write", {"path": "prices.py", "content": KEPT}), ("write", {"path": "notes.md", "content": "*"})
        )
    said = [str(one["content"]) for one in messages if one["role"] == "user"]
    return chat.text(f"I remember {'; '.join(said)}.")


@asynccontextmanager
async def worked(folder: Path) -> AsyncGenerator[tuple[Tab, Client, Any, Bench], None]:
    """A session that wrote a file, and a page on it."""
    async with WireServer(work) as model:
        bench = Bench(folder, model.url, permissions={"mode": "full"})
        async with served(bench) as (server, _), server.client() as client, chromium() as browser:
            session = await client.start(name="quick-fox")
            await session.run("write the prices", timeout=WAIT)
            tab = await browser.open(server.page)
            await tab.page.wait_for_selector("nav")
            yield tab, client, session, bench
            assert await tab.list_problems() == []


async def read_events(session: Any) -> list[dict[str, Any]]:
    """What is in the log by now."""
    head = (await session.ask("GET", ""))["head"]
    found = []
    async for event in session.events():
        if event["seq"] is not None:
            found.append(event)
        if event["seq"] == head:
            break
    return found


async def test_who_edits_what_was_said_goes_on_from_there(tmp_path: Path) -> None:
    async with worked(tmp_path) as (tab, _, session, _):
        await tab.go(f"#/s/{session.id}/conversation")
        await tab.page.get_by_role("button", name="Edit message").click()
        await tab.page.locator(".edit textarea").fill("only look at it")
        await tab.page.get_by_role("button", name="Rewind and send", exact=True).click()
        await tab.wait_for("document.querySelector('main').innerText.includes('remember only look at it.')")
        types = [event["type"] for event in await read_events(session)]
        assert "rewound" in types

        await tab.page.get_by_role("button", name="Edit message").last.click()
        await tab.page.get_by_role("button", name="Rewind only").click()
        await tab.page.locator("form.edit").wait_for(state="detached")
        after = await read_events(session)
        assert after[-1]["type"] == "rewound"
        told = [one["data"]["text"] for one in after if one["type"] == "message"]
        assert told == ["write the prices", "only look at it"]


async def test_a_fork_is_a_session_of_its_own(tmp_path: Path) -> None:
    async with worked(tmp_path) as (tab, client, session, _):
        await tab.go(f"#/s/{session.id}/conversation")
        await tab.page.locator(".block-acts").get_by_role("button", name="Fork").click()
        await tab.wait_for(
            "location.hash.includes('/conversation') && !location.hash.includes(given)", session.id
        )
        rows = [row async for row in client.sessions()]
        assert len(rows) == 2
        await tab.go("#/sessions")
        await tab.page.locator(".fork-0", has_text="quick-fox").wait_for()
        fork = tab.page.locator(".fork-0 + .fork-1")
        assert "fork of quick-fox at event" in await fork.inner_text()


async def test_an_undo_is_seen_before_it_is_done_and_can_be_undone(tmp_path: Path) -> None:
    async with worked(tmp_path) as (tab, _, session, bench):
        file = bench.work / "prices.py"
        await tab.go(f"#/s/{session.id}/changes")
        await tab.page.get_by_role("checkbox", name="prices.py").check()
        await tab.page.get_by_role("button", name="Preview undo").click()
        await tab.page.locator(".undo .diff .del").first.wait_for()
        assert file.read_text() == KEPT
        await tab.page.get_by_role("button", name="Undo 1 file").click()
        await tab.page.locator(".box.ok").wait_for()
        assert not file.exists()
        assert (bench.work / "notes.md").exists()
        await tab.page.locator(".box.ok a").click()
        await tab.wait_for("location.hash.includes('call=')")


async def test_a_sentence_that_is_found_is_jumped_to(tmp_path: Path) -> None:
    async with worked(tmp_path) as (tab, _, session, _):
        await tab.go("#/sessions")
        await tab.page.locator("#find").fill("remember")
        await tab.page.locator(".hits a").first.click()
        await tab.page.wait_for_selector(".block.found")
        assert "I remember" in await tab.find_text(".block.found")
        assert f"#/s/{session.id}/conversation/" in tab.page.url


async def hold_first(tab: Tab, path: str) -> Callable[[], Awaitable[None]]:
    """Holds the first request that has the path back; returns what answers it, with an empty list."""
    held: asyncio.Future[Route] = asyncio.get_running_loop().create_future()

    async def decide(route: Route) -> None:
        if held.done():
            await route.continue_()
        else:
            held.set_result(route)

    async def release() -> None:
        async with asyncio.timeout(WAIT):
            route = await held
        async with tab.page.expect_response(lambda answer: answer.request == route.request) as coming:
            await route.fulfill(json={"items": [], "next": None})
        await (await coming.value).finished()
        # The page has read it after one task, and drawn it after one frame.
        await tab.page.evaluate(
            "new Promise((done) => setTimeout(() => requestAnimationFrame(() => done())))"
        )
        await tab.page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    await tab.page.route(path, decide)
    return release


async def test_an_answer_that_comes_late_does_not_replace_a_newer_list_of_sessions(tmp_path: Path) -> None:
    async with worked(tmp_path) as (tab, _, _, _):
        await tab.go("#/settings")
        await tab.page.wait_for_selector("main .settings")
        release = await hold_first(tab, "**/api/v1/sessions?*")
        await tab.go("#/sessions")
        async with tab.page.expect_response(lambda answer: "/sessions?q=quick" in answer.url) as newer:
            await tab.page.locator("#find").fill("quick")
        await (await newer.value).finished()
        await release()
        assert "quick-fox" in await tab.find_text(".session-main")


async def test_an_answer_that_comes_late_does_not_replace_a_newer_list_of_changes(tmp_path: Path) -> None:
    async with worked(tmp_path) as (tab, _, session, _):
        await tab.go(f"#/s/{session.id}/team")
        await tab.page.wait_for_selector("main .team svg")
        release = await hold_first(tab, "**/changes")
        await tab.go(f"#/s/{session.id}/changes")
        await tab.page.wait_for_selector("main .skeleton", state="attached")
        await session.run("write them again", timeout=WAIT)
        await tab.page.wait_for_selector("main .changes .change")
        await release()
        assert "prices.py" in await tab.find_text("main .changes")


async def test_the_slider_shows_an_earlier_moment_and_leads_back_to_now(tmp_path: Path) -> None:
    async with worked(tmp_path) as (tab, _, session, _):
        await tab.go(f"#/s/{session.id}/team")
        await tab.page.locator(".scrubber input").focus()
        await tab.page.keyboard.press("Home")
        await tab.wait_for("!document.querySelector('main').innerText.includes('I remember')")
        await tab.page.get_by_role("button", name="Live").click()
        await tab.wait_for("document.querySelector('main').innerText.includes('I remember')")
        await tab.page.locator(".lane-name").click()
        counted = (await tab.page.locator(".card .facts").inner_text()).split()
        assert {"input", "output"} <= {*counted}


async def test_a_first_model_is_set_up_on_the_page(tmp_path: Path) -> None:
    async with WireServer(work) as model:
        bench = Bench(tmp_path, "http://127.0.0.1:9")
        (bench.home / "config.json").write_text("{}")
        async with served(bench) as (server, _), chromium() as browser:
            tab = await browser.open(server.page)
            await tab.page.get_by_role("link", name="Set up a model").click()
            await tab.page.get_by_label("Provider").select_option("other")
            await tab.page.get_by_label("Name").fill("mine")
            await tab.page.get_by_label("Base URL").fill(model.url)
            await tab.page.get_by_label("API key").fill("sk-secret-of-a-test")
            await tab.page.locator("input[name=model]").fill("m")
            await tab.page.get_by_role("button", name="Test and save").click()
            await tab.page.locator(".box.ok").wait_for()
            kept = json.loads((bench.home / "config.json").read_text())
            assert kept["default_model"] == "mine/m"
            assert "sk-secret-of-a-test" not in json.dumps(kept)
            assert await tab.list_problems() == []
