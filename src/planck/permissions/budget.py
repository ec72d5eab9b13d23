"""What a team may spend: one counter for all its agents, which a model can't change."""


class Budget:
    def __init__(self, limit: float, spent: float = 0.0) -> None:
        """In USD; `spent` is what the session had cost before."""
        self.limit = limit
        self.spent = spent

    @property
    def left(self) -> float:
        return self.limit - self.spent

    def spend(self, usd: float) -> None:
        self.spent += usd
