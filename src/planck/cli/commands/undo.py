"""`planck undo`: show what would be taken back, then take it back."""

from __future__ import annotations

import argparse
import sys

from planck import headless
from planck.cli.parser import add_folders, add_place
from planck.cli.place import find_place, say_place
from planck.cli.tell.undo import preview, report

EXAMPLE = "planck undo --agent builder"


def add_options(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--agent", default="", metavar="NAME", help="all that this agent wrote")
    which.add_argument("--turn", type=int, default=0, metavar="N", help="all that was written in turn N")
    which.add_argument("--call", default="", metavar="ID", help="one tool call, or an undo")
    parser.add_argument(
        "-r", "--resume", default="", metavar="ID|NAME", help="of this session, not the one used last"
    )
    add_place(parser)
    add_folders(parser)
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


async def run(options: argparse.Namespace) -> int:
    from planck.cli.ask.typed_line import ask

    async with headless.Planck(workspace=find_place(options), add_dirs=options.add_dir) as planck:
        say_place(planck.project)
        id = options.resume or planck.archive.newest_id()
        async with planck.hold(id) as session:
            plan = session.undo_plan(headless.Selection(options.agent, options.turn, options.call))
            print(preview(plan))
            if options.dry_run:
                return headless.Exit.DONE
            if not any(not step.conflict for step in plan.steps):
                print("planck: edit_conflict: nothing could be taken back; see above", file=sys.stderr)
                return headless.Exit.FAILURE
            if (
                not options.yes
                and sys.stdin.isatty()
                and ask("Take that back? [y/N] ").lower() not in ("y", "yes")
            ):
                print("Nothing was changed.")
                return headless.Exit.DONE
            print(report(plan, f"planck undo --call {await session.undo(plan)}"))
    return headless.Exit.FAILURE if any(step.conflict for step in plan.steps) else headless.Exit.DONE
