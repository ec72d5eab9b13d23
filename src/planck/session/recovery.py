"""Commands that were cut with their process: what they changed is recorded before the session goes on."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from planck.records.events import (
    CommandRecorded,
    ErrorEvent,
    SessionResumed,
    SessionStarted,
    ToolStart,
    ViewDropped,
    ViewOpened,
    view,
)
from planck.records.outcome import ErrorKind
from planck.session.logs import SessionLog
from planck.session.outputs import IMAGES, RECORDING
from planck.toolkit.journal import Entry
from planck.tools.recorded import SpoolRecord, remove_spool
from planck.workspace.paths.paths import Root, WorkspaceError

if TYPE_CHECKING:
    from planck.workspace.views.view import View


async def recover_recordings(log: SessionLog, root: Root, views: "Mapping[str, View] | None" = None) -> None:
    """Compares each spool that is left with the files, records the changes and removes it.

    `views` are those that are open, by agent; the spool of a command in another one stays. A spool whose
    facts are in the log is only removed. Call it before anything else is recorded: an undo, and the agents,
    must know the changes.
    """
    spools = await asyncio.to_thread(_list_spools, log.files / RECORDING)
    if not spools:
        return
    starts: dict[str, tuple[str | None, int]] = {}
    commits: Counter[str] = Counter()
    ended: set[str] = set()
    elsewhere: dict[str | None, str] = {}
    isolated = False
    for event in log.store.read():
        match view(event):
            case ToolStart(id=id) if id in spools:
                starts[id] = (event.agent_id, event.turn)
            case CommandRecorded(call_id=id, running=running) if id in spools:
                commits[id] += 1
                if not running:
                    ended.add(id)
            case ViewOpened() as opened:
                elsewhere[opened.agent_id] = opened.view
            case ViewDropped():
                elsewhere.pop(event.agent_id, None)
            case SessionStarted(options=options) | SessionResumed(options=options) if options:
                isolated = options.isolated
            case _:
                pass
    for call_id, spool in spools.items():
        if call_id in ended or call_id not in starts:  # without a start nothing ran
            await asyncio.to_thread(remove_spool, spool)
            continue
        agent_id, turn = starts[call_id]
        own = (views or {}).get(agent_id or "")
        if own is None and (agent_id in elsewhere or (isolated and elsewhere)):
            continue
        seen = root if own is None else root.within(own)
        left = SpoolRecord(spool, seen, call_id, log.files / IMAGES, view="" if own is None else own.id)
        try:
            recorded = await asyncio.to_thread(left.read, commits[call_id])
        except (WorkspaceError, OSError) as problem:  # the folder was replaced, or can't be opened
            text = f"Changes of an interrupted command were not recorded and cannot be undone: {problem}"
            fact = ErrorEvent(kind=ErrorKind.READ_FAILED, message=text, details={"call_id": call_id})
            await log.journal.record(agent_id, turn, fact)
            continue
        await log.journal.record_all([Entry(agent_id, turn, fact) for fact in recorded.facts])
        await asyncio.to_thread(remove_spool, spool)


def _list_spools(folder: Path) -> dict[str, Path]:
    try:
        files = [file for file in sorted(folder.iterdir()) if file.is_file() and not file.is_symlink()]
    except OSError:
        return {}
    return {file.name: file for file in files}
