"""Commands about files: what was changed, taking it back, writing the conversation down."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from planck.cli.chat import undoing
from planck.cli.chat.pager import ChangeList
from planck.cli.errors import UsageError
from planck.cli.tell.blocks import Told, say, say_rows
from planck.cli.tell.diffs import draw_diff
from planck.cli.tell.styled import Line, make_line
from planck.cli.tell.undo import is_redo, list_obstacles, list_turns, report
from planck.headless import FileDiff, OutputFile, Project, Selection, UndoableTurn
from planck.records.authority import Mode
from planck.records.outcome import ErrorKind, PlanckError

if TYPE_CHECKING:
    from planck.cli.chat.talk import Talk


async def run_diff(talk: "Talk", rest: str) -> None:
    selection = selection_of(rest.split())
    changes = talk.session.changes(selection)
    if not any(not one.undoes for one in changes):
        say(talk.frontend, "No files changed.")
    elif talk.frontend.live:
        await _browse_changes(talk, selection)
    else:
        talk.frontend.show(Told(tuple(draw_changes(changes))))


async def _browse_changes(talk: "Talk", selection: Selection) -> None:
    """What agents did, the newest first; one is taken back, or taken up again, where it stands."""

    def list_changes() -> list[FileDiff]:
        return [one for one in talk.session.changes(selection)[::-1] if not one.undoes]

    shown = list_changes()

    async def take_back(listed: ChangeList) -> ChangeList:
        nonlocal shown
        note = await _take_back(talk, shown[listed.at])
        shown = list_changes()  # only now: agents may have added to it
        return _make_list(shown, listed.at, note)

    await talk.frontend.browse(_make_list(shown), take_back)


def _make_list(changes: Sequence[FileDiff], at: int = 0, note: str = "") -> ChangeList:
    rows = [
        (one.path, f"  +{one.added} -{one.removed}{'  undone' * one.undone}  {_describe_origin(one)}")
        for one in changes
    ]
    count = "1 change" if len(rows) == 1 else f"{len(rows)} changes"
    title, keys = f"{count}, newest first", {"u": "undo or redo"}
    return ChangeList(title, rows, keys, lambda at: draw_changes(changes[at : at + 1]), at, note)


async def _take_back(talk: "Talk", change: FileDiff) -> str:
    """What an undo took back is had again by undoing that; what came of it is said in a line."""
    if talk.busy:
        return "An agent or command is still running. Press u again when it has finished."
    undo = ""
    if change.undone:
        undone = [one.call_id for one in talk.session.changes() if change.call_id in one.undoes]
        undo = undone[-1] if undone else ""
    try:
        plan = talk.session.undo_plan(Selection(call=undo or change.call_id))
        await talk.session.undo(plan)
    except PlanckError as failure:
        return failure.err.message
    return " · ".join([report(plan, "press u"), *list_obstacles(plan)])


def _describe_origin(change: FileDiff) -> str:
    by = " · command" if change.by == "command" else ""
    return f"{change.agent} · turn {change.turn}{by}"


def draw_changes(changes: Sequence[FileDiff]) -> list[Line]:
    lines: list[Line] = []
    for one in changes:
        state = "  undone" if one.undone else ""
        head = f"{one.path}  {_describe_origin(one)} · call {one.call_id}{state}"
        lines.append(make_line(head, "dim" if one.undone else "bold"))
        lines += (
            draw_diff(one.diff, undoing.MAX_DIFF)
            if one.diff
            else [make_line("    the log has no diff for this change", "dim")]
        )
    return lines


async def run_undo(talk: "Talk", rest: str) -> None:
    """Shows what it takes back while it does; it can be taken back itself."""
    words = rest.split()
    if words == ["list"]:
        _list_turns(talk, talk.session.undo_turns())
        return
    selection = selection_of(words)
    if await undoing.undo(talk.frontend, talk.session, selection, back="/redo"):
        return
    if not words or selection.turn:
        others = [one for one in talk.session.undo_turns() if one.paths]
        if others:
            say(talk.frontend, "These turns can be undone around it:")
            _list_turns(talk, others)


def _list_turns(talk: "Talk", turns: Sequence[UndoableTurn]) -> None:
    say_rows(talk.frontend, list(list_turns(turns)))
    if turns:
        newest = next((one.turn for one in turns if one.paths), 0)
        if newest:
            say(talk.frontend, f"/undo {newest} undoes turn {newest}.", "dim")
    else:
        say(talk.frontend, "Nothing to undo: no turn has file changes that are not undone.")


async def run_redo(talk: "Talk", rest: str) -> None:
    """The log knows what is undone: after a resume, and after an undo that changed nothing."""
    undone = [one.call_id for one in talk.session.changes() if _is_to_redo(one)]
    if not undone:
        say(talk.frontend, "Nothing to redo: no undo is in force.")
        return
    await undoing.undo(talk.frontend, talk.session, Selection(call=undone[-1]))


def _is_to_redo(change: FileDiff) -> bool:
    """Whether it is an undo that nobody reversed, and not itself the reversal of one."""
    return bool(change.undoes) and not change.undone and not is_redo(change.undoes)


def selection_of(words: Sequence[str]) -> Selection:
    """Reads the options of `planck undo` from a line of the conversation."""
    match words:
        case []:
            return Selection()
        case [number] if number.isdigit() and number != "0":
            return Selection(turn=int(number))
        case ["--agent", name]:
            return Selection(agent=name)
        case ["--turn", number] if number.isdigit():
            return Selection(turn=int(number))
        case ["--call", id]:
            return Selection(call=id)
        case ["--all"]:
            return Selection(all=True)
    raise UsageError(
        ErrorKind.INVALID_ARGS,
        "Unknown arguments. Use a turn number, --agent NAME, --turn N, --call ID, --all, or none. "
        "/undo list shows the turns.",
    )


async def run_export(talk: "Talk", rest: str) -> None:
    file = talk.planck.project.here / Path(rest or f"{talk.session.name}.md").expanduser()
    text = "".join(talk.planck.archive.render_markdown(talk.session.id))
    project = None if talk.session.mode is Mode.FULL else talk.planck.project
    await asyncio.to_thread(_write_new, file, text, project)
    say(talk.frontend, f"Saved to {file}")


def _write_new(file: Path, text: str, project: Project | None) -> None:
    try:
        with closing(OutputFile(file)) as target:
            if project:
                target.check(project.open_root())
            target.create(text.encode("utf-8", "replace"))
    except PlanckError as failure:
        raise PlanckError(
            failure.err.kind, f"{failure.err.message.rstrip('.')}. Usage: /export FILE"
        ) from None


async def run_copy(talk: "Talk", rest: str) -> None:
    text = talk.session.result(0).text
    if not text:
        say(talk.frontend, "There is no answer to copy yet.")
    elif talk.frontend.copy(text):
        size = "1 character" if len(text) == 1 else f"{len(text):,} characters"
        say(talk.frontend, f"Sent the last answer ({size}) to your terminal's clipboard.")
    else:
        say(
            talk.frontend, "There is no terminal to copy to. Use /export to write the conversation to a file."
        )


_INIT = """\
Write an AGENTS.md for this project: what a newcomer needs to know that the files do not make obvious. Cover
the build and test commands (do not run any that change something), the layout, the code conventions,
and common mistakes. Use at most 100 lines and no generalities. If there is an AGENTS.md already, improve it
and keep what is still true. Before you write it, check every command and path in it against the files."""


async def run_init(talk: "Talk", rest: str) -> None:
    await talk.say(f"{_INIT}\n\n{rest}".strip())
