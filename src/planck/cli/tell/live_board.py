"""The board of a session while it runs: the facts, what passes between them, and how long it takes."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from math import ceil
from typing import Any, NamedTuple

from planck.cli.tell.blocks import describe_writing
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
_OUTPUT = 4_000
"""Characters of the output of a running call that are kept, from its end."""


class _Retry(NamedTuple):
    due: float
    attempt: int
    attempts: int


class LiveBoard:
    """Follows one session; the facts are the board's, and only what passes is kept here."""

    def __init__(self, board: Board) -> None:
        """`board`: as it was when the session was opened; what happened since is followed."""
        self.board: Board = board
        self._passing: dict[str | None, str] = {}
        self._retries: dict[str | None, _Retry] = {}
        self._outputs: dict[str, str] = {}
        """By call that runs: the end of its output, the one that was heard last at the end."""
        self._newest = ""
        self._seen_at = 0.0

    def follow(self, event: SessionEvent) -> None:
        if event.seq is None:
            if doing := _PASSING.get(event.type):
                self._passing[event.agent_id] = doing
            elif event.type == "status":
                self._follow_status(event.agent_id, event.data)
            elif event.type == "tool_progress":
                id = event.data["id"]
                self._outputs[id] = (self._outputs.pop(id, "") + event.data["text"])[-_OUTPUT:]
            return
        self._newest, self._seen_at = event.ts, asyncio.get_running_loop().time()
        self._passing.pop(event.agent_id, None)
        if event.type == "tool_end":
            self._outputs.pop(event.data["id"], None)
        elif event.type == "permission_request":  # the question holds what its trial in the sandbox put out
            self._outputs.pop(event.data["call_id"], None)
        self.board = apply(self.board, event.recorded)

    def _follow_status(self, agent: str | None, data: dict[str, Any]) -> None:
        state = data.get("state", "")
        if doing := _STATES.get(state):
            self._passing[agent] = describe_writing(data) or doing
        if state == "retrying" and data.get("attempts"):
            due = asyncio.get_running_loop().time() + data["wait_s"]
            self._retries[agent] = _Retry(due, data["attempt"], data["attempts"])
        else:
            self._retries.pop(agent, None)

    def find_output(self, calls: Iterable[str]) -> tuple[str, str]:
        """Returns which of these calls put something out last, and the end of that; empty: none did."""
        wanted = frozenset(calls)
        return next(((id, self._outputs[id]) for id in reversed(self._outputs) if id in wanted), ("", ""))

    def stand_still(self) -> None:
        """What goes on can't be recorded: whoever was at work does nothing until somebody speaks to it."""
        for row in self.board.agents:
            self._passing[row.id] = "stopped: send a message to continue"

    def say_passing(self, id: str) -> str:
        """Says what an agent does that runs no call and waits for nobody."""
        doing = self._passing.get(id, "thinking")
        if doing == _STATES["retrying"] and (retry := self._retries.get(id)):
            left = max(0, ceil(retry.due - asyncio.get_running_loop().time()))
            return f"retrying in {left} s (attempt {retry.attempt} of {retry.attempts})"
        return doing

    def find_name(self, id: str) -> str:
        row = self.board.agent(id)
        return row.name if row else id

    def count_seconds(self, since: str) -> float:
        """By the log's clock up to its newest event, then by the loop's; 0 before the first event."""
        if not self._newest:
            return 0.0
        logged = datetime.fromisoformat(self._newest) - datetime.fromisoformat(since)
        later = asyncio.get_running_loop().time() - self._seen_at
        return max(0.0, logged.total_seconds() + later)
