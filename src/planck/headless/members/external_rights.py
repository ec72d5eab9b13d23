"""What a member that is another program may do: the rights of its process, and answers to what it asks.

What it asks goes through the same gate as the calls of our own agents.
"""

import asyncio
import shlex
from typing import Any

from msgspec.structs import replace

from planck.acp.client import ExternalError
from planck.acp.external_turn import ExternalCall
from planck.headless.session_setup import SessionSetup
from planck.permissions.authority import stricter
from planck.permissions.gate import AgentGate, Call
from planck.permissions.policy import Verdict
from planck.permissions.rules import Decision
from planck.records import codec
from planck.records.authority import Confinement, Mode
from planck.records.events import PermissionDecision, ToolEnd, ToolStart
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.specs import FOREIGN, AgentSpec, ForeignSpec
from planck.toolkit.permit import Preview
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Changed, Effect, Outcome, Tool, ToolContext
from planck.tools.builtin.files import MAX_FILE, digest

_EFFECTS = {
    **dict.fromkeys(("read", "search", "think"), Effect.NONE),
    **dict.fromkeys(("edit", "delete", "move"), Effect.FILES),
}
"""By ACP's kind of a call; any other can do anything."""


class ExternalRights:
    """The rights of one such member."""

    def __init__(self, spec: AgentSpec, plan: SessionSetup, gate: AgentGate, scribe: Scribe) -> None:
        assert spec.acp is not None
        self._spec = spec
        self._acp: ForeignSpec = spec.acp
        self._plan = plan
        self._gate = gate
        self._scribe = scribe
        self._previews = Previews()
        self._own = AgentGate(
            plan.gate,
            gate.name,
            gate.authority,
            scribe,
            delegator=gate.delegator,
            rehearse=self._previews.rehearse,
            find_ceiling=lambda: self.mode,
        )
        self._confinement: Confinement | None = None

    @property
    def mode(self) -> Mode:
        own = self._acp.mode or Mode.FULL
        return stricter(self._gate.authority.mode, own)

    @property
    def confined(self) -> bool:
        """Whether its process was started in a sandbox."""
        return self._confinement is not None

    async def admit(self) -> Confinement:
        """Returns the rights that its process has, asked for where the mode does not say."""
        rights = await self._judge_start()
        self._confinement = None if rights.mode is Mode.FULL else rights
        return rights

    async def decide(self, call: ExternalCall) -> Err | None:
        """Returns why the program may not do what it asks for."""
        effect = _EFFECTS.get(call.kind, Effect.COMMAND)
        tool = Tool(
            call.name,
            call.title,
            {},
            _run_elsewhere,
            effect=effect,
            confinable=self.confined,
            basis=(lambda args, ctx: self._find_basis(call)) if effect is Effect.FILES else None,
        )
        rights = self._confinement
        mode = stricter(self.mode, rights.mode) if rights else self.mode
        self._own.authority = replace(self._gate.authority, tools=None, mode=mode)
        self._own.rights = replace(rights, network=self._acp.network) if rights else None
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
        root = self._plan.runtime.project.open_root()

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

    async def _judge_start(self) -> Confinement:
        """In mode `ask` the user says whether it may write at all; until then it can't."""
        mode = self.mode
        verdict = self._judge(Mode.WORKSPACE if mode is Mode.ASK else mode)
        if verdict.decision is Decision.ALLOW and (mode is not Mode.ASK or verdict.by_rule):
            return verdict.confinement
        if verdict.decision is Decision.DENY:
            raise ExternalError(
                ErrorKind.PERMISSION_DENIED,
                f"it is not allowed to start: {verdict.why.rstrip('.')}. "
                "Change the permissions, or remove this member from the team.",
            )
        confined = verdict.decision is Decision.ALLOW
        if confined:
            why = "mode 'ask': this external program can change the workspace once it has started"
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
        """As a call of its own, so that a reader of the log sees what was asked, and how it ended."""
        id = self._plan.runtime.ids.new(self._spec.id)
        await self._scribe.record(ToolStart(id=id, name=_START.name, args=self._start_args, foreign=True))
        answer = await self._own.ask(Call(_START, self._start_args, self._context(id)), verdict)
        said = "allowed to write in the workspace" if not isinstance(answer, Err) else "not allowed to write"
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
        project = self._plan.runtime.project
        keys = self._plan.runtime.providers.keyring.redactor
        return ToolContext(self._plan.session_id, self._spec.id, call_id, project.workspace, keys=keys)


class Previews:
    """What a call of another program would change, by its own words: it has no dry run."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    async def rehearse(self, tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Preview:
        return Preview(self.texts.get(ctx.call_id, ""))


def _run_elsewhere(args: dict[str, Any], ctx: ToolContext) -> Outcome:
    raise AssertionError("an external program runs its own calls")


_START = Tool(
    FOREIGN, "Start another agent's program.", {}, _run_elsewhere, effect=Effect.COMMAND, confinable=True
)
