"""What proven work costs: tasks and runs that had checks, and those of them whose checks all passed."""

from datetime import datetime

import msgspec

from planck.records.events import Checked, Event, Kind, TurnStart, UsageSpent, view
from planck.records.usage import Figures, count_call


class ProvenRow(msgspec.Struct, kw_only=True):
    """The work with checks of one team and one model: runs with checks, else tasks with checks."""

    team: str
    """Empty: no team was named."""
    model: str
    """The model of the agent that was given the work."""
    tasks: int = 0
    proven: int = 0
    """Those whose checks all passed in the end."""
    used: Figures = Figures()
    """By all of them, also those that are not proven; of a run by its whole team."""
    seconds: float = 0.0
    """From the beginning of each to its last check."""
    usd_per_proven: float | None = None
    """None: nothing is proven, or a price is not known."""


class _Work:
    def __init__(self, began: str) -> None:
        self.began = began
        self.ended = began
        self.model = ""
        self.used = Figures()
        self.ok: dict[str, bool] = {}
        """By command, how its newest check ended."""


class ProvenFold:
    """Folds the events of one session."""

    def __init__(self) -> None:
        self._runs: list[tuple[_Work, dict[str, _Work]]] = []
        """Each with the tasks that were given in it."""
        self._current: dict[str, str] = {}
        """By agent: the task that it works on."""
        self._lead = ""

    def add(self, event: Event) -> None:
        agent = event.agent_id or ""
        match view(event):
            case TurnStart(kind=Kind.PROMPT):
                self._lead = agent
                self._runs.append((_Work(event.ts), {}))
            case TurnStart(kind=Kind.TASK, message_id=id) if self._runs:
                self._current[agent] = id
                self._runs[-1][1].setdefault(id, _Work(event.ts))
            case TurnStart(kind=Kind.ASK):
                self._current.pop(agent, None)
            case UsageSpent() as used if self._runs:
                self._spend(agent, used)
            case Checked(refused=False) as check if self._runs and check.scope != "base":
                run, tasks = self._runs[-1]
                work = run if check.scope == "run" else tasks.get(str(check.task_id))
                if work:
                    work.ok[check.command] = check.ok
                    work.ended = event.ts
            case _:
                pass

    def _spend(self, agent: str, used: UsageSpent) -> None:
        call = count_call(used.usage, used.cost_usd, used.estimated)
        run, tasks = self._runs[-1]
        run.used += call
        if agent == self._lead:
            run.model = run.model or used.model
        if work := tasks.get(self._current.get(agent, "")):
            work.used += call
            work.model = work.model or used.model

    def count(self, rows: dict[tuple[str, str], ProvenRow], team: str, since: str) -> None:
        """Adds the work whose last check was on that day or later."""
        for run, tasks in self._runs:
            # A run's costs have those of its tasks in them, so only one of the two is counted.
            for work in [run] if run.ok else tasks.values():
                if work.ok and work.ended[:10] >= since:
                    row = rows.setdefault((team, work.model), ProvenRow(team=team, model=work.model))
                    row.tasks += 1
                    row.proven += all(work.ok.values())
                    row.used += work.used
                    row.seconds += _count_seconds(work.began, work.ended)
                    cost = row.used.known_cost
                    row.usd_per_proven = cost / row.proven if row.proven and cost is not None else None


def _count_seconds(began: str, ended: str) -> float:
    try:
        passed = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    except (ValueError, TypeError):
        return 0.0
    return max(0.0, passed.total_seconds())
