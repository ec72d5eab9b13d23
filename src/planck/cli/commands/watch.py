"""`planck watch`: follows a session that runs anywhere, to the end of its work."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from planck import headless
from planck.cli.parser import add_server, given
from planck.cli.server import find_session, open_client
from planck.records import codec
from planck.records.visible import fit_line, make_plain

if TYPE_CHECKING:
    import asyncio

EXAMPLE = "planck watch calm-fox"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=given, metavar="ID", help="Session id or name")
    parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="Show only events after this one")
    add_server(parser, json="Print one JSON event per line, then the result")


async def run(options: argparse.Namespace) -> int:
    async with open_client(options) as client:
        return await _Watch(options).run(client)


class _Watch:
    """Prints what is said and done; the answer alone goes to standard output."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._seen: int = options.after
        self._show: Callable[[dict[str, Any]], None] = _print_json

    async def run(self, client: headless.Client) -> int:
        import asyncio

        id = await find_session(client, self._options.id)
        session = client.session(id)
        if not self._options.json:
            # What is left out by --after has the names.
            known = (await session.board())["agents"] if self._options.after else ()
            self._show = _open_teller(self._options.id, known)
        following = asyncio.ensure_future(self._follow(client, id))
        try:
            result: dict[str, Any] | None = None
            while result is None:
                result = await session.ask("GET", "/result", after=self._options.after)
            await self._catch_up(session, following)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        if self._options.json:
            print(headless.encode_frame("result", result, id).decode(), flush=True)
        elif result["text"]:
            print(make_plain(result["text"]), flush=True)
        return int(result["exit_code"])

    async def _catch_up(self, session: Any, following: asyncio.Future[None]) -> None:
        """Lets what is recorded by now be shown before the answer."""
        import asyncio

        head = (await session.board())["seq"]
        while self._seen < head and not following.done():
            await asyncio.wait({following}, timeout=0.05)

    async def _follow(self, client: headless.Client, id: str) -> None:
        async with aclosing(client.session(id).events(self._options.after)) as events:
            async for event in events:
                self._show(event)
                self._seen = max(self._seen, event["seq"] or 0)


def _print_json(event: dict[str, Any]) -> None:
    print(codec.encode_str(event), flush=True)


def _open_teller(id: str, agents: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], None]:
    """Returns what tells an event on standard error, as a terminal is told of it."""
    from planck.cli.tell.teller import Teller
    from planck.cli.tell.terminal import Terminal
    from planck.records.events import Event

    teller, terminal = Teller((), streams=False, begins=True), Terminal(out=sys.stderr)
    for row in agents:
        teller.meet(row["id"], row["name"], row["role"])

    def tell(event: dict[str, Any]) -> None:
        fact = codec.decode_as(codec.encode(event), Event)
        for block in teller.tell(headless.SessionEvent(fact, event["session_id"])):
            terminal.show(block)
        if fact.type == "permission_request":
            terminal.line(f"  Answer with: planck answer {fit_line(id)}", "dim")

    return tell
