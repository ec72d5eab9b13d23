"""Who waits for whom. Every wait is an edge; an edge that would close a ring is never added."""

from collections import Counter, defaultdict


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
