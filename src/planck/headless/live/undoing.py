"""Undo in an open session: its agents are told what became of their files."""

from planck.headless.live.parts import LiveParts
from planck.records.authority import Mode
from planck.records.events import ErrorEvent
from planck.records.outcome import ErrorKind
from planck.session import undo
from planck.toolkit.clock import RandomIds
from planck.workspace.paths.paths import Root


class SessionUndo:
    """Reverts what agents of one session did to files."""

    def __init__(self, parts: LiveParts) -> None:
        self._parts = parts

    def plan(self, selection: undo.Selection, confined: bool) -> undo.UndoPlan:
        store = self._parts.log.store
        return undo.plan(store, self._find_root(confined), selection, self._parts.old_contents())

    def list_turns(self) -> tuple[undo.UndoableTurn, ...]:
        store = self._parts.log.store
        return undo.list_turns(store, self._find_root(confined=False), self._parts.old_contents())

    def list_changes(self, selection: undo.Selection | None) -> tuple[undo.FileDiff, ...]:
        store, old = self._parts.log.store, self._parts.old_contents()
        root = self._find_root(confined=False)
        return undo.list_changes(store, selection or undo.Selection(), old, root)

    async def apply(self, plan: undo.UndoPlan, confined: bool) -> str:
        """Returns the id of a call that undoes the undo."""
        log, team = self._parts.log, self._parts.team
        root, old = self._find_root(confined), self._parts.old_contents()
        id = await undo.apply(plan, root, RandomIds(), log.journal, old)
        if text := undo.describe_undone(plan):
            await team.mail.announce(text, team.members)
        return id

    async def report_interrupted(self) -> None:
        """Names the files that a killed undo did not restore, and tells agents of those that it did."""
        root = self._find_root(confined=False)
        left = undo.clean_up(self._parts.log.store, root, self._parts.old_contents(), resumed=True)
        if left.pending:
            names = ", ".join(map(repr, left.pending))
            message = f"An undo was interrupted. Not restored: {names}. Undo again to finish it."
            fact = ErrorEvent(
                kind=ErrorKind.INTERRUPTED, message=message, details={"paths": list(left.pending)}
            )
            await self._parts.log.journal.record(None, 0, fact)
        if left.untold:
            await self._parts.team.mail.announce(
                undo.describe_restored(left.untold), self._parts.team.members
            )

    def _old_contents(self) -> undo.OldContents:
        return self._parts.old_contents()

    def _find_root(self, confined: bool) -> Root:
        if confined and self._parts.wired.mode is not Mode.FULL:
            return self._parts.wired.open_root()
        return undo.open_places(self._parts.log.store, self._parts.wired.root)
