"""The server that a command speaks to: named, configured, or the one of this home that runs."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.errors import UsageError
from planck.records.outcome import ErrorKind


def open_client(options: argparse.Namespace) -> headless.Client:
    found = headless.find_server(options.server, options.token_file)
    return headless.Client(found.url, found.token)


async def find_session(client: headless.Client, id_or_name: str) -> str:
    """Returns the id; a name is looked for among the sessions of the server, those of its folder first."""
    try:
        return str((await client.session(id_or_name).ask("GET"))["id"])
    except headless.ClientError as refusal:
        if refusal.err.kind is not ErrorKind.NOT_FOUND:
            raise
        ids: list[str] = []
        for everywhere in ("false", "true"):
            rows = client.sessions(all=everywhere)
            try:
                ids = ids or [str(row["id"]) async for row in rows if row["name"] == id_or_name]
            except (
                headless.ClientError
            ) as denied:  # other workspaces take `admin`: to this token it is not there
                if denied.err.kind is not ErrorKind.PERMISSION_DENIED:
                    raise
        if not ids:
            raise
    if len(ids) > 1:
        raise UsageError(
            ErrorKind.NOT_UNIQUE,
            f"Several sessions are named {id_or_name!r}. Use one of these ids: {', '.join(ids)}.",
            {"candidates": ids},
        )
    return ids[0]
