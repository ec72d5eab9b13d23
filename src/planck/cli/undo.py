"""`planck undo`: show what would be taken back, then take it back."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from planck.cli.errors import UsageError
from planck.cli.place import find_place, say_place
from planck.cli.typed import ask
from planck.headless import Exit, Planck, Selection, UndoPlan
from planck.records.diffs import name_path
from planck.records.outcome import ErrorKind
from planck.records.visible import make_plain


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


def selection_of(words: Sequence[str]) -> Selection:
    """The same options, from the chat's `/undo`."""
    match words:
        case []:
            return Selection()
        case ["--agent", name]:
            return Selection(agent=name)
        case ["--turn", number] if number.isdigit():
            return Selection(turn=int(number))
        case ["--call", id]:
            return Selection(call=id)
    raise UsageError(ErrorKind.INVALID_ARGS, "/undo takes --agent NAME, --turn N, --call ID, or nothing")


def preview(plan: UndoPlan) -> str:
    changed = [step.diff for step in plan.steps if not step.conflict and step.now != step.then]
    return make_plain("\n".join([*changed, *list_obstacles(plan)]))


def list_obstacles(plan: UndoPlan) -> list[str]:
    """What is not taken back, and why."""
    lines = []
    for step in plan.steps:
        if step.conflict:
            lines.append(f"{name_path(step.path)} stays as it is: {step.conflict}  (written by {step.by})")
        elif step.now == step.then:
            lines.append(f"{name_path(step.path)} is already as it was  (written by {step.by})")
    return [*lines, *(f"not undoable: {command}" for command in plan.commands)]


def report(plan: UndoPlan, back: str) -> str:
    """`back`: what is entered to take that back."""
    done = [step for step in plan.steps if not step.conflict and step.now != step.then]
    if not done:
        return "Nothing was changed."
    again = all(call.startswith("undo-") for step in done for call in step.calls)
    files = "1 file" if len(done) == 1 else f"{len(done)} files"
    names = ", ".join(name_path(step.path) for step in done)
    return make_plain(f"{'Redone' if again else 'Undone'} in {files}: {names}. Take that back with: {back}")
