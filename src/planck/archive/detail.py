"""What the sound part of a stored log comes to: its agents, its last words, its result, what it cost."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from planck.archive.listing import SessionInfo, Summary, describe_log
from planck.records.board import Board
from planck.records.events import (
    USER,
    Envelope,
    Event,
    Forked,
    Kind,
    Origin,
    SessionResumed,
    SessionStarted,
    TurnEnd,
    TurnStatus,
    UsageSpent,
    View,
    view,
)
from planck.records.outcome import Err, ErrorKind
from planck.records.redact import Redactor
from planck.records.rows import AgentRow
from planck.records.specs import SessionOptions
from planck.records.usage import Costs, Spent, Usage
from planck.session.blocked import describe_state, why_blocked
from planck.session.proof.fold import CheckRow, ProofFold, RunEvidence
from planck.session.result import ChangedFile, RunResult, RunTally, fail_result, mark_stopped
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import StoreError

if TYPE_CHECKING:
    from planck.session.costs import CostReport


class AgentInfo(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    type: str
    name: str
    model: str
    state: str
    """In words: `idle`, `working`, whom it waits for, or how it ended."""
    turns: int
    usage: Usage


class SessionDetail(msgspec.Struct, frozen=True, kw_only=True):
    info: SessionInfo
    agents: list[AgentInfo]
    usage: Usage
    spent: list[Spent]
    last_text: str
    evidence: RunEvidence = RunEvidence()
    """What stands behind the answer to the user's newest prompt."""
    checks: tuple[CheckRow, ...] = ()


class ReadLog(msgspec.Struct, frozen=True):
    """One pass over the sound part of a log."""

    board: Board
    info: SessionInfo
    costs: Costs
    last_text: str
    cut: bool
    """Whether it is a fork from the middle of a turn that nobody has opened yet."""
    proof: ProofFold
    asked_at: int
    """The user's newest prompt to the orchestrator; 0: there is none."""
    options: SessionOptions | None

    @property
    def alive(self) -> bool:
        """Whether a process goes on with what the log leaves open."""
        return self.info.state == self.board.state and not self.cut

    def detail(self) -> SessionDetail:
        return SessionDetail(
            info=self.info,
            agents=[_describe_agent(row, self.board, self.alive) for row in self.board.agents],
            usage=self.board.usage,
            spent=self.costs.rows,
            last_text=self.last_text,
            evidence=self.proof.find_evidence(self.asked_at),
            checks=self.proof.find_checks(self._demands["checks"], self.asked_at),
        )

    @property
    def _demands(self) -> dict[str, Any]:
        """What the last run was to be held to."""
        asked = self.options if self.options and not self.options.dry_run else None
        return {
            "checks": asked.checks if asked else (),
            "require_proof": asked.require_proof if asked else False,
        }

    def result(self, store: SqliteReader, after: int, images: Path) -> RunResult | None:
        """What the events after a number come to; None while the orchestrator has ended no turn there.

        A turn that no process goes on with has come to its end.
        """
        if self.info.state in ("running", "waiting") or not self.board.agents:
            return None
        lead, events = self.board.agents[0].id, [*store.read(after)]
        names = {row.id: row.name for row in self.board.agents}
        ended = any(event.type == TurnEnd.type and event.agent_id == lead for event in events)
        if not ended and self.alive:
            return None
        tally = RunTally(lead)
        for event in events:
            tally.add(event)
        result = tally.summarise(
            names=names,
            session_id=self.info.id,
            session_name=self.info.name,
            **self._demands,
            changes=_find_changes(events, tally, store, images, names),
        )
        if self._given_up:
            return fail_result(result, Err(ErrorKind.TARGET_GONE, self.info.problem))
        return result if ended else mark_stopped(result, TurnStatus.INTERRUPTED)

    @property
    def _given_up(self) -> bool:
        """Whether no node of a pool continues what the log leaves open."""
        return self.info.state == "failed" != self.board.state

    def why_blocked(self, now: str) -> list[str]:
        """Puts each wait in words."""
        if self._given_up:
            return [self.info.problem]
        if self.alive:
            lines = why_blocked(self.board, now)
        else:
            lines = [
                "No process has this session open. "
                f'Run "planck -r {self.info.name}" to resume it and to see what was interrupted.'
            ]
        return [*lines, self.info.problem] if self.info.problem else lines


def _find_changes(
    events: list[Event], tally: RunTally, store: SqliteReader, images: Path, names: dict[str, str]
) -> tuple[ChangedFile, ...]:
    """By the log alone: the files may be on another machine, and may have changed since."""
    if not tally.touched:
        return ()
    from planck.session.run_changes import compare, pair_up
    from planck.session.undo import OldContents

    pairs = pair_up(events, tally.touched, OldContents(store, Redactor(()), images), here=False)
    found = compare(pairs, None, {**tally.names, **names})
    return tuple(sorted(found, key=lambda one: one.path))


def read_log(store: SqliteReader) -> ReadLog:
    fold, text, problem, cut = Summary(), "", "", False
    costs, proof, asked_at, options = Costs(), ProofFold(), 0, None
    try:
        for event in store.read():
            proof.add(event)
            if event.type == Forked.type:
                cut = fold.board.state in ("running", "waiting")
            elif event.type == SessionResumed.type:
                cut = False
            fold.add(event)
            if event.type == TurnEnd.type and isinstance(end := view(event), TurnEnd):
                text = end.text or text
            elif event.type == UsageSpent.type and isinstance(used := view(event), UsageSpent):
                costs.add(event.agent_id or "", used.model, used.usage, used.cost_usd, used.estimated)
            elif event.type in _OPENS and isinstance(opened := view(event), SessionStarted | SessionResumed):
                options = opened.options or options
            elif event.type == Envelope.type and _is_prompt(view(event), fold.board):
                asked_at = event.seq or 0
                proof.begin_run(asked_at)
    except StoreError as e:
        problem = str(e)
    costs.names |= {row.id: row.name for row in fold.board.agents}
    info = describe_log(store, fold, problem)
    return ReadLog(fold.board, info, costs, text, cut, proof, asked_at, options)


_OPENS = (SessionStarted.type, SessionResumed.type)


def _is_prompt(fact: View | None, board: Board) -> bool:
    """Whether the user begins a run with it."""
    if not isinstance(fact, Envelope) or not board.agents:
        return False
    mine = fact.kind is Kind.PROMPT and fact.origin in (Origin.USER, None)
    return mine and fact.sender == USER and fact.receiver == board.agents[0].id


def read_costs(store: SqliteReader) -> "CostReport":
    """What each agent used; of a damaged log, what is sound counts."""
    from planck.records.ledger import Ledger
    from planck.session.costs import report_costs

    ledger = Ledger()
    with suppress(StoreError):
        for event in store.read():
            ledger.add(event)
    return report_costs(ledger)


def _describe_agent(row: AgentRow, board: Board, alive: bool) -> AgentInfo:
    """An agent that no process runs is in no turn, whatever its log leaves open."""
    open_still = row.status not in ("idle", "ended")
    return AgentInfo(
        id=row.id,
        type=row.type,
        name=row.name,
        model=row.model,
        state=describe_state(row, board) if alive or not open_still else "interrupted",
        turns=row.turn,
        usage=row.usage,
    )
