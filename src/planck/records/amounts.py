"""What work may take and takes: money, tokens, time, steps and calls, in whole numbers."""

from math import ceil
from typing import Annotated

import msgspec
from msgspec import Meta

from planck.records.outcome import say_option

MICRO = 1_000_000

MAX_USD, MAX_COUNT = 1_000_000, 10**12
"""The largest amounts that an `Allowance` accepts: of dollars, and of every other unit."""

_Usd = Annotated[float, Meta(gt=0, le=MAX_USD)]
_Most = Annotated[int, Meta(ge=1, le=MAX_COUNT)]


class Allowance(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A budget as people, files and models write it. It does not limit what it does not name."""

    usd: Annotated[_Usd | None, Meta(description="US dollars")] = None
    tokens: Annotated[_Most | None, Meta(description="Input and output tokens, including cached ones")] = None
    ms: Annotated[_Most | None, Meta(description="Milliseconds of model calls and tool calls")] = None
    steps: Annotated[_Most | None, Meta(description="Model responses")] = None
    calls: Annotated[_Most | None, Meta(description="Tool calls")] = None

    def __post_init__(self) -> None:
        if all(value is None for value in msgspec.structs.astuple(self)):
            raise ValueError("a budget must name at least one of usd, tokens, ms, steps, calls")

    @property
    def amount(self) -> "Amount":
        micro = None if self.usd is None else count_micro(self.usd)
        return Amount(micro, self.tokens, self.ms, self.steps, self.calls)


class Amount(msgspec.Struct, frozen=True, gc=False):
    """Whole numbers, so that sums are exact; None, in a limit: as much as whoever stands above has."""

    micro_usd: int | None = None
    tokens: int | None = None
    ms: int | None = None
    steps: int | None = None
    calls: int | None = None

    @property
    def parts(self) -> tuple[int | None, ...]:
        """In the order of `UNITS`."""
        return (self.micro_usd, self.tokens, self.ms, self.steps, self.calls)

    def describe(self) -> dict[str, float]:
        """Returns it as an `Allowance` is written, without what is not limited."""
        return {
            unit: value / MICRO if unit == "usd" else value
            for unit, value in zip(UNITS, self.parts, strict=True)
            if value is not None
        }


UNITS = ("usd", "tokens", "ms", "steps", "calls")


def count_micro(usd: float) -> int:
    """Millionths of a dollar, rounded up: what is held must never be less than what it stands for."""
    return ceil(round(usd * MICRO, 6))


def say(unit: str, value: float) -> str:
    """Returns an amount of one unit in words: `$0.60`, `1,200 tokens`."""
    if unit == "usd":
        return f"${value:.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"
    if unit == "ms":
        return f"{value / 1000:,.1f} s"
    return f"{value:,.0f} {unit if value != 1 else unit[:-1]}"


def write_flag(unit: str, value: float) -> str:
    """Returns the option that limits a run, as its user writes it: `--max-budget-usd 0.4`."""
    flag = {"usd": "max-budget-usd", "tokens": "max-tokens"}[unit]
    number = f"{value:.10f}".rstrip("0").rstrip(".") if unit == "usd" else f"{value:.0f}"
    return say_option(f"--{flag} {number}", f"{flag.replace('-', '_')}={number}")


def say_when(seconds: float) -> str:
    if seconds < 90:
        return f"in about {max(seconds, 1):.0f} s"
    return f"in about {seconds / 60:.0f} min" if seconds < 5_400 else f"in about {seconds / 3600:.1f} h"
