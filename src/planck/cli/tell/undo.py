"""What an undo takes back, and what it can't, in words."""

from typing import TYPE_CHECKING

from planck.records.diffs import name_path
from planck.records.visible import make_plain

if TYPE_CHECKING:
    from planck.headless import UndoPlan


def preview(plan: "UndoPlan") -> str:
    changed = [step.diff for step in plan.steps if not step.conflict and step.now != step.then]
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


def report(plan: "UndoPlan", back: str) -> str:
    """`back`: what is entered to take that back."""
    done = [step for step in plan.steps if not step.conflict and step.now != step.then]
    if not done:
        return "No files changed."
    did = "Redid" if all(call.startswith("undo-") for step in done for call in step.calls) else "Undid"
    files = "1 file" if len(done) == 1 else f"{len(done)} files"
    names = ", ".join(name_path(step.path) for step in done)
    return make_plain(f"{did} the changes in {files}: {names}. To reverse this: {back}")
