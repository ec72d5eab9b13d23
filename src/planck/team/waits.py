"""Who waits for whom, and who goes in circles. A wait is an edge; one that closes a ring is never added."""

from collections import Counter, defaultdict

import msgspec

from planck.records.events import Envelope

NOTICE, REFUSE = 6, 10
"""Equal messages to and fro: when the sender is told, and which is not sent any more."""


class Waits:
    """A wait has the id of the question that it waits for."""

    def __init__(self) -> None:
        self._edges: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._by_id: dict[str, tuple[str, str]] = {}

    def waiting(self, waiter: str, *, on: str, id: str) -> tuple[str, ...]:
        """Add the edge and return (), or add nothing and return the ring that it would close.

        No await between the check and the insert: on one event loop that makes the pair atomic.
        """
        path = self._path(on, waiter)
        if path:
            return (waiter, *path)
        self._edges[waiter][on] += 1
        self._by_id[id] = (waiter, on)
        return ()

    def done(self, id: str) -> None:
        """Drop a wait; no matter if that was done before."""
        if id not in self._by_id:
            return
        waiter, on = self._by_id.pop(id)
        targets = self._edges[waiter]
        targets[on] -= 1
        if targets[on] <= 0:
            del targets[on]
        if not targets:
            del self._edges[waiter]

    def of(self, waiter: str) -> list[str]:
        """Returns the ids of what it waits for."""
        return [id for id, (who, _) in self._by_id.items() if who == waiter]

    def __contains__(self, id: str) -> bool:
        return id in self._by_id

    def __len__(self) -> int:
        return sum(targets.total() for targets in self._edges.values())

    def _path(self, start: str, goal: str) -> tuple[str, ...]:
        """From start to goal along all edges, the shortest first; () where there is none."""
        frontier: list[tuple[str, ...]] = [(start,)]
        seen = {start}
        while frontier:
            longer: list[tuple[str, ...]] = []
            for path in frontier:
                if path[-1] == goal:
                    return path
                for target in self._edges.get(path[-1], ()):
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
        streak.texts[envelope.sender] = hash(envelope.text)
        streak.last, streak.count = envelope.sender, count
        return count

    def _find(self, envelope: Envelope, effects: tuple[int, int]) -> _Streak | None:
        """Returns the streak that it goes on with."""
        streak = self._pairs.get(frozenset((envelope.sender, envelope.receiver)))
        if streak is None or streak.root != envelope.root or sum(streak.effects) != sum(effects):
            return None
        said = streak.texts.get(envelope.sender)
        return streak if said is None or said == hash(envelope.text) else None
