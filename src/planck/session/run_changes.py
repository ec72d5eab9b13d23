"""Which files differ after a run from what they were before it: by the log, and by what is there now."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from planck.records.events import Event, FileChanged, view
from planck.session.result import ChangedFile, Touched
from planck.session.undo_steps import is_binary
from planck.session.undo_story import Look, OldContents
from planck.workspace.paths.beneath import unescape
from planck.workspace.recording.facts import NO_MODE, after_of, digest
from planck.workspace.recording.states import State, read_state

_MAX_PAIRS = 4_000_000
"""Lines of one side times those of the other that are compared in order; beyond it, they are only counted."""


class Pair(NamedTuple):
    """What a path held before the run, and what it holds now."""

    path: str
    touched: Touched
    before: State
    after: State | None
    """None: to be looked up."""


def pair_up(
    events: Iterable[Event], touched: Mapping[str, Touched], old: OldContents, *, here: bool
) -> Iterator[Pair]:
    """Yields the touched paths with what they held; `here`: whether the files can be looked at.

    `events` begin at the first change.
    """
    wanted = {one.first: (path, one) for path, one in touched.items()}
    last = {one.last: path for path, one in touched.items()}
    befores: dict[str, State] = {}
    for event in events:
        if event.seq not in wanted and event.seq not in last:
            continue
        if not isinstance(fact := view(event), FileChanged):
            continue
        if event.seq in wanted:
            befores[fact.path] = old.before(fact)
        if event.seq in last and fact.path in befores:
            before = befores.pop(fact.path)
            yield Pair(fact.path, touched[fact.path], before, None if here else _tell_after(fact, before))


def _tell_after(fact: FileChanged, before: State) -> State:
    """Returns what the log says of a file that can't be looked at, with the content if it is the old one."""
    after = after_of(fact)
    if before.content is not None and fact.after_sha256 == digest(before.content):
        mode = before.mode if after.mode == NO_MODE else after.mode
        return State("file", before.content, mode)
    return after


def compare(
    pairs: Iterable[Pair], look: Look | None, names: Mapping[str, str], *, landed: bool = True
) -> Iterator[ChangedFile]:
    """Yields those that differ, with the lines that were added and removed; blocks while it reads files.

    `landed`: whether `look` looks at the workspace, and not at a view.
    """
    for path, touched, before, after in pairs:
        now = after if after is not None else look(path) if look else None
        before_file, now_file = _as_file(before), _as_file(now)
        if now is not None and before_file == now_file:
            continue
        added, removed = _count(before, now)
        yield ChangedFile(
            path=path,
            agent=names.get(touched.agent_id, touched.agent_id or "user"),
            agent_id=touched.agent_id,
            by=touched.by,
            added=added,
            removed=removed,
            landed=landed,
        )


def look_in(root: int) -> Look:
    """Looks at a view, by a descriptor of its top folder."""

    def look(path: str) -> State | None:
        try:
            return read_state(root, unescape(path))
        except OSError:
            return None

    return look


def _as_file(state: State | None) -> State | None:
    """A folder is not a change by itself: what is in it is listed."""
    return None if state is None or state.kind in ("nothing", "folder", "other") else state


def _count(before: State, after: State | None) -> tuple[int | None, int | None]:
    old, new = _text(before), _text(after)
    if old is None or new is None or is_binary(old) or is_binary(new):
        return None, None
    return count_lines(old, new)


def _text(state: State | None) -> bytes | None:
    """Returns what is counted; None where the content is not known."""
    if state is None:
        return None
    if state.kind == "link":
        return state.target.encode(errors="surrogateescape")
    return state.content if state.kind == "file" else b""


def count_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """Returns how many lines were added and removed."""
    if old == new:
        return 0, 0
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    head = _count_same(before, after)
    before, after = before[head:], after[head:]
    tail = _count_same(before[::-1], after[::-1])
    before, after = before[: len(before) - tail], after[: len(after) - tail]
    if not before or not after:
        return len(after), len(before)
    if len(before) * len(after) > _MAX_PAIRS:
        same = (Counter(before) & Counter(after)).total()
    else:
        from difflib import SequenceMatcher  # most changes need none

        same = sum(
            block.size for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        )
    return len(after) - same, len(before) - same


def _count_same(one: list[bytes], other: list[bytes]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))
