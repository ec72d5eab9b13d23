"""Who does what for how long, as live rows: a line for each agent at work, and what it all costs below."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planck.cli.screen.region import MAX_LIVE
from planck.cli.screen.styled import Line, cut
from planck.cli.tell.live_board import LiveBoard
from planck.cli.tell.styled import INDENT, make_line
from planck.records.board import Board
from planck.records.rows import AgentRow, OpenCall, OpenQuestion
from planck.records.tools import ASK
from planck.records.visible import count_columns

OUTPUT = 4
"""Lines of the output of the command that put something out last."""
_MOST = 6
"""Agents with a line of their own."""
PALETTE = ("34", "33", "36", "31", "94", "35", "32", "90")
"""Blue, orange, green-blue, vermilion, sky, purple, green, grey: for the eight agents that begin first."""


class Doing(NamedTuple):
    mark: str
    what: str
    since: str
    style: str = ""


class TeamRows:
    """Draws what is followed.

    An agent has its line from the start of its turn to the end, whatever it does: the height of what is
    live changes only then.
    """

    def __init__(self, live_board: LiveBoard, stop: str = "Esc", keys: str = "?") -> None:
        """`stop` and `keys`: which key ends a turn, and which lists them."""
        self._live_board = live_board
        self._stop = stop
        self._keys = keys
        self.queued = 0
        self.jobs = 0
        """Commands in the background."""
        self.busy = False
        """Whether there is something else to be stopped: a command of the user's own."""

    @property
    def board(self) -> Board:
        return self._live_board.board

    @property
    def working(self) -> bool:
        return self.busy or any(_is_busy(row) for row in self.board.agents) or bool(self.board.questions)

    def lines(self, width: int, room: int = MAX_LIVE) -> Sequence[Line]:
        """`room`: rows that there are; what is left of them shows the end of a running command's output."""
        agents = self.board.agents
        busy = [row for row in agents if _is_busy(row)]
        alone = sum(row.status != "ended" for row in agents) < 2
        longest = max((count_columns(row.name) for row in busy), default=0)
        widest = 0 if alone else min(16, width // 3, longest)
        shown = busy if len(busy) <= _MOST else busy[: _MOST - 1]
        lines = [self._draw(row, widest, width) for row in shown]
        more = len(busy) > len(shown)
        spare = min(OUTPUT, room - len(lines) - more)
        call, output = self._live_board.find_output(call.id for row in shown for call in _list_running(row))
        if call and spare > 0:
            at = next(at for at, row in enumerate(shown, 1) if any(one.id == call for one in row.calls))
            lines[at:at] = draw_end(output, spare)
        if more:
            lines.append(((f"  … and {len(busy) - len(shown)} more working", "dim"),))
        return lines

    def footer(self, width: int, note: Line = ()) -> Line:
        """Mode, questions, queue, money, window, model: as many as fit, the most telling first.

        A `note` replaces all but the mode: what agents may do is always seen.
        """
        words = [word for word in self._list_words() if word[0]]
        if note:
            return (("  ", ""), words[0], (" · ", "dim"), *note)
        while len(words) > 1 and sum(count_columns(text) + 3 for text, _ in words) > width:
            words.pop(self._find_least(words))
        parts = [part for word in words for part in ((" · ", "dim"), word)]
        return (("  ", ""), *parts[1:])

    def _find_least(self, words: Sequence[tuple[str, str]]) -> int:
        """While it works, the keys that stop it are worth more than figures, and one of them than counts."""
        if not self.working or len(words) < 3:
            return -1
        keys = 2 if self.board.questions else 1
        is_figure = len(words) > keys + 1 and words[-1 - keys][1] == "dim"
        return -1 - keys if is_figure else -2

    def _list_words(self) -> Iterator[tuple[str, str]]:
        board = self.board
        lead = next((row for row in board.agents if row.role == "orchestrator"), None)
        yield board.mode, "yellow" if board.mode == "full" else ""
        if board.questions:
            count = len(board.questions)
            yield f"{count} {'approval' if count == 1 else 'approvals'}", "bold yellow"
        if self.queued:
            yield f"{self.queued} queued", ""
        if self.jobs:
            yield f"{self.jobs} {'job' if self.jobs == 1 else 'jobs'}", ""
        about = "≈" if board.estimated else ""
        if board.budget and board.budget.limit_usd:
            # Of the run, where that is limited: what was spent before it is not its own.
            yield f"{about}{_money(board.budget.spent_usd or 0.0)} of {_money(board.budget.limit_usd)}", "dim"
        else:
            yield about + _tell_cost(board), "dim"
        if lead and lead.window and lead.context:
            yield f"{100 * lead.context / lead.window:.0f}% of context", "dim"
        yield (lead.model if lead else ""), "dim"
        # What it does at a question is another thing than what it does elsewhere.
        if board.questions:
            yield "Ctrl+C stops", "dim"
            yield "Esc denies", "dim"
        elif self.working:
            yield f"{self._stop} interrupts" if self._stop else "", "dim"
        else:
            yield f"{self._keys} keys" if self._keys else "", "dim"

    def _draw(self, row: AgentRow, widest: int, width: int) -> Line:
        doing = self._describe(row)
        took = f"  {int(self._live_board.count_seconds(doing.since))} s" if doing.since else ""
        spent = widest and (row.cost_usd or row.unpriced)
        cost = f"  {'≈' if row.estimated else ''}{_tell_cost(row)}" if spent else ""
        name = cut(row.name, widest)
        pad = " " * (widest - count_columns(name) + 2) if widest else ""
        room = width - 2 - count_columns(name + pad + took + cost)
        what = " ".join(doing.what.split())
        if room < 12:
            cost, room = "", room + len(cost)
        return (
            (f"{doing.mark} ", doing.style or "dim"),
            (name, self._colour(row.id)),
            (pad, ""),
            (cut(what, max(room, 4)), doing.style),
            (took, "dim"),
            (cost, "dim"),
        )

    def _describe(self, row: AgentRow) -> Doing:
        if row.stopping:
            return Doing("●", "stopping", row.since)
        if asked := [question for question in self.board.questions if question.agent_id == row.id]:
            return Doing("▲", _say_asked(asked), asked[0].since, "bold yellow")
        running = _list_running(row)
        if running and not (row.waits and all(call.name == ASK for call in running)):
            more = f" and {len(running) - 1} more" if len(running) > 1 else ""
            return Doing("●", f"{running[0].name} {running[0].subject}{more}", running[0].since)
        if row.waits:
            names = ", ".join(dict.fromkeys(self._live_board.find_name(wait.on) for wait in row.waits))
            return Doing("◌", f"waiting for {names}", row.waits[0].since)
        return Doing("●", self._live_board.say_passing(row.id), row.since)

    def _colour(self, id: str) -> str:
        number = next((n for n, row in enumerate(self.board.agents) if row.id == id), 0)
        return PALETTE[number % len(PALETTE)]


def draw_end(output: str, most: int) -> list[Line]:
    """The last lines of an output, blank ones left out."""
    rows = [row for row in output.split("\n") if row.strip()]
    return [make_line(f"{INDENT}{row.rstrip()}", "dim") for row in rows[-most:]]


def _is_busy(row: AgentRow) -> bool:
    return row.status not in ("idle", "ended")


def _list_running(row: AgentRow) -> list[OpenCall]:
    waited = {wait.call_id for wait in row.waits}
    return [call for call in row.calls if call.id not in waited]


def _say_asked(asked: list[OpenQuestion]) -> str:
    more = f", and {len(asked) - 1} more" if len(asked) > 1 else ""
    return f"asks you: {asked[0].tool}{more}"


def _tell_cost(of: AgentRow | Board) -> str:
    """Returns what is known of a cost; of calls without a price that is a part, or nothing."""
    if of.unpriced and not of.cost_usd:
        return "cost unknown"
    return _money(of.cost_usd) + ("+" if of.unpriced else "")


def _money(dollars: float) -> str:
    return f"${dollars:.2f}" if dollars >= 0.1 or not dollars else f"${dollars:.4f}"
