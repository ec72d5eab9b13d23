"""What an agent thinks with; it changes as a whole when the user changes the agent's model."""

from typing import Protocol

import msgspec

from planck.context.compaction import Compactor
from planck.llm.provider import Provider
from planck.records.specs import ModelSpec
from planck.records.usage import Usage


class Tariff(Protocol):
    def cost_usd(self, usage: Usage) -> float | None:
        """Returns None where the price is not known."""


class Seat(msgspec.Struct, frozen=True):
    model: ModelSpec
    provider: Provider
    tariff: Tariff | None
    """None: nothing is known of the price."""
    compactor: Compactor
