"""Takes back what agents wrote, and shows it while it does."""

from planck.cli.chat.past import list_calls_after
from planck.cli.tell.blocks import Shows, Told, say
from planck.cli.tell.diffs import draw_diff
from planck.cli.tell.styled import Line, make_line
from planck.cli.tell.undo import list_obstacles, report
from planck.headless import OpenSession, Selection, UndoError

MAX_DIFF = 2_000
MAX_FILES = 50
"""Files whose changes are shown while they are undone."""


async def undo(view: Shows, session: OpenSession, selection: Selection, *, back: str = "") -> bool:
    """Returns whether it changed a file; `back`: what takes it back, where that is shorter than naming it."""
    plan = session.undo_plan(selection)
    lines: list[Line] = []
    for step in plan.wanted[:MAX_FILES]:
        lines += [make_line(f"  {step.path}", "bold"), *draw_diff(step.diff, MAX_DIFF)]
    if (more := len(plan.wanted) - MAX_FILES) > 0:
        lines.append(make_line(f"  … and {more:,} more {'file' if more == 1 else 'files'}", "dim"))
    view.show(Told(tuple(lines)))
    for note in list_obstacles(plan):
        say(view, f"  {note}", "yellow")
    call = await session.undo(plan)
    say(view, report(plan, back or f"/undo --call {call}"))
    return bool(lines)


async def undo_after(view: Shows, session: OpenSession, seq: int) -> None:
    """Takes back what was written since an event, the newest first; around the user's own later edits."""
    for call in await list_calls_after(session, seq):
        try:
            await undo(view, session, Selection(call=call))
        except UndoError as failure:
            say(view, f"{failure.err.message}", "yellow")
