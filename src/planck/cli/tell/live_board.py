"""The board of a session while it runs: the facts, what passes between them, and how long it takes."""

import asyncio
from datetime import datetime

from planck.headless import SessionEvent
from planck.records.board import Board, apply

_PASSING = {
    "text_delta": "writing",
    "thinking_delta": "thinking",
    "compacting": "compacting its context",
}
"""What deltas tell of an agent until its next fact."""
_STATES = {
    "working": "writing",  # nothing to be read: a call's arguments, mostly
    "retrying": "waiting to retry",
}


class LiveBoard:
    """Follows one session; the facts are the board's, and only what passes is kept here."""

    def __init__(self, board: Board) -> None:
        """`board`: as it was when the session was opened; what happened since is followed."""
        self.board = board
        self._passing: dict[str | None, str] = {}
        self._newest = ""
        self._seen_at = 0.0

    def follow(self, event: SessionEvent) -> None:
        if event.seq is None:
            state = event.data.get("state", "") if event.type == "status" else ""
            if doing := _STATES.get(state) or _PASSING.get(event.type):
                self._passing[event.agent_id] = doing
            return
        self._newest, self._seen_at = event.ts, asyncio.get_running_loop().time()
        self._passing.pop(event.agent_id, None)
        self.board = apply(self.board, event.recorded)

    def stand_still(self) -> None:
        """What goes on can't be recorded: whoever was at work does nothing until somebody speaks to it."""
        for row in self.board.agents:
            self._passing[row.id] = "stopped: send a message to continue"

    def say_passing(self, id: str) -> str:
        """Says what an agent does that runs no call and waits for nobody."""
        return self._passing.get(id, "thinking")

    def find_name(self, id: str) -> str:
        row = self.board.agent(id)
        return row.name if row else id

    def count_seconds(self, since: str) -> float:
        """By the log's clock up to its newest event, from there on by the loop's."""
        logged = datetime.fromisoformat(self._newest) - datetime.fromisoformat(since)
        later = asyncio.get_running_loop().time() - self._seen_at
        return max(0.0, logged.total_seconds() + later)
