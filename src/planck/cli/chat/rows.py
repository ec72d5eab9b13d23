"""The rows below a conversation: who does what, what is asked and queued; and the footer below the input."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planck.cli.ask.prompt import ApprovalPrompt
from planck.cli.tell.styled import Line, cut, make_line
from planck.cli.tell.team_rows import TeamRows
from planck.records.visible import fit_line

if TYPE_CHECKING:
    from planck.cli.chat.talk import Talk

_TAIL = 2_000
"""Characters of what is being written that are looked at for its last line."""


class LiveRows:
    """Asked for each frame, so that they fit the width and the seconds of now."""

    def __init__(self, talk: "Talk", prompt: ApprovalPrompt, team: TeamRows) -> None:
        self._talk = talk
        self._prompt = prompt
        self._team = team

    def lines(self, width: int) -> Sequence[Line]:
        talk = self._talk
        rows: list[Line] = []
        if tail := fit_line(talk.teller.being_written[-_TAIL:].rpartition("\n")[2]):
            rows.append((("  ", ""), (_keep_end(tail, width - 2), "dim")))
        question = self._prompt.draw_row(width)
        team = self._team.lines(width)
        rows += team if not question or len(talk.session.members) > 1 else ()
        if talk.shell_command:
            took = f"  {talk.shell_seconds:.0f} s"
            command = cut(make_line(f"! {talk.shell_command}", "dim"), width - len(took))
            rows.append((*command, (took, "dim")))
        rows += [make_line(f"  queued: {fit_line(text)}", "dim") for text, _ in talk.queued[-2:]]
        if talk.rewind_to:
            rows.append(make_line("↶ Your next message rewinds the session first · Ctrl+C cancels", "yellow"))
        if question:
            rows.append(question)
        return [cut(row, width) for row in rows]

    def footer(self, width: int) -> Line:
        return self._team.footer(width)


def _keep_end(text: str, width: int) -> str:
    from planck.records.visible import count_columns

    if count_columns(text) <= width:
        return text
    text = text[-width:]
    while count_columns(text) > width - 1:
        text = text[1:]
    return f"…{text}"
