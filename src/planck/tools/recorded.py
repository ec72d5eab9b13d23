"""What a command changed, from its spool into the log: each name in order of path, in one commit."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from planck.records.events import CommandRecorded, FileChanged, View
from planck.workspace.paths.paths import Root
from planck.workspace.recording.facts import make_fact, write_path
from planck.workspace.recording.local_images import LocalImages
from planck.workspace.recording.spool import Difference, Spool, append_baseline, differences, read_spool
from planck.workspace.recording.states import State

_REASONS = {
    "large": "more than 64 MiB",
    "many": "too many files",
    "unreadable": "they could not be read",
    "disk": "the disk is full",
    "mount": "the command changed them under a mount point of its own",
}


class Recorded(msgspec.Struct, frozen=True):
    """What is committed of a command."""

    facts: tuple[View, ...]
    note: str
    """What the model is told of changes that an undo can't take back; empty: there are none."""


class SpoolRecord:
    """The spool of one call: its facts are committed when the command ends, and before that if it goes on."""

    def __init__(self, spool: Path, root: Root, call_id: str, images: Path, *, view: str = "") -> None:
        self._spool = spool
        self._root = root
        self._call_id = call_id
        self._images = images
        self._view = view
        self._commits = 0
        self._one_by_one = asyncio.Lock()

    async def commit(self, record: Callable[..., Awaitable[Any]], *, ended: bool = True) -> str:
        """Records what the command changed since the commit before, and returns the note for its result.

        The spool goes after the commit: whoever finds it beside a log without the facts recovers them.
        """
        async with self._one_by_one:
            if not self._spool.exists():
                return ""
            recorded = await asyncio.to_thread(self.read, self._commits, ended=ended)
            if not ended and len(recorded.facts) == 1:  # nothing new: a server would fill the log
                return recorded.note
            await record(*recorded.facts)
            self._commits += 1
            if ended:
                await asyncio.to_thread(remove_spool, self._spool)
            return recorded.note

    def read(self, commits: int, *, ended: bool = True) -> Recorded:
        """Compares the spool with the files; blocks. `commits`: how many the log has of this call."""
        spool = read_spool(self._spool, commits)
        with self._root.descriptors() as roots:
            found = differences(spool, roots)
        if not ended:
            append_baseline(self._spool, found, commits + 1)
        found = [self._name(one) for one in found]
        images = LocalImages(self._images)
        return make_facts(self._call_id, found, spool, images, view=self._view, ended=ended)

    def _name(self, one: Difference) -> Difference:
        """Gives it the path that an undo reads back to exactly this name, whatever bytes are in it."""
        place = one.place.removeprefix(f"{str(self._root.path).rstrip('/')}/")
        return msgspec.structs.replace(one, path=write_path(place))


def remove_spool(spool: Path) -> None:
    with suppress(FileNotFoundError):
        spool.unlink()


def make_facts(
    call_id: str,
    found: list[Difference],
    spool: Spool,
    images: LocalImages,
    *,
    view: str = "",
    ended: bool = True,
) -> Recorded:
    facts: list[View] = []
    grown = 0
    for one in found:
        lost = _is_unread(one.before) or _is_unread(one.after)
        grown += _is_unread(one.after) and not _is_unread(one.before)
        facts.append(_make_fact(call_id, one, images, view, lost=lost))
    skipped = sum(spool.skipped.values()) + grown
    partial = skipped > 0 or (ended and not spool.ended)
    end = CommandRecorded(
        call_id=call_id,
        view=view,
        changed=len(found),
        skipped=skipped,
        partial=partial,
        running=not ended,
    )
    reasons = {**spool.skipped, **({"large": spool.skipped.get("large", 0) + grown} if grown else {})}
    return Recorded((*facts, end), _note(reasons, cut=ended and not spool.ended))


def _make_fact(call_id: str, one: Difference, images: LocalImages, view: str, *, lost: bool) -> FileChanged:
    more: dict[str, Any] = {"view": view} if view else {}
    before = one.before
    if lost:
        more["undoable"] = False
    if one.local and "file" in (one.before.kind, one.after.kind):
        more["image"] = images.keep(before.content) if before.content is not None else ""
        before = msgspec.structs.replace(before, content=None)
    return make_fact(call_id, one.path, before, one.after, **more)


def _is_unread(state: State) -> bool:
    return state.kind == "file" and state.content is None


def _note(skipped: dict[str, int], *, cut: bool) -> str:
    parts = []
    for reason, count in skipped.items():
        files = "1 file of this command was" if count == 1 else f"{count:,} files of this command were"
        parts.append(f"{files} not recorded: {_REASONS.get(reason, reason)}")
    if cut:
        parts.append("the recording of this command stopped before its end")
    return f"[undo: {'; '.join(parts)}]" if parts else ""
