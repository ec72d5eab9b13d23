"""What a session has cost, row by row, as `/cost`, `sessions show --cost`, the page and the API show it."""

from datetime import datetime
from typing import Literal

import msgspec

from planck.records.amounts import MICRO, UNITS
from planck.records.ledger import AccountRow, Ledger
from planck.records.usage import Figures, Usage


class CostRow(msgspec.Struct, frozen=True):
    """What one agent used of one model; the budget stands in an agent's first row."""

    agent_id: str
    agent: str
    depth: int
    """0: the orchestrator; each loan is one deeper."""
    model: str
    calls: int
    usage: Usage
    cost_usd: float | None
    """None: a price is unknown."""
    source: Literal["", "run", "lent"] = ""
    """Where its budget comes from; empty: nothing of its own."""
    budget: dict[str, float] = {}
    """By unit: `usd`, `tokens`, `ms`, `steps`, `calls`."""
    left: dict[str, float] = {}
    stops_in_s: float | None = None
    """When it is used up, at the rate so far."""
    estimated: int = 0
    """How many of the calls the provider did not count: tokens and cost are estimates."""


class CostReport(msgspec.Struct, frozen=True):
    rows: tuple[CostRow, ...]
    calls: int
    usage: Usage
    cost_usd: float | None
    estimated: int = 0
    """As of a row."""


def report_costs(ledger: Ledger) -> CostReport:
    """Returns every agent that ever was, in the order in which they started."""
    costs, rows = ledger.costs, list[CostRow]()
    for id, name in costs.names.items():
        source, budget, left, stops = _describe_budget(ledger, id, first=not rows)
        for model, used in (costs.by_model(id) or {ledger.models.get(id, ""): Figures()}).items():
            depth = _find_depth(ledger, id) if rows else 0
            figures = used.calls, used.usage, used.known_cost
            rows.append(
                CostRow(id, name, depth, model, *figures, source, budget, left, stops, used.estimated)
            )
            source, budget, left, stops = "", {}, {}, None
    total = costs.total
    return CostReport(tuple(rows), total.calls, total.usage, total.known_cost, total.estimated)


_Budget = tuple[Literal["", "run", "lent"], dict[str, float], dict[str, float], float | None]


def _describe_budget(ledger: Ledger, id: str, *, first: bool) -> _Budget:
    row = ledger.accounts.get(id)
    if row and row.limit:
        limit, spent = row.limit.amount.parts, row.spent
        budget = row.limit.amount.describe()
        left = {
            unit: max(0, most - used) / (MICRO if unit == "usd" else 1)
            for unit, most, used in zip(UNITS, limit, spent, strict=True)
            if most is not None
        }
        used = [spent[UNITS.index(unit)] / (limit[UNITS.index(unit)] or 1) for unit in budget]
        return "lent", budget, left, _forecast(row, max(used, default=0.0))
    run = ledger.run
    if first and run and run.limit_usd is not None:
        lent = sum(map(_find_rest, ledger.accounts.values()))
        rest = max(0.0, run.limit_usd - (run.spent_usd or 0.0) - lent)
        return "run", {"usd": run.limit_usd}, {"usd": rest}, None
    return "", {}, {}, None


def _find_rest(row: AccountRow) -> float:
    """What is lent and not spent, in USD."""
    if not row.open or row.limit is None or row.limit.usd is None:
        return 0.0
    return max(0.0, row.limit.usd - row.spent[0] / MICRO)


def _forecast(row: AccountRow, used: float) -> float | None:
    """Seconds from its last answer until it is used up, at the rate since its first; None: can't be told."""
    if not row.open or not 0 < used < 1:
        return None
    try:
        elapsed = (datetime.fromisoformat(row.until) - datetime.fromisoformat(row.since)).total_seconds()
    except (ValueError, TypeError):  # whatever a foreign log has for a time
        return None
    return elapsed * (1 - used) / used if elapsed > 0 else None


def _find_depth(ledger: Ledger, id: str) -> int:
    depth, seen = 1, {id}
    row = ledger.accounts.get(id)
    lead = next(iter(ledger.costs.names), "")
    while row and row.parent not in ("", "run", "session", lead) and row.parent not in seen:
        seen.add(row.parent)
        depth, row = depth + 1, ledger.accounts.get(row.parent)
    return depth
