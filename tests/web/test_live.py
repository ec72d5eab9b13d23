"""The page in a real browser against a real server: what happens is seen, answered, and survives a cut."""

import asyncio
import json
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planck.client import Client
from tests.api.bench import free_port, served
from tests.command import WAIT, Bench
from tests.web.chromium import PHONE, Tab, chromium, needs_chromium, open_tab
from tests.web.proxy import wire
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

pytestmark = [pytest.mark.heavy, needs_chromium]


async def test_the_demo_team_is_seen_at_work_to_its_end(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    process = await bench.start("demo", "--web", "--json", env={"TMPDIR": str(tmp_path)})
    assert process.stdout
    async with asyncio.timeout(WAIT):
        ready = json.loads(await process.stdout.readline())
    try:
        async with chromium() as browser:
            tab = await browser.open(ready["page"])
            await tab.wait_for("document.title === 'demo · Planck'")
            assert "code=" not in tab.page.url
            for name in ("orchestrator", "tester", "builder"):
                await tab.wait_for("document.querySelector('main').innerText.includes(given)", name)
            async with Client.from_ready(json.dumps(ready)) as client:
                (row,) = [row async for row in client.sessions()]
                assert tab.page.url.endswith(f"#/s/{row['id']}/team")
                await tab.go(f"#/s/{row['id']}/conversation")
                await tab.wait_for("document.querySelector('.conversation')?.innerText.includes('Fixed.')")
            text = await tab.find_text()
            assert "One test fails: test_discount_is_in_percent got 190, expected 180." in text
            await tab.wait_for("document.body.innerText.includes('done')")
            assert await tab.list_problems() == []
    finally:
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(WAIT):
            assert await process.wait() == 130


def ask_twice(asked: Asked) -> Reply:
    if any(message["role"] == "tool" for message in asked.json["messages"]):
        return chat.text("Both are answered.")
    return chat.calls(
        ("write", {"path": "first.txt", "content": "one\n"}),
        ("write", {"path": "second.txt", "content": "two\n"}),
    )


async def test_two_questions_are_answered_out_of_order_on_a_phone(tmp_path: Path) -> None:
    async with WireServer(ask_twice) as model:
        bench = Bench(tmp_path, model.url, permissions={"mode": "ask"})
        async with served(bench) as (server, _), server.client() as client, chromium() as browser:
            tab = await browser.open(server.page, PHONE)
            session = await client.start()
            await session.prompt("write both")
            await tab.wait_for("document.title.startsWith('(2) ')")
            await tab.go(f"#/s/{session.id}/team")
            await tab.page.locator(".why", has_text="2 questions need you:").wait_for()
            assert "orchestrator" in await tab.find_text(".why")
            await tab.page.locator("nav a[href='#/inbox']").tap()
            questions = tab.page.locator("article.question")
            await questions.nth(1).wait_for()
            assert await tab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
            for button in await tab.page.locator("article.question .answers button:visible").all():
                box = await button.bounding_box()
                assert box
                assert box["height"] >= 44
            assert re.search(r"^\d+ s$", await questions.nth(1).locator("header .num").inner_text())
            second = questions.filter(has_text="second.txt")
            await second.get_by_role("button", name="Allow once").tap()
            await second.wait_for(state="detached")
            first = questions.filter(has_text="first.txt")
            await first.get_by_role("button", name="Deny").first.tap()
            await first.wait_for(state="detached")
            async for event in session.events():
                if event["type"] == "turn_end":
                    break
            assert (bench.work / "second.txt").read_text() == "two\n"
            assert not (bench.work / "first.txt").exists()
            await tab.wait_for("!document.title.startsWith('(')")
            assert await tab.list_problems() == []


def follow(asked: Asked) -> Reply:
    """Answers with the number of words that it was given, after a look at the folder."""
    messages = asked.json["messages"]
    prompts = [message for message in messages if message["role"] == "user"]
    if messages[-1]["role"] == "user":
        return chat.calls(("list_dir", {}))
    return chat.text(*(f"word{n} " for n in range(20)), f"answer {len(prompts)}.")


async def read_state(tab: Tab, id: str) -> Mapping[str, Any]:
    """What a person sees of a session, but for what counts the seconds."""
    await tab.go(f"#/s/{id}/conversation")
    await tab.wait_for("document.querySelector('main').innerText.includes('answer 1.')")
    conversation = await tab.find_text()
    await tab.go(f"#/s/{id}/team")
    await tab.page.wait_for_selector("main svg")
    team = re.sub(r"\d+ s\b", "", str(await tab.page.evaluate("document.querySelector('main').textContent")))
    return {"conversation": conversation, "team": team, "title": await tab.page.title()}


@pytest.mark.parametrize("seconds", [2.0, pytest.param(30.0, marks=pytest.mark.soak)])
async def test_after_a_cut_the_page_is_what_a_fresh_one_is(tmp_path: Path, seconds: float) -> None:
    port = free_port()
    async with WireServer(follow) as model:
        bench = Bench(tmp_path, model.url, permissions={"mode": "full"})
        async with (
            served(bench, "--allow-host", f"127.0.0.1:{port}") as (server, _),
            server.client() as client,
            wire(port, server.port) as line,
            chromium() as browser,
        ):
            session = await client.start(name="cut")
            await session.run("one", timeout=WAIT)
            page = server.page.replace(f":{server.port}/", f":{port}/").replace(
                "planck.localhost", "127.0.0.1"
            )
            tab = await browser.open(page)
            await tab.go(f"#/s/{session.id}/conversation")
            await tab.wait_for("document.querySelector('main').innerText.includes('answer 1.')")
            line.cut()
            for number in range(2, 6):
                await session.run(f"prompt {number}", timeout=WAIT)
            await asyncio.sleep(seconds)  # how long the cut lasts: there is nothing to wait for
            assert "answer 5." not in await tab.find_text()
            line.mend()
            await tab.wait_for("document.querySelector('main').innerText.includes('answer 5.')")
            await tab.wait_for(
                "document.querySelectorAll('main .turn-end').length === 5"
            )  # the answer is not last
            context = tab.page.context
            fresh = await open_tab(context, page.partition("#")[0])
            assert await read_state(tab, session.id) == await read_state(fresh, session.id)
            lost = [one for one in await tab.list_problems() if "ERR_" not in one]
            assert lost == []
            assert await fresh.list_problems() == []
