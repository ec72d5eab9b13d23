"""The permit of each agent: judge the call, ask the user where there is one, and record what was said."""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec

from planck.config.load import ConfigError, Loaded, edit_user_file
from planck.mcp.pins import ToolChange
from planck.permissions.approver import Approvals, Approver, digest
from planck.permissions.authority import grant, meet
from planck.permissions.policy import Surroundings, Verdict, judge
from planck.permissions.rules import Decision, Rule, RuleError, Sourced, load
from planck.records import codec
from planck.records.approval import Answer, Question, Scope
from planck.records.authority import Authority, Confinement, Mode
from planck.records.events import PermissionDecision, PermissionRequest, View
from planck.records.outcome import Err, ErrorKind
from planck.records.ports import Ids
from planck.records.specs import EVERY_TOOL, TEAM_TOOLS, AgentSpec
from planck.records.visible import spell_out
from planck.shell.script import segments
from planck.toolkit.tool import Effect, Tool, ToolContext
from planck.tools.executor import Permit
from planck.workspace.paths import Root, WorkspaceError, inside
from planck.workspace.sandbox import find

Record = Callable[[View], Awaitable[object]]
"""Returns once the fact is durable."""


def ceiling(mode: Mode, workspace: Path, spawn_depth: int) -> Authority:
    """What no agent of the session exceeds."""
    return Authority(mode, roots=(os.path.realpath(workspace),), network=True, spawn_depth=spawn_depth)


def authorised(specs: Iterable[AgentSpec], session: Authority) -> list[AgentSpec]:
    """The members that a session starts with, each with what it may do: recorded, and shown."""
    return [msgspec.structs.replace(spec, authority=_of_member(spec, session)) for spec in specs]


def _of_member(spec: AgentSpec, session: Authority) -> Authority:
    if spec.role == "orchestrator":
        return session
    return grant(session, "worker", (*TEAM_TOOLS, *spec.tools), spec.skills)


def effective(spec: AgentSpec, session: Authority) -> Authority:
    """Names as granted at the start, rights as the session has them now: the user may resume with others."""
    if spec.authority is None:
        return session
    tools = None if EVERY_TOOL in (spec.authority.tools or ()) else spec.authority.tools
    if tools is not None and spec.skills:  # a skill that is granted can be read
        tools = tuple(sorted({*tools, "load_skill"}))
    own = msgspec.structs.replace(
        spec.authority, mode=session.mode, roots=session.roots, network=session.network, tools=tools
    )
    return meet(session, own)


def gate(
    loaded: Loaded,
    workspace: Path,
    home: Path,
    environ: Mapping[str, str],
    ids: Ids,
    approver: Approver | None,
) -> "Gate":
    around = surroundings(loaded, workspace, home, environ)
    approvals = None if approver is None else Approvals(approver)
    return Gate(around, ids=ids, approvals=approvals, keep=partial(keep_rule, home))


def surroundings(
    loaded: Loaded, workspace: Path, home: Path, environ: Mapping[str, str]
) -> Callable[[Mode | None], Surroundings]:
    """What holds in a session; asked whether a command can be confined to a mode, it tries that once."""
    rules = rules_in_force(loaded, workspace)
    masked = cache(lambda: masked_places(home, environ))

    @cache
    def around(mode: Mode | None) -> Surroundings:
        return Surroundings(rules, masked(), _no_sandbox(workspace, home, environ, mode) if mode else "")

    return around


def keep_rule(home: Path, rule: Rule) -> str:
    """Add a rule to the user's own configuration; the place where it is now."""

    def change(config: dict[str, Any]) -> int:
        rules = config.setdefault("permissions", {}).setdefault("rules", [])
        rules.append(codec.decode(codec.encode(rule)))
        return len(rules)

    return f"{home / 'config.json'}, rule {edit_user_file(home, change)}"


SECRETS = (
    *(
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".config/gcloud",
        ".kube",
        ".docker",
        ".terraform.d",
        ".vault-token",
    ),
    *(".netrc", ".npmrc", ".pypirc", ".cargo/credentials.toml", ".gem/credentials", ".pgpass", ".my.cnf"),
    *(
        ".git-credentials",
        ".config/git/credentials",
        ".config/gh",
        ".password-store",
        ".local/share/keyrings",
    ),
    *(".mozilla", ".config/google-chrome", ".config/chromium", ".config/op"),
)
"""In the user's home: no command of an agent reads them."""
_READABLE = frozenset({"tools", "skills", "teams", "sidecar", "cache"})
"""In Planck's own home: what agents may use. All else is ours: keys, sessions, approvals."""


def masked_places(home: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Canonical paths that exist and that a confined command can't read."""
    user = Path(environ.get("HOME") or Path.home())
    places = [user / secret for secret in SECRETS]
    if home.is_dir():
        places += [entry for entry in home.iterdir() if entry.name not in _READABLE]
    if agent := environ.get("SSH_AUTH_SOCK"):
        places.append(Path(agent).parent)
    return tuple(sorted({os.path.realpath(place) for place in places if place.exists()}))


def rules_in_force(loaded: Loaded, workspace: Path) -> tuple[Sourced, ...]:
    """The highest list of the user's own places, and the project's beside it: that one replaces none."""
    own: tuple[Sourced, ...] = ()
    project: tuple[Sourced, ...] = ()
    folder = str(workspace / ".planck" / "config.json")
    try:
        for layer in loaded.layers:
            raw = layer.values.get("permissions")
            if not isinstance(raw, dict) or "rules" not in raw:
                continue
            if layer.source.startswith(folder):
                project = load(raw["rules"], layer.source)
            else:
                own = load(raw["rules"], layer.origin("permissions"))
    except RuleError as failure:
        raise ConfigError(failure.err.kind, failure.err.message) from None
    return (*own, *project)


def _no_sandbox(workspace: Path, home: Path, environ: Mapping[str, str], mode: Mode) -> str:
    """A folder that holds the user's whole life can't be a writable root: its rc files would run outside."""
    found = find()
    if found.sandbox is None:
        return "; ".join(found.problems)
    if mode is Mode.READ_ONLY:
        return ""
    real = os.path.realpath(workspace)
    for place in (environ.get("HOME") or str(Path.home()), str(home)):
        if inside(os.path.realpath(place), (real,)):
            return f"the workspace {real!r} holds {place!r}; work in a folder of the project"
    if not found.sandbox.writes:
        return f"{found.sandbox.level} runs only what writes nothing; {'; '.join(found.problems)}"
    return ""


class Gate:
    """One per session: what holds for all its agents, and the one queue of questions."""

    def __init__(
        self,
        around: Callable[[Mode | None], Surroundings],
        *,
        ids: Ids,
        approvals: Approvals | None = None,
        keep: Callable[[Rule], str] | None = None,
    ) -> None:
        """`around` is asked whether commands can be confined only where that matters.

        `keep` makes a rule last and says where it is now.
        """
        self._around = around
        self._ids = ids
        self._approvals = approvals
        self._keep = keep
        self._session_rules: dict[str, tuple[Sourced, ...]] = {}

    def permit(self, agent_id: str, name: str, authority: Authority, record: Record) -> Permit:
        async def permit(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Err | Confinement | None:
            verdict = self._judge(agent_id, authority, tool, args)
            if verdict.decision is not Decision.ALLOW and (refused := _never(tool, args, authority, ctx)):
                return refused
            match verdict.decision:
                case Decision.ALLOW:
                    if verdict.by_rule:
                        await record(_decision(ctx, tool, "allow", verdict.why))
                    return verdict.confinement
                case Decision.DENY:
                    return await _deny(record, ctx, tool, verdict.why)
            if self._approvals is None:
                return await _deny(record, ctx, tool, f"{verdict.why}, and nobody is there to ask")
            rule = _lasting(tool, args, verdict)
            question = self._question(agent_id, name, tool, args, verdict, rule)
            return await self._ask(question, rule, tool, ctx, verdict, record, self._approvals)

        return permit

    async def agree(self, change: ToolChange, record: Record) -> bool:
        """Whether the user takes what a server now says of its tools: no call waits, so it is no agent's."""
        if self._approvals is None:
            return False
        question = Question(
            id=self._ids.new(),
            agent_id="",
            agent=f"MCP server {spell_out(change.server)!r}",
            tool=change.names,
            text=change.text,
            adds="agents that hold the server's tools may call these, as they are described now",
            reason="a server's new or changed tools are held back until you have seen them",
            digest=change.digest,
        )
        await record(_request(question, ""))
        allow = (await self._approvals.ask(question)).allow
        decision = PermissionDecision(
            call_id="",
            tool=question.tool,
            decision="allow" if allow else "deny",
            reason=f"the user {'took' if allow else 'did not take'} what the server now says of its tools",
            request_id=question.id,
            scope=Scope.SESSION.value if allow else "",
        )
        await record(decision)
        return allow

    def _judge(self, agent_id: str, authority: Authority, tool: Tool, args: Mapping[str, Any]) -> Verdict:
        confined = tool.effect is Effect.COMMAND and authority.mode is not Mode.FULL
        around = self._around(authority.mode if confined else None)
        if mine := self._session_rules.get(agent_id):
            around = Surroundings((*around.rules, *mine), around.masked, around.no_sandbox)
        return judge(authority, around, tool.name, tool.effect, tool.confinable, args)

    def _question(
        self,
        agent_id: str,
        name: str,
        tool: Tool,
        args: Mapping[str, Any],
        verdict: Verdict,
        rule: Rule | None,
    ) -> Question:
        return Question(
            id=self._ids.new(),
            agent_id=agent_id,
            agent=spell_out(name),
            tool=tool.name,
            text=spell_out(_call_text(tool, args)),
            adds=_adds(tool, args, verdict.confinement),
            reason=verdict.why,
            digest=digest(agent_id, tool.name, args, verdict.confinement),
            rule=spell_out(_rule_text(rule)) if rule else "",
        )

    async def _ask(
        self,
        question: Question,
        rule: Rule | None,
        tool: Tool,
        ctx: ToolContext,
        verdict: Verdict,
        record: Record,
        approvals: Approvals,
    ) -> Err | Confinement:
        await record(_request(question, ctx.call_id))
        answer = await approvals.ask(question)
        if not answer.allow:
            return await _deny(record, ctx, tool, "the user said no", question.id)
        reason = f"the user said yes{self._remember(agent_id=question.agent_id, rule=rule, answer=answer)}"
        await record(_decision(ctx, tool, "allow", reason, question.id, answer.scope))
        return verdict.confinement

    def _remember(self, agent_id: str, rule: Rule | None, answer: Answer) -> str:
        """Lasting approvals become rules of that agent; they never flow to another, child or parent."""
        if answer.scope is Scope.ONCE or rule is None:
            return ""
        source = "approved in this session"
        if answer.scope is Scope.RULE and self._keep is not None:
            try:
                source = self._keep(rule)
            except (WorkspaceError, ConfigError, AttributeError, TypeError) as problem:
                source = f"approved in this session; it could not be kept: {problem}"
        rules = load([codec.decode(codec.encode(rule))], source)
        mine = self._session_rules.get(agent_id, ())
        self._session_rules[agent_id] = (*mine, *rules)
        return f", from now on: {rules[0]}"


def _never(tool: Tool, args: Mapping[str, Any], authority: Authority, ctx: ToolContext) -> Err | None:
    """Why no permission would let a file be written there; nobody is asked about such a place."""
    path = args.get("path")
    if tool.effect is not Effect.FILES or not isinstance(path, str) or authority.mode is Mode.FULL:
        return None
    try:
        Root(ctx.workspace).peek(path, 0)
    except WorkspaceError as refusal:
        if refusal.err.kind in (ErrorKind.PROTECTED_PATH, ErrorKind.OUTSIDE_WORKSPACE):
            return refusal.err
    return None


def _request(question: Question, call_id: str) -> PermissionRequest:
    return PermissionRequest(
        id=question.id,
        call_id=call_id,
        tool=question.tool,
        text=question.text,
        adds=question.adds,
        reason=question.reason,
        digest=question.digest,
    )


def _decision(
    ctx: ToolContext, tool: Tool, decision: str, reason: str, request_id: str = "", scope: str = ""
) -> PermissionDecision:
    return PermissionDecision(
        call_id=ctx.call_id,
        tool=tool.name,
        decision="allow" if decision == "allow" else "deny",
        reason=reason,
        request_id=request_id,
        scope=Scope(scope).value if scope else "",
    )


async def _deny(record: Record, ctx: ToolContext, tool: Tool, why: str, request_id: str = "") -> Err:
    reason = (
        f"{tool.name!r} is not permitted: {why}; "
        "go on without it, or tell the user to choose another --permission-mode or add a rule"
    )
    await record(_decision(ctx, tool, "deny", reason, request_id))
    return Err(ErrorKind.PERMISSION_DENIED, reason)


def _call_text(tool: Tool, args: Mapping[str, Any]) -> str:
    """A command as it is typed, what else was given below it; any other call as its arguments."""
    command = args.get("command")
    if tool.name != "bash" or not isinstance(command, str):
        return f"{tool.name} {codec.encode_str(dict(args))}"
    rest = {key: value for key, value in args.items() if key != "command"}
    return f"{command}\n{codec.encode_str(rest)}" if rest else command


def _adds(tool: Tool, args: Mapping[str, Any], rights: Confinement) -> str:
    if tool.effect is Effect.FILES:
        return spell_out(f"changes {args.get('path', 'files')!r} in the workspace")
    if rights.mode is Mode.FULL:
        return "runs outside the sandbox: it may change any file of yours and use the network"
    network = "with" if rights.network else "without"
    return f"runs in the sandbox of mode {rights.mode.value!r}, {network} network"


def _rule_text(rule: Rule) -> str:
    where = " outside the sandbox" if rule.unconfined else ""
    what = f"{rule.tool} {rule.command!r} and what begins so" if rule.command else f"every {rule.tool}"
    return what + where


def _lasting(tool: Tool, args: Mapping[str, Any], verdict: Verdict) -> Rule | None:
    """The rule that would allow this again; none where words can't say what was approved, or a rule asks."""
    if verdict.by_rule:
        return None
    if tool.effect is Effect.FILES:
        return Rule(tool=tool.name, decision=Decision.ALLOW)
    unconfined = verdict.confinement.mode is Mode.FULL
    if tool.name != "bash":
        return Rule(tool=tool.name, decision=Decision.ALLOW, unconfined=unconfined)
    parts = segments(str(args.get("command", "")))
    if parts is None or len(parts) != 1 or not all(word.literal for word in parts[0]):
        return None
    return Rule(
        tool="bash", decision=Decision.ALLOW, command=str(args["command"]).strip(), unconfined=unconfined
    )
