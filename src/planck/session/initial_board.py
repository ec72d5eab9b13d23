"""The board of a session that was just opened: what a frontend folds what happens from then on into."""

from planck.records.amounts import MICRO
from planck.records.authority import Mode
from planck.records.board import Board
from planck.records.ledger import Ledger
from planck.records.rows import AgentRow, Spending
from planck.records.usage import Spent, sum_usage
from planck.session.logs import SessionLog
from planck.session.result import describe_budget
from planck.team.member import Member
from planck.team.team import Team


def make_opening_board(log: SessionLog, team: Team, mode: Mode) -> Board:
    """Who is there, what was spent before and how full their windows are, without reading the log again.

    A resume has read it once; of what else a board has, only what happens from here on is in it.
    """
    accounts = team.accounts
    ledger = accounts.before or Ledger()
    spent = list(ledger.costs.spent.values())
    budget = describe_budget(accounts)
    return Board(
        seq=log.opened_at,
        id=log.id,
        name=log.name,
        mode=mode.value,
        agents=tuple(_make_row(member, ledger) for member in team.members),
        budget=Spending(budget.limit_usd, budget.spent_usd) if budget else None,
        usage=sum_usage(spent),
        cost_usd=ledger.before[0] / MICRO,
        unpriced=_count_unpriced(spent),
    )


def _make_row(member: Member, ledger: Ledger) -> AgentRow:
    spec, agent = member.spec, member.actor.agent
    spent = [one for one in ledger.costs.spent.values() if one.agent_id == spec.id]
    return AgentRow(
        id=spec.id,
        type=spec.type,
        name=spec.name,
        role=spec.role,
        model=spec.model.label,
        delegator_id=spec.delegator_id,
        since="",
        turn=agent.turn,
        usage=sum_usage(spent),
        cost_usd=sum(one.cost_usd or 0.0 for one in spent),
        unpriced=_count_unpriced(spent),
        context=agent.history.tokens() if agent.history.counted else 0,
        window=spec.model.context_window,
    )


def _count_unpriced(spent: list[Spent]) -> int:
    return sum(one.calls for one in spent if one.cost_usd is None)
