"""`planck nodes`: the machines of a pool."""

import argparse
import asyncio
from urllib.parse import quote

from planck.cli.output import print_json
from planck.cli.server import ask
from planck.headless import Client
from planck.records.visible import make_plain


def run(options: argparse.Namespace) -> int:
    return asyncio.run(ask(options, _Nodes(options)))


class _Nodes:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options

    async def __call__(self, client: Client) -> int:
        options = self._options
        if options.action == "list":
            return self._show((await client.ask("GET", "/nodes")).data["items"])
        await client.ask("POST", f"/nodes/{quote(options.name, safe='')}/{options.action}", {})
        if options.json:
            print_json({"name": options.name, "action": options.action}, indent=None)
        elif options.action == "drain":
            print(f"{make_plain(options.name)} takes nothing new, and finishes what it has")
        else:
            print(f"{make_plain(options.name)} is forgotten; what it had can be taken at once")
        return 0

    def _show(self, rows: list[dict[str, object]]) -> int:
        if self._options.json:
            print_json(rows)
            return 0
        if not rows:
            print("no nodes; start one with: planck serve --store URL --work 4")
        for row in rows:
            sessions = row["sessions"] if isinstance(row["sessions"], list) else []
            labels = row["labels"] if isinstance(row["labels"], list) else []
            parts = [
                f"{row['name']:<20}",
                f"{len(sessions)} at work",
                f"seen {row['seen']}",
                *map(str, labels),
            ]
            parts += ["draining"] if row["draining"] else []
            print(make_plain("  ".join(parts)))
        return 0
