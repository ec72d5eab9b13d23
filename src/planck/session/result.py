"""What a run came to: a fold over its events, and the exit code that says it to a shell."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any, Literal

import msgspec

from planck.budget.accounts import Accounts
from planck.records.amounts import MICRO
from planck.records.events import (
    AgentStarted,
    AssistantSaid,
    CommandRecorded,
    ErrorEvent,
    Event,
    FileChanged,
    LandingFinished,
    LandingProposed,
    PermissionDecision,
    TurnEnd,
    TurnStart,
    TurnStatus,
    UsageSpent,
    view,
)
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.usage import AgentCost, Costs, Usage
from planck.records.visible import fit_line
from planck.session.proof.fold import CheckRow, ProofFold, RunEvidence, find_unproven

TRANSIENT = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.NETWORK, ErrorKind.STREAM_CUT})


class Exit(IntEnum):
    DONE = 0
    FAILURE = 1
    USAGE = 2
    DENIED = 3
    CAPPED = 4
    LOCKED = 5
    NO_TEXT = 6
    UNPROVEN = 7
    TRANSIENT = 75
    TIMEOUT = 124
    SIGINT = 130
    SIGTERM = 143


class RunBudget(msgspec.Struct, frozen=True):
    limit_usd: float
    spent_usd: float
    held_usd: float


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file or a link that is not what it was before the run.

    Example:

        result = planck.run("Say hello.")
        for file in result.changes:
            print(file.path, file.added, file.removed, file.agent)
    """

    path: str
    agent: str
    """Who changed it last."""
    agent_id: str
    by: Literal["tool", "command", "landing"]
    added: int | None
    """Lines; None for a binary file, or where nobody knows."""
    removed: int | None
    landed: bool
    """Whether the change is in the workspace; False: it is in a view that has not landed."""


class Touched(msgspec.Struct):
    """Which events changed a path in a run."""

    first: int
    last: int
    agent_id: str
    by: Literal["tool", "command", "landing"]


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run: its status, its text, what it cost and what went wrong.

    Example:

        result = planck.run("Say hello.")
        print(result.text if result.ok else result.errors, result.cost_usd)
    """

    status: TurnStatus
    text: str = ""
    session_id: str
    session_name: str
    usage: Usage = Usage()
    cost_usd: float | None = None
    duration_ms: int = 0
    steps: int = 0
    denials: tuple[dict[str, Any], ...] = ()
    errors: tuple[dict[str, Any], ...]
    exit_code: int
    agents: tuple[AgentCost, ...] = ()
    """What each agent used in this run, also those that ended."""
    budget: RunBudget | msgspec.UnsetType = msgspec.UNSET
    """Absent: nothing limits what the run may cost."""
    changes: tuple[ChangedFile, ...] = ()
    """The files that the run changed."""
    estimated: int | msgspec.UnsetType = msgspec.UNSET
    """How many model calls the provider did not count, so that usage and cost are estimates; absent: none."""
    checks: tuple[CheckRow, ...] = ()
    """How the user's checks ended; none without any."""
    evidence: RunEvidence = RunEvidence()
    """What the log knows: commands that ran, files that changed, and whether claims are so."""

    @property
    def ok(self) -> bool:
        """Whether the run completed with an answer."""
        return self.exit_code == Exit.DONE

    def raise_for_status(self) -> None:
        """Raises `PlanckError` with the run's first error, unless the run completed."""
        if self.status is TurnStatus.COMPLETED:
            return
        for error in self.errors:
            raise PlanckError(ErrorKind(error["kind"]), error["message"], dict(error["details"]))
        raise PlanckError(_KINDS.get(self.status, ErrorKind.INTERNAL_ERROR), f"The run ended: {self.status}.")

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}…"
        parts = [f"{self.status}", f"session={self.session_name!r}", f"steps={self.steps}", f"text={text!r}"]
        parts += [f"error={error['kind']}: {error['message']}" for error in self.errors[:1]]
        return f"RunResult({', '.join(parts)})"


_SHOWN = 200
"""Characters of the answer in the `repr` of a result: it is for a log or a debugger."""
_KINDS = {TurnStatus.INTERRUPTED: ErrorKind.INTERRUPTED, TurnStatus.TIMED_OUT: ErrorKind.TIMEOUT}
"""For a run that ended early without an error of its own."""


class RunTally:
    """Counts what a run comes to, event by event: text and status are the orchestrator's."""

    def __init__(self, orchestrator_id: str, proof: ProofFold | None = None, after: int = 0) -> None:
        """`proof` folds the same events already, and those before `after`; None: it is done here."""
        self._orchestrator_id = orchestrator_id
        self._own = ProofFold() if proof is None else None
        self._proof = proof or self._own or ProofFold()
        self._after = after
        self._costs = Costs()
        self._steps = 0
        self._denials: list[dict[str, Any]] = []
        self._errors: list[dict[str, Any]] = []
        self._status, self._text, self._final = TurnStatus.FAILED, "", ""
        self._began, self._worked = "", 0
        self._by_call: dict[str, set[str]] = {}
        self.names: dict[str, str] = self._costs.names
        self.touched: dict[str, Touched] = {}
        """By path: what changed in it."""
        self.unlanded: dict[str, dict[str, Touched]] = {}
        """The same in views, by view, of what has not landed."""
        self._landings: dict[str, str] = {}
        """By landing: its view."""

    def add(self, event: Event) -> None:
        if self._own:
            self._own.add(event)
        if event.type not in _COUNTED:
            return
        match view(event):
            case FileChanged() as fact if event.seq is not None:
                self._touch(event.seq, event.agent_id or "", fact)
            case CommandRecorded(call_id=id, view=view_id):
                changed = self.unlanded.get(view_id, {}) if view_id else self.touched
                for path in self._by_call.pop(id, ()):
                    if one := changed.get(path):
                        one.by = "command"
            case LandingProposed(landing=id, view=view_id):
                self._landings[id] = view_id
            case LandingFinished(landing=id):
                self.unlanded.pop(self._landings.get(id, ""), None)
            case AgentStarted(agent=agent):
                self._costs.names[agent.id] = agent.name
            case AssistantSaid() as said:
                self._steps += not said.unfinished
                if event.agent_id == self._orchestrator_id:
                    self._text = said.message.text or self._text
            case UsageSpent() as spent:
                who = event.agent_id or ""
                self._costs.add(who, spent.model, spent.usage, spent.cost_usd, spent.estimated)
            case PermissionDecision(decision="deny") as denied if event.agent_id:
                row = {"tool": denied.tool, "reason": denied.reason, "by": denied.by, "words": denied.words}
                row["way_out"] = denied.way_out
                self._denials.append({"agent_id": event.agent_id, **row})
            case ErrorEvent() as failed:
                self._errors.append(_error(event.agent_id, failed.kind, failed.message, failed.details))
            case TurnStart() if event.agent_id == self._orchestrator_id:
                self._text, self._began = "", event.ts
            case TurnEnd() as end if event.agent_id == self._orchestrator_id:
                self._status, self._final = end.status, end.text
                self._worked += _count_ms(self._began, event.ts)
                self._text = end.text or self._text
            case _:
                pass

    def _touch(self, seq: int, agent_id: str, fact: FileChanged) -> None:
        if isinstance(fact.image, str):  # git ignores it
            return
        self._by_call.setdefault(fact.call_id, set()).add(fact.path)
        touched = self.unlanded.setdefault(fact.view, {}) if isinstance(fact.view, str) else self.touched
        one = touched.setdefault(fact.path, Touched(seq, seq, agent_id, "tool"))
        one.last, one.agent_id = seq, agent_id
        one.by = "landing" if isinstance(fact.landing, str) else "tool"

    def summarise(
        self,
        *,
        names: Mapping[str, str],
        session_id: str,
        session_name: str,
        duration_ms: int | None = None,
        budget: RunBudget | None = None,
        checks: Sequence[str] = (),
        require_proof: bool = False,
        changes: tuple[ChangedFile, ...] = (),
    ) -> RunResult:
        """`names`: by id, of the agents that there are. `duration_ms`: as the caller that waited measured it;
        None: as long as the orchestrator's turns took, by the log. `checks`: what must have passed."""
        costs, known = self._costs, dict(names)
        for id, name in costs.names.items():
            if name != id or id not in known:
                known[id] = name
        costs.names = known
        self._proof.name(known)
        result = RunResult(
            status=self._status,
            text=self._text,
            session_id=session_id,
            session_name=session_name,
            usage=costs.total.usage,
            cost_usd=costs.total.known_cost,
            duration_ms=self._worked if duration_ms is None else duration_ms,
            steps=self._steps,
            denials=tuple(self._denials),
            errors=tuple(self._errors),
            exit_code=_exit_code(self._status, self._final, bool(self._denials), self._errors),
            agents=costs.agents,
            changes=changes,
            budget=budget or msgspec.UNSET,
            estimated=costs.total.estimated or msgspec.UNSET,
            checks=self._proof.find_checks(checks, self._after),
            evidence=self._proof.find_evidence(self._after),
        )
        return _hold_to_proof(result, require_proof=require_proof)


_COUNTED = frozenset(
    fact.type
    for fact in (
        *(AgentStarted, AssistantSaid, UsageSpent, PermissionDecision, ErrorEvent, TurnStart, TurnEnd),
        *(FileChanged, CommandRecorded, LandingProposed, LandingFinished),
    )
)
"""What a run's result is made of; the other events are not decoded for it."""


def describe_budget(accounts: Accounts) -> RunBudget | None:
    """Returns what the run may cost, or the session where it has no limit of its own; None: as it comes."""
    if not accounts.limited:
        return None
    whole = accounts.run if accounts.run.limit.micro_usd is not None else accounts.session
    if (limit := whole.limit.micro_usd) is None:
        return None
    return RunBudget(limit / MICRO, (whole.spent.micro_usd or 0) / MICRO, whole.held_below / MICRO)


def mark_stopped(result: RunResult, status: TurnStatus) -> RunResult:
    """Gives a stopped run its status: whatever its orchestrator had come to, the rest of the team had not."""
    code = _exit_code(status, result.text, bool(result.denials), list(result.errors))
    return msgspec.structs.replace(result, status=status, exit_code=code)


def fail_result(result: RunResult, err: Err) -> RunResult:
    """Gives a run that nobody continues the status `failed`, with the reason as its last error.

    An error of that kind that is there says it already, as it was recorded.
    """
    told = any(error["kind"] == err.kind for error in result.errors)
    errors = result.errors if told else (*result.errors, _error(None, err.kind, err.message, err.details))
    return msgspec.structs.replace(
        result, status=TurnStatus.FAILED, errors=errors, exit_code=int(Exit.FAILURE)
    )


def make_failure(err: Err, exit_code: int, status: TurnStatus = TurnStatus.FAILED) -> RunResult:
    """Returns the result of a run that could not begin or could not be recorded."""
    return RunResult(
        status=status,
        session_id="",
        session_name="",
        errors=(_error(None, err.kind, err.message, err.details),),
        exit_code=exit_code,
    )


def _count_ms(began: str, ended: str) -> int:
    """Nothing where the begin is not among the events, or a clock was set back."""
    try:
        passed = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    except ValueError:
        return 0
    return max(round(passed.total_seconds() * 1000), 0)


def _hold_to_proof(result: RunResult, *, require_proof: bool) -> RunResult:
    """Lets no run count as done whose checks are not green, or that lacks the proof that it needs.

    Of a run that ended otherwise, only a check that ran and stayed red counts.
    """
    done = result.status is TurnStatus.COMPLETED
    red = [check for check in result.checks if not check.ok and (done or check.attempts)]
    why = " ".join(map(_say_red, red))
    if not why and require_proof and done:
        unproven = find_unproven(result.evidence, result.checks)
        why = f"Not proven: {unproven}." if unproven else ""
    if not why or result.status not in (TurnStatus.COMPLETED, TurnStatus.FAILED):
        return result
    beaten = (Exit.DONE, Exit.NO_TEXT, Exit.FAILURE)
    code = Exit.UNPROVEN if result.exit_code in beaten else result.exit_code
    errors = result.errors
    if code == Exit.UNPROVEN:
        details = {"checks": [check.command for check in red]}
        errors = (*errors, _error(None, ErrorKind.COMMAND_FAILED, why, details))
    return msgspec.structs.replace(result, status=TurnStatus.FAILED, errors=errors, exit_code=int(code))


def _say_red(check: CheckRow) -> str:
    if check.exit_code:
        how = f"ended with exit code {check.exit_code}"
    elif check.exit_code == 0:
        how = "passed, but not after the last change"
    else:
        how = "did not run to its end" if check.attempts else "did not run"
    return f"The check `{fit_line(check.command, 200)}` {how}."


def _error(agent_id: str | None, kind: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    return {"agent_id": agent_id, "kind": kind, "message": message, "details": details}


def _exit_code(status: TurnStatus, text: str, denied: bool, errors: list[dict[str, Any]]) -> int:
    match status:
        case TurnStatus.COMPLETED if text.strip():
            return Exit.DONE
        case TurnStatus.COMPLETED:
            return Exit.DENIED if denied else Exit.NO_TEXT
        case TurnStatus.CAPPED:
            return Exit.CAPPED
        case TurnStatus.TIMED_OUT:
            return Exit.TIMEOUT
        case TurnStatus.INTERRUPTED:
            return Exit.SIGINT
    last = errors[-1]["kind"] if errors else ""
    if last in TRANSIENT:
        return Exit.TRANSIENT
    return Exit.DENIED if last == ErrorKind.PERMISSION_DENIED else Exit.FAILURE
