"""The rows below a conversation: who does what, what is asked and queued; and the footer below the input."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planck.cli.ask.prompt import ApprovalPrompt
from planck.cli.screen.key_map import KeyMap, name_key
from planck.cli.screen.region import MAX_LIVE
from planck.cli.tell.styled import Line, cut, make_line
from planck.cli.tell.team_rows import OUTPUT, TeamRows, draw_end
from planck.records.visible import fit_line

if TYPE_CHECKING:
    from planck.cli.chat.talk import Talk

_TAIL = 2_000
"""Characters of what is being written that are looked at for its last line."""


class LiveRows:
    """Asked for each frame, so that they fit the width and the seconds of now."""

    def __init__(self, talk: "Talk", prompt: ApprovalPrompt, team: TeamRows, key_map: KeyMap) -> None:
        self._talk = talk
        self._prompt = prompt
        self._team = team
        self._edits = name_key(key_map, "older")
        """The key that takes back what is queued."""
        self._clear = name_key(key_map, "clear")

    def lines(self, width: int) -> Sequence[Line]:
        talk = self._talk
        self._team.jobs = count_jobs(talk)
        rows: list[Line] = []
        if tail := fit_line(talk.teller.being_written[-_TAIL:].rpartition("\n")[2]):
            rows.append((("  ", ""), (_keep_end(tail, width - 2), "dim")))
        question = self._prompt.draw_row(width)
        below = self._list_below(width)
        if not question or len(talk.session.members) > 1:
            rows += self._team.lines(width, MAX_LIVE - len(rows) - len(below) - bool(question))
        rows += below
        if question:
            rows.append(question)
        return [cut(row, width) for row in rows]

    def _list_below(self, width: int) -> list[Line]:
        """What goes on beside the agents."""
        talk = self._talk
        rows: list[Line] = []
        for aside in talk.asides:
            took = f"  {aside.seconds:.0f} s"
            words = cut(make_line(aside.words, "dim"), width - len(took))
            rows.append((*words, (took, "dim")))
            rows += draw_end(talk.read_own(aside), OUTPUT)
        rows += self._list_queued(width)
        if talk.rewind_to:
            told = "↶ Your next message rewinds the session first"
            rows.append(make_line(f"{told} · {self._clear} cancels", "yellow"))
        return rows

    def _list_queued(self, width: int) -> list[Line]:
        """The newest two, and how the last of them is taken back."""
        queued = self._talk.queued
        rows: list[Line] = [make_line(f"  queued: {fit_line(text)}", "dim") for text, _ in queued[-2:]]
        if rows:
            edits = f" · {self._edits} edits" if self._edits else ""
            rows[-1] = (*cut(rows[-1], width - len(edits)), (edits, "dim"))
        return rows

    def footer(self, width: int, note: Line = ()) -> Line:
        return self._team.footer(width, note)


def count_jobs(talk: "Talk") -> int:
    """Counts the commands that run in the background."""
    return len(talk.list_jobs())


def _keep_end(text: str, width: int) -> str:
    from planck.records.visible import count_columns

    if count_columns(text) <= width:
        return text
    text = text[-width:]
    while count_columns(text) > width - 1:
        text = text[1:]
    return f"…{text}"
