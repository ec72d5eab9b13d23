"""Has the commands of a session recorded, so that an undo knows what they changed, or says why not."""

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from planck.records.authority import Mode
from planck.shell.launch import basename
from planck.shell.reach import find_reach
from planck.toolkit.tool import ToolContext
from planck.tools.builtin.files import Spills
from planck.tools.recorded import SpoolRecord
from planck.workspace.paths.paths import Root
from planck.workspace.recording.recording import Record, Recording

_OTHER_USERS = frozenset({"sudo", "sudoedit", "su", "doas", "pkexec", "runuser"})
"""They end where the filter is: it forbids that a program gets more permissions than it has."""


class RecordedCall:
    """One command: what `Command.record` gets, and after `commit` what its result says of the undo."""

    def __init__(self, record: Record | None, spool: SpoolRecord | None, ctx: ToolContext, note: str) -> None:
        self.record = record
        self.note: str = note
        self._spool = spool
        self._ctx = ctx

    async def commit(self, *, ended: bool = True) -> None:
        """Records what changed since the last time; a cancellation waits until that is done."""
        if self._spool is None:
            return
        committing = asyncio.ensure_future(self._spool.commit(self._ctx.record, ended=ended))
        try:
            self.note = await asyncio.shield(committing)
        except asyncio.CancelledError:
            await asyncio.wait({committing})
            raise


def make_recording() -> Recording:
    from planck.workspace.recording.client import SeccompRecording  # not before the first command

    return SeccompRecording()


class CommandRecording:
    """One for each session; owns the recorder."""

    def __init__(self, make: Callable[[], Recording], spills: Spills, environment: Mapping[str, str]) -> None:
        self._make = make
        self._recording: Recording | None = None
        self._spills = spills
        self._path = environment.get("PATH")
        self._told = False

    async def prepare(self, ctx: ToolContext, root: Root, script: str) -> RecordedCall:
        """Starts the recorder, if this is the first command. The caller commits."""
        rights = ctx.confinement
        unconfined = rights is None or rights.mode is Mode.FULL
        if rights is not None and not unconfined and not rights.writable:
            return RecordedCall(None, None, ctx, "")  # it can change nothing
        if unconfined and (program := find_other_user(script, self._path)):
            return RecordedCall(None, None, ctx, f"[undo: not recorded, it runs {program}]")
        if self._recording is None:
            self._recording = self._make()
        if problem := await self._recording.prepare():
            note = "" if self._told else f"[undo: not recorded: {problem}]"
            self._told = True
            return RecordedCall(None, None, ctx, note)
        if self._spills.file(ctx.call_id) is None:
            return RecordedCall(None, None, ctx, "[undo: not recorded: the call has an odd id]")
        folder = self._spills.folder
        path = folder / "recording" / ctx.call_id
        own = root.view
        record = Record(self._recording, path, root.paths, None if own is None else own.root)
        spool = SpoolRecord(path, root, ctx.call_id, folder / "images", view="" if own is None else own.id)
        return RecordedCall(record, spool, ctx, "")

    async def aclose(self) -> None:
        if self._recording is not None:
            await self._recording.aclose()


@asynccontextmanager
async def recorded(
    recording: CommandRecording | None, ctx: ToolContext, root: Root, script: str
) -> AsyncIterator[RecordedCall]:
    """What the command changed is committed when the block is left, however that is."""
    call = await prepare(recording, ctx, root, script)
    try:
        yield call
    finally:
        await call.commit()


async def prepare(
    recording: CommandRecording | None, ctx: ToolContext, root: Root, script: str
) -> RecordedCall:
    """As `CommandRecording.prepare`, also where nothing is recorded."""
    if recording is None:
        return RecordedCall(None, None, ctx, "")
    return await recording.prepare(ctx, root, script)


def find_other_user(script: str, path: str | None) -> str:
    """Returns the first program of a script that runs as another user or group; empty: it runs none."""
    for words in find_reach(script, None).commands:
        name = basename(words[0])
        if name in _OTHER_USERS:
            return name
        found = shutil.which(words[0].text, path=path)
        try:
            if found and os.stat(found).st_mode & (stat.S_ISUID | stat.S_ISGID):
                return name
        except OSError:
            continue
    return ""
