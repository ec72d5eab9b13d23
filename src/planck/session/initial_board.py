"""The board of a session that was just opened: what a frontend folds what happens from then on into."""

import msgspec

from planck.records import codec
from planck.records.authority import Mode
from planck.records.board import Board
from planck.records.ledger import Ledger
from planck.records.messages import ToolCall
from planck.records.rows import AgentRow, OpenCall, Spending
from planck.records.tools import find_subject
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
    total = ledger.costs.total
    budget = describe_budget(accounts)
    return Board(
        seq=log.opened_at,
        id=log.id,
        name=log.name,
        mode=mode.value,
        agents=tuple(_make_row(member, ledger) for member in team.members),
        budget=Spending(budget.limit_usd, budget.spent_usd) if budget else None,
        usage=total.usage,
        cost_usd=total.cost_usd,
        unpriced=total.unpriced,
        estimated=total.estimated or msgspec.UNSET,
    )


def _make_row(member: Member, ledger: Ledger) -> AgentRow:
    spec, agent = member.spec, member.actor.agent
    spent = ledger.costs.sum_up(spec.id)
    row = AgentRow(
        id=spec.id,
        type=spec.type,
        name=spec.name,
        role=spec.role,
        model=spec.model.label,
        delegator_id=spec.delegator_id,
        since="",
        turn=agent.turn,
        usage=spent.usage,
        cost_usd=spent.cost_usd,
        unpriced=spent.unpriced,
        estimated=spent.estimated or msgspec.UNSET,
        context=agent.history.tokens() if agent.history.counted else 0,
        window=spec.model.context_window,
    )
    unfinished = member.actor.unfinished
    if unfinished is None:
        return row
    # Its turn began in a process that was lost: no event from here on says that it works, or what is open.
    calls = tuple(OpenCall(call.id, call.name, _find_subject(call), "") for call in agent.history.open_calls)
    return msgspec.structs.replace(
        row,
        status="executing_tools",
        opened_by=unfinished.opening.id,
        steps=unfinished.steps,
        calls=calls,
    )


def _find_subject(call: ToolCall) -> str:
    try:
        return find_subject(call.name, codec.decode(call.arguments))
    except ValueError:
        return ""  # the call fails when it is read
