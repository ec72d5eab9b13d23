"""`planck doctor`: what works here, what does not, and what to do about it."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.output import print_json
from planck.cli.parser import AS_TRUSTED, JSON, add_shared
from planck.cli.place import open_project
from planck.cli.streams import fit_rows
from planck.cli.tell.settings import MARKS
from planck.records.visible import make_plain

EXAMPLE = "planck doctor --json"


def add_options(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, trust=AS_TRUSTED, json=JSON)


async def run(options: argparse.Namespace) -> int:
    checks = await headless.run_checks(open_project(options))
    failed = any(check.state == "error" for check in checks)
    if options.json:
        print_json({"ok": not failed, "checks": checks})
        return headless.Exit.FAILURE if failed else headless.Exit.DONE
    from planck.cli.tell.terminal import Terminal

    terminal = Terminal()
    for check in checks:
        mark, style = MARKS[check.state]
        row = fit_rows(f"{mark} {check.name}: {make_plain(check.detail)}")
        print(terminal.style_text(mark, style) + row.removeprefix(mark))
        if check.advice:
            print(fit_rows(f"    {make_plain(check.advice)}"))
    return headless.Exit.FAILURE if failed else headless.Exit.DONE
