"""`planck tools`: what there is, what it takes, and one call by hand."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import msgspec

from planck import headless
from planck.cli.parser import JSON, TRUST, add_shared, subcommand
from planck.cli.place import open_project, say_place
from planck.cli.streams import complain, fit_rows, format_sentence, report_error
from planck.cli.tell.session_rows import is_read
from planck.records import codec
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.visible import spell_out

EXAMPLE = """planck tools call read --args '{"path": "README.md"}'"""


def add_options(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", required=True, metavar="list|show|call")
    listing = subcommand(
        commands,
        "list",
        "List all tools (this starts sidecars and MCP servers)",
        "planck tools list",
    )
    showing = subcommand(
        commands, "show", "Show the description and parameters of a tool", "planck tools show bash"
    )
    calling = subcommand(commands, "call", "Run one tool here, without asking", EXAMPLE)
    for command in (showing, calling):
        command.add_argument("name", metavar="NAME", help="Tool name")
    calling.add_argument("--args", default="{}", metavar="JSON", help="Arguments (default: {})")
    calling.add_argument("--dry-run", action="store_true", help="Print the plan without running the tool")
    for command in (listing, showing, calling):
        command.add_argument("--json", action="store_true", help=JSON)
        add_shared(command, trust=TRUST)


def run(options: argparse.Namespace) -> int:
    import asyncio

    project = open_project(options)
    if options.action == "call":
        say_place(project)  # paths of its arguments are relative to it
    box = headless.ToolBox(project)
    match options.action:
        case "list":
            return _list(asyncio.run(box.list_all()), options.json)
        case "show":
            return asyncio.run(_show(box, options))
        case _:
            return _call(box, options)


def _list(inventory: headless.Inventory, as_json: bool) -> int:
    if as_json:
        problems = [
            {"path": problem.path, **problem.error.envelope()["error"]} for problem in inventory.problems
        ]
        tools = [entry.as_dict() for entry in inventory.entries]
        _print_json({"tools": tools, "problems": problems, "notices": inventory.notices})
        return 0
    width = max((len(entry.tool.name) for entry in inventory.entries), default=0)
    if is_read() and inventory.entries:
        print(f"{'TOOL':<{width}}  DESCRIPTION  [SOURCE]")
    for entry in inventory.entries:
        note = "" if entry.trusted else "  (not trusted: pass --trust to use it)"
        row = f"{entry.tool.name:<{width}}  {_summary(entry.tool.description)}  [{entry.source}]{note}"
        print(fit_rows(row, " " * (width + 2)))
    for problem in inventory.problems:
        complain(f"{format_sentence(f'Not loaded: {problem.error.full_message}')} [{problem.error.kind}]")
    for notice in inventory.notices:
        complain(spell_out(notice))
    return 0


def _summary(description: str) -> str:
    text = " ".join(spell_out(description).split())
    sentence = text.split(". ")[0].rstrip(".")
    return sentence if len(sentence) <= 80 else sentence[:79] + "…"


async def _show(box: headless.ToolBox, options: argparse.Namespace) -> int:
    async with box.find(options.name) as entry:
        if isinstance(entry, Err):
            report_error(entry.kind, entry.full_message)
            return 1
        shown = entry.as_dict()
    if options.json:
        _print_json(shown)
        return 0
    print(f"{shown['name']}  [{entry.source}]\n\n{spell_out(shown['description'])}\n")
    if "command" in shown:
        print(f"command: {spell_out(shown['command'])}\n")
    print("parameters:")
    print(spell_out(msgspec.json.format(codec.encode_str(shown["parameters"]), indent=2)))
    return 0


def _call(box: headless.ToolBox, options: argparse.Namespace) -> int:
    import asyncio

    finished = asyncio.run(box.call(options.name, options.args, dry_run=options.dry_run))
    outcome = finished if isinstance(finished, Err) else finished.outcome
    if options.json:
        _print_json(outcome.value if isinstance(outcome, Ok) else outcome.envelope())
    elif isinstance(outcome, Ok):
        _write(outcome.value["output"])
    else:
        more = f' Run "planck tools show {options.name}" for its parameters.'
        text = format_sentence(outcome.full_message)
        report_error(outcome.kind, text + more * (outcome.kind is ErrorKind.INVALID_ARGS))
    return 0 if isinstance(outcome, Ok) else 1


def _print_json(value: Any) -> None:
    _write(codec.encode_str(value))


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + (b"" if text.endswith("\n") else b"\n"))
    sys.stdout.buffer.flush()
