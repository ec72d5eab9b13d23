"""What every agent does now, while it does it: in one line, or in a row for each."""

from collections.abc import Iterator

from planck.cli.tell.live_board import LiveBoard
from planck.records.board import Board
from planck.records.rows import AgentRow
from planck.records.tools import ASK
from planck.records.visible import fit_line

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
Doing = tuple[str, str]
"""A mark and words: ● works, ◌ waits for an agent, ▲ waits for you."""


class Now:
    """Says what the agents of a session do, as of the moment when it is asked."""

    def __init__(self, live_board: LiveBoard) -> None:
        self._live_board = live_board
        self._ticks = 0

    @property
    def board(self) -> Board:
        return self._live_board.board

    def tick(self) -> str:
        """Returns the line as of now; empty where nobody works."""
        self._ticks += 1
        team = len(self.board.agents) > 1
        words = [
            f"{row.name}: {words}" if team else words
            for row in self.board.agents
            for _, words in self._describe(row)
        ]
        return f"{_SPINNER[self._ticks % len(_SPINNER)]} {' · '.join(words)}" if words else ""

    def describe(self, id: str) -> list[Doing]:
        row = self.board.agent(id)
        return list(self._describe(row)) if row else []

    def find_chain(self) -> list[str]:
        """Who waits for whom, from the first that waits to the one that is awaited; empty: nobody waits."""
        for first in self.board.agents:
            chain, row = [first.name], first
            seen = {first.id}
            while row.waits and row.waits[0].on not in seen:
                seen.add(row.waits[0].on)
                chain.append(self._live_board.find_name(row.waits[0].on))
                following = self.board.agent(row.waits[0].on)
                if following is None:
                    break
                row = following
            asked = [one for one in self.board.questions if one.agent_id == row.id]
            if asked:
                chain.append(f"you ({asked[0].tool})")
            if len(chain) > 1:
                return [fit_line(name, 60) for name in chain]
        return []

    def _describe(self, row: AgentRow) -> Iterator[Doing]:
        if row.status in ("idle", "ended"):
            return
        if row.stopping:
            yield "●", "stopping"
            return
        asked = [question for question in self.board.questions if question.agent_id == row.id]
        if asked:
            yield "▲", f"asks you about {fit_line(asked[0].tool, 60)}{self._elapsed(asked[0].since)}"
        if row.waits:
            names = ", ".join(self._live_board.find_name(wait.on) for wait in row.waits)
            yield "◌", f"waiting for {names}{self._elapsed(row.waits[0].since)}"
        told = {wait.call_id for wait in row.waits} | {question.call_id for question in asked}
        # Of several questions one is answered: its call ends when those before it have.
        answered = {call.id for call in row.calls if row.waits and call.name == ASK}
        running = [call for call in row.calls if call.id not in told | answered]
        for call in running:
            yield "●", f"{fit_line(f'{call.name} {call.subject}')}{self._elapsed(call.since)}"
        if not (asked or row.waits or running):
            yield "●", f"{self._live_board.say_passing(row.id)}{self._elapsed(row.since)}"

    def _elapsed(self, since: str) -> str:
        """Nothing for a call that has not started: it was allowed a moment ago."""
        return f" {self._live_board.count_seconds(since):.0f} s" if since else ""
