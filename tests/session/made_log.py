"""A stored session of any events, as large as a test likes, without running one."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from planck.records import codec
from planck.records.events import Event
from planck.store.sqlite.store import SqliteStore

ID, NAME = "0123456789abcdef", "made"


def make_log(
    sessions: Path, workspace: Path, facts: Iterable[tuple[str, Any]], *, agent: str | None = "a1"
) -> Path:
    """Stores one event a second for each type and data; returns the file. The session is called `made`."""
    path = sessions / f"{ID}_{NAME}.db"
    meta = {"id": ID, "name": NAME, "workspace": str(workspace), "created": "2026-11-16T10:00:00.000Z"}
    store = SqliteStore.create(path, meta)
    try:
        store.adopt(_encode(facts, agent))
    finally:
        store.close()
    return path


def _encode(facts: Iterable[tuple[str, Any]], agent: str | None) -> Iterable[bytes]:
    for seq, (type, data) in enumerate(facts, 1):
        at = seq % 86_400
        ts = f"2026-11-16T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}.000Z"
        who = data.pop("agent_id", agent) if type != "session_started" else None
        yield codec.encode(Event(seq, ts, who, 1, type, msgspec.Raw(codec.encode(data))))
