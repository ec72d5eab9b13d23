"""What an agent thinks with; it changes as a whole when the user changes the agent's model."""

from typing import Protocol

import msgspec
from msgspec.structs import replace

from planck.budget.budget import Account
from planck.context.compaction import Compactor
from planck.llm.provider import Provider, Request
from planck.records.outcome import Err, ErrorKind
from planck.records.specs import ModelSpec
from planck.records.usage import Usage


class Tariff(Protocol):
    def cost_usd(self, usage: Usage) -> float | None:
        """Returns None where the price is not known."""


class Forecast(msgspec.Struct, frozen=True):
    """What the next step of an agent can be, by what is left."""

    last: Err | None = None
    """Why only one request more can be paid for."""
    scarce: Account | None = None
    """The account of which 80 % are used."""
    text: str = ""
    stops_in_s: float | None = None


class Meter(Protocol):
    def foresee(self, request: Request) -> Forecast:
        """Looks at what is left before a step."""


class SeatSource(Protocol):
    def make(self) -> "Seat":
        """Returns the seat to take instead."""


class Seat(msgspec.Struct, frozen=True):
    model: ModelSpec
    provider: Provider
    tariff: Tariff | None
    """None: nothing is known of the price."""
    compactor: Compactor
    meter: "Meter | None" = None
    """None: nothing limits what it takes."""
    counted: "SeatSource | None" = None
    """What makes the seat to take where something does after all."""
    spare: "SeatSource | None" = None
    """What makes the seat to take when this one's model can't answer."""


UNAVAILABLE = frozenset(
    {
        ErrorKind.OVERLOADED,
        ErrorKind.RATE_LIMITED,
        ErrorKind.USAGE_LIMIT_REACHED,
        ErrorKind.NETWORK,
        ErrorKind.STREAM_CUT,
        ErrorKind.MODEL_NOT_SUPPORTED,
        ErrorKind.PROVIDER_HTTP_ERROR,
    }
)
"""What another model may answer all the same. A key that is wrong is the user's to mend, and is said."""

_MOST_OUTPUT = 32_000


def bound_output(model: ModelSpec, longest: int) -> ModelSpec:
    """Under a budget every request says how long its answer may be: its worst case must be one."""
    if model.max_output:
        return model
    most = min(longest or _MOST_OUTPUT, _MOST_OUTPUT)
    return replace(model, max_output=min(most, max(model.context_window // 4, 1)))
