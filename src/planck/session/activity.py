"""What each agent of a session does or waits for, from its log alone, and in words."""

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from planck.records import codec
from planck.records.events import (
    AgentEnded,
    AgentStarted,
    AssistantSaid,
    Delivery,
    Envelope,
    Event,
    ModelChanged,
    PermissionDecision,
    PermissionRequest,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStart,
    UsageSpent,
    View,
    Wait,
    view,
)
from planck.records.specs import AgentSpec
from planck.records.usage import Usage

_WIDTH = 60


def why_blocked(events: Iterable[Event], now: str) -> list[str]:
    """Returns one line for each agent that works or should; a single one where there is none."""
    agents: dict[str, AgentActivity] = {}
    for event in events:
        if fact := view(event):
            follow_agent(agents, event, fact)
    lines = [line for agent in agents.values() if (line := _describe(agent, agents, now))]
    return lines or ["nothing is blocked: every agent is idle and has read its messages"]


class AgentActivity:
    """What one agent has done and is doing, as far as the log tells."""

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        self.state = "idle"
        """`idle`, `in a turn`, `waiting for <id>`, or how it ended."""
        self.turns = 0
        self.usage = Usage()
        self.ended = False
        self.in_turn = False
        self.since = ""
        self.calls: dict[str, tuple[ToolStart, str]] = {}
        self.waits: dict[str, tuple[Wait, str]] = {}
        self.questions: dict[str, tuple[PermissionRequest, str]] = {}
        self.unread: set[str] = set()

    def apply(self, fact: View, ts: str) -> None:
        match fact:
            case AgentEnded():
                self.ended = True
                self.state = f"{fact.status}: {fact.reason}"
            case Envelope():
                self.unread.add(fact.id)
            case Delivery():
                self.unread -= set(fact.ids)
            case TurnStart():
                self.in_turn, self.since, self.state = True, ts, "in a turn"
                self.turns += 1
            case TurnEnd():
                self.in_turn, self.state = False, "idle"
                self.calls, self.waits, self.questions = {}, {}, {}
            case ModelChanged():
                self.spec = replace(self.spec, model=fact.model)
            case AssistantSaid():
                self.since = ts
            case ToolStart():
                self.calls[fact.id] = (fact, ts)
            case ToolEnd():
                self.calls.pop(fact.id, None)
                if fact.name == "ask_agent":
                    if self.state.startswith("waiting"):
                        self.state = "in a turn"
                    if not any(call.name == "ask_agent" for call, _ in self.calls.values()):
                        self.waits = {}
                self.since = ts
            case Wait():
                self.waits[fact.message_id] = (fact, ts)
                self.state = f"waiting for {fact.on} until {fact.deadline}"
            case PermissionRequest():
                self.questions[fact.call_id] = (fact, ts)
            case PermissionDecision():
                self.questions.pop(fact.call_id, None)
            case UsageSpent():
                self.usage += fact.usage
            case _:
                pass


def follow_agent(agents: dict[str, AgentActivity], event: Event, fact: View) -> None:
    """Adds one event to what its agent does; an agent is known from its start on."""
    if isinstance(fact, AgentStarted):
        agents[fact.agent.id] = AgentActivity(fact.agent)
    elif event.agent_id in agents:
        agents[event.agent_id].apply(fact, event.ts)


def _describe(agent: AgentActivity, agents: dict[str, AgentActivity], now: str) -> str:
    if agent.ended:
        return ""
    if agent.in_turn:
        return f"{agent.spec.name} {_describe_turn(agent, agents, now, seen=())}"
    if agent.unread:
        count = len(agent.unread)
        return f"{agent.spec.name} has {count} unread message{'s' * (count > 1)} and has not begun with them"
    return ""


def _describe_turn(
    agent: AgentActivity, agents: dict[str, AgentActivity], now: str, seen: tuple[str, ...]
) -> str:
    if agent.questions:
        question, ts = next(iter(agent.questions.values()))
        return (
            f"waits for the user's answer whether it may use {question.tool} (since {_format_span(ts, now)})"
        )
    if agent.waits:
        wait, ts = next(iter(agent.waits.values()))
        target = agents.get(wait.on)
        name = target.spec.name if target else wait.on
        text = (
            f"waits for {name} (ask {wait.message_id[:4]}…, {_format_span(ts, now)}, "
            f"deadline in {_format_span(now, wait.deadline)})"
        )
        if target and wait.on not in seen:
            verb = (
                _describe_turn(target, agents, now, (*seen, wait.on))
                if target.in_turn
                else "has not begun with it"
            )
            text += f", who {verb}"
        return text
    if agent.calls:
        call, ts = next(iter(agent.calls.values()))
        more = f" and {len(agent.calls) - 1} more" if len(agent.calls) > 1 else ""
        return f"runs {call.name} {_main_argument(call)}{more} since {_format_span(ts, now)}"
    return f"waits for the model {agent.spec.model.label} since {_format_span(agent.since, now)}"


def _main_argument(call: ToolStart) -> str:
    """Returns the one argument that says to a person what the call is about."""
    args = call.args if isinstance(call.args, dict) else {}
    value = next((args[key] for key in ("command", "path", "pattern", "name") if key in args), call.args)
    text = codec.encode_str(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _format_span(earlier: str, later: str) -> str:
    seconds = (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
    return f"{max(0, round(seconds))} s"
