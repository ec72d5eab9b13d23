"""`planck answer`: shows what a session asks, and settles it."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import Any

from planck.cli.errors import UsageError
from planck.cli.output import print_json
from planck.cli.parser import add_server, given
from planck.cli.screen.styled import wrap
from planck.cli.server import find_session, open_client
from planck.records.outcome import ErrorKind
from planck.records.visible import fit_line, make_plain

EXAMPLE = "planck answer calm-fox --question 3dcfe768a4494c18 --allow"
_SCOPE = "Allow once (default), for this session, or always (rule)"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=given, metavar="ID", help="Session id or name")
    parser.add_argument(
        "--question",
        default="",
        metavar="ID",
        help='Approval id, as listed by "planck answer ID"; required with --allow',
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--allow", action="store_true", help="Approve the call")
    how.add_argument("--deny", action="store_true", help="Deny the call")
    parser.add_argument("--scope", choices=("once", "session", "rule"), default="once", help=_SCOPE)
    parser.add_argument("--reason", default="", help="With --deny: reason to give to the agent")
    add_server(parser)


async def run(options: argparse.Namespace) -> int:
    async with open_client(options) as client:
        open_ones = await client.approvals(await find_session(client, options.id))
        if not (options.allow or options.deny):
            return _show(open_ones, options)
        one = _choose(open_ones, options)
        await client.answer(one, options.allow, scope=options.scope, reason=options.reason)
    if options.json:
        print_json({"id": one["id"], "allow": options.allow}, indent=None)
    return 0


def _choose(open_ones: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """A yes names its question: the one that waits now need not be the one that was shown."""
    question, id = options.question, options.id
    wanted = [one for one in open_ones if question in ("", one["id"])]
    if not wanted:
        what = f"Approval {question!r} is not pending" if question else "No approvals are pending"
        more = (
            f'"planck answer {id}" for the list' if question else f'"planck watch {id}" to follow the session'
        )
        raise UsageError(ErrorKind.NOT_FOUND, f"{what} in {id!r}. Run {more}.")
    if len(wanted) > 1 or (options.allow and not question):
        kind = ErrorKind.NOT_UNIQUE if len(wanted) > 1 else ErrorKind.INVALID_ARGS
        how = f'Run "planck answer {id}", then add --question with the id it shows.'
        raise UsageError(kind, f"Specify which approval to answer. {how}")
    return wanted[0]


def _show(open_ones: list[dict[str, Any]], options: argparse.Namespace) -> int:
    if options.json:
        print_json(open_ones)
        return 0
    if not open_ones:
        print("No pending approvals.")
        return 0
    for one in open_ones:
        _print_field(f"{one['id']}  ", f"{one['agent']} asks to use {one['tool']}")
        # First, and before anything that an agent wrote: a long call must not push it off the screen.
        _print_field("    effect: ", one["adds"])
        _print_field("    why: ", one["reason"])
        if one.get("rule"):
            _print_field("    rule: ", f"{one['rule']} (added by --scope session or --scope rule)")
        _print_text("    call:", one["text"])
        _print_text("    preview:", one.get("preview", ""))
        if hidden := one.get("hidden_lines", 0):
            lines = f"{hidden:,} line{'s' * (hidden != 1)}"
            _print_field("    hidden: ", f"{lines} of the preview; the call above is complete")
    id = open_ones[0]["id"] if len(open_ones) == 1 else "QUESTION"
    command = f"planck answer {fit_line(options.id)} --question {id}"
    print(f"Answer with: {command} --allow, or --deny --reason TEXT")
    return 0


def _print_field(name: str, text: str) -> None:
    first, *rest = _cut(fit_line(text), len(name))
    print(f"{name}{first}")
    for row in rest:
        print(f"{' ' * len(name)}{row}")


def _print_text(name: str, text: str) -> None:
    """Below its name and behind a bar, row by row: nothing in it can look like a line of ours."""
    if not text:
        return
    print(name)
    for line in make_plain(text).split("\n"):
        for row in _cut(line.expandtabs(4), len(_BAR)):
            print(f"{_BAR}{row}")


_BAR = "      | "


def _cut(line: str, indent: int) -> list[str]:
    """Wraps a line for the terminal with an indent; without a terminal, returns the whole line."""
    if not sys.stdout.isatty():
        return [line]
    return wrap(line, max(shutil.get_terminal_size().columns - indent - 1, 20))
