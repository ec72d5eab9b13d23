"""Who waits for whom, and who goes in circles. A wait is an edge; one that closes a ring is never added."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from planck.records.events import Envelope

NOTICE, REFUSE = 6, 10
"""Equal messages to and fro: when the sender is told, and which is not sent any more."""


def find_ring(edges: Iterable[tuple[str, str]], waiter: str, on: str) -> tuple[str, ...]:
    """Returns the shortest ring that a wait of `waiter` for `on` would close, or ().

    An edge is a pair: who waits, and for whom.
    """
    targets: defaultdict[str, list[str]] = defaultdict(list)
    for one, other in edges:
        targets[one].append(other)
    frontier: list[tuple[str, ...]] = [(waiter, on)]
    seen = {on}
    while frontier:
        longer: list[tuple[str, ...]] = []
        for path in frontier:
            if path[-1] == waiter:
                return path
            for target in targets.get(path[-1], ()):
                if target not in seen:
                    seen.add(target)
                    longer.append((*path, target))
        frontier = longer
    return ()


class _Streak(msgspec.Struct):
    root: str | None
    effects: tuple[int, int]
    last: str = ""
    texts: dict[str, int] = {}
    count: int = 0

    def add(self, envelope: Envelope, count: int) -> None:
        self.texts[envelope.sender] = hash(envelope.text)
        self.last, self.count = envelope.sender, count


class Echoes:
    """Notices a pair of agents that say the same to each other, to and fro, while neither does anything.

    The user's next word, another text and an effect of either begin anew.
    """

    def __init__(self) -> None:
        self._pairs: dict[frozenset[str], _Streak] = {}

    def measure(self, envelope: Envelope, effects: tuple[int, int]) -> int:
        """Returns how many in a row it would be, with this one; `effects`: how many each had so far."""
        streak = self._find(envelope, effects)
        return 1 if streak is None else streak.count + (envelope.sender != streak.last)

    def add(self, envelope: Envelope, effects: tuple[int, int]) -> int:
        """Takes in one that was sent; returns the same."""
        count, streak = self.measure(envelope, effects), self._find(envelope, effects)
        if streak is None:
            streak = _Streak(envelope.root, effects)
            self._pairs[frozenset((envelope.sender, envelope.receiver))] = streak
        streak.add(envelope, count)
        return count

    def _find(self, envelope: Envelope, effects: tuple[int, int]) -> _Streak | None:
        """Returns the streak that it goes on with."""
        streak = self._pairs.get(frozenset((envelope.sender, envelope.receiver)))
        if streak is None or streak.root != envelope.root or sum(streak.effects) != sum(effects):
            return None
        said = streak.texts.get(envelope.sender)
        return streak if said is None or said == hash(envelope.text) else None
