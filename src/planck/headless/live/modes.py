"""The permission mode of an open session, and what its agents are told of it."""

from planck.headless.live.parts import AgentError, LiveParts
from planck.records.authority import Mode
from planck.records.events import ModeChanged, view
from planck.records.outcome import ErrorKind
from planck.records.specs import SessionOptions


class SessionMode:
    """Changes the mode of one session."""

    def __init__(self, parts: LiveParts) -> None:
        self._parts = parts

    async def change(self, mode: Mode | str) -> None:
        log, wired = self._parts.log, self._parts.wired
        before = wired.mode
        wired.change_mode(mode)
        if wired.mode is not before:
            await log.journal.record(None, 0, ModeChanged(mode=wired.mode, before=before))
            await self._tell("The user changed the mode. ")

    async def leave_plan(self) -> None:
        """Gives back the mode before the plan; raises where no plan is ready."""
        team, wired = self._parts.team, self._parts.wired
        if wired.mode is not Mode.PLAN:
            mode = wired.mode.value
            why = f"The session is in mode {mode!r}. Switch to mode 'plan' and ask for a plan first."
            raise AgentError(ErrorKind.INVALID_ARGS, why)
        if not all(member.actor.idle for member in team.members):
            raise AgentError(
                ErrorKind.INVALID_ARGS, "The plan is not finished. Wait for it, or interrupt the agents."
            )
        await self.change(self._find_mode_before_plan())

    def _find_mode_before_plan(self) -> Mode:
        before = ""
        for event in self._parts.log.store.read():
            if event.type == ModeChanged.type and isinstance(fact := view(event), ModeChanged):
                before = fact.before if fact.mode == Mode.PLAN else before
        found = Mode(before) if before in list(Mode) else self._parts.wired.configured_mode
        return Mode.ASK if found is Mode.PLAN else found

    async def tell_what_changed(self, before: SessionOptions | None) -> None:
        """Tells the agents of a resumed session that their mode is another, or that a person is there now."""
        log, wired = self._parts.log, self._parts.wired
        if before and before.mode != wired.mode:
            await log.journal.record(None, 0, ModeChanged(mode=wired.mode, before=before.mode))
            await self._tell("The user changed the mode. ")
        elif before and before.person is not None and before.person != wired.person:
            await self._tell("")

    async def _tell(self, why: str) -> None:
        team = self._parts.team
        for member in team.members:
            await team.mail.announce(
                why + self._parts.wired.describe_mode(member.actor.agent.tools), [member]
            )
