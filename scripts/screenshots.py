"""Makes docs/images from the demo: `python scripts/screenshots.py [FOLDER]`, with Chromium and playwright."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

_LARGEST = 200 << 10
_SHOTS = (
    ("page-team-light", {"width": 1200, "height": 660}, "light", "team"),
    ("page-conversation-dark", {"width": 1200, "height": 820}, "dark", "conversation"),
    ("page-phone", {"width": 390, "height": 780}, "light", "conversation"),
)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "planck", "demo", "--web", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        try:
            assert demo.stdout
            ready = json.loads(demo.stdout.readline())
            with sync_playwright() as tools:
                root = ["--no-sandbox"] if os.geteuid() == 0 else []
                browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=root)
                take(browser, ready["page"], folder)
                browser.close()
        finally:
            demo.send_signal(signal.SIGINT)


def take(browser: Any, address: str, folder: Path) -> None:
    """Waits until the team is done, then takes each picture in a context of its own."""
    first = browser.new_context()
    page = first.new_page()
    page.goto(address)
    page.wait_for_url("**/#/s/*/team")
    place = page.url.rpartition("/")[0]
    page.goto(f"{place}/conversation")
    page.locator(".app:has(.turn-end) .s-done").wait_for(timeout=180_000)
    cookies = first.cookies()
    for name, size, look, tab in _SHOTS:
        context = browser.new_context(
            viewport=size, color_scheme=look, locale="en-GB", reduced_motion="reduce", device_scale_factor=1
        )
        context.add_cookies(cookies)
        page = context.new_page()
        page.goto(f"{place}/{tab}")
        page.get_by_text("orchestrator").first.wait_for()
        page.wait_for_timeout(1500)  # what appears moves for a moment
        path = folder / f"{name}.png"
        page.screenshot(path=path)
        assert path.stat().st_size < _LARGEST, path
        print(path, path.stat().st_size)
        context.close()


if __name__ == "__main__":
    main()
