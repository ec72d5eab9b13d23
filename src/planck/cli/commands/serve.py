"""`planck serve`: starts the server, and says where it is and where its token lies."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from planck import headless
from planck.cli.parser import TRUST, add_folders, add_shared, given, port
from planck.cli.place import find_place
from planck.cli.streams import complain
from planck.own_code import open_path
from planck.records import codec
from planck.records.visible import make_plain

EXAMPLE = "planck serve --port 0 --json"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", type=given, default="127.0.0.1", help="Address to listen on (default: 127.0.0.1)"
    )
    parser.add_argument("--port", type=port, default=4040, help="Port (default: 4040; 0: any free port)")
    parser.add_argument("--open", action="store_true", help="Open the page in a browser")
    parser.add_argument(
        "--qr",
        action="store_true",
        help="Show a QR code that opens the page on a phone (needs --allow-host and --behind-proxy)",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="Also accept requests for this host name (repeatable)",
    )
    parser.add_argument(
        "--behind-proxy", action="store_true", help="Let a proxy in front of the server handle TLS"
    )
    parser.add_argument(
        "--store",
        default="",
        metavar="URL|dev",
        help="Store sessions in PostgreSQL, shared with other servers",
    )
    parser.add_argument(
        "--work",
        type=_count,
        default=None,
        metavar="N",
        help="Maximum number of sessions to run at a time (0: run no sessions)",
    )
    parser.add_argument("--name", default="", help="Name of this node (default: the host name)")
    parser.add_argument(
        "--label", action="append", default=[], metavar="L", help="Label for this node (repeatable)"
    )
    add_folders(parser)
    add_shared(parser, trust=TRUST, json="Print the address as JSON on the first line")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > 10_000:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid number of sessions. Use a number from 0 to 10000"
        )
    return int(text)


def run(options: argparse.Namespace) -> int:
    import asyncio

    frontend = load_server()
    settings = frontend.ServerConfig(
        host=options.host,
        port=options.port,
        names=tuple(options.allow_host),
        proxied=options.behind_proxy,
        joining=headless.Joining(name=options.name, labels=tuple(options.label), work=options.work),
    )
    inbox = headless.Inbox()
    planck = headless.Planck(
        workspace=find_place(options), approver=inbox, trust=options.trust, add_dirs=options.add_dir
    )
    settings = msgspec.structs.replace(settings, store=options.store or planck.config.store)
    if settings.store:
        _show_warnings()
    for notice in planck.notices:
        complain(make_plain(notice))
    title = f"Serving {make_plain(str(planck.workspace))}"
    announce = Announcement(title=title, as_json=options.json, in_browser=options.open, qr=options.qr)
    try:
        return int(asyncio.run(frontend.serve(planck, inbox, settings, announce)))
    finally:
        announce.clean_up()


def _show_warnings() -> None:
    """A node runs for months where nobody looks: what is wrong with it goes to the journal of its service."""
    logger = logging.getLogger("planck")
    if all(isinstance(handler, logging.NullHandler) for handler in logger.handlers):  # without --debug
        handler = logging.StreamHandler()
        handler.setLevel(logging.WARNING)
        handler.setFormatter(_PlainLines("planck: %(message)s"))
        logger.addHandler(handler)


class _PlainLines(logging.Formatter):
    """What others named (sessions, commands) must not act on whoever reads it."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(make_plain(line) for line in super().format(record).splitlines())


def load_server() -> Any:
    """By name, as the dispatcher does: a frontend of its own, of which this one knows nothing."""
    return import_module("planck.api.serve")


class Announcement:
    """Told once the server listens: says where, and opens the page or draws its code if it was asked to."""

    def __init__(
        self, *, title: str, as_json: bool = False, in_browser: bool = False, qr: bool = False
    ) -> None:
        self._title = title
        self._as_json = as_json
        self._in_browser = in_browser
        self._qr = qr
        self._page: Path | None = None

    def __call__(self, ready: Any) -> None:
        if self._as_json:
            print(codec.encode_str({name: getattr(ready, name) for name in _LINE}), flush=True)
        else:
            print(f"{self._title} at {ready.url}")
            print(f"token: {make_plain(ready.token_file)}")
            print(f"page:  {ready.page}  (single-use link, valid for 1 minute)", flush=True)
        if self._qr:
            print(_draw(ready.phone), file=sys.stderr, flush=True)
        if self._in_browser:
            self._open(ready)

    def _open(self, ready: Any) -> None:
        """By a file that only the user can read: a browser's command line is for everybody to see."""
        path = Path(ready.token_file).with_name("open.html")
        path.unlink(missing_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={ready.page}">')
        self._page = path
        import threading

        # Beside the loop: a browser in a terminal is waited for until its user leaves it.
        threading.Thread(target=_open_browser, args=(path.as_uri(), ready.page), daemon=True).start()

    def clean_up(self) -> None:
        if self._page:
            self._page.unlink(missing_ok=True)


_LINE = ("url", "token_file", "pid", "page", "store")


def _open_browser(address: str, page: str) -> None:
    import webbrowser

    opened = False
    open_path()
    with suppress(webbrowser.Error, OSError):
        opened = webbrowser.open(address)
    if not opened:
        print(f"planck: Could not start a browser. Open this link within 1 minute: {page}", file=sys.stderr)


def _draw(phone: str) -> str:
    if not phone:
        return (
            "planck: No QR code is shown, because a phone cannot reach this server. "
            "Use a host name that a TLS proxy serves: "
            "--qr --allow-host planck.example.org --behind-proxy"
        )
    from planck.cli.qr import draw

    return f"{draw(phone)}\nphone: {phone}  (single-use link, valid for 1 minute)"
