"""How a session was left: it goes on so when it is opened again, though nobody says so then."""

from collections.abc import Collection, Iterable, Iterator

import msgspec

from planck.records.authority import STRICTNESS, Mode
from planck.records.events import (
    Event,
    ModeChanged,
    SessionResumed,
    SessionStarted,
    UsageSpent,
    view,
)
from planck.records.specs import RECORDED, Limits, RunOptions, SessionOptions
from planck.records.usage import Figures, count_call

_TOLD = (SessionStarted.type, SessionResumed.type, ModeChanged.type, UsageSpent.type)
_NOTHING = 1e-9
"""USD: an account must have something, and nothing can be had for this."""


class Left(msgspec.Struct, frozen=True):
    """What the log says of the last process that had it."""

    head: int = 0
    options: SessionOptions | None = None
    spent: float = 0.0
    """USD, of these options' budget."""
    tokens: int = 0
    """The same, of their tokens."""


class LeftFold:
    """Folds how a session was left out of events that pass through it, so that a log is read only once."""

    def __init__(self) -> None:
        self._head = 0
        self._options: SessionOptions | None = None
        self._spent = Figures()

    @property
    def left(self) -> Left:
        return Left(self._head, self._options, self._spent.cost_usd, self._spent.usage.context_tokens)

    def follow(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            self._head = event.seq or self._head
            if event.type in _TOLD:
                self._add(event)
            yield event

    def _add(self, event: Event) -> None:
        match view(event):
            case SessionStarted(options=said) | SessionResumed(options=said) if said:
                self._options, self._spent = said, Figures()
            case ModeChanged(mode=mode) if self._options:
                self._options = msgspec.structs.replace(self._options, mode=mode)
            case UsageSpent(cost_usd=cost, usage=usage):
                self._spent += count_call(usage, cost)


def carry_over(left: Left, configured: Mode, *, ours: bool, alone: bool = True) -> RunOptions:
    """Returns what to open it with. `ours`: nobody else has had it since this server did.

    Nobody gets more by opening a session: another process may have been given a wider mode by its user.
    `alone`: the options of a run in which nobody could be asked count too.
    """
    options = left.options
    if options is None:
        return RunOptions()
    mode = Mode(options.mode) if options.mode in list(Mode) else configured
    mode = mode if ours else min(mode, configured, key=STRICTNESS.index)
    if (
        options.person is False and not alone
    ):  # a run in which nobody could be asked: its flags were for that run
        return RunOptions(mode=mode)
    carried = {name: getattr(options, name) for name in RECORDED} | {"mode": mode}
    if not ours:  # commands of somebody else: nobody here has asked for them
        carried |= {"checks": (), "require_proof": False}
    if options.max_steps == options.limits.get("steps"):
        carried["max_steps"] = None
    if options.budget is not None:
        carried["max_budget_usd"] = max(options.budget - left.spent, _NOTHING)
    if options.max_tokens is not None:
        carried["max_tokens"] = max(options.max_tokens - left.tokens, 1)
    return RunOptions(**carried)


def keep_limits(left: Left, configured: Limits, said: Collection[str]) -> Limits:
    """Returns the limits of a session that is opened again: its own, or stricter ones of the configuration.

    `said`: names of limits that the caller passed now; these count as they are configured. How often a
    provider is asked is always configured: it is about the machine.
    """
    own = left.options.limits if left.options else {}
    kept = {
        name: min(own[name], value)
        for name, value in msgspec.structs.asdict(configured).items()
        if name not in said and name != "providers" and isinstance(own.get(name), int)
    }
    return msgspec.structs.replace(configured, **kept)
