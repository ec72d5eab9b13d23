"""The one line that says what every agent does now, while it does it."""

import asyncio
from collections.abc import Iterator
from datetime import datetime

from planck.headless import OpenSession, SessionEvent
from planck.records.board import Board, apply
from planck.records.rows import AgentRow

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PASSING = {
    "text_delta": "writing",
    "thinking_delta": "thinking",
    "compacting": "makes its history shorter",
}
"""What deltas tell of an agent until its next fact."""


class StatusLine:
    """Follows one session; the facts are the board's, and only what passes is kept here."""

    def __init__(self, session: OpenSession) -> None:
        self._board = Board(
            agents=tuple(
                AgentRow(
                    id=spec.id,
                    type=spec.type,
                    name=spec.name,
                    role=spec.role,
                    model=spec.model.label,
                    since="",
                )
                for spec in session.members
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
            self._board = apply(self._board, event.recorded)

    def tick(self) -> str:
        """Returns the line as of now; empty where nobody works."""
        self._ticks += 1
        words = [word for row in self._board.agents for word in self._describe(row)]
        return f"{_SPINNER[self._ticks % len(_SPINNER)]} {' · '.join(words)}" if words else ""

    def _describe(self, row: AgentRow) -> Iterator[str]:
        if row.status in ("idle", "ended"):
            return
        who = f"{row.name}: " if len(self._board.agents) > 1 else ""
        if row.stopping:
            yield f"{who}stops"
            return
        asked = [question for question in self._board.questions if question.agent_id == row.id]
        if asked:
            yield f"{who}asks you about {asked[0].tool} {self._elapsed(asked[0].since)}"
        if row.waits:
            names = ", ".join(self._name(wait.on) for wait in row.waits)
            yield f"{who}waits for {names} {self._elapsed(row.waits[0].since)}"
        told = {wait.call_id for wait in row.waits} | {question.call_id for question in asked}
        # Of several questions one is answered: its call ends when those before it have.
        answered = {call.id for call in row.calls if row.waits and call.name == "ask_agent"}
        running = [call for call in row.calls if call.id not in told | answered]
        for call in running:
            yield f"{who}{' '.join(f'{call.name} {call.subject}'.split())} {self._elapsed(call.since)}"
        if not (asked or row.waits or running):
            yield f"{who}{self._passing.get(row.id, 'thinking')}"

    def _name(self, id: str) -> str:
        row = self._board.agent(id)
        return row.name if row else id

    def _elapsed(self, since: str) -> str:
        """By the log's clock up to its newest event, from there on by the loop's."""
        logged = datetime.fromisoformat(self._newest) - datetime.fromisoformat(since)
        later = asyncio.get_running_loop().time() - self._seen_at
        return f"{max(0.0, logged.total_seconds() + later):.0f} s"
