"""Who wrote each line of a file: recorded changes are followed backwards, from the file as it is now.

A line is given to the change whose diff added it. That is exact for a line whose text was written once,
as long as it kept its order with the other lines. A diff cannot tell equal lines apart, nor which of two
lines that changed places was moved: such a line is given to one of the changes that wrote its text.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from typing import Literal, NamedTuple, Protocol

import msgspec

from planck.archive.blame.lines import Blocks, match_lines
from planck.workspace.recording.facts import digest

By = Literal["session", "nobody", "unknown"]
"""`unknown`: the change or somebody after it, because what it left was not kept."""
_MOST_MOVED = 64
"""Files that a command removed, of those that are compared with one that it made; same names come first."""
_IMAGES = 8
"""Versions of a file that are in memory at once: a step backwards needs two."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded change of one name."""

    log: int
    """Which log has it."""
    seq: int
    call_id: str
    path: str
    view: str = ""
    """The log and the view in which it happened; empty: the workspace."""
    after: str = ""
    """The digest of the file that it left; empty: no file was left."""
    landed_from: str = ""
    """Of a landing: the view whose changes it merged."""
    undoes: tuple[str, ...] = ()


class Origin(NamedTuple):
    by: By
    change: Change | None = None


NOBODY = Origin("nobody")


class Images(Protocol):
    def before(self, change: Change) -> bytes | None:
        """Returns what the name had, nothing for no file; None: that was not kept."""

    def after(self, change: Change) -> bytes | None:
        """Returns what the change left, as far as the change itself says it."""


class _Text:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.lines = content.splitlines(keepends=True)
        self.digest = digest(content)


class _Cohort(NamedTuple):
    """Lines of one version of the file that are followed together."""

    text: _Text
    wanted: Mapping[int, int]
    """By line of that version: the line of the file as it is now."""
    until: int
    """Changes from this one on are later."""
    view: str
    path: str
    otherwise: Origin = NOBODY
    """Who wrote what no earlier version has."""


_Key = tuple[str, int, str, str, Origin, int]


class Tracer:
    """The changes of a workspace in order, and in each view the one before which it was opened."""

    def __init__(self, changes: Sequence[Change], opened: Mapping[str, int], images: Images) -> None:
        self._changes = changes
        self._opened = opened
        self._read = images
        self._by_name: dict[tuple[str, str], list[int]] = {}
        self._by_call: dict[str, list[int]] = {}
        for at, change in enumerate(changes):
            self._by_name.setdefault((change.view, change.path), []).append(at)
            self._by_call.setdefault(change.call_id, []).append(at)
        self._before = lru_cache(_IMAGES)(self._load_before)
        self._steps: dict[int, list[tuple[int, int, int]]] = {}
        self._found: dict[int, Origin] = {}
        self._count = count()
        self._left: dict[_Key, _Cohort] = {}
        self._queue: list[tuple[int, int, _Key]] = []
        """The newest change first, so that lines that part meet again."""

    def trace(self, content: bytes, path: str, first: int, last: int) -> list[Origin]:
        """Returns who wrote lines [first, last) of a file, which are counted from 0."""
        self._found = {}
        self._follow(_Text(content), {at: at for at in range(first, last)}, len(self._changes), "", path)
        while self._queue:
            self._step(self._left.pop(heappop(self._queue)[2]))
        return [self._found[at] for at in range(first, last)]

    def _follow(
        self,
        text: _Text,
        wanted: Mapping[int, int],
        until: int,
        view: str,
        path: str,
        otherwise: Origin = NOBODY,
    ) -> None:
        if not wanted:
            return
        own = self._by_name.get((view, path), [])
        position = bisect_left(own, until)
        until = own[position - 1] + 1 if position else 0
        copy = 0  # two lines may come from one, which was brought back while it was still there
        while met := self._left.get(key := (text.digest, until, view, path, otherwise, copy)):
            if met.wanted.keys().isdisjoint(wanted):
                self._left[key] = met._replace(wanted={**met.wanted, **wanted})
                return
            copy += 1
        self._left[key] = _Cohort(text, wanted, until, view, path, otherwise)
        heappush(self._queue, (-until, next(self._count), key))

    def _settle(self, wanted: Mapping[int, int], origin: Origin) -> None:
        self._found.update(dict.fromkeys(wanted.values(), origin))

    def _step(self, cohort: _Cohort) -> None:
        own = self._by_name.get((cohort.view, cohort.path), [])
        position = bisect_left(own, cohort.until)
        if position == 0:
            self._leave_view(cohort, cohort.wanted, self._opened.get(cohort.view, 0))
            return
        at = own[position - 1]
        change, before = self._changes[at], self._before(at)
        text, wanted = cohort.text, cohort.wanted
        if text.digest != change.after:
            if before is not None and text.digest == before.digest:
                # It never happened (the log has it first), or somebody restored the file.
                self._follow(*cohort._replace(until=at))
                return
            after = self._find_after(at, own[position] if position < len(own) else None)
            if after is None:
                doubt = Origin("unknown", change)
                if before is None:
                    self._follow(*cohort._replace(until=at, otherwise=doubt))
                    return
                source, path = at, cohort.path
                for moved in [] if before.content else self._find_moved(at):
                    before, source, path = self._before(moved) or before, moved, self._changes[moved].path
                kept, lost = _carry(wanted, match_lines(text.lines, before.lines))
                self._settle(lost, doubt)
                self._follow(before, kept, source, cohort.view, path)
                return
            kept, lost = _carry(wanted, match_lines(text.lines, after.lines))
            self._leave_view(cohort._replace(wanted=lost), lost, at)
            text, wanted = after, kept
        if before is None:
            self._follow(text, wanted, at, cohort.view, cohort.path, Origin("unknown", change))
            return
        if at not in self._steps:
            self._steps[at] = match_lines(text.lines, before.lines)
        kept, written = _carry(wanted, self._steps[at])
        self._follow(before, kept, at, cohort.view, cohort.path)
        if written:
            self._attribute(at, text, written, is_new=not before.content)

    def _leave_view(self, cohort: _Cohort, wanted: Mapping[int, int], at: int) -> None:
        """What no change in a view wrote was in the workspace when the view got it."""
        if cohort.view:
            self._follow(cohort.text, wanted, at, "", cohort.path, cohort.otherwise)
        else:
            self._settle(wanted, cohort.otherwise)

    def _attribute(self, at: int, text: _Text, written: dict[int, int], *, is_new: bool) -> None:
        """Finds who wrote the lines that a change added: it itself, or those whose lines it brought back."""
        change = self._changes[at]
        origin = Origin("session", change)
        if change.landed_from:
            self._follow(text, written, at, change.landed_from, change.path, origin)
            return
        for undone in sorted(self._find_undone(at)):
            before = self._before(undone)
            if before is not None:
                kept, written = _carry(written, match_lines(text.lines, before.lines))
                self._follow(before, kept, undone, change.view, change.path)
        if is_new and written:
            for source in self._find_moved(at):
                before = self._before(source)
                if before is not None:
                    kept, written = _carry(written, match_lines(text.lines, before.lines))
                    self._follow(before, kept, source, change.view, self._changes[source].path)
        self._settle(written, origin)

    def _find_undone(self, at: int) -> list[int]:
        """Returns the changes of this name that one undid; what a fork undoes may be in its parent's log."""
        change = self._changes[at]
        found = [one for call in change.undoes for one in self._by_call.get(call, ()) if one < at]
        named = (change.view, change.path)
        found = [one for one in found if (self._changes[one].view, self._changes[one].path) == named]
        return [one for one in found if self._changes[one].log == change.log] or found

    def _find_moved(self, at: int) -> list[int]:
        """Returns where the file had its old name, if the same call took that away."""
        change = self._changes[at]
        same = ((one, self._changes[one]) for one in self._by_call[change.call_id])
        gone = [
            one
            for one, other in same
            if not other.after and (other.log, other.view) == (change.log, change.view)
        ]
        name = change.path.rpartition("/")[2]
        gone.sort(key=lambda one: self._changes[one].path.rpartition("/")[2] != name)
        del gone[_MOST_MOVED:]
        exact = [one for one in gone if (text := self._before(one)) and text.digest == change.after]
        files = [one for one in gone if (text := self._before(one)) and text.content]
        return exact[:1] or (files if len(files) == 1 else [])

    def _find_after(self, at: int, later: int | None) -> _Text | None:
        change = self._changes[at]
        if not change.after:
            return _Text(b"")
        found = self._before(later) if later is not None else None
        if found is not None and found.digest == change.after:
            return found
        for moved in self._find_moved(at):
            if (text := self._before(moved)) and text.digest == change.after:
                return text
        content = self._read.after(change)
        return None if content is None else _Text(content)

    def _load_before(self, at: int) -> _Text | None:
        content = self._read.before(self._changes[at])
        return None if content is None else _Text(content)


def _carry(wanted: Mapping[int, int], blocks: Blocks) -> tuple[dict[int, int], dict[int, int]]:
    """Returns the lines that the other version has too, by their place there, and the rest by theirs here."""
    kept, lost = {}, {}
    starts = [start for start, _, _ in blocks]
    for at, line in wanted.items():
        block = bisect_left(starts, at + 1) - 1
        start, there, size = blocks[block] if block >= 0 else (0, 0, 0)
        if at - start < size:
            kept[there + at - start] = line
        else:
            lost[at] = line
    return kept, lost
