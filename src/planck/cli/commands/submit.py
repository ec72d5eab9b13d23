"""`planck submit`: hands a task to a pool of machines; it is kept once this returns."""

from __future__ import annotations

import argparse
import os
import re

from planck import headless
from planck.cli.output import print_json
from planck.cli.parser import MODES, add_server, add_shared_options, amount, given, positive
from planck.cli.server import open_client
from planck.records.outcome import ErrorKind, PlanckError

_ADDRESS = re.compile(r"\w+://|[^/]*@[^/]*:")
_TRIES = 6
_BROKEN = (ErrorKind.NETWORK, ErrorKind.STREAM_CUT, ErrorKind.OVERLOADED, ErrorKind.TIMEOUT)


EXAMPLE = 'planck submit "fix the failing test" --repo https://git.example/shop.git --json'


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", type=given, help="the task")
    parser.add_argument(
        "--repo",
        type=given,
        required=True,
        metavar="URL",
        help="what is worked on; a path that every node sees",
    )
    parser.add_argument("--ref", default="", help="a branch, tag or commit; default: the repository's own")
    parser.add_argument(
        "--need", action="append", default=[], metavar="LABEL", help="only on a node with it; can be repeated"
    )
    parser.add_argument(
        "--team", default="", metavar="ALIAS", help="a team of the node, or of the repository"
    )
    parser.add_argument("-m", "--model", default="", help="an alias of the node's config, or PROVIDER/MODEL")
    parser.add_argument("--name", default="", help="a name for the session")
    parser.add_argument("--permission-mode", "--mode", dest="mode", choices=MODES, default=None)
    parser.add_argument("--max-budget-usd", type=amount, default=None, metavar="X")
    parser.add_argument("--max-steps", type=positive, default=None, metavar="N")
    add_shared_options(parser)
    parser.add_argument(
        "--on-loss",
        choices=("continue", "stop"),
        default="continue",
        help="when its node is lost: go on elsewhere, or leave it interrupted",
    )
    parser.add_argument(
        "--key", default="", help="send it again with the same key, and it is still one session"
    )
    add_server(parser, json="print the id and the name as JSON")


async def run(options: argparse.Namespace) -> int:
    async with open_client(options) as client:
        made = await _send(client, options)
    if options.json:
        print_json({"id": made["id"], "name": made["name"]}, indent=None)
    else:
        print(f"{made['name']} ({made['id']})  planck watch {made['name']}")
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
    raise AssertionError("the last try returns or raises")
