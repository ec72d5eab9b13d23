"""A session as one file, in a browser that has no network: it shows what the page shows."""

import json
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.headless import open_demo
from tests.web.chromium import PHONE, chromium, list_violations, load_axe, needs_chromium

pytestmark = [pytest.mark.heavy, needs_chromium]


@pytest.fixture
async def demo(tmp_path: Path) -> Planck:
    planck, task = open_demo(tmp_path / "demo")
    async with planck:
        session = await planck.start(name="demo")
        await session.run(task)
    return Planck(tmp_path / "demo/home", tmp_path / "demo/project", environ={})


@pytest.mark.parametrize("options", [{}, {"with_log": True}, {"hide": ["outputs", "args", "diffs", "paths"]}])
async def test_it_opens_from_disk_without_the_network(demo: Planck, tmp_path: Path, options: Any) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(demo.export_page("demo", **options))
    async with chromium() as browser:
        tab = await browser.open(file.as_uri(), offline=True)
        for name in ("orchestrator", "builder", "tester"):
            await tab.wait_for("document.querySelector('main').innerText.includes(given)", name)
        assert await tab.page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        proof = json.loads(await tab.find_json("planck-session"))
        assert proof["hash"] in await tab.find_text(".planck-file")
        await tab.page.get_by_role("button", name="Conversation").click()
        await tab.wait_for("document.querySelector('.conversation')?.innerText.includes('Fixed.')")
        assert ("prices.py" in await tab.find_text()) == ("hide" not in options)
        assert await tab.list_problems() == []


async def test_it_can_be_used_by_everybody(demo: Planck, tmp_path: Path) -> None:
    axe, file = load_axe(tmp_path), tmp_path / "page.html"
    file.write_bytes(demo.export_page("demo"))
    async with chromium() as browser:
        for look in ("light", "dark"):
            tab = await browser.open(file.as_uri(), PHONE, color_scheme=look, bypass_csp=True)
            assert await list_violations(tab, axe) == [], look
            assert await tab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
