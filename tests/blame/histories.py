"""Random histories of one file, as logs tell them, and for each line text everybody who ever wrote it."""

import random
from pathlib import Path
from typing import Any

import msgspec

from planck.records import codec
from planck.records.events import Event, FileChanged, View, ViewOpened
from planck.records.events import LandingProposed as Proposed
from planck.session.merge import merge
from planck.store.sqlite.store import SqliteStore
from planck.workspace.recording.facts import digest

COMMON = ("", "    return\n", "}\n", "else:\n")
"""Lines that many write: a diff cannot tell them apart."""


class History:
    """Two sessions that work on one file, with a user who edits in between."""

    def __init__(self, seed: int, steps: int, size: int = 12) -> None:
        self.rng = random.Random(seed)
        self.path = "file.txt"
        self.writers: dict[bytes, set[str | None]] = {}
        """By text of a line: the calls that wrote it; None: the user."""
        self.logs: list[list[tuple[int, View | tuple[str, dict[str, Any]]]]] = [[], []]
        self.doubtful: set[str] = set()
        """Calls of which the log may not say what they left."""
        self._time = 0
        self._number = 0
        self._undoable: list[tuple[int, str, str, bytes, bytes]] = []
        self.content = b"".join(self._make_line(None) for _ in range(size))
        doings = (self.edit, self.edit, self.write, self.run_command, self.edit_by_user)
        for _ in range(steps):
            self.rng.choice((*doings, self.undo, self.rename, self.land))()

    def _make_line(self, writer: str | None) -> bytes:
        self._number += 1
        common = self.rng.random() < 0.3
        text = (self.rng.choice(COMMON[1:]) if common else f"line number {self._number}\n").encode()
        self.writers.setdefault(text, set()).add(writer)
        return text

    def _change_lines(self, content: bytes, writer: str | None) -> tuple[bytes, bytes, bytes]:
        """Returns the new content, and what was replaced by what."""
        lines = content.splitlines(keepends=True)
        first = self.rng.randrange(len(lines) + 1)
        last = min(len(lines), first + self.rng.randrange(4))
        new = [self._make_line(writer) for _ in range(self.rng.randrange(4))]
        old, text = b"".join(lines[first:last]), b"".join(new)
        return b"".join([*lines[:first], text, *lines[last:]]), old, text

    def _call(self) -> tuple[int, str]:
        self._number += 1
        return self.rng.randrange(2), f"call-{self._number}"

    def _record(self, log: int, *facts: View | tuple[str, dict[str, Any]]) -> None:
        self._time += 1
        self.logs[log] += [(self._time, fact) for fact in facts]

    def _replace(self, log: int, call: str, after: bytes, **more: Any) -> None:
        self._record(log, make_change(call, self.path, self.content, after, **more))
        self._undoable.append((log, call, self.path, self.content, after))
        self.content = after

    def edit(self) -> None:
        log, call = self._call()
        after, old, new = self._change_lines(self.content, call)
        if not old or self.content.count(old) > 1:
            return self._write(log, call, after)
        args = {"path": self.path, "old_string": old.decode(), "new_string": new.decode()}
        self._record(log, ("tool_start", {"id": call, "name": "edit", "args": args}))
        return self._replace(log, call, after)

    def write(self) -> None:
        log, call = self._call()
        self._write(log, call, self._change_lines(self.content, call)[0])

    def _write(self, log: int, call: str, after: bytes) -> None:
        args = {"path": self.path, "content": after.decode()}
        self._record(log, ("tool_start", {"id": call, "name": "write", "args": args}))
        self._replace(log, call, after)

    def run_command(self) -> None:
        log, call = self._call()
        self._record(log, ("tool_start", {"id": call, "name": "bash", "args": {"command": "sed"}}))
        self._replace(log, call, self._change_lines(self.content, call)[0])
        self.doubtful.add(call)

    def edit_by_user(self) -> None:
        self.content = self._change_lines(self.content, None)[0]

    def undo(self) -> None:
        own = [one for one in self._undoable if one[2] == self.path]
        if not own:
            return
        log, call, _, before, after = self.rng.choice(own[-6:])
        merged = merge(after, self.content, before)
        if merged is None or merged == self.content:
            return
        self._number += 1
        undo = f"undo-{self._number}"
        self._replace(log, undo, merged, undoes=(call,))
        self.doubtful.add(undo)

    def rename(self) -> None:
        if not self.content:
            return
        log, call = self._call()
        old, self.path = self.path, f"file{self._number}.txt"
        after = self._change_lines(self.content, call)[0] if self.rng.random() < 0.5 else self.content
        self._record(log, ("tool_start", {"id": call, "name": "bash", "args": {"command": "mv"}}))
        facts = [make_change(call, old, self.content, None), make_change(call, self.path, None, after)]
        self.rng.shuffle(facts)
        self._record(log, *facts)
        self.content = after
        self.doubtful.add(call)

    def land(self) -> None:
        """A worker edits in a view while others edit the file; then its view lands."""
        log, landing = self._call()
        view, base = f"view-{self._number}", self.content
        self._record(log, ViewOpened(view=view, agent_id="a1", backend="overlay"))
        mine, path = base, self.path
        for _ in range(self.rng.randrange(1, 4)):
            _, call = self._call()
            after = self._change_lines(mine, call)[0]
            self._record(log, make_change(call, path, mine, after, view=view))
            self.doubtful.add(call)
            mine = after
        for _ in range(self.rng.randrange(2)):
            self.rng.choice((self.write, self.edit_by_user))()
        merged = merge(base, self.content, mine)
        if merged is None or merged == self.content:
            return
        self._record(log, Proposed(landing=landing, view=view, layers=(), paths=(path,)))
        self._replace(log, landing, merged, landing=landing)
        self.doubtful.add(landing)

    def store(self, sessions: Path, workspace: Path) -> None:
        sessions.mkdir(parents=True, exist_ok=True)
        (workspace / self.path).write_bytes(self.content)
        for number, facts in enumerate(self.logs):
            store_log(sessions, workspace, f"{number:016}", facts)


def make_change(call: str, path: str, before: bytes | None, after: bytes | None, **more: Any) -> FileChanged:
    sha = "" if after is None else digest(after)
    return FileChanged(call_id=call, path=path, before=before, mode=None, after_sha256=sha, **more)


def store_log(
    sessions: Path, workspace: Path, id: str, facts: list[tuple[int, Any]], **meta: str
) -> SqliteStore:
    """Stores facts with the second in which each happened; returns the store, closed."""
    base = {"id": id, "name": f"session{id[-1]}", "workspace": str(workspace), "created": _tell(0)}
    store = SqliteStore.create(sessions / f"{id}_session{id[-1]}.db", {**base, **meta})
    try:
        store.adopt(
            codec.encode(Event(seq, _tell(at), "a1", 1, type, msgspec.Raw(codec.encode(data))))
            for seq, (at, type, data) in enumerate(((at, *_split(fact)) for at, fact in facts), 1)
        )
    finally:
        store.close()
    return store


def _split(fact: Any) -> tuple[str, Any]:
    return fact if isinstance(fact, tuple) else (fact.type, fact)


def _tell(at: int) -> str:
    return f"2026-11-16T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}.000Z"
