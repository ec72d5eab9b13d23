"""What an undo takes back, and what it can't, in words."""

from typing import TYPE_CHECKING

from planck.records.diffs import name_path
from planck.records.visible import fit_line, make_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from planck.headless import UndoableTurn, UndoPlan


def preview(plan: "UndoPlan") -> str:
    changed = [step.diff for step in plan.steps if step.wanted]
    return make_plain("\n".join([*changed, *list_obstacles(plan)]))


def list_obstacles(plan: "UndoPlan") -> list[str]:
    """What is not taken back, and why."""
    lines = []
    for step in plan.steps:
        if step.conflict:
            lines.append(f"{name_path(step.path)} (written by {step.by}) is not restored: {step.conflict}")
        elif step.now == step.then:
            lines.append(f"{name_path(step.path)} (written by {step.by}) already has its earlier content")
    return [*lines, *(f"this command cannot be undone: {command}" for command in plan.commands)]


def is_redo(undone: "Sequence[str]") -> bool:
    """Whether what was undone are undos."""
    return all(call.startswith("undo-") for call in undone)


def list_turns(turns: "Iterable[UndoableTurn]") -> "Iterator[str]":
    """A row for each turn: its number, what was asked, which files an undo changes, and which it leaves."""
    for one in turns:
        asked = f"  {fit_line(one.prompt, 40)}" if one.prompt else ""
        files = _name_paths(one.paths) or "nothing can be undone"
        kept = f"; changed since: {_name_paths(one.conflicts)}" if one.conflicts else ""
        yield make_plain(f"turn {one.turn}{asked}  {files}{kept}  ({', '.join(one.agents)})")


_NAMED = 20
"""Files that a line names: a command may have changed thousands."""


def _name_paths(paths: "Sequence[str]") -> str:
    more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    return ", ".join(map(name_path, paths[:_NAMED])) + more


def report(plan: "UndoPlan", back: str) -> str:
    """`back`: what is entered to take that back."""
    done = [step for step in plan.steps if step.wanted]
    if not done:
        return "No files changed."
    did = "Redid" if all(is_redo(step.calls) for step in done) else "Undid"
    files = "1 file" if len(done) == 1 else f"{len(done)} files"
    names = _name_paths([step.path for step in done])
    return make_plain(f"{did} the changes in {files}: {names}. To reverse this: {back}")
