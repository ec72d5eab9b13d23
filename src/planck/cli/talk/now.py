"""What every agent does now, while it does it: in one line, or in a row for each."""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import datetime

from planck.headless import SessionEvent
from planck.records.board import Board, apply
from planck.records.rows import AgentRow
from planck.records.specs import AgentSpec
from planck.records.visible import fit_line

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PASSING = {
    "text_delta": "writing",
    "thinking_delta": "thinking",
    "compacting": "makes its history shorter",
}
"""What deltas tell of an agent until its next fact."""
Doing = tuple[str, str]
"""A mark and words: ● works, ◌ waits for an agent, ▲ waits for you."""


class Now:
    """Follows one session; the facts are the board's, and only what passes is kept here."""

    def __init__(self, members: Iterable[AgentSpec]) -> None:
        self.board = Board(
            agents=tuple(
                AgentRow(
                    id=spec.id,
                    type=spec.type,
                    name=spec.name,
                    role=spec.role,
                    model=spec.model.label,
                    since="",
                )
                for spec in members
            )
        )
        self._passing: dict[str | None, str] = {}
        self._newest = ""
        self._seen_at = 0.0
        self._ticks = 0

    def follow(self, event: SessionEvent) -> None:
        self._newest, self._seen_at = event.ts, asyncio.get_running_loop().time()
        if event.seq is None:
            if doing := _PASSING.get(event.type):
                self._passing[event.agent_id] = doing
        else:
            self._passing.pop(event.agent_id, None)
            self.board = apply(self.board, event.recorded)

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
                chain.append(self._name(row.waits[0].on))
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
            yield "●", "stops"
            return
        asked = [question for question in self.board.questions if question.agent_id == row.id]
        if asked:
            yield "▲", f"asks you about {fit_line(asked[0].tool, 60)} {self._elapsed(asked[0].since)}"
        if row.waits:
            names = ", ".join(self._name(wait.on) for wait in row.waits)
            yield "◌", f"waits for {names} {self._elapsed(row.waits[0].since)}"
        told = {wait.call_id for wait in row.waits} | {question.call_id for question in asked}
        # Of several questions one is answered: its call ends when those before it have.
        answered = {call.id for call in row.calls if row.waits and call.name == "ask_agent"}
        running = [call for call in row.calls if call.id not in told | answered]
        for call in running:
            yield "●", f"{fit_line(f'{call.name} {call.subject}')} {self._elapsed(call.since)}"
        if not (asked or row.waits or running):
            yield "●", f"{self._passing.get(row.id, 'thinking')}{self._elapsed_in(row)}"

    def _name(self, id: str) -> str:
        row = self.board.agent(id)
        return row.name if row else id

    def _elapsed_in(self, row: AgentRow) -> str:
        """Since it was last heard of: a model that is silent shows."""
        return f" {self._elapsed(row.since)}" if row.since and self._newest else ""

    def _elapsed(self, since: str) -> str:
        """By the log's clock up to its newest event, from there on by the loop's."""
        logged = datetime.fromisoformat(self._newest) - datetime.fromisoformat(since)
        later = asyncio.get_running_loop().time() - self._seen_at
        return f"{max(0.0, logged.total_seconds() + later):.0f} s"
