"""A real Chromium on the page, which notes all that should not happen there."""

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, ConsoleMessage, Page, async_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
PATIENCE = 90_000
"""Milliseconds for anything to appear, on a busy machine."""
AXE = "axe-core@4.14.0"
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

_WATCH = """
window.planckSeen = {violations: [], ran: []};
addEventListener('securitypolicyviolation', (event) => {
  const {effectiveDirective, blockedURI, sourceFile, lineNumber, sample} = event;
  const told = [effectiveDirective, blockedURI, sourceFile, lineNumber, sample];
  planckSeen.violations.push(`csp ${told.join(' ')}`);
});
window.alert = (what) => { planckSeen.ran.push(String(what)); };
"""


@dataclass
class Tab:
    """A page, and what went wrong in it."""

    page: Page
    origin: str
    problems: list[str] = field(default_factory=list)

    def listen(self) -> None:
        page = self.page
        page.set_default_timeout(PATIENCE)
        page.on("console", self._note_console)
        page.on("pageerror", lambda failure: self.problems.append(f"error: {failure}"))
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        page.on("request", lambda asked: self._note_request(asked.url))

    def _note_console(self, said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            self.problems.append(said.text)

    def _note_request(self, url: str) -> None:
        if not url.startswith((self.origin, "data:", "blob:null")):
            self.problems.append(f"request: {url}")

    async def list_problems(self) -> list[str]:
        """Everything that a page of ours never does: errors, foreign requests, violations, texts that ran."""
        seen: dict[str, list[str]] = await self.page.evaluate("window.planckSeen")
        return [*self.problems, *seen["violations"], *(f"ran: {one}" for one in seen["ran"])]

    async def go(self, fragment: str) -> None:
        await self.page.evaluate("(to) => { location.hash = to; }", fragment)

    async def find_text(self, selector: str = "main") -> str:
        return str(
            await self.page.evaluate("(one) => document.querySelector(one)?.innerText || ''", selector)
        )

    async def find_json(self, id: str) -> str:
        return str(await self.page.evaluate("(id) => document.getElementById(id).textContent", id))

    async def wait_for(self, condition: str, given: Any = None) -> None:
        """Until an expression, of `given`, is true in the page."""
        await self.page.wait_for_function(f"(given) => {condition}", arg=given)


@asynccontextmanager
async def chromium() -> AsyncGenerator["Chromium", None]:
    assert CHROMIUM
    async with async_playwright() as tools:
        # As root it has no sandbox of its own; what it opens here is ours.
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = await tools.chromium.launch(executable_path=CHROMIUM, args=[*root, "--disable-gpu"])
        try:
            yield Chromium(browser)
        finally:
            await browser.close()


class Chromium:
    def __init__(self, browser: Any) -> None:
        self._browser = browser

    async def open_context(self, size: dict[str, int] = DESK, **options: Any) -> BrowserContext:
        more = {"has_touch": True, "is_mobile": True} if size is PHONE else {}
        context: BrowserContext = await self._browser.new_context(
            viewport=size, **{"locale": "en-GB", **more, **options}
        )
        await context.add_init_script(_WATCH)
        return context

    async def open(self, address: str, size: dict[str, int] = DESK, **options: Any) -> Tab:
        return await open_tab(await self.open_context(size, **options), address)


async def open_tab(context: BrowserContext, address: str) -> Tab:
    """Another tab of the same visitor; the page has drawn something when this returns."""
    origin = address.partition("#")[0]
    tab = Tab(await context.new_page(), origin)
    tab.listen()
    await tab.page.goto(address)
    await tab.page.wait_for_selector("main")
    return tab


def load_axe(folder: Path) -> str:
    """The checker of accessibility, from npm; a registry that is not there is a skip."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    command = [npm, "pack", AXE, "--silent", "--pack-destination", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    if done.returncode:
        pytest.skip(f"the package registry can't be reached: {done.stderr[-200:]}")
    (packed,) = folder.glob("axe-core-*.tgz")
    with tarfile.open(packed) as archive:
        file = archive.extractfile("package/axe.min.js")
        assert file
        return file.read().decode()


async def list_violations(tab: Tab, axe: str) -> list[str]:
    """What keeps somebody from using this screen, by rule and element."""
    await tab.page.evaluate(axe)
    found = await tab.page.evaluate(_CHECK, _RULES)
    return [f"{id}: {json.dumps(nodes[:3])}" for id, nodes in found]


_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_CHECK = """async (rules) => (await axe.run(document, {runOnly: rules})).violations.map(({id, nodes}) => [
  id, nodes.map((one) => [one.html.slice(0, 160), [...one.any, ...one.all].map((check) => check.message)])])
"""
