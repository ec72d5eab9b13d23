"""The files that a run changed, in the workspace and in views that have not landed."""

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from planck.headless.live.parts import LiveParts
from planck.session.result import ChangedFile, RunTally

if TYPE_CHECKING:
    from planck.session.run_changes import Pair
    from planck.workspace.views.view import View

_COMPARED = 100
"""Files that are compared at a time: their old contents are in memory together."""


class RunChanges:
    """Compares what the runs of one session touched with what it was before them."""

    def __init__(self, parts: LiveParts) -> None:
        self._parts = parts

    async def find(self, tally: RunTally) -> tuple[ChangedFile, ...]:
        """Compares in a thread: a run may have changed thousands of files."""
        found: list[ChangedFile] = []
        pairs = iter(()) if self._parts.closed else self._pair_up(tally)
        while some := [*islice(pairs, _COMPARED)]:
            found += await asyncio.to_thread(lambda some: [*self._compare(tally, some)], some)
        if unlanded := self._pair_unlanded(tally):
            found += await asyncio.to_thread(self._compare_unlanded, tally, unlanded)
        return tuple(sorted(found, key=lambda one: one.path))

    def find_now(self, tally: RunTally) -> tuple[ChangedFile, ...]:
        """As `find`, on this thread."""
        found = [
            *self._compare(tally, self._pair_up(tally)),
            *self._compare_unlanded(tally, self._pair_unlanded(tally)),
        ]
        return tuple(sorted(found, key=lambda one: one.path))

    def _pair_up(self, tally: RunTally) -> "Iterator[Pair]":
        """Yields the files that a run touched with what they were before it."""
        if not tally.touched:
            return
        from planck.session.run_changes import pair_up  # where something changed

        start = min(one.first for one in tally.touched.values()) - 1
        events, old = self._parts.log.store.read(start), self._parts.old_contents()
        yield from pair_up(events, tally.touched, old, here=True)

    def _compare(self, tally: RunTally, pairs: "Iterable[Pair]") -> "Iterator[ChangedFile]":
        if not tally.touched:
            return
        from planck.session.run_changes import compare
        from planck.session.undo import look_at, open_places

        store = self._parts.log.store
        look = look_at(store, open_places(store, self._parts.wired.root)).look
        yield from compare(pairs, look, self._name_agents(tally))

    def _name_agents(self, tally: RunTally) -> dict[str, str]:
        return {**tally.names, **{member.id: member.spec.name for member in self._parts.team.members}}

    def _pair_unlanded(self, tally: RunTally) -> "list[tuple[View, list[Pair]]]":
        """Returns, by open view, what changed in it and has not landed, with what it was before the run."""
        found: list[tuple[View, list[Pair]]] = []
        if not tally.unlanded or self._parts.closed:
            return found
        from planck.session.run_changes import pair_up

        old = self._parts.old_contents()
        for opened in self._parts.wired.list_views():
            if touched := tally.unlanded.get(opened.id):
                events = self._parts.log.store.read(min(one.first for one in touched.values()) - 1)
                found.append((opened, [*pair_up(events, touched, old, here=True)]))
        return found

    def _compare_unlanded(self, tally: RunTally, found: "list[tuple[View, list[Pair]]]") -> list[ChangedFile]:
        if not found:
            return []
        from planck.session.run_changes import compare, look_in

        names = self._name_agents(tally)
        return [
            change
            for opened, pairs in found
            for change in compare(pairs, look_in(opened.root), names, landed=False)
        ]
