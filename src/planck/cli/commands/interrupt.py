"""`planck interrupt`: ends the turns of a session, wherever it runs."""

from __future__ import annotations

import argparse

from planck.cli.output import print_json
from planck.cli.parser import add_server, given
from planck.cli.server import find_session, open_client

EXAMPLE = "planck interrupt calm-fox"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=given, metavar="ID", help="Session id or name")
    parser.add_argument("--agent", default="", help="Interrupt only this agent")
    add_server(parser)


async def run(options: argparse.Namespace) -> int:
    async with open_client(options) as client:
        id = await find_session(client, options.id)
        await client.session(id).interrupt(options.agent)
    if options.json:
        print_json({"id": id}, indent=None)
    return 0
