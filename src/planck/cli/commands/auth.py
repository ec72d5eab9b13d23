"""`planck auth`: signing in to a provider, out of it, and what is known of each."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from planck import headless
from planck.cli.errors import UsageError, refuse_words
from planck.cli.output import print_json
from planck.cli.parser import add_shared
from planck.cli.place import find_place
from planck.cli.tell.session_rows import make_table
from planck.cli.tell.settings import name_key_source, tell_variable
from planck.records.outcome import ErrorKind
from planck.records.visible import make_plain

EXAMPLE = "planck auth login anthropic"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("login", "logout", "status"), help="What to do")
    parser.add_argument(
        "provider",
        nargs="?",
        default="",
        help="Provider from your configuration, or a vendor such as anthropic",
    )
    parser.add_argument(
        "--device", action="store_true", help="login: Sign in with a browser and a device code"
    )
    add_shared(parser, json="status: Print JSON")


async def run(options: argparse.Namespace) -> int:
    async with headless.Planck(workspace=find_place(options)) as planck:
        if options.action == "status":
            refuse_words(options.provider, step="It shows all providers.")
            return _status(planck.auth.status(), options.json)
        if not options.provider:
            raise UsageError(
                ErrorKind.INVALID_ARGS,
                f'Missing provider. Example: "planck auth {options.action} anthropic".',
            )
        if options.action == "logout":
            known = planck.auth.forget(options.provider)
            what = "Removed the key for" if known else "No key is stored for"
            print(f"{what} {make_plain(options.provider)}.", file=sys.stderr)
            return 0
        return await _login(planck.auth, options.provider, options.device)


async def _login(auth: headless.Auth, provider: str, device: bool) -> int:
    if device or auth.uses_device_code(provider):
        await auth.sign_in(provider, _show)
    else:
        auth.check_takes_key(provider)  # before anybody is asked for one
        auth.store_key(provider, _read_key(provider))
    print(f"Signed in to {make_plain(provider)}.", file=sys.stderr)
    if told := tell_variable(auth.status(), provider):
        print(told, file=sys.stderr)
    return 0


def _show(address: str, code: str) -> None:
    print(f"Open {make_plain(address)}\nand enter the code {make_plain(code)}", file=sys.stderr)


def _read_key(provider: str) -> str:
    """Never an argument: those are seen by every process and kept by the shell."""
    if sys.stdin.isatty():
        from planck.cli.ask.typed_line import read_line

        return read_line(f"API key for {provider}: ", hidden=True)
    return sys.stdin.readline()


def _status(rows: list[dict[str, Any]], as_json: bool) -> int:
    if as_json:
        print_json({"providers": rows}, indent=None)
        return 0
    cells: list[tuple[str, str, str]] = []
    for row in rows:
        if not row["has_api_key"]:
            state = "needs no key"
        elif row["authenticated"]:
            state = f"key from {name_key_source(row['source'])}"
        else:
            state = (
                f"no key: set {' or '.join(row['variables'])}"
                if row["variables"]
                else f'no key: run "planck auth login {row["provider"]}"'
            )
        cells.append((make_plain(row["provider"]), row["type"], make_plain(state)))
    for line in make_table(("PROVIDER", "TYPE", "KEY"), cells):
        print(line)
    return 0
