"""`planck nodes`: the machines of a pool."""

from __future__ import annotations

import argparse
from urllib.parse import quote

from planck.cli.output import print_json
from planck.cli.parser import add_server, given, subcommand
from planck.cli.server import open_client
from planck.records.visible import make_plain

EXAMPLE = "planck nodes list"


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|drain|forget")
    add_server(subcommand(actions, "list", "the nodes that live, and what they work on", "planck nodes list"))
    drain = subcommand(
        actions, "drain", "let a node finish, and give it nothing new", "planck nodes drain north"
    )
    forget = subcommand(
        actions, "forget", "what a lost node had can be taken at once", "planck nodes forget north"
    )
    for action in (drain, forget):
        action.add_argument("name", type=given, help="the node")
        add_server(action)


async def run(options: argparse.Namespace) -> int:
    async with open_client(options) as client:
        if options.action == "list":
            return _show((await client.ask("GET", "/nodes")).data["items"], options.json)
        await client.ask("POST", f"/nodes/{quote(options.name, safe='')}/{options.action}", {})
    if options.json:
        print_json({"name": options.name, "action": options.action}, indent=None)
    elif options.action == "drain":
        print(f"{make_plain(options.name)} takes nothing new, and finishes what it has")
    else:
        print(f"{make_plain(options.name)} is forgotten; what it had can be taken at once")
    return 0


def _show(rows: list[dict[str, object]], as_json: bool) -> int:
    if as_json:
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
