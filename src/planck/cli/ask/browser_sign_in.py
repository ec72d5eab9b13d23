"""Signing in by a page: opened here where there is a browser, else by hand on another machine."""

import asyncio
import sys
import threading

from planck.headless import read_environment
from planck.own_code import open_path
from planck.records.visible import make_plain


class BrowserSignIn:
    def show(self, url: str) -> None:
        environ = read_environment()
        print("Open this page and sign in:\n", file=sys.stderr)
        print(f"  {make_plain(url)}\n", file=sys.stderr)
        print(
            "If your browser runs on another machine, it is redirected to a page that it cannot open "
            "(http://127.0.0.1:...). Paste the address of that page here.",
            file=sys.stderr,
            flush=True,
        )
        if (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")) and not environ.get("SSH_CONNECTION"):
            import webbrowser

            open_path()
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    async def wait_for_paste(self) -> str:
        """Reads in a thread of its own, which a browser that answers first leaves behind."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[str] = loop.create_future()

        def read() -> None:
            for line in sys.stdin:
                if line.strip():
                    loop.call_soon_threadsafe(_settle, found, line)
                    return

        threading.Thread(target=read, daemon=True, name="stdin").start()
        return await found


def _settle(found: "asyncio.Future[str]", line: str) -> None:
    if not found.done():
        found.set_result(line)
