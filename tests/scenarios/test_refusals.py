"""Whatever a model is refused, it is told what it can do next, in words for this agent."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from planck.agent.agent import Agent
from planck.permissions.approver import Approvals
from planck.permissions.gate import AgentGate, Call, Gate
from planck.permissions.policy import PolicyContext
from planck.permissions.rules import Rule, SourcedRule, load
from planck.records.approval import Answer, Question
from planck.records.authority import Authority, Mode
from planck.records.events import DeniedBy, Envelope, Event, Kind, PermissionDecision, ToolEnd, View, view
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.specs import Limits
from planck.session.journal import SessionJournal
from planck.store.store import StoreError
from planck.testing.scripted import Scripted
from planck.toolkit.clock import RandomIds
from planck.toolkit.journal import Entry, Journal, Unrecorded
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Effect, Tool, ToolContext
from tests.teams import Brains, Crew, ask, delegate, facts, open_planck, spawned, target, write_team
from tests.virtual_time import run_virtual
from tests.wire import chat
from tests.wire.server import WireServer

VERBS = {
    *(
        "read",
        "use",
        "look",
        "copy",
        "add",
        "pass",
        "give",
        "ask",
        "answer",
        "report",
        "leave",
        "narrow",
        "try",
    ),
    *("continue", "end", "say", "do", "describe", "call", "choose", "delegate", "destroy", "send", "write"),
    *("finish", "list", "decide", "change", "put", "stop", "check", "run"),
}


def tell_next_step(text: str) -> str:
    """Returns what comes after the `;` or the first sentence, where that tells a model to do something."""
    rest = re.split(r"; |\. |\.\n|\n", text.partition(": ")[2])[1:]
    words = {word for part in rest for word in re.findall(r"[a-z]+", part.lower())}
    return " ".join(rest) if words & VERBS else ""


# Denials: by reason, and by reader.

BASH = Tool("bash", "", {}, lambda args, ctx: Ok({"output": ""}), effect=Effect.COMMAND, confinable=True)
WRITE = Tool("write", "", {}, lambda args, ctx: Ok({"output": ""}), effect=Effect.FILES)


async def _stranger(args: dict[str, Any]) -> str:
    return "http://192.0.2.1:1"


SPAWN = Tool(
    "spawn_agent",
    "",
    {},
    lambda args, ctx: Ok({"output": ""}),
    effect=Effect.TEAM,
    find_unknown_address=_stranger,
)
RULE = {"tool": "bash", "command": "rm", "decision": "deny"}


class NoRules:
    """A gate's user: no files, nothing kept; what is recorded is a list."""

    place = ""

    def __init__(self) -> None:
        self.around = PolicyContext()
        self.log: list[View] = []

    def policy_context(self, mode: Mode | None) -> PolicyContext:
        return self.around

    def read_now(self) -> tuple[SourcedRule, ...]:
        return ()

    def bind(self, rule: Rule) -> Rule:
        return rule

    def keep(self, rule: Rule) -> str:
        return ""


class Kept(Unrecorded):
    def __init__(self, log: list[View]) -> None:
        super().__init__()
        self._log = log

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        self._log.extend(entry.fact for entry in entries)
        return []


class Person:
    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def decide(self, question: Question) -> Answer:
        return Answer(question.id, question.digest, False, reason=self._reason)


Ask = Callable[[AgentGate, ToolContext], Any]


def _call(tool: Tool, **args: Any) -> Ask:
    return lambda gate, ctx: gate.decide(tool, args, ctx)


def _hook(gate: AgentGate, ctx: ToolContext) -> Any:
    return gate.deny(Call(BASH, {}, ctx), "hook", "a PreToolUse hook blocked it: use make.")


def _granted_nothing(gate: AgentGate, ctx: ToolContext) -> Any:
    gate.authority = Authority(Mode.FULL, tools=("read",), roots=("/w",))
    return gate.decide(BASH, {"command": "ls"}, ctx)


NOBODY, NO = None, ""
DENIALS: dict[str, tuple[Mode, str | None, Ask, str, str, str]] = {
    # the mode; what a person says to a no (None: nobody is there); the call; by what; why; what to do
    "user": (
        Mode.ASK,
        NO,
        _call(WRITE, path="a"),
        "user",
        "the user said no",
        "Do not try to do the same thing another way. Continue with the rest of the task, or end your turn "
        "by asking {} what to do instead.",
    ),
    "words": (
        Mode.ASK,
        "use b",
        _call(WRITE, path="a"),
        "user",
        'the user wants a change: "use b"',
        "Do what they say.",
    ),
    "nobody": (
        Mode.ASK,
        NOBODY,
        _call(WRITE, path="a"),
        "nobody",
        "nobody can be asked, and mode 'ask' requires approval",
        "Do not try to do the same thing another way. Continue with the rest of the task, and list this call "
        "in your final text as still to do.",
    ),
    "mode": (
        Mode.PLAN,
        NO,
        _call(WRITE, path="a"),
        "mode",
        "mode 'plan' allows no changes",
        "Describe the change in your answer instead.",
    ),
    "escalate": (
        Mode.READ_ONLY,
        NO,
        _call(BASH, command="ls", escalate="please"),
        "mode",
        "mode 'read-only' does not allow more permissions for commands",
        "Call it without `escalate` if it only reads.",
    ),
    "rule": (
        Mode.FULL,
        NO,
        _call(BASH, command="rm a"),
        "rule",
        "the rule deny 'bash rm' (the file, rule 1) forbids it",
        "Continue without this call, and say so at the end.",
    ),
    "hook": (
        Mode.FULL,
        NO,
        _hook,
        "hook",
        "a PreToolUse hook blocked it: use make",
        "Follow the hook's reason, or continue without this call.",
    ),
    "grant": (
        Mode.FULL,
        NO,
        _granted_nothing,
        "grant",
        "'bash' was not granted to this agent",
        "Ask {} to have it done, or report it as not done.",
    ),
    "address": (
        Mode.FULL,
        NOBODY,
        _call(SPAWN),
        "address",
        "nobody can be asked, and 'http://192.0.2.1:1' is not the address of a configured provider or of a "
        "running local server",
        "Use a model from `list_models`.",
    ),
}


_OTHERWISE = "To allow it, choose another mode or add a rule."
WAYS_OUT = {
    "nobody": _OTHERWISE,
    "mode": _OTHERWISE,
    "grant": "To allow it, give the agent the tool or the network access that it lacks.",
    "address": "To allow it, add the address under `providers` in your configuration.",
}
"""What the person reads, by what a call was denied; of the others the reason says it."""


def test_each_cause_of_a_denial_is_tried_here() -> None:
    assert {by for _, _, _, by, *_ in DENIALS.values()} == {*get_args(DeniedBy)} - {""}


@pytest.mark.parametrize("delegator", ["", "lead"], ids=["orchestrator", "worker"])
@pytest.mark.parametrize("case", DENIALS)
async def test_a_denial_names_its_reason_and_a_step_for_its_reader(case: str, delegator: str) -> None:
    mode, words, call, by, why, step = DENIALS[case]
    user = NoRules()
    user.around = PolicyContext(rules=load([RULE], "the file"))
    approvals = None if words is None else Approvals(Person(words))
    gate = Gate(user, ids=RandomIds(), approvals=approvals)
    scribe = Scribe(Kept(user.log), "a")
    agent = AgentGate(gate, "bob", Authority(mode, roots=("/w",)), scribe, delegator=delegator)
    refused = await call(agent, ToolContext("s", "a", "c", Path("/w")))
    assert isinstance(refused, Err)
    assert refused.kind is ErrorKind.PERMISSION_DENIED
    tool, _, said = refused.message.partition(" was not run: ")
    assert tool in {"bash", "write", "spawn_agent"}
    assert said == f"{why}. {step.format(delegator or 'the user')}"
    assert tell_next_step(str(refused))
    assert "--permission-mode" not in refused.message
    if delegator and by != "user":
        assert "the user" not in refused.message
    (decision,) = [fact for fact in user.log if isinstance(fact, PermissionDecision)]
    assert (decision.by, decision.reason.rstrip(".")) == (by, why)
    assert decision.way_out == WAYS_OUT.get(by, "")


async def test_from_the_third_denial_of_a_turn_on_the_model_is_told_to_stop_trying(tmp_path: Path) -> None:
    def write(number: int) -> Any:
        return chat.calls(("write", {"path": f"f{number}", "content": "x"}))

    brains = Brains({"lead": [*map(write, range(4)), chat.text("no"), write(5), chat.text("still no")]})
    lead = {"type": "orchestrator", "name": "lead", "tools": ["write"]}
    flags = {"permissions": {"mode": "read-only"}}
    async with WireServer(brains) as server, open_planck(tmp_path, server.url, **flags) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", lead))
        async with asyncio.timeout(30):
            first, _ = [await session.run(prompt) for prompt in ("go", "again")]
        ends = [data for type, data in await facts(session) if type == "tool_end"]
    notice = (
        "[notice: {} calls were denied in this turn. "
        "Stop trying: finish the work that needs no permission, and report what you could not do]"
    )
    told = ["", "", notice.format(3), notice.format(4), ""]
    assert [end.get("notice", "") for end in ends] == told
    assert {denial["by"] for denial in first.denials} == {"mode"}


# Everything else: one scripted call each, by the kind that comes of it.


Line = Scripted | Callable[[], Awaitable[Scripted]]


def play(script: dict[str, list[Line]], limits: Limits | None = None, crew: type[Crew] = Crew) -> Crew:
    """A lead, bob and eve, each with its script; whoever has no more to say ends its turn."""

    def speak(request: Any) -> Scripted | Awaitable[Scripted]:
        rest = script.get(request.agent_id, [])
        line = rest.pop(0) if rest else "done"
        return line() if callable(line) else line

    async def main() -> Crew:
        made = crew(speak, "bob", "eve", limits=limits)
        await made.start()
        await made.run()
        await made.aclose()
        return made

    return run_virtual(main())


class Short(Crew):
    """Each turn has two steps."""

    def _build(self, spec: Any, journal: Journal) -> Agent:
        agent = super()._build(spec, journal)
        agent.bounds = type(agent.bounds)(2)
        return agent


class Forgetful(Crew):
    """The log refuses the first result of a call."""

    def __init__(self, *script: Any, **options: Any) -> None:
        super().__init__(*script, journal=Losing, **options)


class Losing:
    def __init__(self, journal: SessionJournal) -> None:
        self._journal = journal
        self._lost = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        if not self._lost and any(isinstance(entry.fact, ToolEnd) for entry in entries):
            self._lost = True
            raise StoreError(ErrorKind.LOG_WRITE_FAILED, "no space")
        return await self._journal.record_all(entries, barrier=barrier)


class Poor(Crew):
    """The lead may make one call."""

    def _build(self, spec: Any, journal: Journal) -> Agent:
        from planck.budget.accounts import Accounts, Purse
        from planck.records.amounts import Amount

        agent = super()._build(spec, journal)
        accounts = Accounts(run=Amount(calls=1))
        agent.purse = Purse(accounts, accounts.run)
        return agent


async def slow() -> Scripted:
    await asyncio.sleep(3_600)
    return "late"


LOOK: Scripted = [("list_team", {})]
FAILED = (
    *(ErrorKind.PROVIDER_HTTP_ERROR, ErrorKind.MODEL_NOT_SUPPORTED, ErrorKind.USAGE_LIMIT_REACHED),
    *(ErrorKind.RATE_LIMITED, ErrorKind.NETWORK, ErrorKind.OVERLOADED, ErrorKind.STREAM_CUT),
    *(ErrorKind.CONTEXT_OVERFLOW, ErrorKind.NOT_AUTHENTICATED, ErrorKind.INVALID_RESPONSE),
    *(ErrorKind.TOKEN_REQUEST_FAILED, ErrorKind.CORRUPT_AUTH, ErrorKind.AUTH_READ_FAILED),
)
"""How a turn can fail: an agent reads it of another one that it asked."""
Case = tuple[ErrorKind, str, dict[str, list[Line]], Limits | None, type[Crew]]
ROOMY = Limits(live_agents=10, total_agents=10, messages=1_000, hops=100)


CASES: dict[str, Case] = {
    # the kind, who reads it, what each agent says
    "ask of oneself": (ErrorKind.DEADLOCK, "lead", {"lead": [[ask("lead")]]}, None, Crew),
    "ring": (ErrorKind.DEADLOCK, "bob", {"lead": [[ask("bob")]], "bob": [[ask("lead")]]}, None, Crew),
    "task for oneself": (ErrorKind.INVALID_ARGS, "lead", {"lead": [[delegate("lead")]]}, None, Crew),
    "unknown agent": (ErrorKind.NOT_FOUND, "lead", {"lead": [[ask("nobody")]]}, None, Crew),
    "unknown agent, for a worker": (
        ErrorKind.NOT_FOUND,
        "bob",
        {"lead": [[ask("bob")]], "bob": [[delegate("nobody")]]},
        None,
        Crew,
    ),
    "no delegator": (
        ErrorKind.NOT_FOUND,
        "lead",
        {"lead": [[("send_response", {"response": "x"})]]},
        None,
        Crew,
    ),
    "answered twice": (
        ErrorKind.NOT_FOUND,
        "bob",
        {"lead": [[ask("bob")]], "bob": [[("send_response", {"response": "x"})] * 2]},
        None,
        Crew,
    ),
    "late answer": (
        ErrorKind.TIMEOUT,
        "lead",
        {"lead": [[ask("bob", timeout_ms=100)]], "bob": [slow]},
        None,
        Crew,
    ),
    "target destroyed": (
        ErrorKind.TARGET_GONE,
        "bob",
        {
            "lead": [
                [delegate("bob")],
                [delegate("eve")],
                LOOK,
                LOOK,
                LOOK,
                [target("destroy_agent", "eve")],
            ],
            "bob": [[ask("eve")]],
            "eve": [slow],
        },
        None,
        Crew,
    ),
    "target interrupted": (
        ErrorKind.INTERRUPTED,
        "bob",
        {
            "lead": [[delegate("bob")], LOOK, LOOK, LOOK, LOOK, LOOK, [target("interrupt_agent", "eve")]],
            "bob": [[ask("eve")]],
            "eve": [slow],
        },
        None,
        Crew,
    ),
    "steps of the target": (
        ErrorKind.ITERATION_CAP,
        "lead",
        {"lead": [[ask("bob")]], "bob": [LOOK, LOOK, LOOK]},
        None,
        Short,
    ),
    "destroy oneself": (
        ErrorKind.PERMISSION_DENIED,
        "lead",
        {"lead": [[target("destroy_agent", "lead")]]},
        None,
        Crew,
    ),
    "interrupt oneself": (
        ErrorKind.PERMISSION_DENIED,
        "lead",
        {"lead": [[target("interrupt_agent", "lead")]]},
        None,
        Crew,
    ),
    "name taken": (
        ErrorKind.NOT_UNIQUE,
        "lead",
        {"lead": [[spawned("bob", provider="s")]]},
        None,
        Crew,
    ),
    "unknown model": (
        ErrorKind.NOT_FOUND,
        "lead",
        {"lead": [[spawned("dora", provider="s", model_id="x")]]},
        None,
        Crew,
    ),
    "unknown provider": (
        ErrorKind.INVALID_ARGS,
        "lead",
        {"lead": [[spawned("dora", provider="x")]]},
        None,
        Crew,
    ),
    "bad name": (
        ErrorKind.INVALID_ARGS,
        "lead",
        {"lead": [[spawned("user", provider="s")]]},
        None,
        Crew,
    ),
    "live agents": (
        ErrorKind.LIMIT_EXCEEDED,
        "lead",
        {"lead": [[spawned("dora", provider="s")]]},
        replace(ROOMY, live_agents=3),
        Crew,
    ),
    "hops": (
        ErrorKind.LIMIT_EXCEEDED,
        "bob",
        {"lead": [[delegate("bob")]], "bob": [[delegate("eve")]]},
        replace(ROOMY, hops=1),
        Crew,
    ),
    "messages": (
        ErrorKind.LIMIT_EXCEEDED,
        "bob",
        {"lead": [[delegate("bob")]], "bob": [[delegate("eve")]]},
        replace(ROOMY, messages=1),
        Crew,
    ),
    "large message": (
        ErrorKind.LIMIT_EXCEEDED,
        "lead",
        {"lead": [[delegate("bob", "x" * 2_000)]]},
        replace(ROOMY, envelope_bytes=1_024),
        Crew,
    ),
    "the same call": (
        ErrorKind.LIMIT_EXCEEDED,
        "lead",
        {"lead": [[("list_models", {})] for _ in range(6)]},
        None,
        Crew,
    ),
    "too many calls": (ErrorKind.LIMIT_EXCEEDED, "lead", {"lead": [[("list_models", {})] * 129]}, None, Crew),
    "budget": (ErrorKind.BUDGET_EXCEEDED, "lead", {"lead": [[("list_models", {})] * 2]}, None, Poor),
    "result lost": (ErrorKind.TOOL_RESULT_RECORD_FAILED, "lead", {"lead": [LOOK]}, None, Forgetful),
    **{
        f"target failed: {kind}": (
            kind,
            "lead",
            {"lead": [[ask("bob")]], "bob": [Err(kind, "It went wrong.")] * 4},
            None,
            Crew,
        )
        for kind in FAILED
    },
}
TOOLS = "tests/tools/test_next_steps.py"
OF_TOOLS = (
    *(ErrorKind.UNKNOWN_TOOL, ErrorKind.OUTSIDE_WORKSPACE, ErrorKind.RESOURCE_MISSING, ErrorKind.NO_MATCH),
    *(ErrorKind.READ_FAILED, ErrorKind.WRITE_FAILED, ErrorKind.COMMAND_FAILED, ErrorKind.INTERNAL_ERROR),
    *(ErrorKind.EDIT_CONFLICT, ErrorKind.PROTECTED_PATH, ErrorKind.SANDBOX_UNAVAILABLE),
)
"""Texts of tools, which that file provokes."""
OF_PEERS = (ErrorKind.PEER_FAILED, ErrorKind.PEER_PROTOCOL)
"""Both get the same step in `mcp/instances`; tests/scenarios/test_peers.py provokes it."""
_LOG = "the log fails: the turn ends, and nothing can be recorded for a model to read"
_SIGN_IN = "the user signs in; no agent does"
_DOOR = "a frontend is refused before a turn begins"
NO_MODEL = {
    ErrorKind.DETACHED: "an open session or its library is closed; team tools say not_found",
    ErrorKind.CORRUPT_LOG_LINE: _LOG,
    ErrorKind.EPHEMERAL_NOT_LOGGABLE: _LOG,
    ErrorKind.LOG_ENCODE_FAILED: _LOG,
    ErrorKind.LOG_READ_FAILED: _LOG,
    ErrorKind.LOG_WRITE_FAILED: _LOG,
    ErrorKind.WRITER_CONFLICT: "another process has the session: the team ends",
    ErrorKind.NO_ACCOUNT_ID: _SIGN_IN,
    ErrorKind.AUTH_WRITE_FAILED: _SIGN_IN,
    ErrorKind.DEVICE_AUTH_FAILED: _SIGN_IN,
    ErrorKind.DEVICE_CODE_UNSUPPORTED: _SIGN_IN,
    ErrorKind.SESSION_START_FAILED: _SIGN_IN,
    ErrorKind.UNAUTHORIZED: _DOOR,
    ErrorKind.NO_PROMPT: _DOOR,
    ErrorKind.STDIN_ERROR: _DOOR,
}
"""Kinds that no model can get, and why."""


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_says_what_to_do_next(case: str) -> None:
    kind, reader, script, limits, crew = CASES[case]
    made = play({name: list(lines) for name, lines in script.items()}, limits, crew)
    ends = [view(event) for event in made.events() if event.agent_id == reader]
    texts = [end.output for end in ends if isinstance(end, ToolEnd) and end.error and end.error.kind == kind]
    assert texts
    for text in texts:
        assert text.startswith(f"{kind}: ")
        assert tell_next_step(text), text
        if reader != "lead":
            assert "the user" not in text


def test_a_result_of_a_team_tool_says_what_waits_and_what_stays() -> None:
    tasks: list[Line] = [[delegate("bob", text)] for text in ("first", "second", "third", "x" * 100)]
    made = play(
        {
            "lead": [*tasks, [target("interrupt_agent", "bob")], LOOK, [target("destroy_agent", "bob")]],
            "bob": [slow, slow],
        }
    )
    ends = [end.output for end in made.recorded("tool_end") if isinstance(end, ToolEnd)]
    given = (
        "Task delegated. End your turn now unless you can delegate something else in parallel that won't be "
        "blocked by this delegation. The result will arrive in a future turn."
    )
    sent = [fact for fact in made.recorded("message") if isinstance(fact, Envelope)]
    told = [f"Task {one.id} is with bob. {given}" for one in sent if one.kind is Kind.TASK]
    assert ends[:2] == told[:2]
    assert ends[2] == f"{told[2]} bob has 1 message to work on first."
    assert ends[3] == f"{told[3]} bob has 2 messages to work on first."
    stopped = "Agent interrupted. It was waiting for its model; any changes it made remain."
    assert ends[4] == f"{stopped} It continues with 3 messages from its queue."
    assert ends[6].startswith("Agent destroyed. Not finished: 'second', 'third', 'xxx")
    assert len(ends[6]) < 140


def test_every_kind_is_provoked_or_has_a_reason() -> None:
    provoked = {ErrorKind.PERMISSION_DENIED, *(case[0] for case in CASES.values())}
    lists = [provoked, set(OF_TOOLS), set(OF_PEERS), set(NO_MODEL)]
    assert set().union(*lists) == set(ErrorKind)
    assert sum(map(len, lists)) == len(ErrorKind), "each kind is in one list"
    where = Path(__file__).parents[2] / TOOLS
    text = where.read_text()
    assert [kind for kind in OF_TOOLS if kind.name not in text and kind.value not in text] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("not_found: Agent not found.", False),
        ("timeout: bob did not answer", False),
        ("timeout: bob did not answer; nothing happened", False),
        ("timeout: bob did not answer; continue without it", True),
        ("deadlock: Cannot ask yourself. Use a different agent.", True),
    ],
)
def test_a_step_is_more_than_what_happened(text: str, told: bool) -> None:
    assert bool(tell_next_step(text)) is told
