"""`planck undo`: show what would be taken back, then take it back."""

import argparse
import asyncio
import sys

from planck.cli.ask.typed import ask
from planck.cli.place import find_place, say_place
from planck.cli.tell.undo import preview, report
from planck.headless import Exit, Planck, Selection


def run(options: argparse.Namespace) -> int:
    return asyncio.run(_undo(options))


async def _undo(options: argparse.Namespace) -> int:
    async with Planck(workspace=find_place(options), add_dirs=options.add_dir) as planck:
        say_place(planck.project)
        id = options.resume or planck.archive.newest_id()
        async with planck.hold(id) as session:
            plan = session.undo_plan(Selection(options.agent, options.turn, options.call))
            print(preview(plan))
            if options.dry_run:
                return Exit.DONE
            if not any(not step.conflict for step in plan.steps):
                print("planck: edit_conflict: nothing could be taken back; see above", file=sys.stderr)
                return Exit.FAILURE
            if (
                not options.yes
                and sys.stdin.isatty()
                and ask("Take that back? [y/N] ").lower() not in ("y", "yes")
            ):
                print("Nothing was changed.")
                return Exit.DONE
            print(report(plan, f"planck undo --call {await session.undo(plan)}"))
    return Exit.FAILURE if any(step.conflict for step in plan.steps) else Exit.DONE
