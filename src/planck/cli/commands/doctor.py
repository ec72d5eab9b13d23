"""`planck doctor`: what works here, what does not, and what to do about it."""

import argparse
import asyncio

from planck.cli.output import print_json
from planck.cli.place import open_project
from planck.cli.tell.terminal import Terminal
from planck.headless import Exit, run_checks
from planck.records.visible import make_plain

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "error": ("✗", "red")}


def run(options: argparse.Namespace) -> int:
    checks = asyncio.run(run_checks(open_project(options)))
    failed = any(check.state == "error" for check in checks)
    if options.json:
        print_json({"ok": not failed, "checks": checks})
        return Exit.FAILURE if failed else Exit.DONE
    terminal = Terminal()
    for check in checks:
        mark, style = _MARKS[check.state]
        print(f"{terminal.style_text(mark, style)} {check.name}: {make_plain(check.detail)}")
        if check.advice:
            print(f"    {make_plain(check.advice)}")
    return Exit.FAILURE if failed else Exit.DONE
