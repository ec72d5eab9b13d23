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
    add_server(subcommand(actions, "list", "List the live nodes and their sessions", "planck nodes list"))
    drain = subcommand(
        actions,
        "drain",
        "Let a node finish its sessions, and give it no new work",
        "planck nodes drain north",
    )
    forget = subcommand(
        actions, "forget", "Release a lost node's sessions immediately", "planck nodes forget north"
    )
    for action in (drain, forget):
        action.add_argument("name", type=given, help="Node name")
        add_server(action)


async def run(options: argparse.Namespace) -> int:
    async with open_client(options) as client:
        if options.action == "list":
            return _show((await client.ask("GET", "/nodes")).data["items"], options.json)
        await client.ask("POST", f"/nodes/{quote(options.name, safe='')}/{options.action}", {})
    if options.json:
        print_json({"name": options.name, "action": options.action}, indent=None)
    elif options.action == "drain":
        print(f"Draining {make_plain(options.name)}: it finishes its sessions and takes no new work.")
    else:
        print(f"Forgot {make_plain(options.name)}. Other nodes can take its sessions now.")
    return 0


def _show(rows: list[dict[str, object]], as_json: bool) -> int:
    if as_json:
        print_json(rows)
        return 0
    if not rows:
        print("No nodes. Start one with: planck serve --store URL --work 4")
    for row in rows:
        sessions = row["sessions"] if isinstance(row["sessions"], list) else []
        labels = row["labels"] if isinstance(row["labels"], list) else []
        parts = [
            f"{row['name']:<20}",
            f"{len(sessions)} session{'s' * (len(sessions) != 1)} running",
            f"last seen {row['seen']}",
            *map(str, labels),
        ]
        parts += ["draining"] if row["draining"] else []
        print(make_plain("  ".join(parts)))
    return 0
