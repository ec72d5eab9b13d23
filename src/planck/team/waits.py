"""Who waits for whom. Every wait is an edge; an edge that would close a ring is never added."""

from collections import Counter, defaultdict


class Waits:
    def __init__(self) -> None:
        self._edges: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def waiting(self, waiter: str, *, on: str) -> tuple[str, ...]:
        """Add the edge and return (), or add nothing and return the ring that it would close.

        No await between the check and the insert: on one event loop that makes the pair atomic.
        """
        path = self._path(on, waiter)
        if path:
            return (waiter, *path)
        self._edges[waiter][on] += 1
        return ()

    def done(self, waiter: str, *, on: str) -> None:
        targets = self._edges[waiter]
        targets[on] -= 1
        if targets[on] <= 0:
            del targets[on]
        if not targets:
            del self._edges[waiter]

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
