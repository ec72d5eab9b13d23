"""What a team may spend: one counter for all its agents, which a model can't change."""


class Budget:
    def __init__(self, limit: float) -> None:
        """In USD, of one run: a resume has a budget of its own."""
        self.limit = limit
        self.spent = 0.0

    @property
    def left(self) -> float:
        return self.limit - self.spent

    def spend(self, usd: float) -> None:
        self.spent += usd
