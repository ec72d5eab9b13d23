"""`planck submit`: hands a task to a pool of machines; it is kept once this returns."""

import argparse
import asyncio
import os
import re

from planck.cli.output import print_json
from planck.cli.pool.server import ask
from planck.headless import Client
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import SharedOptions

_FIELDS = ("repo", "ref", *SharedOptions.__struct_fields__, "on_loss")
_ADDRESS = re.compile(r"\w+://|[^/]*@[^/]*:")
_TRIES = 6
_BROKEN = (ErrorKind.NETWORK, ErrorKind.STREAM_CUT, ErrorKind.OVERLOADED, ErrorKind.TIMEOUT)


def run(options: argparse.Namespace) -> int:
    return asyncio.run(ask(options, _Submission(options)))


class _Submission:
    """Sent again when no answer came, under one key: it is one session however often that is."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._key = options.key or os.urandom(16).hex()

    async def __call__(self, client: Client) -> int:
        made = await self._send(client)
        if self._options.json:
            print_json({"id": made["id"], "name": made["name"]}, indent=None)
        else:
            print(f"{made['name']} ({made['id']})  planck watch {made['name']}")
        return 0

    async def _send(self, client: Client) -> dict[str, str]:
        given = vars(self._options)
        body = {field: given[field] for field in _FIELDS if given[field] not in ("", None)}
        if not _ADDRESS.match(given["repo"]) and os.path.isdir(given["repo"]):
            body["repo"] = os.path.abspath(given["repo"])  # a path of whoever types it
        body |= {"prompt": self._options.prompt, "need": self._options.need}
        for again in range(_TRIES):
            try:
                answer = await client.ask("POST", "/submissions", body, key=self._key)
                return dict(answer.data)
            except PlanckError as failure:
                if failure.err.kind not in _BROKEN or again == _TRIES - 1:
                    raise
            await asyncio.sleep(min(0.25 * 2**again, 4.0))
        raise AssertionError("the last try returns or raises")
