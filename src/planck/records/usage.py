import msgspec


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one or more model calls; `input_tokens` excludes tokens read from or written to the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    @property
    def context_tokens(self) -> int:
        """How full the window was after the call."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens


class Attempt(msgspec.Struct, frozen=True):
    """What one attempt at a model call used."""

    usage: Usage
    estimated: bool = False
    """The server did not count all of it."""


class Tally:
    """What model calls used that no recorded answer stands for, until somebody takes it to record it."""

    __slots__ = ("_answered", "_cut", "_in_flight", "unsent")

    def __init__(self) -> None:
        self._answered: list[Attempt] = []
        self._cut: list[Attempt] = []
        self._in_flight: Attempt | None = None
        self.unsent: bool = False
        """Nothing of the call in flight has left the machine yet, as far as its provider can tell."""

    def note_sent(self) -> None:
        """From here on the call in flight may be charged for."""
        self.unsent = False

    @property
    def in_flight(self) -> Attempt | None:
        return self._in_flight

    def count(self, so_far: Usage, *, estimated: bool = False) -> None:
        """This much of the call in flight is known."""
        self._in_flight = Attempt(so_far, estimated)

    def cut(self) -> None:
        """The call in flight ended without an answer: what is known of it is paid for."""
        if self._in_flight:
            if self._in_flight.usage != _NOTHING:
                self._cut.append(self._in_flight)
            self._in_flight = None

    def answer(self, usage: Usage | None = None) -> bool:
        """It was answered; `usage` is what is still to be recorded of it. Returns whether an estimate is."""
        estimated = self._in_flight is not None and self._in_flight.estimated
        if usage is not None:
            self._answered.append(Attempt(usage, estimated))
        self._in_flight = None
        return estimated

    @property
    def empty(self) -> bool:
        """Whether nothing was used that is not recorded."""
        return not (self._answered or self._cut or self._in_flight)

    def take(self) -> tuple[list[Attempt], list[Attempt]]:
        """Returns what was answered and what was cut, each attempt; from here on nothing was."""
        self.cut()
        taken = self._answered, self._cut
        self._answered, self._cut = [], []
        return taken


_NOTHING = Usage()


class Figures(msgspec.Struct, frozen=True):
    """What any number of model calls used and cost; every sum of usage in a log is made of these."""

    calls: int = 0
    usage: Usage = _NOTHING
    cost_usd: float = 0.0
    unpriced: int = 0
    """Calls whose price is not known: they are in no sum of money."""
    estimated: int = 0
    """Calls that the server did not count, or not all of them: their tokens and costs are estimates."""

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(
            self.calls + other.calls,
            self.usage + other.usage,
            self.cost_usd + other.cost_usd,
            self.unpriced + other.unpriced,
            self.estimated + other.estimated,
        )

    @property
    def known_cost(self) -> float | None:
        """The cost; None: a price is unknown."""
        return None if self.unpriced else self.cost_usd


def count_call(usage: Usage, cost_usd: float | None, estimated: object = False) -> Figures:
    """Returns the figures of one call, as its `usage` event says them."""
    return Figures(1, usage, cost_usd or 0.0, int(cost_usd is None), int(estimated is True))


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What one agent used of one model."""

    agent_id: str
    agent: str
    model: str
    calls: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    """None: a price is unknown."""


class ModelCost(msgspec.Struct, frozen=True):
    calls: int
    usage: Usage
    cost_usd: float | None
    estimated: int | msgspec.UnsetType = msgspec.UNSET
    """How many of the calls are estimates; absent: none."""


class AgentCost(msgspec.Struct, frozen=True, omit_defaults=True):
    """The usage of one agent, as shown in results and by `/cost`."""

    id: str
    name: str
    usage: Usage
    by_model: dict[str, ModelCost]
    cost_usd: float | None
    budget: dict[str, float] | None = None
    """What it was lent; None: nothing, it draws on the run's."""
    left: dict[str, float] | None = None
    stops_in_s: float | None = None
    """When its budget is used up, at the rate so far; None: not known, or not limited."""
    estimated: int = 0
    """How many of its calls are estimates."""


class Costs:
    """What each agent used of each model: a fold over `usage`."""

    def __init__(self, names: dict[str, str] | None = None) -> None:
        self.names: dict[str, str] = names or {}
        """By id, of the agents that there are, in the order in which they started."""
        self._spent: dict[tuple[str, str], Figures] = {}
        """By agent and model, in the order of their first use."""

    def add(
        self, agent_id: str, model: str, usage: Usage, cost_usd: float | None, estimated: object = False
    ) -> None:
        """`estimated`: as the `usage` event says it."""
        self.names.setdefault(agent_id, agent_id)
        call, key = count_call(usage, cost_usd, estimated), (agent_id, model)
        known = self._spent.get(key)
        self._spent[key] = known + call if known else call

    @property
    def total(self) -> Figures:
        return sum(self._spent.values(), Figures())

    def by_model(self, agent_id: str) -> dict[str, Figures]:
        return {model: figures for (id, model), figures in self._spent.items() if id == agent_id}

    def sum_up(self, agent_id: str) -> Figures:
        return sum(self.by_model(agent_id).values(), Figures())

    @property
    def rows(self) -> list[Spent]:
        return [
            Spent(
                agent_id=id,
                agent=self.names[id],
                model=model,
                calls=one.calls,
                usage=one.usage,
                cost_usd=one.known_cost,
            )
            for (id, model), one in self._spent.items()
        ]

    @property
    def agents(self) -> tuple[AgentCost, ...]:
        """Those that used nothing too."""
        return tuple(self.describe(id) for id in self.names)

    def describe(self, id: str) -> AgentCost:
        models = {
            model: ModelCost(one.calls, one.usage, one.known_cost, one.estimated or msgspec.UNSET)
            for model, one in self.by_model(id).items()
        }
        total = self.sum_up(id)
        name = self.names.get(id, id)
        return AgentCost(id, name, total.usage, models, total.known_cost, estimated=total.estimated)
