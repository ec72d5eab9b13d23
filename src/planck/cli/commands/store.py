"""`planck store`: the database of a pool, asked directly: by whoever runs it, on a machine that may."""

import argparse
import asyncio

from planck.cli.errors import UsageError
from planck.cli.output import print_json
from planck.headless import Planck, StoreDesk
from planck.records.outcome import ErrorKind
from planck.records.visible import make_plain


def run(options: argparse.Namespace) -> int:
    planck = Planck()
    desk = StoreDesk(planck.project, options.store or planck.config.store)
    if options.action == "stop":
        return _say(options, {"stopped": desk.stop()}, "stopped", "it did not run")
    return asyncio.run(_ask(desk, options))


async def _ask(desk: StoreDesk, options: argparse.Namespace) -> int:
    async with desk:
        if options.action == "init":
            version = await desk.init()
            return _say(options, {"version": version}, f"its tables are of version {version}")
        if options.action == "check":
            found = await desk.check()
            return _say(options, found, ", ".join(f"{name} {value}" for name, value in found.items()))
        return await _tokens(desk, options)


async def _tokens(desk: StoreDesk, options: argparse.Namespace) -> int:
    if options.what == "list":
        rows = [{"who": row.who, "role": row.role, "digest": row.digest[:12]} for row in await desk.tokens()]
        if options.json:
            print_json(rows)
        for row in [] if options.json else rows:
            print(make_plain(f"{row['who']:<24} {row['role']:<8} {row['digest']}"))
        return 0
    if not options.who:
        raise UsageError(ErrorKind.INVALID_ARGS, "whom is it for? planck store token add NAME --role submit")
    if options.what == "add":
        token = await desk.add_token(options.who, options.role)
        return _say(options, {"who": options.who, "role": options.role, "token": token}, token)
    count = await desk.revoke_tokens(options.who)
    if not count:
        raise UsageError(ErrorKind.NOT_FOUND, f"nobody named {options.who!r} has a token")
    return _say(options, {"who": options.who, "revoked": count}, f"{count} revoked")


def _say(options: argparse.Namespace, found: dict[str, object], text: str, nothing: str = "") -> int:
    if options.json:
        print_json(found, indent=None)
    else:
        print(make_plain(text if all(value is not False for value in found.values()) else nothing))
    return 0
