"""`planck store`: the database of a pool, asked directly: by whoever runs it, on a machine that may."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.errors import UsageError, refuse_words
from planck.cli.output import print_json
from planck.cli.parser import JSON, subcommand
from planck.records.outcome import ErrorKind
from planck.records.visible import make_plain

EXAMPLE = "planck store check"
_ROLES = ("view", "submit", "approve", "admin")


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="init|check|stop|token")
    init = subcommand(actions, "init", "Create or upgrade the database tables", "planck store init")
    check = subcommand(
        actions, "check", "Check that the database is reachable and set up", "planck store check --json"
    )
    stop = subcommand(actions, "stop", "Stop the development database (--store dev)", "planck store stop")
    token = subcommand(
        actions, "token", "Manage access tokens for a pool's servers", "planck store token add ci"
    )
    token.add_argument("what", choices=("add", "list", "revoke"), help="What to do")
    token.add_argument("who", nargs="?", default="", help="Owner of the token")
    token.add_argument("--role", choices=_ROLES, default="submit", help="add: Role (default: submit)")
    for action in (init, check, stop, token):
        action.add_argument(
            "--store", default="", metavar="URL|dev", help="Database (default: `store` in your configuration)"
        )
        action.add_argument("--json", action="store_true", help=JSON)


async def run(options: argparse.Namespace) -> int:
    planck = headless.Planck()
    desk = headless.StoreDesk(planck.project, options.store or planck.config.store)
    if options.action == "stop":
        return _say(
            options,
            {"stopped": desk.stop()},
            "Stopped the development database.",
            "The development database was not running.",
        )
    return await _ask(desk, options)


async def _ask(desk: headless.StoreDesk, options: argparse.Namespace) -> int:
    async with desk:
        if options.action == "init":
            version = await desk.init()
            return _say(options, {"version": version}, f"The tables are ready (schema version {version}).")
        if options.action == "check":
            found = await desk.check()
            server = f"PostgreSQL {found['postgresql']}, schema version {found['version']}"
            needed = f"This version of Planck needs schema version {found['known']}."
            newer = int(str(found["version"])) > int(str(found["known"]))
            step = "Upgrade Planck on this machine." if newer else 'Run "planck store init".'
            return _say(options, found, f"{server}: ready.", f"{server}: not ready. {needed} {step}")
        return await _tokens(desk, options)


async def _tokens(desk: headless.StoreDesk, options: argparse.Namespace) -> int:
    if options.what == "list":
        refuse_words(options.who, step="It lists all tokens.")
        rows = [{"who": row.who, "role": row.role, "digest": row.digest[:12]} for row in await desk.tokens()]
        if options.json:
            print_json(rows)
        for row in [] if options.json else rows:
            print(make_plain(f"{row['who']:<24} {row['role']:<8} {row['digest']}"))
        return 0
    if not options.who:
        raise UsageError(
            ErrorKind.INVALID_ARGS, f"Missing owner. Add its name after {options.what}, for example ci."
        )
    if options.what == "add":
        token = await desk.add_token(options.who, options.role)
        return _say(options, {"who": options.who, "role": options.role, "token": token}, token)
    count = await desk.revoke_tokens(options.who)
    if not count:
        raise UsageError(
            ErrorKind.NOT_FOUND, f'No token found for {options.who!r}. Run "planck store token list".'
        )
    return _say(
        options, {"who": options.who, "revoked": count}, f"Revoked {count} token{'s' * (count != 1)}."
    )


def _say(options: argparse.Namespace, found: dict[str, object], text: str, nothing: str = "") -> int:
    if options.json:
        print_json(found, indent=None)
    else:
        print(make_plain(text if all(value is not False for value in found.values()) else nothing))
    return 0
