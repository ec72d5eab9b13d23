"""The process of a member that is another program: its home, its environment, and the team's tools for it.

It has the member's confinement, in a home of its own; the network is open in it: its own model is there.
"""

import asyncio
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec.structs import replace

from planck.acp.client import Launch
from planck.acp.external_turn import ExternalTurn
from planck.acp.methods import McpServer
from planck.agent.agent import Kit
from planck.budget.accounts import Purse
from planck.config.keys.secrets import is_secretive
from planck.headless.members.external_check import list_kept, make_environment, place_member
from planck.headless.members.external_rights import ExternalRights
from planck.headless.session_setup import SessionSetup
from planck.permissions.gate import AgentGate
from planck.records.events import Status
from planck.records.outcome import Err, ErrorKind
from planck.records.specs import FOREIGN, AgentSpec
from planck.toolkit.scribe import Scribe
from planck.workspace.sandbox.programs import list_parts

if TYPE_CHECKING:
    from planck.headless.members.team_service import TeamCalls, TeamServer

_BOUND = frozenset({"usd", "tokens"})


class ExternalHost(ExternalRights):
    """What one foreign member needs of ours: rights, a home, the team's tools, and answers."""

    def __init__(
        self, spec: AgentSpec, plan: SessionSetup, gate: AgentGate, kit: Kit, scribe: Scribe, purse: Purse
    ) -> None:
        super().__init__(spec, plan, gate, scribe)
        self._project = plan.runtime.project
        self._kit = kit
        self._purse = purse
        self._folder: TemporaryDirectory[str] | None = None
        self._server: TeamServer | None = None
        self._calls: TeamCalls | None = None

    @property
    def note(self) -> Path | None:
        return self._plan.spills.folder / "members" / f"{self._spec.id}.json" if self._plan.stored else None

    def refuse(self) -> Err | None:
        source = self._acp.source
        if source and (doubt := self._project.doubt(source)):
            text = f"its program is set in {source}, but {doubt}"
            return Err(ErrorKind.PERMISSION_DENIED, text)
        limited = self._purse.accounts.limited and _BOUND.intersection(self._purse.paying.all_left)
        if limited:
            return Err(
                ErrorKind.BUDGET_EXCEEDED,
                "Planck cannot limit what an external program spends, so it cannot enforce a budget in USD "
                "or tokens. Remove this member from the team, or run without the budget.",
                {"asked": None, "left": self._purse.paying.left()},
            )
        return None

    async def launch(self) -> Launch:
        rights = await self.admit()
        from planck.headless.members.team_service import TeamCalls, TeamServer, find_python

        await self.aclose()
        # In a place that the sandboxes of others do not show.
        place = "/tmp" if os.path.isdir("/tmp") and not os.path.islink("/tmp") else None
        self._folder = TemporaryDirectory(prefix="planck-member-", dir=place)
        folder, owner = Path(os.path.realpath(self._folder.name)), self._find_owner()
        if owner is not None:
            os.chown(folder, *owner)
        if self._calls is None:
            self._calls = TeamCalls(self._kit.tools, self._kit.runner, self._scribe, self._plan.runtime.ids)
        self._server = TeamServer(folder, self._calls, owner)
        environment = self._make_environment()
        confinement, cwd = None, self._project.workspace
        if self.confined:
            home = self._make_home(folder, owner)
            environment = {**environment, "HOME": str(home)}
            cwd, environment = place_member(self._acp, self._project, environment, str(home))
            python = find_python(owner)
            shown = (
                *list_parts(self._acp.command, environment["PATH"], list_kept(self._project)),
                *list_parts((python,), os.path.dirname(python)),
            )
            confinement = replace(
                rights,
                roots=(*rights.roots, str(home)),
                writable=(*rights.writable, str(home)),
                seen=(*rights.seen, str(folder), *shown),
                network=self._acp.network,
            )
        keys = self._plan.runtime.providers.keyring.redactor
        return Launch(self._acp.command, cwd, environment, confinement, keys)

    def servers(self) -> tuple[McpServer, ...]:
        assert self._server is not None  # it was launched
        return (self._server.entry,)

    def begin_turn(self, turn: ExternalTurn) -> None:
        if self._calls is not None:
            self._calls.begin_turn(turn)

    async def end_turn(self) -> None:
        if self._calls is not None:
            await self._calls.end_turn()

    @property
    def waits(self) -> bool:
        return self._calls is not None and self._calls.waits

    async def aclose(self) -> None:
        if self._server is not None:
            await self._server.aclose()
            self._server = None
        if self._folder is not None:
            folder, self._folder = self._folder, None
            await asyncio.to_thread(shutil.rmtree, folder.name, ignore_errors=True)
            folder.cleanup()

    def _make_environment(self) -> dict[str, str]:
        environ = self._project.environ
        for name in self._acp.env:
            if name not in environ:
                detail = f"acp.env names {name}, which is not set; set it, or remove it from acp.env"
                missing = Status(component=FOREIGN, name=self._spec.name, state="notice", detail=detail)
                self._scribe.publish(missing)
            elif is_secretive(name):  # what it was given for itself is not for the log either
                self._plan.runtime.providers.keyring.learn(environ[name])
        return make_environment(self._acp, environ, confined=self.confined)

    def _find_owner(self) -> tuple[int, int] | None:
        """Whom a command of root's runs as: see `workspace.bubblewrap`."""
        found = os.stat(self._project.workspace)
        confined = self.confined and os.geteuid() == 0 and found.st_uid != 0
        return (found.st_uid, found.st_gid) if confined else None

    def _make_home(self, folder: Path, owner: tuple[int, int] | None) -> Path:
        """Makes a folder that is its alone, and stays with the session: it may go on with what it knew."""
        # Another user could not reach a folder below ours; what is not stored leaves nothing behind.
        note = self.note if owner is None else None
        home = note.with_suffix("") if note else folder / "home"
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if owner is not None:
            os.chown(home, *owner)
        return Path(os.path.realpath(home))
