"""One agent's own things: what a turn reads, and the one way it writes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum

import msgspec

from planck.agent.repeats import Repeats
from planck.llm.provider import Provider, Request
from planck.permissions.budget import Budget
from planck.records.events import (
    AssistantSaid,
    BudgetSpent,
    Compacted,
    Delivery,
    Envelope,
    ErrorData,
    Kind,
    ModelChanged,
    ToolEnd,
    ToolsChanged,
    ToolStart,
    TurnStart,
    UsageSpent,
    View,
)
from planck.records.history import History
from planck.records.messages import AssistantMessage
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Ids
from planck.records.specs import AgentSpec, ModelSpec
from planck.records.usage import Usage
from planck.toolkit.journal import Entry, Journal
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import Executor, Finished

Cost = Callable[[Usage], float | None]
"""In USD; None where the price is not known."""

MakeRoom = Callable[[Request, bool, Callable[[View], None]], Awaitable[tuple[Compacted, Usage] | None]]
"""What to record before a call so that it fits, or after one that did not, and what making it cost; the
wiring knows who makes it. Watchers hear of it, by the last argument, when it begins."""


class Activity(StrEnum):
    IDLE = "idle"
    STREAMING = "streaming"
    EXECUTING_TOOLS = "executing_tools"


class Agent:
    def __init__(
        self,
        spec: AgentSpec,
        *,
        journal: Journal,
        provider: Provider,
        tools: ToolSet,
        executor: Executor,
        ids: Ids,
        system: Callable[[], str],
        cost: Cost,
        max_steps: int,
        make_room: MakeRoom | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.spec = spec
        self.provider = provider
        self.tools = tools
        self.executor = executor
        self.ids = ids
        self.max_steps = max_steps
        self.history = History()
        self.activity = Activity.IDLE
        self.current_tools: tuple[str, ...] = ()
        self.turn = 0
        self.usage = Usage()
        self.turn_usage = Usage()
        self.turn_text = ""
        self.repeats = Repeats()
        self._journal = journal
        self._system = system
        self._system_text = ""
        self._cost = cost
        self._make_room = make_room
        self._budget = budget

    @property
    def id(self) -> str:
        return self.spec.id

    async def record(self, *facts: View, also: Sequence[Entry] = (), barrier: bool = False) -> None:
        """Make the facts durable, in one commit with other agents' facts; then they are history."""
        entries = [Entry(self.id, self.turn, fact) for fact in facts]
        try:
            await self._journal.record_all([*entries, *also], barrier=barrier)
        except asyncio.CancelledError:
            self._apply(facts)  # the journal commits what it took, whoever still waits for it
            raise
        self._apply(facts)

    def _apply(self, facts: Iterable[View]) -> None:
        for fact in facts:
            self.history.apply(fact)

    def publish(self, delta: View) -> None:
        self._journal.publish(self.id, self.turn, delta)

    def request(self) -> Request:
        return Request(
            self.id, self._system_text, self.history, self.tools.specs, params=self.spec.model.params
        )

    async def make_room(self, *, overflowed: bool = False) -> bool:
        """Compact the history if the next call would not fit, or if the last one did not; True: it was."""
        if not self._make_room:
            return False
        made = await self._make_room(self.request(), overflowed, self.publish)
        if made is None:
            return False
        await self.compacted(*made)
        return True

    async def compacted(self, fact: Compacted, spent: Usage) -> None:
        """From here on its history is this; a resume, which begins here, knows what was used before."""
        facts = self._spend(spent) if spent != Usage() else ()
        await self.record(*facts, msgspec.structs.replace(fact, usage=self.usage))

    def begin_turn(self, opening: Envelope) -> tuple[View, ...]:
        """The facts of a new turn: it began, and it consumed what started it."""
        self.turn += 1
        self.turn_usage = Usage()
        self.turn_text = ""
        self.repeats = Repeats()
        self._system_text = self._system()
        return (
            TurnStart(kind=opening.kind, message_id=opening.id),
            Delivery(ids=(opening.id,), state="delivered"),
        )

    async def answered(self, message: AssistantMessage) -> None:
        """Record what the model said, what it cost and which calls begin, in one commit."""
        spent = self._spend(message.usage)
        self.turn_text = message.text or self.turn_text
        self.repeats.next_step()
        starts = [
            ToolStart(id=call.id, name=call.name, args=self.executor.arguments(call))
            for call in message.tool_calls
        ]
        await self.record(
            AssistantSaid(message=message),
            *spent,
            *starts,
        )

    def _spend(self, usage: Usage) -> tuple[View, ...]:
        """Counted, and the facts that say so."""
        self.turn_usage += usage
        self.usage += usage
        spent = UsageSpent(model=self.spec.model.label, usage=usage, cost_usd=self._cost(usage))
        if self._budget is None:
            return (spent,)
        return spent, BudgetSpent(limit_usd=self._budget.limit, spent_usd=self._budget.spent)

    async def finished(self, done: Finished) -> None:
        """Record a call's one result, or that it could not be recorded."""
        notice = self.repeats.notice(done.call, done.output)
        try:
            await self.record(_tool_end(done, notice))
        except PlanckError as failure:
            message = f"the result of {done.call.name} is lost: {failure.err}"
            lost = Err(ErrorKind.TOOL_RESULT_RECORD_FAILED, message)
            await self.record(
                _tool_end(msgspec.structs.replace(done, outcome=lost, output=str(lost), images=()))
            )
        self.current_tools = self.current_tools[1:]

    async def add_tool(self, tool: Tool) -> None:
        """From the next step on; the name must be free."""
        self.tools.add(tool)
        await self.record(ToolsChanged(added=(tool.name,)))

    async def remove_tool(self, name: str) -> None:
        """From the next step on; a call that runs already goes on."""
        self.tools.remove(name)
        await self.record(ToolsChanged(removed=(name,)))

    async def change_model(
        self, model: ModelSpec, provider: Provider, cost: Cost, make_room: MakeRoom | None
    ) -> None:
        """From the next model call on."""
        await self.record(ModelChanged(model=model))
        self.spec = msgspec.structs.replace(self.spec, model=model)
        self.provider, self._cost, self._make_room = provider, cost, make_room

    async def take_responses(self) -> None:
        """Join what may join a running turn: responses, and what the user steers with."""
        ids = tuple(e.id for e in self.history.unread.values() if e.kind is Kind.RESPONSE)
        if ids:
            await self.record(Delivery(ids=ids, state="delivered"))


def _tool_end(done: Finished, notice: str = "") -> ToolEnd:
    err = done.outcome if isinstance(done.outcome, Err) else None
    return ToolEnd(
        id=done.call.id,
        name=done.call.name,
        ok=done.ok,
        output=done.output + notice,
        error=ErrorData(err.kind, err.message, err.details) if err else None,
        exit_code=done.exit_code,
        duration_ms=done.duration_ms,
        images=done.images,
    )
