"""One agent's own things: what a turn reads, and the one way it writes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from enum import StrEnum
from itertools import takewhile
from typing import Literal, Protocol

import msgspec
from msgspec.structs import replace

from planck.agent.seat import UNAVAILABLE, Seat
from planck.budget.accounts import Purse, make_free_purse
from planck.context.compaction import hear_count
from planck.context.fitting import ROOMY, ToolFit
from planck.context.prompt import Prepared
from planck.llm.dialects.answer import TOKEN_BYTES
from planck.llm.provider import Request
from planck.records.amounts import say, say_when
from planck.records.events import (
    AssistantSaid,
    Compacted,
    Delivery,
    Envelope,
    ModelChanged,
    Origin,
    Status,
    TextDelta,
    ToolsChanged,
    ToolStart,
    TurnStart,
    UsageSpent,
    View,
)
from planck.records.history import History, make_news
from planck.records.messages import AssistantMessage, StopReason, Text, ToolCall, size
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Ids, Schedule
from planck.records.specs import AgentSpec, Limits, ToolSpec
from planck.records.usage import Attempt, Tally, Usage
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Effect, Tool
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import ReadCall, read_calls, refuse_calls
from planck.tools.results import Finished

_TOO_OFTEN, _REFUSED = 3, 6
"""Steps with the same call and the same result: when the model is told, and which is not run any more."""

CUT = (
    '\n\n[planck: the answer was cut off here; say "continue" for the rest, or raise the model\'s max_output]'
)
"""What stands below a final text that the model could not finish."""

_UNFINISHED = "your answer above was interrupted before it was complete"
_STUCK = (
    "this call was not run again, because it gave the same result {} times; "
    "do something else, or end your turn and say what is blocking you"
)
_SAME_RESULT = (
    "[notice: this call gave the same result {} times, and nothing changed in between. "
    "Change the arguments or the approach, or end your turn and say what is blocking you]"
)
_MOST_DENIED = 3
_STOP_TRYING = (
    "[notice: {} calls were denied in this turn. "
    "Stop trying: finish the work that needs no permission, and report what you could not do]"
)
_REPORT_NOW = (
    "The budget allows one more answer, without tools. Say what is done, what is not, and what comes next."
)
_BE_BRIEF = "Finish what matters most, and report before it runs out."


_ANY = Usage(1, 1)


class Activity(StrEnum):
    IDLE = "idle"
    STREAMING = "streaming"
    EXECUTING_TOOLS = "executing_tools"


class Preparation(Protocol):
    def prepare_turn(self) -> Prepared:
        """Takes in what changed on disk since the last turn, and returns what the model is shown now."""


class Runner(Protocol):
    def run(self, calls: Sequence[ReadCall]) -> AsyncGenerator[Finished, None]:
        """Runs the calls of one step; yields one result each, in their order."""

    def take_unread(self) -> Sequence[Finished]:
        """Returns, once, the results that were there when a step was cut, yielded or not."""


class Kit(msgspec.Struct, frozen=True):
    """What an agent works with."""

    tools: ToolSet
    runner: Runner
    preparation: Preparation
    schedule: Schedule


class Bounds(msgspec.Struct, frozen=True):
    """What an agent may use."""

    max_steps: int
    purse: Purse = msgspec.field(default_factory=make_free_purse)
    calls: int = Limits().calls
    """In one answer, and how large one may be: of one beyond either no call is run."""
    answer_bytes: int = Limits().answer_bytes

    def paid_by(self, purse: Purse) -> "Bounds":
        return msgspec.structs.replace(self, purse=purse)


class OutOfBudget(PlanckError):
    """The last request that could be paid for was made; its answer is recorded."""


class Agent:
    def __init__(
        self, spec: AgentSpec, seat: Seat, kit: Kit, scribe: Scribe, *, ids: Ids, bounds: Bounds
    ) -> None:
        self.id: str = spec.id
        self.spec: AgentSpec = spec
        self.seat: Seat = seat
        self.kit = kit
        self.scribe = scribe
        self.history: History = scribe.history
        self.ids = ids
        self.bounds = bounds
        self.purse: Purse = bounds.purse
        self.held: set[str] = set()
        """Mail that no turn may begin with yet: not safe from a power cut, or being taken back."""
        self.usage: Usage = Usage()
        self.turn_usage: Usage = Usage()
        self.tally: Tally = Tally()
        self.turn_text: str = ""
        self.steps: int = 0
        """Answers of this turn."""
        self.excesses: int = 0
        """Answers of this turn that were too large, or brought too many calls."""
        self.denials: int = 0
        """Calls of this turn that were denied."""
        self.repeats: Repeats = Repeats()
        self.effects: int = 0
        """Results so far that were new, of tools that change something."""
        self._root: str | None = None
        self._system_text = ""
        self._fit = ToolFit()
        self._news: list[Envelope] = []
        """What changed, not shown yet."""
        self._begun = ""
        self._heard: list[str] = []
        """The text so far of the answer that is being written."""
        self._out: Err | None = None
        """Why the request at hand is the last one that can be paid for."""

    @property
    def activity(self) -> Activity:
        """What the log says that it does."""
        if not self.history.in_turn:
            return Activity.IDLE
        return Activity.EXECUTING_TOOLS if self.history.open_calls else Activity.STREAMING

    @property
    def current_tools(self) -> tuple[str, ...]:
        return tuple(call.name for call in self.history.open_calls) if self.history.in_turn else ()

    @property
    def turn(self) -> int:
        return self.scribe.turn

    @property
    def tools(self) -> ToolSet:
        return self.kit.tools

    @property
    def shown_tools(self) -> tuple[ToolSpec, ...]:
        """What the model is told of: all it has, or what a small window can hold of that."""
        window = self.seat.model.context_window
        if window >= ROOMY:
            return self.kit.tools.specs
        return self._fit.choose(self.tools.specs, self._system_text, window)

    def request(self) -> Request:
        return Request(
            self.id,
            self._system_text,
            self.history,
            () if self.purse.last else self.shown_tools,
            params=self.spec.model.params,
            answer_bytes=self.bounds.answer_bytes,
            calls=self.bounds.calls,
            tally=self.tally,
            bursts=True,
        )

    def hear(self, item: View) -> None:
        """Show what passes of an answer; what it used is kept, for the case that none comes of it."""
        if isinstance(item, TextDelta):
            self._heard.append(item.text)
        else:
            hear_count(item, self.tally)
            if isinstance(item, Status) and item.state == "discarded":
                self._heard.clear()
        self.scribe.publish(item)

    async def make_room(self, *, overflowed: bool = False) -> bool:
        """Compact the history if the next call would not fit, or if the last one did not; True: it was."""
        self.tally.cut()  # a request that was refused is no longer in flight
        self._heard.clear()
        made = await self.seat.compactor.make_room(self.request(), self.scribe, overflowed=overflowed)
        if made is None:
            return False
        await self.record_compaction(made, self.tally)
        return True

    async def recover(self, refused: Err) -> bool:
        """Mend what a model call failed of: with less history, or another model; True: ask again."""
        if refused.kind is ErrorKind.CONTEXT_OVERFLOW:
            return await self.make_room(overflowed=True)
        if self.seat.spare is None or refused.kind not in UNAVAILABLE:
            return False
        self._heard.clear()
        seat = self.seat.spare.make()
        detail = f"{str(refused).rstrip('.')}; switching from {self.seat.model.label} to {seat.model.label}"
        self.scribe.publish(Status(component="model", state="fallback", detail=detail))
        self.tally.cut()
        if spent := self.settle(self.tally):  # at the price of the model that did not answer
            await self.scribe.record(*spent)
        await self.use_model(seat)
        return True

    async def record_compaction(self, fact: Compacted, tally: Tally) -> None:
        """From here on its history is this; a resume, which begins here, knows what was used before."""
        answered, cut = tally.take()
        spent = [fact for one in answered for fact in self._spend(one.usage, estimated=one.estimated)]
        spent += self._spend_in_vain(cut)
        await self.scribe.record(*spent, msgspec.structs.replace(fact, usage=self.usage))

    def settle(self, tally: Tally) -> list[View]:
        """The facts of what was used in vain: calls of which no answer came, summaries that did not help."""
        if tally.empty:
            return []
        answered, cut = tally.take()
        return self._spend_in_vain([*answered, *cut])

    def _spend_in_vain(self, attempts: Sequence[Attempt]) -> list[View]:
        return [
            fact
            for one in attempts
            if one.usage != Usage()
            for fact in self._spend(one.usage, "cut", estimated=one.estimated)
        ]

    def begin_turn(self, opening: Envelope) -> tuple[View, ...]:
        """The facts of a new turn: it began, and it consumed what started it. None of one that continues."""
        if self.history.in_turn:
            return ()
        self._prepare_turn(opening)
        return (
            TurnStart(
                kind=opening.kind,
                message_id=opening.id,
                system=self.scribe.keep_system(self._system_text),
                tools=self.scribe.keep_tools(self.shown_tools),
            ),
            Delivery(ids=(opening.id,), state="delivered"),
        )

    async def continue_step(self, opening: Envelope, spent: Usage, text: str, steps: int) -> None:
        """Finish the step of a turn that a lost process left at a question.

        What waited for the user had not begun: it asks again. Of the rest nobody knows what it did.
        """
        self._begun = opening.id
        self._prepare_turn(opening)
        self.turn_usage, self.turn_text, self.steps = spent, text, steps
        calls = [*map(self._refuse_unknown, read_calls(self.tools, self.history.open_calls))]
        async with aclosing(self.kit.runner.run(calls)) as results:
            async for finished in results:
                await self.record_result(finished)

    def _refuse_unknown(self, read: ReadCall) -> ReadCall:
        return replace(read, refused=self.history.refuse_asking(read.call))

    def _prepare_turn(self, opening: Envelope) -> None:
        if self._begun != opening.id:  # the first try's facts may have been refused
            self._begun = opening.id
            self.scribe.turn += 1
        self.turn_usage = Usage()
        self.turn_text = ""
        self.steps = self.excesses = self.denials = 0
        self._out = None
        if self.purse.accounts.limited:
            self.purse.begin(opening)
            if self.seat.counted and self.purse.paying.bounded:
                self.seat = self.seat.counted.make()
        if opening.root != self._root or not opening.root:  # the user has spoken since
            self._root, self.repeats = opening.root, Repeats()
        self._system_text = self.kit.preparation.prepare_turn().system
        self._tell_left_out()

    def _tell_left_out(self) -> None:
        before = self._fit.left_out
        if self.shown_tools is not self.tools.specs and self._fit.left_out != before:
            model = self.seat.model
            detail = (
                f"the context window of {model.label} ({model.context_window} tokens) is too small for all "
                f"tools; hidden tools: {', '.join(self._fit.left_out)}"
            )
            self.scribe.publish(Status(component="tools", state="left_out", detail=detail))

    async def record_answer(self, message: AssistantMessage) -> list[ReadCall]:
        """Record what the model said, what it cost and which calls begin, in one commit; returns those."""
        estimated = self.tally.answer()
        self._heard.clear()
        self.steps += 1
        self.turn_text = message.text or self.turn_text
        self.repeats.next_step()
        asked = message.tool_calls
        excess = self._find_excess(message, len(asked)) or self._refuse_unpaid(len(asked))
        if excess:
            self.excesses += 1
            calls = refuse_calls(asked, excess)
        else:
            calls = [*map(self.repeats.refuse, read_calls(self.tools, asked))]
        starts = [ToolStart(id=read.call.id, name=read.call.name, args=read.shown) for read in calls]
        # After the calls were counted: the fact of the account is all that says how many they were.
        spent = [*self.settle(self.tally), *self._spend(message.usage, estimated=estimated)]
        await self.scribe.record(AssistantSaid(message=message), *spent, *starts)
        if self._out and not calls:
            raise OutOfBudget(self._out.kind, self._out.message, self._out.details)
        return calls

    def _refuse_unpaid(self, calls: int) -> Err | None:
        """Why calls of an answer are not run; what is, is counted."""
        if not calls or not self.purse.accounts.limited:
            return None
        taken = (0, 0, 0, 0, calls)
        held = self._out or self.purse.paying.hold(taken)
        if isinstance(held, Err):
            left = None if self._out else self.purse.paying.left("calls")
            why = (
                f"the budget allows only {say('calls', left)}; send fewer, or"
                if left
                else "the budget is used up;"
            )
            text = f"no calls were run: {why} report what is done and what is not"
            return Err(held.kind, text, held.details)
        held.settle(taken)
        return None

    def _find_excess(self, message: AssistantMessage, calls: int) -> Err | None:
        """Why no call of an answer is run; a stop by `length` with calls in it is one that was cut here."""
        bounds = self.bounds
        if calls > bounds.calls:
            text = f"no calls were run: the answer has {calls} calls or more, and the limit is {bounds.calls}"
            return Err(
                ErrorKind.LIMIT_EXCEEDED,
                f"{text}; send fewer in one answer. A second answer like this ends the turn",
                {"calls": calls, "limit": bounds.calls},
            )
        if calls and (message.stop is StopReason.LENGTH or size(message) > bounds.answer_bytes):
            text = f"no calls were run: the answer was cut off after {bounds.answer_bytes} bytes"
            return Err(
                ErrorKind.LIMIT_EXCEEDED,
                f"{text}; write less in one answer. A second answer like this ends the turn",
                {"limit": bounds.answer_bytes},
            )
        return None

    def was_cut_elsewhere(self, message: AssistantMessage) -> bool:
        """Whether an answer cut short has words, and it was not we who broke it off: what it says counts."""
        broken_off = message.usage.output_tokens >= self.bounds.answer_bytes // TOKEN_BYTES
        if not message.text.strip() or broken_off:
            return False
        self.scribe.publish(Status(component="model", state="cut", detail=CUT.strip(" \n[]")))
        return True

    def _spend(
        self,
        usage: Usage,
        outcome: Literal["cut"] | msgspec.UnsetType = msgspec.UNSET,
        *,
        estimated: bool = False,
    ) -> tuple[View, ...]:
        """Counted, and the facts that say so."""
        self.turn_usage += usage
        self.usage += usage
        purse, cost = self.purse, self._find_cost(usage)
        spent = UsageSpent(model=self.spec.model.label, usage=usage, cost_usd=cost, outcome=outcome)
        if estimated:
            spent = msgspec.structs.replace(spent, estimated=True)
        if not purse.accounts.limited:
            return (spent,)
        if purse.task_id:
            spent = msgspec.structs.replace(spent, account=purse.task_id)
        if not purse.paying.bounded:
            return (spent,)
        return spent, purse.accounts.describe(purse.paying, "spent")

    def _find_cost(self, usage: Usage) -> float | None:
        """Returns None where nothing is known of the price, or where the server of a priced model counted
        nothing: what it charges is unknown then, and not zero."""
        tariff = self.seat.tariff
        cost = tariff.cost_usd(usage) if tariff else None
        # An external agent may say what a turn cost, and count no tokens.
        if tariff and usage == Usage() and not cost and tariff.cost_usd(_ANY):
            return None
        return cost

    async def record_result(self, done: Finished) -> None:
        """Record a call's one result, or that it could not be recorded."""
        timed = self._count_time(done) if self.purse.accounts.limited else ()
        notice = self._find_notice(done)
        try:
            await self.scribe.record(done.as_fact(notice), *timed)
        except PlanckError as failure:
            why = str(failure.err).rstrip(".")
            message = (
                f"{done.call.name} ran, but its result could not be recorded: {why}; "
                "check what it did before you run it again, and report this"
            )
            lost = Err(ErrorKind.TOOL_RESULT_RECORD_FAILED, message)
            await self.scribe.record(
                msgspec.structs.replace(done, outcome=lost, output=str(lost), images=()).as_fact()
            )

    def _count_time(self, done: Finished) -> tuple[View, ...]:
        """Counts how long a call took; where time is limited, the log says so at once, for a resume."""
        paying = self.purse.paying
        paying.count((0, 0, done.duration_ms, 0, 0))
        limited = any(unit == "ms" for unit, _ in paying.payers)
        return (self.purse.accounts.describe(paying, "spent"),) if limited else ()

    def end_open_calls(self) -> list[View]:
        """The one result of each call that has none yet: the turn was stopped before it came to them."""
        if not self.history.open_calls:
            return []
        unread = {done.call.id: done.as_fact() for done in self.kit.runner.take_unread()}
        return self.history.end_open_calls(unread)

    def end_open_answer(self) -> list[View]:
        """The facts of an answer that was stopped while it was written: its text so far, which was shown."""
        text = "".join(self._heard)
        self._heard.clear()
        if not text.strip():
            return []
        self.turn_text = text
        self.note(make_news(self.ids.new(self.id), self.id, _UNFINISHED, user_knows=True))
        said = AssistantMessage((Text(text),), "", self.seat.model.model, StopReason.LENGTH)
        return [AssistantSaid(message=said, unfinished=True)]

    def _find_notice(self, done: Finished) -> str:
        repeated = self._notice_repeat(done)
        if not isinstance(done.outcome, Err) or done.outcome.kind is not ErrorKind.PERMISSION_DENIED:
            return repeated
        self.denials += 1
        return _STOP_TRYING.format(self.denials) if self.denials >= _MOST_DENIED else repeated

    def _notice_repeat(self, done: Finished) -> str:
        if isinstance(done.outcome, Err) and done.outcome.details.get("pattern") == "repeat":
            return ""
        tool = self.tools.get(done.call.name)
        effect = done.ok and tool is not None and tool.effect in (Effect.FILES, Effect.COMMAND)
        new = self.repeats.hear(done.call, done.output, effect=effect)
        self.effects += new and effect
        return self.repeats.notice(done.call)

    async def add_tool(self, tool: Tool) -> None:
        """From the next step on; the name must be free. An agent that holds it may pass it on."""
        self.tools.arrive(tool)
        await self.scribe.record(
            ToolsChanged(added=(tool.name,), tools=self.scribe.keep_tools(self.shown_tools))
        )

    async def remove_tool(self, name: str) -> None:
        """From the next step on; a call that runs already goes on."""
        self.tools.remove(name)
        await self.scribe.record(
            ToolsChanged(removed=(name,), tools=self.scribe.keep_tools(self.shown_tools))
        )

    async def use_model(self, seat: Seat) -> None:
        """Goes on with another model, from the next call on."""
        self.spec.check_model_changes()
        await self.scribe.record(ModelChanged(model=seat.model))
        self.spec = msgspec.structs.replace(self.spec, model=seat.model)
        self.seat = seat

    async def take_responses(self) -> None:
        """Join what may join a running turn: responses, and what the user steers with."""
        facts = [*self._look_ahead(), *self.take_news()] if self.purse.accounts.limited or self._news else []
        if ready := self._ready():  # at most steps there is none
            joining = self.kit.schedule.choose_joining(ready)
            if any(envelope.origin is Origin.USER for envelope in joining):
                self.repeats = Repeats()
            if ids := tuple(envelope.id for envelope in joining):
                facts.append(Delivery(ids=ids, state="delivered"))
        if facts:
            await self.scribe.record(*facts)

    def _look_ahead(self) -> list[View]:
        """Tells the agent what is left of its budget; where that is one request, it is one for a report."""
        if self._out:
            raise OutOfBudget(self._out.kind, self._out.message, self._out.details)
        purse, meter = self.purse, self.seat.meter
        if meter is None or not purse.accounts.limited:
            return []
        forecast = meter.foresee(self.request())
        if forecast.last:
            self._out, purse.last = forecast.last, True
            self.note(make_news(self.ids.new(self.id), self.id, _REPORT_NOW))
            none = ToolsChanged(tools=self.scribe.keep_tools(()))
            return [purse.accounts.describe(purse.paying, "last_step"), none]
        if scarce := forecast.scarce:
            stops = forecast.stops_in_s
            when = f"; at this rate it runs out {say_when(stops)}" if stops else ""
            news = f"80% of the budget is used ({forecast.text}){when}. {_BE_BRIEF}"
            self.note(make_news(self.ids.new(self.id), self.id, news))
            if not scarce.told:
                scarce.told = True
                return [purse.accounts.describe(scarce, "notice", stops)]
        return []

    def note(self, news: Envelope) -> None:
        """Show what changed without waking it: at the next step, of this turn or of the next one."""
        self._news.append(news)

    async def tell(self, news: Envelope) -> None:
        """The same, and between turns it is in the log at once, so that a resume shows it."""
        self.note(news)
        if self.activity is Activity.IDLE:
            await self.scribe.record(*self.take_news())

    def take_news(self) -> list[View]:
        """The facts that show it; between turns, or where no call is open."""
        news, self._news = self._news, []
        return [*news, Delivery(ids=tuple(one.id for one in news), state="delivered")] if news else []

    def choose_opening(self) -> Envelope | None:
        """Returns what the next turn works on; None: nothing is there to be worked on yet."""
        return self.kit.schedule.choose_opening(self._ready())

    def can_begin(self, opening: Envelope) -> bool:
        return opening.id in self.history.unread and opening.id not in self.held

    def _ready(self) -> list[Envelope]:
        """In order of arrival; what is held holds what came after it."""
        if not self.history.unread:
            return []
        unread = self.history.unread.values()
        return list(takewhile(lambda envelope: envelope.id not in self.held, unread))


class _Seen(msgspec.Struct):
    output: int
    times: int = 1


class Repeats:
    """Notices a model that goes in circles, until the user's next word.

    Calls that stand beside each other in a step are no circle, and neither are calls with something new that
    another one did between them.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._in_step: set[tuple[str, str]] = set()

    def next_step(self) -> None:
        self._in_step.clear()

    def refuse(self, read: ReadCall) -> ReadCall:
        """The call as it is, or with the reason why it is not run again."""
        seen = self._seen.get((read.call.name, read.call.arguments))
        if seen is None or seen.times < _REFUSED - 1:
            return read
        text = _STUCK.format(seen.times)
        details = {"pattern": "repeat", "limit": _REFUSED}
        return msgspec.structs.replace(read, refused=Err(ErrorKind.LIMIT_EXCEEDED, text, details))

    def hear(self, call: ToolCall, output: str, *, effect: bool) -> bool:
        """Takes in a result; False: the same call had it the last time."""
        key, shown = (call.name, call.arguments), hash(output)
        seen = self._seen.get(key)
        if seen is None or seen.output != shown:
            if effect:
                self._seen.clear()
            self._seen[key] = _Seen(shown)
            self._in_step.add(key)
            return True
        seen.times += key not in self._in_step
        self._in_step.add(key)
        return False

    def notice(self, call: ToolCall) -> str:
        """What to tell the model with this result; empty as long as it does not go in circles."""
        times = self._seen[call.name, call.arguments].times
        return _SAME_RESULT.format(times) if times >= _TOO_OFTEN else ""
