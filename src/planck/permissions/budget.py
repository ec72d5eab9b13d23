"""What a team may spend: one account for all its agents, which a model can't change."""

from math import ceil

from planck.records.outcome import Err, ErrorKind

_MICRO = 1_000_000


class Budget:
    """An account in millionths of a dollar: what may be spent, what was, and what is on its way.

    Who wants to spend holds the worst case first. Check and hold are one step without an await, so that
    agents that ask at the same time can't all be told that there is enough.
    """

    def __init__(self, limit: float) -> None:
        """In USD, of one run: a resume has a budget of its own."""
        self._limit = ceil(round(limit * _MICRO, 6))
        self._spent = 0
        self._held = 0

    @property
    def limit(self) -> float:
        return self._limit / _MICRO

    @property
    def spent(self) -> float:
        return self._spent / _MICRO

    @property
    def held(self) -> float:
        """The worst case of all requests that are on their way."""
        return self._held / _MICRO

    @property
    def left(self) -> float:
        return (self._limit - self._spent - self._held) / _MICRO

    def hold(self, worst: float) -> "Hold | Err":
        """Sets aside what a request may cost at most; refuses one that does not fit into what is left."""
        amount = ceil(round(worst * _MICRO, 6))
        if amount > self._limit - self._spent - self._held:
            return self.refuse(worst)
        self._held += amount
        return Hold(self, amount)

    def refuse(self, asked: float) -> Err:
        spent = f"${self.spent:.4f} spent" + (f", ${self.held:.4f} held for others" if self._held else "")
        return Err(
            ErrorKind.BUDGET_EXCEEDED,
            f"the next request may cost ${asked:.4f} and ${max(self.left, 0.0):.4f} of ${self.limit:.4f} are "
            f"left ({spent}); raise --max-budget-usd, lower the model's max_output, or resume: "
            "each run has a budget of its own",
            {"asked": asked, "left": self.left, "spent_usd": self.spent, "limit_usd": self.limit},
        )

    def _settle(self, held: int, actual: float) -> None:
        self._held -= held
        # More than was held is an overrun: recorded as it is, never hidden.
        self._spent += max(0, ceil(round(actual * _MICRO, 6)))


class Hold:
    """What one request has set aside; whoever has it settles it on every way out, the first time counts."""

    def __init__(self, budget: Budget, amount: int) -> None:
        self._budget = budget
        self._amount: int | None = amount

    def settle(self, actual: float) -> None:
        """Gives back what was held, and counts what it came to."""
        if self._amount is not None:
            amount, self._amount = self._amount, None
            self._budget._settle(amount, actual)
