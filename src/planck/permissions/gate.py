"""The gate before every call: judge it, ask the user where there is one, and record what was said."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec.structs import replace

from planck.permissions.approver import Approvals, give_up
from planck.permissions.authority import stricter
from planck.permissions.policy import (
    PolicyContext,
    Verdict,
    ask_about_address,
    close_roots,
    find_file_rights,
    find_offer,
    find_trial,
    judge,
)
from planck.permissions.rules import Decision, Rule, SourcedRule, apply_rules, load
from planck.records import codec
from planck.records.approval import Answer, Question, Scope
from planck.records.authority import Authority, Confinement, Mode, Right
from planck.records.events import DeniedBy, ErrorEvent, PermissionDecision
from planck.records.outcome import Err, ErrorKind, Ok, PlanckError
from planck.records.ports import Ids
from planck.records.tools import COMMAND_TOOLS, find_row
from planck.records.visible import spell_out
from planck.toolkit.permit import Preview, Rehearse, Trial
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import CHANGED, Effect, Outcome, Tool, ToolContext
from planck.toolkit.truncate import truncate
from planck.workspace.paths.paths import Root, WorkspaceError

_MAX_REASON = 2_000
"""Bytes of what the user says to a no; it goes into the log and to the model."""
_IN_SESSION = "approved in this session"
_MAX_ASKED = 5
"""Questions about one call, each because a file changed since the last was put; then the model is told."""
_NEVER = (ErrorKind.PROTECTED_PATH, ErrorKind.OUTSIDE_WORKSPACE, ErrorKind.PERMISSION_DENIED)

if TYPE_CHECKING:
    from planck.permissions.question import ToolChange


class Rules(Protocol):
    """What the user's files say of permissions."""

    place: str
    """The file that `keep` writes."""

    def policy_context(self, mode: Mode | None) -> PolicyContext:
        """What holds for a call; with a mode also whether a command can be confined to it."""

    def bind(self, rule: Rule) -> Rule:
        """Returns the rule as `keep` saves it: for this project."""

    def keep(self, rule: Rule) -> str:
        """Makes a rule last; returns the place where it is now."""

    def read_now(self) -> tuple[SourcedRule, ...]:
        """Returns the rules that the files have at this moment, whatever the session began with."""


class Gate:
    """One per session: what holds for all its agents, and where they ask."""

    def __init__(
        self,
        rules: Rules,
        *,
        ids: Ids,
        approvals: Approvals | None = None,
        is_own: Callable[[Tool], bool] = lambda tool: False,
    ) -> None:
        """Without `approvals` nobody is there to ask, and what would be asked is denied.

        `is_own` tells the functions of the program that embeds us: it passed them to be called.
        """
        self._is_own = is_own
        self.ids = ids
        self.approvals = approvals
        self.rules = rules
        self._session_rules: dict[str, tuple[SourcedRule, ...]] = {}
        self.adding: dict[str, asyncio.Lock] = {}
        """By folder, held while the user is asked for it."""

    def judge(self, agent_id: str, authority: Authority, tool: Tool, args: Mapping[str, Any]) -> Verdict:
        """By the rules in force and those that the user approved for this agent in this session."""
        confined = tool.effect is Effect.COMMAND and authority.mode is not Mode.FULL
        around = self.rules.policy_context(authority.mode if confined else None)
        if mine := self._session_rules.get(agent_id):
            around = replace(around, rules=(*around.rules, *mine))
        around = close_roots(authority, around, tool.effect, args)
        return judge(
            authority,
            around,
            tool.name,
            tool.effect,
            tool.confinable,
            args,
            is_command=tool.probe_in_sandbox,
            own=not tool.confinable and self._is_own(tool),
        )

    def find_offer(
        self,
        authority: Authority,
        verdict: Verdict,
        tool: Tool,
        args: Mapping[str, Any],
        missing: frozenset[Right] | None = None,
    ) -> Verdict:
        """The verdict with what a question about the call names; `missing`: what a trial showed."""
        if tool.effect is not Effect.COMMAND:
            return verdict
        around = self.rules.policy_context(authority.mode)
        return find_offer(authority, around, verdict, tool.name, args, missing=missing)

    def find_file_rights(self, authority: Authority) -> Confinement:
        """Returns where an agent with this authority may write files now."""
        return find_file_rights(authority, self.rules.policy_context(authority.mode))

    def judge_again(
        self, agent_id: str, authority: Authority, tool: Tool, args: Mapping[str, Any]
    ) -> Verdict:
        """Judges a call that the user has just agreed to; what a rule denies by now, a yes does not allow."""
        verdict = self.judge(agent_id, authority, tool, args)
        folder = next(iter(authority.roots), "")
        ruling = apply_rules(self.rules.read_now(), tool.name, args, folder)
        if ruling.decision is Decision.DENY:
            return replace(verdict, decision=Decision.DENY, why=str(ruling.by), by="rule")
        return verdict

    def can_confine(self, authority: Authority, tool: Tool) -> bool:
        """Whether a rule can keep this tool's calls in the sandbox of the agent's mode."""
        around = close_roots(authority, self.rules.policy_context(authority.mode), tool.effect, {})
        return tool.confinable and around.sandbox

    def find_trial(
        self, authority: Authority, verdict: Verdict, tool: Tool, args: Mapping[str, Any]
    ) -> Confinement | None:
        """With which rights a command is run before anybody is asked; None: it is not."""
        if not tool.probe_in_sandbox or authority.mode is not Mode.ASK:
            return None
        around = self.rules.policy_context(Mode.READ_ONLY)
        return find_trial(authority, around, verdict, tool.name, args)

    async def agree(self, change: "ToolChange", scribe: Scribe) -> bool:
        """Whether the user takes what a server now says of its tools; nobody there: no."""
        if self.approvals is None:
            return False
        from planck.permissions.question import ask_for_tools  # only for a question

        question = replace(
            ask_for_tools(self.ids.new(), change),
            session_id=self.approvals.session_id,
            deadline=self.approvals.find_deadline(),
        )
        await scribe.record(question.as_fact(), barrier=True)
        answer = await self.hear(question, scribe)
        allow = answer.allow
        said = f"the user {'accepted' if allow else 'rejected'} the server's new or changed tools"
        fact = PermissionDecision(
            call_id="",
            tool=question.tool,
            decision="allow" if allow else "deny",
            reason=answer.unanswered or said,
            request_id=question.id,
            scope="session" if allow else "",
            by="" if allow else "nobody" if answer.unanswered else "user",
        )
        await scribe.record(fact, barrier=True)
        return allow

    async def hear(self, question: Question, scribe: Scribe) -> Answer:
        """Returns the answer; an approver that fails gives none, and the result of the run has its error."""
        assert self.approvals is not None
        try:
            return await self.approvals.ask(question)
        except PlanckError as broken:
            await scribe.record(ErrorEvent(kind=broken.err.kind, message=broken.err.message))
            return give_up(question, broken.err.message)

    def remember(self, agent_id: str, question: Question, answer: Answer) -> tuple[Scope, str]:
        """Makes a lasting approval a rule of that agent; it never flows to another, child or parent.

        A rule that nobody may have is not kept: the yes is then for this call alone.
        """
        if answer.scope is Scope.ONCE:
            return Scope.ONCE, ""
        from planck.permissions.grants import revise_rule  # few sessions ask

        agreed = revise_rule(question, answer.rule or question.rule)
        if isinstance(agreed, Err):
            return Scope.ONCE, f", once only, because {agreed.message}"
        rule = codec.decode_as(agreed.written.encode(), Rule)
        mine = self._session_rules.get(agent_id, ())
        for known in mine:  # a call that is asked about again may be answered so again
            if known.rule == rule and (answer.scope is Scope.SESSION or known.source != _IN_SESSION):
                return answer.scope, f"; this rule already existed: {known}"
        source = self.rules.keep(rule) if answer.scope is Scope.RULE else _IN_SESSION
        rules = load([codec.decode(agreed.written)], source)
        self._session_rules[agent_id] = (*mine, *rules)
        return answer.scope, f", from now on: {rules[0]}"


class Call(msgspec.Struct, frozen=True):
    tool: Tool
    args: dict[str, Any]
    """From the workspace on, wherever the agent starts."""
    ctx: ToolContext


class Folders(Protocol):
    """The folders of a session, to which the user may add one."""

    def find_outside(self, path: str) -> Root | None:
        """Returns the folder of a path outside all of them; None: nobody is asked about that path."""

    def add_folder(self, folder: Root) -> None:
        """Lets every agent of the session work there; raises if it was replaced since it was found."""


ObjectTo = Callable[[Tool, Mapping[str, Any], ToolContext], Awaitable[str]]
"""Returns why the user need not be asked, which is a no; empty: there is nothing against it."""


class AgentGate:
    """The gate of one agent: what its executor asks before each call."""

    def __init__(
        self,
        gate: Gate,
        name: str,
        authority: Authority,
        scribe: Scribe,
        *,
        delegator: str = "",
        rehearse: Rehearse | None = None,
        object_to: ObjectTo | None = None,
        find_ceiling: Callable[[], Mode] | None = None,
        folders: Folders | None = None,
    ) -> None:
        """`name` says who asks, and whom it works for; `delegator` is the name of that one, empty: the user.

        `rehearse` shows the user what a call would do; without it the question shows its arguments alone.
        `object_to` may say no in the user's place. `find_ceiling` returns the strictest mode of now, where
        `authority` is kept from the time of the call. `folders`: the user may be asked for one more.
        """
        self.agent_id: str = scribe.agent_id or ""
        self.name = name
        self.delegator = delegator
        self._gate = gate
        self.authority = authority
        self._rehearse = rehearse
        self._object_to = object_to
        self._find_ceiling = find_ceiling
        self._folders = folders
        self.rights: Confinement | None = None
        """Of a process that has them already: a yes to one of its calls adds nothing to them."""
        self._scribe = scribe
        self._asking = asyncio.Lock()

    async def decide(
        self, tool: Tool, args: dict[str, Any], ctx: ToolContext
    ) -> Err | Confinement | Trial | None:
        """Returns the rights that the call then has; each denial and each answer is in the log first."""
        gate = self._gate
        args = place_call(tool, args, ctx)
        verdict = gate.judge(self.agent_id, self.authority, tool, args)
        if verdict.decision is not Decision.DENY:
            added = await self._ask_for_folder(Call(tool, args, ctx))
            if isinstance(added, Err):
                return added
            if added:
                verdict = gate.judge(self.agent_id, self.authority, tool, args)
        if self.rights is not None:
            verdict = replace(verdict, confinement=self.rights)
        if tool.find_unknown_address and verdict.decision is not Decision.DENY:
            verdict = ask_about_address(verdict, await tool.find_unknown_address(args))
        if verdict.decision is not Decision.ALLOW and (refused := self._never(tool, args, ctx)):
            return refused
        if verdict.decision is Decision.ALLOW:
            if verdict.by_rule or self._scribe.history.find_question(ctx.call_id):
                await self._record(ctx, tool, verdict.why, allow=True)
            return verdict.confinement
        if verdict.decision is Decision.DENY:
            return await self._deny_by(Call(tool, args, ctx), verdict)
        if rights := gate.find_trial(self.authority, verdict, tool, args):
            return _Tried(self, Call(tool, args, ctx), verdict, rights)
        return await self.ask(Call(tool, args, ctx), self.offer(tool, args, verdict))

    async def insist(
        self, tool: Tool, args: dict[str, Any], ctx: ToolContext, why: str
    ) -> Err | Confinement | Trial:
        """Asks about a call that the rules may allow; what they deny stays denied."""
        args = place_call(tool, args, ctx)
        verdict = self._gate.judge(self.agent_id, self.authority, tool, args)
        if verdict.decision is Decision.DENY:
            return await self._deny_by(Call(tool, args, ctx), verdict)
        if tool.find_unknown_address:
            verdict = ask_about_address(verdict, await tool.find_unknown_address(args))
        added = await self._ask_for_folder(Call(tool, args, ctx))
        if isinstance(added, Err):
            return added
        if added:
            verdict = self._gate.judge(self.agent_id, self.authority, tool, args)
        if refused := self._never(tool, args, ctx):
            return refused
        verdict = self.offer(tool, args, replace(verdict, why=why, by="hook"))
        return await self.ask(Call(tool, args, ctx), verdict)

    def offer(
        self, tool: Tool, args: Mapping[str, Any], verdict: Verdict, missing: frozenset[Right] | None = None
    ) -> Verdict:
        """The verdict with the rights that a yes gives; what has its own already is given none."""
        if self.rights is not None:
            return verdict
        return self._gate.find_offer(self.authority, verdict, tool, args, missing)

    async def ask(self, call: Call, verdict: Verdict, *, asked: int = 0) -> Err | Confinement | Trial:
        """Puts the question; nobody there to answer: no.

        A yes is for the content in the question, whatever its scope: if that changed, this call asks again.
        `asked`: how often it has asked already.
        """
        tool, ctx, gate = call.tool, call.ctx, self._gate
        if gate.approvals is None:
            by: DeniedBy = "address" if verdict.confinement.addresses else "nobody"
            why = f"a rule requires approval: {verdict.why}" if verdict.by == "rule" else verdict.why
            return await self.deny(call, by, f"nobody can be asked, and {why}")
        if self._object_to and (why := await self._object_to(tool, call.args, ctx)):
            return await self.deny(call, "hook", why)
        async with self._asking:  # dry runs take their time: questions stand in the order of the calls
            put = await self._put(call, verdict, gate.approvals)
        if isinstance(put, Err):
            if self._scribe.history.find_question(ctx.call_id):  # of a process that was lost
                await self._record(ctx, tool, put.message, allow=False)
            return put
        question, rights = put
        answer = await self._hear(call, question)
        if isinstance(answer, Err):
            return answer
        said = _name_answer(question, answer)
        now = self._judge_again(call)
        if now.decision is Decision.DENY:
            before = "the user said yes, but by then it was no longer allowed, because "
            return await self._deny_by(call, now, before, **said)
        scope, how = gate.remember(self.agent_id, question, answer)
        reason = f"the user said yes{how}"
        await self._record(ctx, tool, reason, allow=True, scope=scope.value, **said)
        rights = _narrow(rights, now)
        return _Shown(self, call, verdict, rights, asked + 1) if rights.basis else rights

    def _find_outside(self, tool: Tool, args: Mapping[str, Any]) -> Root | Err | None:
        """Returns the folder of a file tool's path that the user can be asked for, or why not under that
        name."""
        path = args.get("path")
        if self._folders is None or self._gate.approvals is None or self.authority.mode is Mode.FULL:
            return None
        if find_row(tool.name).subject != "path" or not isinstance(path, str):
            return None
        try:
            return self._folders.find_outside(path)
        except WorkspaceError as problem:
            return problem.err

    async def _ask_for_folder(self, call: Call) -> Err | bool:
        """Whether a folder was added for the call's path; asks for one where it leads outside of all."""
        gate, folders = self._gate, self._folders
        folder = self._find_outside(call.tool, call.args)
        if folder is None or isinstance(folder, Err) or folders is None or gate.approvals is None:
            return folder if isinstance(folder, Err) else False
        async with gate.adding.setdefault(
            str(folder.path), asyncio.Lock()
        ):  # calls of one step that name the same folder ask once
            found = self._find_outside(call.tool, call.args)
            if not isinstance(found, Root):
                return found or True
            if self._object_to and (why := await self._object_to(call.tool, call.args, call.ctx)):
                return await self.deny(call, "hook", why)
            from planck.permissions.question import ask_for_folder  # few sessions ask

            question = ask_for_folder(self._find_id(call.ctx), self, call.tool, call.args, found)
            question = await self._put_on_record(call, question, gate.approvals)
            answer = await self._hear(call, question)
            if isinstance(answer, Err):
                return answer
            said = _name_answer(question, answer)
            try:
                folders.add_folder(found)
            except PlanckError as problem:
                why = f"the user said yes, but by then: {problem.err.message}"
                return await self.deny(call, "rule", why, **said)
            reason = f"the user added {spell_out(str(found.path))} to this session"
            await self._record(call.ctx, call.tool, reason, allow=True, scope="session", **said)
        return True

    def _find_id(self, ctx: ToolContext) -> str:
        """Of a question that a lost process put, too: an answer by its id fits, if the call does."""
        return self._scribe.history.find_question(ctx.call_id) or self._gate.ids.new(ctx.call_id)

    async def _put_on_record(self, call: Call, question: Question, approvals: Approvals) -> Question:
        """Returns the question as it is asked, and as the log has it by then."""
        from planck.permissions.question import cut_preview, hide_keys  # only for a question

        question = replace(
            question,
            call_id=call.ctx.call_id,
            session_id=approvals.session_id,
            deadline=approvals.find_deadline(),
        )
        # Keys first: half of one, at the edge of what is left out, would not be recognized.
        question = cut_preview(hide_keys(question, call.ctx.keys))
        await self._scribe.record(question.as_fact(), barrier=True)
        return question

    async def _hear(self, call: Call, question: Question) -> Answer | Err:
        """Returns the answer that allows it; any other is recorded as a denial."""
        answer = await self._gate.hear(question, self._scribe)
        said = _name_answer(question, answer)
        if answer.unanswered:
            return await self.deny(call, "nobody", answer.unanswered, **said)
        if answer.allow:
            return answer
        words = truncate(spell_out(answer.reason), _MAX_REASON)
        why = f'the user wants a change: "{words}"' if words else "the user said no"
        return await self.deny(call, "user", why, words=words, **said)

    def can_confine(self, tool: Tool) -> bool:
        return self._gate.can_confine(self.authority, tool)

    def _judge_again(self, call: Call) -> Verdict:
        """By the mode and the rules of now: both may have been narrowed while the question was open."""
        authority = self.authority
        if self._find_ceiling:
            authority = replace(authority, mode=stricter(authority.mode, self._find_ceiling()))
        return self._gate.judge_again(self.agent_id, authority, call.tool, call.args)

    async def _put(
        self, call: Call, verdict: Verdict, approvals: Approvals
    ) -> tuple[Question, Confinement] | Err:
        """Returns the question, in the log with what the call would do, and the rights of a yes.

        Why the call would fail, where that is certain: nobody is asked about it.
        """
        from planck.permissions.question import ask_for_call  # only for a question

        tool, args, ctx = call.tool, call.args, call.ctx
        dry = replace(ctx, confinement=verdict.confinement)
        if tool.basis:
            # Before the preview: what changes between the two is asked about once more, never overlooked.
            basis = await tool.basis(args, dry)
            verdict = replace(verdict, confinement=replace(verdict.confinement, basis=basis))
        preview = await self._rehearse(tool, call.args, dry) if self._rehearse else Preview()
        if preview.error and (tool.basis or tool.name in COMMAND_TOOLS):
            return preview.error
        question = replace(
            ask_for_call(self._find_id(ctx), self, tool, args, verdict, self._gate.rules),
            preview=spell_out(preview.text),
            preview_failed=preview.failed,
        )
        return await self._put_on_record(call, question, approvals), verdict.confinement

    async def deny(self, call: Call, by: DeniedBy, why: str, *, words: str = "", **answered: Any) -> Err:
        """Records a denial and returns what the model reads; `words`: what the user said with a no."""
        from planck.permissions.question import find_next_step, find_way_out  # most calls are allowed

        answered.update(by=by, words=words, way_out=find_way_out(by))
        await self._record(call.ctx, call.tool, why, allow=False, **answered)
        step = find_next_step(by, call.tool, call.args, self.delegator or "the user", words)
        return Err(ErrorKind.PERMISSION_DENIED, f"{call.tool.name} was not run: {why.rstrip('.')}. {step}")

    async def _deny_by(self, call: Call, verdict: Verdict, before: str = "", **answered: Any) -> Err:
        why = f"the rule {verdict.why} forbids it" if verdict.by == "rule" else verdict.why
        return await self.deny(call, verdict.by, before + why, **answered)

    async def _record(
        self, ctx: ToolContext, tool: Tool, reason: str, *, allow: bool, **answered: Any
    ) -> None:
        """`answered`: the question that it was, for how long the answer holds, and its client's key."""
        decision: Literal["allow", "deny"] = "allow" if allow else "deny"
        answered.setdefault("request_id", self._scribe.history.find_question(ctx.call_id))
        fact = PermissionDecision(
            call_id=ctx.call_id, tool=tool.name, decision=decision, reason=reason, **answered
        )
        await self._scribe.record(fact, barrier=True)

    def _never(self, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> Err | None:
        """Why no permission would let a file be written there; nobody is asked about such a place."""
        path = args.get("path")
        if tool.effect is not Effect.FILES or not isinstance(path, str) or self.authority.mode is Mode.FULL:
            return None
        root = Root(ctx.workspace, others=self.authority.roots)
        if self.authority.writes is not None:
            root = root.under(Confinement(Mode.WORKSPACE, self.authority.roots, self.authority.writes))
        try:
            root.peek(path, 0)
        except WorkspaceError as refusal:
            if refusal.err.kind in _NEVER:
                return refusal.err
        return None


class _Shown:
    """A call that the user agreed to as it was shown; a file that is another by now is asked about again."""

    def __init__(
        self, gate: AgentGate, call: Call, verdict: Verdict, confinement: Confinement, asked: int
    ) -> None:
        self.confinement = confinement
        self._gate = gate
        self._call = call
        self._verdict = verdict
        self._asked = asked

    async def settle(self, outcome: Outcome) -> Err | Confinement | Trial | None:
        if not isinstance(outcome, Err) or CHANGED not in outcome.details or self._asked >= _MAX_ASKED:
            return None
        why = (
            f"the file changed after you were asked, so this shows the call as it is now; {self._verdict.why}"
        )
        return await self._gate.ask(self._call, replace(self._verdict, why=why), asked=self._asked)


class _Tried:
    """A command of mode `ask`, which runs where nothing can be changed; what that refuses is asked about."""

    def __init__(self, gate: AgentGate, call: Call, verdict: Verdict, confinement: Confinement) -> None:
        self.confinement = confinement
        self._gate = gate
        self._call = call
        self._verdict = verdict

    async def settle(self, outcome: Outcome) -> Err | Confinement | Trial | None:
        match outcome:
            case Err(kind=ErrorKind.SANDBOX_UNAVAILABLE):
                return await self._gate.ask(self._call, self._offer(frozenset({Right.OUTSIDE})))
            case Ok(value={"exit_code": int(code), "output": str(output)}) if code != 0:
                return await self._ask_about(_drop_blame(output, outcome.value.get("sandbox")))
        return None

    async def _ask_about(self, output: str) -> Err | Confinement | Trial | None:
        from planck.workspace.sandbox.refusal import find_missing, find_refusal  # few commands fail

        args, ctx = self._call.args, self._call.ctx
        command, cwd = (
            str(args.get("command", "")),
            os.path.join(ctx.workspace, str(args.get("cwd", ctx.cwd))),
        )
        line = find_refusal(output, command)
        if not line:
            return None
        verdict = self._offer(find_missing(output, self._verdict.confinement.writable, command, cwd))
        why = f"a trial run in the read-only sandbox without network failed ({line})"
        answer = await self._gate.ask(self._call, replace(verdict, why=why))
        if isinstance(answer, Err):
            return Err(answer.kind, answer.message, {**answer.details, "output": output})
        return answer

    def _offer(self, missing: frozenset[Right]) -> Verdict:
        return self._gate.offer(self._call.tool, self._call.args, self._verdict, missing)


def _name_answer(question: Question, answer: Answer) -> dict[str, Any]:
    """Returns what a decision says of the answer that it follows."""
    return {"request_id": question.id, "request": answer.request}


def _drop_blame(output: str, blame: str | None) -> str:
    """Returns the output of a trial without what it says of the sandbox: the question is about that.

    It is the last such line, above the exit code; a line before it that reads the same is the command's.
    """
    if not blame:
        return output
    before, _, after = output.rpartition(f"{blame}\n")
    return before + after


def _narrow(asked: Confinement, now: Verdict) -> Confinement:
    """Returns the rights of a yes: what the question showed, and no more than a call may have by now."""
    held = now.confinement
    if now.decision is Decision.ALLOW and now.by_rule and held.mode is Mode.ASK:
        return asked  # a rule that came since answers for the mode: it takes nothing from an answer
    # What still asks has been asked: the answer says with which rights, unless the mode forbids changes now.
    answered = now.decision is Decision.ASK and held.mode is not Mode.READ_ONLY
    mode = asked.mode if answered else stricter(asked.mode, held.mode)
    return replace(
        asked,
        mode=mode,
        roots=tuple(root for root in asked.roots if root in held.roots),
        writable=tuple(root for root in asked.writable if root in held.writable),
        network=asked.network and (mode is asked.mode or held.network),
    )


def place_call(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
    """The command of an agent that starts in a folder, with that folder said: a rule means its `./program`
    from the workspace on, and the user reads where it would run."""
    if ctx.cwd == "." or "cwd" in args or not (tool.name in COMMAND_TOOLS or "cwd" in tool.extra_arguments):
        return args
    return {**args, "cwd": ctx.cwd}
