"""`planck interrupt`: ends the turns of a session, wherever it runs."""

import argparse
import asyncio

from planck.cli.output import print_json
from planck.cli.server import ask, find_session
from planck.headless import Client


def run(options: argparse.Namespace) -> int:
    return asyncio.run(ask(options, _Interrupt(options)))


class _Interrupt:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options

    async def __call__(self, client: Client) -> int:
        id = await find_session(client, self._options.id)
        await client.session(id).interrupt(self._options.agent)
        if self._options.json:
            print_json({"id": id}, indent=None)
        return 0
