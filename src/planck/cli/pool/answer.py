"""`planck answer`: shows what a session asks, and settles it."""

import argparse
import asyncio
from typing import Any

from planck.cli.errors import UsageError
from planck.cli.output import print_json
from planck.cli.pool.server import ask, find_session
from planck.headless import Client
from planck.records.outcome import ErrorKind
from planck.records.visible import make_plain


def run(options: argparse.Namespace) -> int:
    return asyncio.run(ask(options, _Answer(options)))


class _Answer:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options

    async def __call__(self, client: Client) -> int:
        options = self._options
        open_ones = await client.approvals(await find_session(client, options.id))
        if not (options.allow or options.deny):
            return self._show(open_ones)
        one = self._choose(open_ones)
        await client.answer(one, options.allow, scope=options.scope, reason=options.reason)
        if options.json:
            print_json({"id": one["id"], "allow": options.allow}, indent=None)
        return 0

    def _choose(self, open_ones: list[dict[str, Any]]) -> dict[str, Any]:
        wanted = [one for one in open_ones if self._options.question in ("", one["id"])]
        if not wanted:
            raise UsageError(ErrorKind.NOT_FOUND, f"nothing waits for an answer in {self._options.id!r}")
        if len(wanted) > 1:
            names = ", ".join(one["id"] for one in wanted)
            raise UsageError(ErrorKind.NOT_UNIQUE, f"several questions wait; say which: --question {names}")
        return wanted[0]

    def _show(self, open_ones: list[dict[str, Any]]) -> int:
        if self._options.json:
            print_json(open_ones)
            return 0
        if not open_ones:
            print("nothing waits for an answer")
        for one in open_ones:
            print(make_plain(f"{one['id']}  {one['agent']} asks: {one['text']}"))
            print(make_plain(f"    adds: {one['adds']}   why: {one['reason']}"))
        if open_ones:
            print(
                f"answer with: planck answer {make_plain(self._options.id)} --allow, or --deny --reason TEXT"
            )
        return 0
