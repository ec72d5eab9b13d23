"""A stored session that nobody runs: held for this process alone, so that files of it can be undone."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from planck.config.keys.credentials import Keyring
from planck.records.ports import Ids
from planck.session import undo
from planck.session.landing.finish import recover_logged
from planck.session.logs import SessionLog
from planck.session.outputs import IMAGES
from planck.workspace.paths.paths import Root


@asynccontextmanager
async def hold(log: SessionLog, root: Root, ids: Ids, keys: Keyring) -> "AsyncGenerator[HeldSession, None]":
    """Holds it for an undo; the log is closed in the end."""
    async with hold_log(log, root, ids, keys):
        yield HeldSession(log, root, ids, keys)


@asynccontextmanager
async def hold_log(log: SessionLog, root: Root, ids: Ids, keys: Keyring) -> AsyncGenerator[SessionLog, None]:
    """Finishes and records what a killed process left, and closes the log in the end."""
    try:
        if damage := log.describe_damage():
            await log.journal.record(None, 0, *damage)
        if log.has_recordings:
            from planck.session.recovery import recover_recordings  # few sessions are cut in a command

            await recover_recordings(log, root)
        await recover_logged(log, root, keys.redactor())
        held = HeldSession(log, root, ids, keys)
        left = undo.clean_up(log.store, held.root, held.old_contents())
        if left.untold:
            await log.tell(undo.describe_restored(left.untold), ids)
        yield log
    finally:
        await log.aclose()


class HeldSession:
    """A stored session that is not running, of which files can be undone."""

    def __init__(self, log: SessionLog, root: Root, ids: Ids, keys: Keyring) -> None:
        self._log = log
        self._root = root
        self._ids = ids
        self._keys = keys

    @property
    def root(self) -> Root:
        """Where an undo may write."""
        return undo.open_places(self._log.store, self._root)

    def old_contents(self) -> undo.OldContents:
        return undo.OldContents(self._log.store, self._keys.redactor(), self._log.files / IMAGES)

    def undo_plan(self, selection: undo.Selection) -> undo.UndoPlan:
        return undo.plan(self._log.store, self.root, selection, self.old_contents())

    def undo_turns(self) -> tuple[undo.UndoableTurn, ...]:
        return undo.list_turns(self._log.store, self.root, self.old_contents())

    async def undo(self, plan: undo.UndoPlan) -> str:
        id = await undo.apply(plan, self.root, self._ids, self._log.journal, self.old_contents())
        if text := undo.describe_undone(plan):
            await self._log.tell(text, self._ids)
        return id
