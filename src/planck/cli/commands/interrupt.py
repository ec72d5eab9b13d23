"""`planck interrupt`: ends the turns of a session, wherever it runs."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.output import print_json
from planck.cli.parser import add_server, given
from planck.cli.server import ask, find_session

EXAMPLE = "planck interrupt calm-fox"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=given, metavar="ID", help="a session's id or name")
    parser.add_argument("--agent", default="", help="only this one")
    add_server(parser)


async def run(options: argparse.Namespace) -> int:
    return await ask(options, _Interrupt(options))


class _Interrupt:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options

    async def __call__(self, client: headless.Client) -> int:
        id = await find_session(client, self._options.id)
        await client.session(id).interrupt(self._options.agent)
        if self._options.json:
            print_json({"id": id}, indent=None)
        return 0
