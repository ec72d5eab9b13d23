"""Members of a team that are other programs: how they are started, with which rights, and who may allow what.

The process has the member's confinement, in a home of its own; the network is open in it, since its own model
is there. What it asks goes through the same gate as the calls of our own agents.
"""

import asyncio
import os
import shlex
import shutil
from collections.abc import AsyncGenerator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from planck.acp.client import ExternalError, Launch
from planck.acp.external_member import Foreign
from planck.acp.external_turn import ExternalCall, ExternalTurn
from planck.acp.methods import McpServer
from planck.agent.agent import Kit
from planck.agent.seat import Seat
from planck.budget.accounts import Purse
from planck.config.keys.secrets import is_secretive
from planck.context.compaction import Room
from planck.headless.members.external_check import make_environment, place_member
from planck.headless.session_setup import SessionSetup
from planck.llm.provider import Item, Request
from planck.permissions.authority import stricter
from planck.permissions.gate import AgentGate, Call
from planck.permissions.policy import Verdict
from planck.permissions.rules import Decision
from planck.records import codec
from planck.records.authority import Confinement, Mode
from planck.records.events import PermissionDecision, Status, ToolEnd, ToolStart
from planck.records.messages import AssistantMessage, StopReason, Text
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.specs import FOREIGN, AgentSpec, ForeignSpec
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Changed, Effect, Outcome, Tool, ToolContext
from planck.tools.builtin.files import MAX_FILE, digest
from planck.workspace.sandbox.programs import list_parts

if TYPE_CHECKING:
    from planck.headless.members.team_service import TeamCalls, TeamServer

_EFFECTS = {
    **dict.fromkeys(("read", "search", "think"), Effect.NONE),
    **dict.fromkeys(("edit", "delete", "move"), Effect.FILES),
}
"""By ACP's kind of a call; any other can do anything."""
_BOUND = frozenset({"usd", "tokens"})


class ExternalMembers:
    """The foreign members of one session; owns their processes."""

    def __init__(self, plan: SessionSetup) -> None:
        self._plan = plan
        self._members: dict[str, Foreign] = {}
        self._ending: list[Foreign] = []

    def seat(self, spec: AgentSpec, gate: AgentGate, kit: Kit, scribe: Scribe, purse: Purse) -> Seat:
        """Returns what an agent thinks with whose model is another program. It starts at its first turn."""
        self.end(spec.id)
        if self._plan.options.dry_run:
            return Seat(spec.model, Rehearsed(spec), None, Unbounded())
        runtime = self._plan.runtime
        host = ExternalHost(spec, self._plan, gate, kit, scribe, purse)
        foreign = Foreign(
            spec,
            host,
            scribe,
            ids=runtime.ids,
            clock=runtime.clock,
            root=runtime.project.open_root(),
            note=host.note,
        )
        self._members[spec.id] = foreign
        return Seat(spec.model, foreign, foreign.tariff, Unbounded())

    def end(self, agent_id: str) -> None:
        """Ends one that is gone, or is built anew."""
        if foreign := self._members.pop(agent_id, None):
            foreign.end()
            self._ending.append(foreign)

    async def aclose(self) -> None:
        ending, self._ending = self._ending, []
        for foreign in ending:
            await foreign.aclose(politely=False)
        members, self._members = self._members, {}
        await asyncio.gather(*(foreign.aclose() for foreign in members.values()))


class ExternalHost:
    """What one foreign member needs of ours: rights, a home, the team's tools, and answers."""

    def __init__(
        self, spec: AgentSpec, plan: SessionSetup, gate: AgentGate, kit: Kit, scribe: Scribe, purse: Purse
    ) -> None:
        assert spec.acp is not None
        self._spec = spec
        self._acp: ForeignSpec = spec.acp
        self._plan = plan
        self._project = plan.runtime.project
        self._gate = gate
        self._kit = kit
        self._scribe = scribe
        self._purse = purse
        self._previews = Previews()
        self._own = AgentGate(
            plan.gate,
            gate.name,
            gate.authority,
            scribe,
            rehearsal=self._previews,
            find_ceiling=lambda: self.mode,
        )
        self._rights: Confinement | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._server: TeamServer | None = None
        self._calls: TeamCalls | None = None

    @property
    def note(self) -> Path | None:
        return self._plan.spills.folder / "members" / f"{self._spec.id}.json" if self._plan.stored else None

    @property
    def mode(self) -> Mode:
        own = self._acp.mode or Mode.FULL
        return stricter(self._gate.authority.mode, own)

    def refuse(self) -> Err | None:
        source = self._acp.source
        if source and (doubt := self._project.doubt(source)):
            return Err(ErrorKind.PERMISSION_DENIED, f"{source} names its program, and {doubt}")
        limited = self._purse.accounts.limited and _BOUND.intersection(self._purse.paying.all_left)
        if limited:
            return Err(
                ErrorKind.BUDGET_EXCEEDED,
                "what another program spends can't be held back, so no budget in USD or tokens would hold; "
                "leave it out of this work, or run without the budget",
                {"asked": None, "left": self._purse.paying.left()},
            )
        return None

    async def launch(self) -> Launch:
        rights = await self._admit()
        # It takes most of a second, and only who has such members needs it.
        await asyncio.to_thread(_import_service)
        from planck.headless.members.team_service import TeamCalls, TeamServer, find_python

        await self.aclose()
        self._rights = None if rights.mode is Mode.FULL else rights
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
        if self._rights is not None:
            home = self._make_home(folder, owner)
            environment = {**environment, "HOME": str(home)}
            cwd, environment = place_member(self._acp, self._project, environment, str(home))
            python = find_python(owner)
            shown = (
                *list_parts(self._acp.command, environment["PATH"]),
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

    async def decide(self, call: ExternalCall) -> Err | None:
        effect = _EFFECTS.get(call.kind, Effect.COMMAND)
        tool = Tool(
            call.name,
            call.title,
            {},
            _run_elsewhere,
            effect=effect,
            confinable=self._rights is not None,
            basis=(lambda args, ctx: self._find_basis(call)) if effect is Effect.FILES else None,
        )
        mode = stricter(self.mode, self._rights.mode) if self._rights else self.mode
        self._own.authority = replace(self._gate.authority, tools=None, mode=mode)
        self._own.rights = replace(self._rights, network=self._acp.network) if self._rights else None
        self._previews.texts[call.id] = call.preview
        context = self._context(call.id)
        try:
            answer = await self._own.decide(tool, call.args, context)
        finally:
            self._previews.texts.pop(call.id, None)
        if answer is None or isinstance(answer, Err | Confinement):
            return answer if isinstance(answer, Err) else None
        if await self._find_basis(call) == answer.confinement.basis:
            return None
        # Its diff is of what was there before, and it alone can make another: it is told no, and looks again.
        changed = Changed(", ".join(call.paths) or call.title).err
        await self._scribe.record(
            PermissionDecision(call_id=call.id, tool=tool.name, decision="deny", reason=changed.message),
            barrier=True,
        )
        return changed

    async def _find_basis(self, call: ExternalCall) -> str:
        """Names what the files hold that a call of its own would change."""
        root = self._project.open_root()

        def look() -> str:
            found = [("", call.preview)]
            for path in sorted({*call.diffs, *call.paths}):
                try:
                    old = root.peek(path, MAX_FILE)
                except (PlanckError, ValueError) as refused:
                    found.append((path, str(refused)))
                else:
                    found.append((path, digest(old[0]) if old else ""))
            return digest(codec.encode(found))

        return await asyncio.to_thread(look)

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

    async def _admit(self) -> Confinement:
        """Returns the rights that its process has, asked for where the mode does not say.

        In mode `ask` the user says whether it may write at all; until then it can't.
        """
        mode = self.mode
        verdict = self._judge(Mode.WORKSPACE if mode is Mode.ASK else mode)
        if verdict.decision is Decision.ALLOW and (mode is not Mode.ASK or verdict.by_rule):
            return verdict.confinement
        if verdict.decision is Decision.DENY:
            raise ExternalError(ErrorKind.PERMISSION_DENIED, f"it may not be started: {verdict.why}")
        confined = verdict.decision is Decision.ALLOW
        if confined:
            why = "mode 'ask': it is another program, which may change files in the workspace from then on"
            verdict = replace(verdict, why=why)
        rights = replace(verdict.confinement, network=self._acp.network or verdict.confinement.network)
        answer = await self._ask(replace(verdict, confinement=rights))
        if not isinstance(answer, Err):
            return answer
        if confined:
            read_only = self._judge(Mode.READ_ONLY)
            if read_only.decision is Decision.ALLOW:
                return read_only.confinement
        raise ExternalError(answer.kind, answer.message, answer.details)

    def _judge(self, mode: Mode) -> Verdict:
        self._own.authority = replace(self._gate.authority, tools=None, mode=mode)
        return self._plan.gate.judge(self._spec.id, self._own.authority, _START, self._start_args)

    @property
    def _start_args(self) -> dict[str, Any]:
        return {"command": shlex.join(self._acp.command), "member": self._spec.name}

    async def _ask(self, verdict: Verdict) -> Err | Confinement:
        """As a call of its own, so that whoever reads the log sees what was asked, and how it ended."""
        id = self._plan.runtime.ids.new(self._spec.id)
        await self._scribe.record(ToolStart(id=id, name=_START.name, args=self._start_args, foreign=True))
        answer = await self._own.ask(Call(_START, self._start_args, self._context(id)), verdict)
        said = "it may write in the workspace" if not isinstance(answer, Err) else "it may write nothing"
        await self._scribe.record(
            ToolEnd(
                id=id,
                name=_START.name,
                ok=not isinstance(answer, Err),
                output=said,
                duration_ms=0,
                foreign=True,
            )
        )
        return answer if isinstance(answer, Err | Confinement) else answer.confinement

    def _context(self, call_id: str) -> ToolContext:
        project = self._project
        keys = self._plan.runtime.providers.keyring.redactor
        return ToolContext(self._plan.session_id, self._spec.id, call_id, project.workspace, keys=keys)

    def _make_environment(self) -> dict[str, str]:
        environ = self._project.environ
        for name in self._acp.env:
            if name not in environ:
                detail = f"acp.env names {name}, which is not set"
                missing = Status(component=FOREIGN, name=self._spec.name, state="notice", detail=detail)
                self._scribe.publish(missing)
            elif is_secretive(name):  # what it was given for itself is not for the log either
                self._plan.runtime.providers.keyring.learn(environ[name])
        return make_environment(self._acp, environ, confined=self._rights is not None)

    def _find_owner(self) -> tuple[int, int] | None:
        """Whom a command of root's runs as: see `workspace.bubblewrap`."""
        found = os.stat(self._project.workspace)
        confined = self._rights is not None and os.geteuid() == 0 and found.st_uid != 0
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


class Previews:
    """What a call of another program would change, as it says, in the place of a dry run."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    async def rehearse(self, tool: Tool, args: dict[str, Any], ctx: ToolContext) -> str:
        return self.texts.get(ctx.call_id, "")


class Unbounded:
    """Another program keeps its own history small; ours of it is never sent to a model."""

    async def make_room(self, request: Request, scribe: Scribe, *, overflowed: bool = False) -> Room | None:
        return None

    async def shorten(self, request: Request, scribe: Scribe) -> Room | None:
        return None


class Rehearsed:
    """In a dry run nobody could hold another program to it: it is not started."""

    def __init__(self, spec: AgentSpec) -> None:
        self._spec = spec

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        acp = self._spec.acp
        command = shlex.join(acp.command) if acp else ""
        text = f"[dry run: {self._spec.name} is another program, {command}, and was not started]"
        yield AssistantMessage((Text(text),), FOREIGN, self._spec.model.label, StopReason.END)


def _run_elsewhere(args: dict[str, Any], ctx: ToolContext) -> Outcome:
    raise AssertionError("a call of another program runs there")


_START = Tool(
    FOREIGN, "Start another agent's program.", {}, _run_elsewhere, effect=Effect.COMMAND, confinable=True
)


def _import_service() -> None:
    try:
        import_module("planck.headless.members.team_service")
    except ModuleNotFoundError as problem:
        if problem.name and problem.name.split(".")[0] == "planck":
            raise
        raise ExternalError(
            ErrorKind.PEER_FAILED,
            f"other agents as members need the extra `mcp` ({problem}): pip install 'planck-agents[mcp]'",
        ) from problem
