"""Texts that want to act: in every place of every screen they are shown, and nothing else happens."""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from tests.api.bench import served
from tests.command import Bench
from tests.session.made_log import ID, make_log
from tests.web.chromium import Tab, chromium, needs_chromium
from tests.web.hostile import list_strings

pytestmark = [pytest.mark.heavy, needs_chromium]
STRINGS = list_strings()
_STRANGE = (
    "[...document.querySelectorAll('a[href]')].map((one) => one.href)"
    ".filter((href) => !/^(https?|mailto):/.test(href))"
)
USAGE = {"input_tokens": 1, "output_tokens": 1}


def test_the_corpus_has_300_different_strings() -> None:
    assert len({*STRINGS}) == 300


def tell(strings: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A log in which each string is an agent's name, its words, its call, the output, a file and a diff."""
    name = strings[0]
    yield "session_started", {"id": ID, "name": name, "workspace": name, "version": name, "team": name}
    for number, text in enumerate(strings):
        agent, call = f"a{number % 40}", f"c{number}"
        by: dict[str, Any] = {"agent_id": agent}
        if number < 40:
            model = {"provider": text, "model": text}
            who = {
                "id": agent,
                "type": text,
                "name": text,
                "role": "worker",
                "model": model,
                "description": text,
            }
            yield "agent_started", {"agent": who, **by}
        yield "message", {"id": f"m{number}", "kind": "task", "from": "a0", "to": agent, "text": text, **by}
        yield "turn_start", {"kind": "task", "message_id": f"m{number}", **by}
        parts = [{"type": "thinking", "text": text}, {"type": "text", "text": text}]
        said = {
            "type": "assistant",
            "parts": parts,
            "dialect": "d",
            "model": text,
            "stop": "end",
            "usage": USAGE,
        }
        yield "assistant_message", {"message": said, **by}
        tool = ("write", "bash", text)[number % 3]
        args = {"path": text, "content": text} if tool == "write" else {"command": text}
        yield "tool_start", {"id": call, "name": tool, "args": args, **by}
        if tool == "write":
            digest = hashlib.sha256(text.encode()).hexdigest()
            before = base64.b64encode(b"old\n").decode()
            change = {"call_id": call, "path": text, "before": before, "mode": 420, "after_sha256": digest}
            yield "file_changed", {**change, **by}
        ended = {"id": call, "name": tool, "ok": number % 2 == 0, "output": text, "duration_ms": 1}
        failure = (
            {} if number % 2 == 0 else {"error": {"kind": text, "message": text, "details": {text: text}}}
        )
        yield "tool_end", {**ended, **failure, **by}
        yield "error", {"kind": text, "message": text, "details": {}, **by}
        yield "turn_end", {"status": "completed", "text": text, "usage": USAGE, **by}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path, "http://127.0.0.1:9")
    make_log(made.home / "sessions", made.work, tell(STRINGS))
    return made


async def look_through(tab: Tab) -> None:
    """Opens all that can be opened, and scrolls through all that scrolls, to its top and back."""
    for _ in range(3):
        await tab.page.evaluate(
            "document.querySelectorAll('main details:not([open])').forEach((one) => { one.open = true; })"
        )
        await tab.page.evaluate(
            "[...document.querySelectorAll('main button[aria-expanded=false]')].slice(0, 50)"
            ".forEach((one) => one.click())"
        )
    for to in (0, 0, 0, 0.5, 1):
        await tab.page.evaluate(
            "(to) => [document.scrollingElement, ...document.querySelectorAll('main, main *')]"
            ".filter((one) => one.scrollHeight > one.clientHeight + 20)"
            ".forEach((one) => { one.scrollTop = to * one.scrollHeight; })",
            to,
        )
        await tab.page.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )


async def test_no_string_acts_on_any_screen(bench: Bench) -> None:
    async with served(bench) as (server, _), chromium() as browser:
        tab = await browser.open(server.page)
        await tab.page.wait_for_selector("main a[href^='#/s/']")
        await look_through(tab)
        for screen in ("conversation", "team", "changes"):
            await tab.go(f"#/s/{ID}/{screen}")
            await tab.wait_for(f"document.querySelector('main .{screen}')?.innerText.includes('alert(1)')")
            await look_through(tab)
        for seq in range(1, 2400, 60):  # every part of the conversation, by its number
            await tab.go(f"#/s/{ID}/conversation/{seq}")
            await tab.page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
            assert await tab.page.evaluate(_STRANGE) == []
        await tab.go("#/sessions")
        await tab.page.wait_for_selector("main a[href^='#/s/']")
        assert await tab.list_problems() == []
        assert await tab.page.evaluate("document.scripts.length") == 1
        assert await tab.page.evaluate("({}).html === undefined && ![].polluted")


async def test_no_string_acts_in_a_file(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(Planck(bench.home, bench.work, environ={}).export_page(ID))
    async with chromium() as browser:
        tab = await browser.open(file.as_uri(), offline=True)
        await tab.wait_for("document.querySelector('main').innerText.includes('alert(1)')")
        await look_through(tab)
        await tab.page.get_by_role("button", name="Conversation").click()
        await tab.wait_for("document.querySelector('main .conversation')?.innerText.includes('alert(1)')")
        await look_through(tab)
        assert await tab.list_problems() == []
