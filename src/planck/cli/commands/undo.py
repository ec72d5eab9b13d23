"""`planck undo`: show what an undo would change, then do it."""

from __future__ import annotations

import argparse

from planck import headless
from planck.cli.parser import add_folders, add_place
from planck.cli.place import find_place, say_place
from planck.cli.streams import report_error
from planck.cli.tell.undo import list_turns, preview, report
from planck.records.outcome import ErrorKind

EXAMPLE = "planck undo --agent builder"


def add_options(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--agent", default="", metavar="NAME", help="Undo everything this agent changed")
    which.add_argument("--turn", type=int, default=0, metavar="N", help="Undo everything changed in turn N")
    which.add_argument("--all", action="store_true", help="Undo everything agents changed in the session")
    which.add_argument("--list", action="store_true", help="List the turns that can be undone")
    which.add_argument(
        "--call",
        default="",
        metavar="ID",
        help="Undo one tool call; for the id of an undo, reapply what it undid",
    )
    parser.add_argument(
        "-r",
        "--resume",
        default="",
        metavar="ID|NAME",
        help="Session whose changes to undo (default: the last one)",
    )
    add_place(parser)
    add_folders(parser)
    parser.add_argument("--dry-run", action="store_true", help="Show what would change, and change nothing")
    parser.add_argument("-y", "--yes", action="store_true", help="Do not ask for confirmation")


async def run(options: argparse.Namespace) -> int:
    from planck.cli.ask.typed_line import ask

    async with headless.Planck(workspace=find_place(options), add_dirs=options.add_dir) as planck:
        say_place(planck.project)
        id = options.resume or planck.archive.newest_id()
        async with planck.hold(id) as session:
            if options.list:
                turns = session.undo_turns()
                print("\n".join(list_turns(turns)) if turns else "Nothing to undo.")
                return headless.Exit.DONE
            selection = headless.Selection(options.agent, options.turn, options.call, all=options.all)
            plan = session.undo_plan(selection)
            print(preview(plan))
            if options.dry_run:
                return headless.Exit.DONE
            if not any(not step.conflict for step in plan.steps):
                report_error(
                    ErrorKind.EDIT_CONFLICT,
                    "Nothing was changed, because every change has a conflict. Resolve the conflicts "
                    'shown above, or run "planck undo --list" to see the turns that can be undone.',
                )
                return headless.Exit.FAILURE
            if not options.yes:
                answer = ask(
                    "Apply these changes? [y/N] ",
                    without_terminal="Nothing was changed: an undo must be confirmed in a terminal. "
                    "Without one, review the changes above, then run the command again with --yes.",
                )
                if answer.lower() not in ("y", "yes"):
                    print("Nothing was changed.")
                    return headless.Exit.DONE
            print(report(plan, f"planck undo --call {await session.undo(plan)}"))
    return headless.Exit.FAILURE if any(step.conflict for step in plan.steps) else headless.Exit.DONE
