"""Commands about files: what was changed, taking it back, writing the conversation down."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from planck.cli.talk.blocks import Told
from planck.cli.talk.diffs import draw_diff
from planck.cli.talk.past import list_calls_after
from planck.cli.talk.stage import say
from planck.cli.talk.styled import Line, make_line
from planck.cli.undo import preview, report, selection_of
from planck.headless import FileDiff, Selection, UndoError
from planck.records.outcome import ErrorKind, PlanckError

if TYPE_CHECKING:
    from planck.cli.talk.talk import Talk

_MAX_DIFF = 2_000


async def show_diff(talk: "Talk", rest: str) -> None:
    changes = talk.session.changes(selection_of(rest.split()))
    if not changes:
        say(talk.stage, "no file was changed")
        return
    lines = draw_changes(changes)
    if talk.stage.live and len(lines) > 30:
        await talk.stage.page("changes; /undo takes them back", lines)
    else:
        talk.stage.show(Told(tuple(lines)))


def draw_changes(changes: tuple[FileDiff, ...]) -> list[Line]:
    lines: list[Line] = []
    for one in changes:
        state = "  undone" if one.undone else ""
        head = f"{one.path}  {one.agent} · turn {one.turn} · call {one.call_id}{state}"
        lines.append(make_line(head, "dim" if one.undone else "bold"))
        lines += (
            draw_diff(one.diff, _MAX_DIFF) if one.diff else [make_line("    not known from the log", "dim")]
        )
    return lines


async def undo(talk: "Talk", rest: str) -> None:
    """Shows what it takes back while it does; it can be taken back itself."""
    talk.last_undo = await _undo(talk, selection_of(rest.split()), back="/redo")


async def redo(talk: "Talk", rest: str) -> None:
    if not talk.last_undo:
        say(
            talk.stage, "nothing was undone in this conversation; `planck undo --call ID` takes back any undo"
        )
        return
    call, talk.last_undo = talk.last_undo, ""
    await _undo(talk, Selection(call=call))


async def _undo(talk: "Talk", selection: Selection, *, back: str = "") -> str:
    """Returns the call of the undo; `back`: what takes it back, where that is shorter than naming it."""
    plan = talk.session.undo_plan(selection)
    talk.stage.show(Told(tuple(draw_diff(preview(plan), _MAX_DIFF, "  "))))
    call = await talk.session.undo(plan)
    say(talk.stage, report(plan, back or f"/undo --call {call}"))
    return call


async def take_back_after(talk: "Talk", seq: int) -> None:
    """Takes back what was written since an event, the newest first; around the user's own later edits."""
    for call in await list_calls_after(talk.session, seq):
        try:
            talk.last_undo = await _undo(talk, Selection(call=call))
        except UndoError as failure:
            say(talk.stage, f"{failure.err.message}", "yellow")


async def export(talk: "Talk", rest: str) -> None:
    file = talk.planck.project.here / Path(rest or f"{talk.session.name}.md").expanduser()
    text = "".join(talk.planck.archive.render_markdown(talk.session.id))
    await asyncio.to_thread(_write_new, file, text)
    say(talk.stage, f"written to {file}")


def _write_new(file: Path, text: str) -> None:
    try:
        with open(file, "x", encoding="utf-8", errors="replace") as out:
            out.write(text)
    except OSError as problem:
        raise PlanckError(
            ErrorKind.WRITE_FAILED, f"{str(file)!r}: {problem.strerror}; name another file: /export FILE"
        ) from problem


async def copy(talk: "Talk", rest: str) -> None:
    text = talk.session.result(0).text
    if not text:
        say(talk.stage, "there is no answer yet")
    elif talk.stage.copy(text):
        say(talk.stage, f"the last answer, {len(text):,} characters, was handed to your terminal's clipboard")
    else:
        say(talk.stage, "there is no terminal to copy to; /export writes the conversation to a file")
