"""What fills a model's window, by kind: an estimate, of which the server's own count is the whole."""

import msgspec

from planck.agent.agent import Agent
from planck.records import codec
from planck.records.history import BYTES_PER_TOKEN
from planck.records.messages import size


class WindowUse(msgspec.Struct, frozen=True, kw_only=True):
    """In tokens."""

    agent: str
    model: str
    window: int
    system: int
    """What it was told of itself and the place, its own prompt, and the skills that it may load."""
    instructions: int
    """AGENTS.md."""
    tools: int
    messages: int

    @property
    def free(self) -> int:
        return max(self.window - self.system - self.instructions - self.tools - self.messages, 0)


def measure_window(agent: Agent, instructions: str) -> WindowUse:
    """As of the next request; `instructions` is the part of the system prompt that is AGENTS.md."""
    system = agent.request().system or agent.kit.preparation.prepare_turn().system
    told = len(instructions.encode()) if instructions and instructions in system else 0
    return WindowUse(
        agent=agent.spec.name,
        model=agent.seat.model.label,
        window=agent.seat.model.context_window,
        system=_count(len(system.encode()) - told),
        instructions=_count(told),
        tools=_count(sum(len(codec.encode(spec)) for spec in agent.shown_tools)),
        messages=_count(sum(map(size, agent.history.messages))),
    )


def _count(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)
