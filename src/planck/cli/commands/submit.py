"""`planck submit`: hands a task to a pool of machines; it is kept once this returns."""

from __future__ import annotations

import argparse
import os
import re

from planck import headless
from planck.cli.output import print_json
from planck.cli.parser import (
    MAX_BUDGET,
    MAX_STEPS,
    MODE,
    MODES,
    add_checks,
    add_server,
    add_shared_options,
    amount,
    given,
    positive,
)
from planck.cli.server import open_client
from planck.records.outcome import ErrorKind, PlanckError

_ADDRESS = re.compile(r"\w+://|[^/]*@[^/]*:")
_TRIES = 6
_BROKEN = (ErrorKind.NETWORK, ErrorKind.STREAM_CUT, ErrorKind.OVERLOADED, ErrorKind.TIMEOUT)


EXAMPLE = 'planck submit "fix the failing test" --repo https://git.example/shop.git --json'


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", type=given, help="Task")
    parser.add_argument(
        "--repo",
        type=given,
        required=True,
        metavar="URL",
        help="Repository to work on: a URL, or a path that every node can read",
    )
    parser.add_argument("--ref", default="", help="Branch, tag or commit (default: the default branch)")
    parser.add_argument(
        "--need",
        action="append",
        default=[],
        metavar="LABEL",
        help="Run only on a node with this label (repeatable)",
    )
    parser.add_argument(
        "--team", default="", metavar="ALIAS", help="Team defined on the node or in the repository"
    )
    parser.add_argument(
        "-m", "--model", default="", help="Model alias defined on the node, or PROVIDER/MODEL"
    )
    parser.add_argument("--name", default="", help="Name of the session")
    parser.add_argument("--permission-mode", "--mode", dest="mode", choices=MODES, default=None, help=MODE)
    parser.add_argument("--max-budget-usd", type=amount, default=None, metavar="X", help=MAX_BUDGET)
    parser.add_argument("--max-steps", type=positive, default=None, metavar="N", help=MAX_STEPS)
    add_shared_options(parser)
    add_checks(parser)
    parser.add_argument(
        "--on-loss",
        choices=("continue", "stop"),
        default="continue",
        help="If the node is lost: continue the session on another node, or leave the session interrupted",
    )
    parser.add_argument(
        "--key",
        default="",
        help="Idempotency key: submitting again with the same key does not create a new session",
    )
    add_server(parser, json="Print the session's id and name as JSON")


async def run(options: argparse.Namespace) -> int:
    async with open_client(options) as client:
        made = await _send(client, options)
    if options.json:
        print_json({"id": made["id"], "name": made["name"]}, indent=None)
    else:
        print(f"Submitted {made['name']} ({made['id']}). Follow it with: planck watch {made['name']}")
    return 0


async def _send(client: headless.Client, options: argparse.Namespace) -> dict[str, str]:
    """Sends it again when no answer came, under one key: it is one session however often that is."""
    import asyncio

    from planck.records.specs import SharedOptions

    key = options.key or os.urandom(16).hex()
    given = vars(options)
    fields = ("repo", "ref", *SharedOptions.__struct_fields__, "on_loss")
    body = {field: given[field] for field in fields if given[field] not in ("", None)}
    if not _ADDRESS.match(given["repo"]) and os.path.isdir(given["repo"]):
        body["repo"] = os.path.abspath(given["repo"])  # a path of the person who types it
    body |= {"prompt": options.prompt, "need": options.need}
    for again in range(_TRIES):
        try:
            return dict((await client.ask("POST", "/submissions", body, key=key)).data)
        except PlanckError as failure:
            if failure.err.kind not in _BROKEN or again == _TRIES - 1:
                raise
        await asyncio.sleep(min(0.25 * 2**again, 4.0))
    raise AssertionError("the last attempt returns or raises")
