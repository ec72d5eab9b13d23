"""Every screen for everybody: light and dark, on a desk and a phone, by keys alone, in two languages."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.api.bench import Served, served, serving
from tests.command import WAIT, Bench
from tests.web.chromium import (
    DESK,
    PHONE,
    Tab,
    chromium,
    list_violations,
    load_axe,
    needs_chromium,
    open_tab,
)
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

pytestmark = [pytest.mark.heavy, needs_chromium]

SAID = """# A heading

Some **bold** words, `code`, a [link](https://example.org) and a list:

- one
- two

| a | b |
|---|---|
| 1 | 2 |

```python
def total(prices):  # a comment
    return sum(prices) * 2
```
"""


def work(asked: Asked) -> Reply:
    """Writes a file, fails at a command, says something; the second prompt asks for a file and waits."""
    messages = asked.json["messages"]
    prompts = [one for one in messages if one["role"] == "user"]
    results = [one for one in messages if one["role"] == "tool"]
    if len(prompts) > 1:
        return chat.calls(("write", {"path": "prices.py", "content": "def total(prices):\n    return 0\n"}))
    if not results:
        steps = [{"text": "write it", "status": "completed"}, {"text": "test it", "status": "in_progress"}]
        return chat.calls(
            ("update_plan", {"steps": steps}),
            ("write", {"path": "prices.py", "content": "def total(prices):\n    return sum(prices)\n"}),
            ("bash", {"command": "echo no such target >&2; exit 2"}),
        )
    return chat.text(SAID)


@asynccontextmanager
async def worked(folder: Path) -> AsyncGenerator[tuple[Served, str], None]:
    """A server with a session that has something of everything, and a question that waits."""
    async with WireServer(work) as model:
        bench = Bench(folder, model.url, permissions={"mode": "full"})
        async with served(bench) as (server, _), server.client() as client:
            session = await client.start(name="quick-fox")
            await session.run("write the prices", timeout=WAIT)
            await session.ask("PATCH", "", {"mode": "ask"})
            await session.prompt("and test them")
            async for event in session.events():
                if event["type"] == "permission_request":
                    break
            yield server, session.id


def list_screens(id: str) -> dict[str, str]:
    """Each screen, and what is there once it has loaded, and on none of the others."""
    return {
        "#/sessions": "main .session-main",
        f"#/s/{id}/team": "main .team svg",
        f"#/s/{id}/conversation": "main .conversation pre",
        f"#/s/{id}/changes": "main .changes .diff",
        "#/inbox": "main .inbox .question",
        "#/settings": "main .settings:not(:has(.skeleton)) summary",
    }


async def show(tab: Tab, fragment: str, there: str) -> None:
    await tab.go(fragment)
    await tab.page.wait_for_selector(there)
    await tab.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


async def test_no_screen_keeps_anybody_out(tmp_path: Path) -> None:
    axe = load_axe(tmp_path)
    async with worked(tmp_path) as (server, id), chromium() as browser:
        first = await browser.open(server.page, bypass_csp=True)
        await first.page.wait_for_selector("main h1, nav")
        cookies = await first.page.context.cookies()
        found: dict[str, list[str]] = {}
        for size, look in ((DESK, "light"), (DESK, "dark"), (PHONE, "light"), (PHONE, "dark")):
            context = await browser.open_context(
                size, color_scheme=look, reduced_motion="reduce", bypass_csp=True
            )
            outside = await open_tab(context, server.page.partition("#")[0])
            await outside.page.wait_for_selector("main.door h1")  # it is empty until the server has answered
            assert await outside.find_text("main.door h1") == "Sign in"
            found[f"door {look}"] = await list_violations(outside, axe)
            await context.add_cookies(cookies)  # type: ignore[arg-type]  # what it gives it takes
            tab = await open_tab(context, server.page.partition("#")[0])
            for fragment, there in list_screens(id).items():
                await show(tab, fragment, there)
                where = f"{fragment.replace(id, 'id')} {look} {size['width']}"
                found[where] = await list_violations(tab, axe)
                wide = await tab.page.evaluate("document.documentElement.scrollWidth")
                if wide > size["width"]:
                    found[where].append(f"{wide} px wide")
            await context.close()
        listed = [f"{where}: {one}" for where, violations in found.items() for one in violations]
        assert not listed, "\n".join(listed)


_REACHABLE = """() => [...document.querySelectorAll(
  'a[href], button, select, input, textarea, summary, [tabindex]')]
  .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({visibilityProperty: true})
    && !one.closest('[inert]') && !(one.type === 'radio' && !one.checked))"""


async def _go_round(tab: Tab, fragment: str) -> list[str]:
    """Presses the key as often as there are places to go; returns those that it has never led to."""
    count = int(await tab.page.evaluate(f"({_REACHABLE})().length"))
    assert count > 3, fragment
    for _ in range(count + 5):
        await tab.page.keyboard.press("Tab")
        ring = await tab.page.evaluate(
            "() => { const one = document.activeElement; window.reached.add(one); const look = "
            "getComputedStyle(one); return one === document.body || look.outlineStyle !== 'none' || "
            "look.boxShadow !== 'none' || one.outerHTML.slice(0, 120); }"
        )
        assert ring is True, (fragment, ring)
    missed: list[str] = await tab.page.evaluate(
        f"({_REACHABLE})().filter((one) => !window.reached.has(one))"
        ".map((one) => one.outerHTML.slice(0, 120))"
    )
    return missed


async def test_everything_is_reached_by_the_tab_key_and_shows_that_it_is(tmp_path: Path) -> None:
    async with worked(tmp_path) as (server, id), chromium() as browser:
        tab = await browser.open(server.page)
        await tab.page.wait_for_selector("nav")
        for fragment, there in list_screens(id).items():
            await show(tab, fragment, there)
            await tab.page.evaluate("() => { document.activeElement?.blur(); window.reached = new Set(); }")
            for _ in range(2):  # what came while this went round is reached the second time
                missed = await _go_round(tab, fragment)
                if not missed:
                    break
            assert missed == [], fragment
        assert await tab.list_problems() == []


async def test_keys_lead_from_screen_to_screen_and_esc_leads_back(tmp_path: Path) -> None:
    async with worked(tmp_path) as (server, id), chromium() as browser:
        tab = await browser.open(server.page)
        await show(tab, f"#/s/{id}/team", "main svg")
        for key, place in (("c", f"/s/{id}/conversation"), ("d", f"/s/{id}/changes"), ("t", f"/s/{id}/team")):
            await tab.page.keyboard.press(key)
            await tab.wait_for("location.hash.startsWith(given)", f"#{place}")
        await tab.page.keyboard.press("?")
        await tab.page.wait_for_selector("dialog[open], [role=dialog]")
        await tab.page.keyboard.press("Escape")
        await tab.page.wait_for_selector("dialog[open], [role=dialog]", state="detached")
        await tab.page.keyboard.press("i")
        await tab.page.wait_for_selector("article.question")
        assert await tab.list_problems() == []


@pytest.mark.parametrize("close", ["dialog.close()", "dialog.querySelector('button').click()"])
async def test_a_key_right_after_the_help_was_closed_is_not_lost(tmp_path: Path, close: str) -> None:
    async with worked(tmp_path) as (server, id), chromium() as browser:
        tab = await browser.open(server.page)
        await show(tab, f"#/s/{id}/team", "main svg")
        await tab.page.keyboard.press("?")
        await tab.page.wait_for_selector("dialog[open]")
        # In one task: the dialog is closed already, and its close event has not been sent yet.
        await tab.page.evaluate(
            f"() => {{ const dialog = document.querySelector('dialog'); {close}; "
            "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'i', bubbles: true})); }"
        )
        await tab.wait_for("location.hash === given", "#/inbox")
        await tab.page.wait_for_selector("dialog", state="detached")
        assert await tab.list_problems() == []


async def test_a_visitor_who_speaks_spanish_reads_spanish(tmp_path: Path) -> None:
    async with worked(tmp_path) as (server, id), chromium() as browser:
        tab = await browser.open(server.page, locale="es-ES")
        await show(tab, f"#/s/{id}/team", "main svg")
        assert await tab.page.evaluate("document.documentElement.lang") == "es"
        assert "Conversación" in await tab.find_text("header")
        assert "1 pregunta pendiente:" in await tab.find_text(".why")
        assert await tab.list_problems() == []


async def test_a_language_of_the_configuration_is_the_page_s_until_another_is_chosen_there(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, [], config={"locale": "es"}) as server, chromium() as browser:
        tab = await browser.open(server.page)
        await tab.page.wait_for_selector("html[lang=es] main")
        await tab.page.goto(f"{server.url}/#/settings")
        await tab.page.get_by_label("Idioma").select_option("en")
        await tab.page.wait_for_selector("html[lang=en] main")
        await tab.page.reload()
        await tab.page.wait_for_selector("html[lang=en] main")
