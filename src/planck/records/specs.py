"""What an agent, a tool and a model are, before anything runs."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from planck.records.amounts import Allowance
from planck.records.authority import Authority, Mode
from planck.records.outcome import ErrorKind, PlanckError


class ToolSpec(msgspec.Struct, frozen=True, gc=False):
    """What a model is told of a tool: everything but the function."""

    name: str
    description: str
    parameters: dict[str, Any]


class ModelSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model that can be called; carries no secret."""

    provider: str
    """A key of the configuration's `providers`."""
    model: str
    """The vendor's own name for it."""
    id: str = ""
    """The user's alias, if there is one."""
    name: str = ""
    context_window: int = 128_000
    max_output: int = 0
    """0: leave it to the vendor."""
    base_url: str = ""
    params: dict[str, Any] = {}
    images: bool = False
    reasoning: bool = False

    @property
    def label(self) -> str:
        return self.id or f"{self.provider}/{self.model}"


Role = Literal["orchestrator", "worker"]

Workspace = Literal["shared", "own"]

EVERY_TOOL = "*"
"""Among the tools of a spec: all there are, also those that come later."""


class ForeignSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """Another program, which speaks ACP and works in the place of a model and of our tools."""

    command: tuple[str, ...]
    env: tuple[str, ...] = ()
    """Names of our variables that it is given, beside a minimum."""
    mode: Mode | None = None
    """What it may do at most; None: what the session may."""
    network: bool = True
    """Whether its sandbox has the network: its own model is there."""
    source: str = ""
    """The file that names it."""

    @property
    def model(self) -> ModelSpec:
        """What stands in the place of one: which it uses, and at what price, is not known."""
        return ModelSpec(FOREIGN, self.command[0].rpartition("/")[2])


FOREIGN = "acp"
"""In the place of a provider: the model of a foreign agent is its own business."""


class AgentSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    type: str
    name: str
    role: Role
    model: ModelSpec
    description: str = ""
    system_prompt: str = ""
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    delegator_id: str = ""
    cwd: str = ""
    """Where it starts, below the workspace: its paths begin there, its AGENTS.md is looked for there; empty:
    the workspace itself."""
    compactor: str = ""
    """How its history is made to fit: `summary` (default), `digest` (no model call), `off`."""
    roots: tuple[str, ...] = ()
    """Folders, from the workspace on, that alone it may write; none: wherever the session may."""
    authority: Authority | None = None
    """As granted at the start; None: the session's."""
    team: str = ""
    base_prompt: bool = True
    base: str = ""
    """What it was told of itself, the others and the place when it started: kept, and never made again."""
    budget: Allowance | None = None
    """What it was lent when it started; None: it draws on what whoever started it has."""
    acp: ForeignSpec | None = None
    """None: one of ours."""
    done_when: tuple[str, ...] = ()
    """Commands of the user's that must pass before a task of it counts as done."""
    workspace: Workspace = "shared"
    """`own`: it works in a view of the workspace, and nobody sees its changes until they land."""

    def check_model_changes(self) -> None:
        """Raises for an agent whose model is none of ours to change."""
        if self.acp:
            text = f"{self.name} is an external program with its own model; change the model in its settings"
            raise PlanckError(ErrorKind.INVALID_ARGS, text)


class AgentKind(msgspec.Struct, frozen=True):
    """What a file says of an agent that may be started: as a worker, a member or the orchestrator."""

    name: str
    description: str
    system_prompt: str
    tools: tuple[str, ...]
    """With `EVERY_TOOL` among them: all that there are."""
    skills: tuple[str, ...] = ()
    model: ModelSpec | None = None
    """None: as whoever starts it."""
    acp: ForeignSpec | None = None


_Count = Annotated[int, Meta(ge=1)]


class ProviderLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rate limits of a provider. In a pool, all nodes together keep to `rpm` and `tpm`."""

    rpm: Annotated[_Count | None, Meta(description="Requests per minute")] = None
    tpm: Annotated[_Count | None, Meta(description="Tokens per minute, input and output")] = None
    concurrent: Annotated[_Count | None, Meta(description="Concurrent requests from one process")] = None


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a team. The user can change them, a model cannot."""

    live_agents: Annotated[_Count, Meta(description="Live agents in a team, including the orchestrator")] = 8
    total_agents: Annotated[_Count, Meta(description="Agents started in a session, in total")] = 64
    spawn_depth: Annotated[int, Meta(ge=0, description="How many levels deep agents may spawn agents")] = 1
    inbox: Annotated[_Count, Meta(description="Messages that may be queued for one agent")] = 100
    messages: Annotated[
        _Count, Meta(description="Questions and tasks that agents send each other per user message")
    ] = 200
    calls: Annotated[
        _Count, Meta(description="Tool calls in one model response; if there are more, none is run")
    ] = 128
    answer_bytes: Annotated[_Count, Meta(description="Bytes in one model response; the rest is not read")] = (
        16 << 20
    )
    envelope_bytes: Annotated[_Count, Meta(description="Bytes in one message between agents")] = 262_144
    hops: Annotated[_Count, Meta(description="Length of a chain of messages that trigger one another")] = 16
    steps: Annotated[_Count, Meta(description="Model calls in one turn")] = 100
    check_attempts: Annotated[_Count, Meta(description="How often one check runs in a run or a task")] = 3
    check_ms: Annotated[_Count, Meta(description="Milliseconds that a check may take")] = 600_000
    wait_s: Annotated[
        int,
        Meta(
            ge=0,
            le=86_400,
            description="Maximum seconds that one model call waits if the provider says when to retry; "
            "0: do not wait",
        ),
    ] = 0
    providers: Annotated[
        dict[str, ProviderLimits],
        Meta(description="Request limits by provider name; user configuration only"),
    ] = {}


_Word = Annotated[str, Meta(max_length=256)]


class SharedOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Options that every door takes: `planck run`, the library, a server and a pool.

    The bodies of `POST /sessions` and `POST /submissions` extend it.
    """

    team: _Word = ""
    model: _Word = ""
    name: _Word = ""
    mode: str | None = None
    max_budget_usd: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    max_steps: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=10**12)] | None = None
    checks: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=65_536)], ...], Meta(max_length=64)
    ] = ()
    """Commands that the runtime runs before a run counts as done."""
    require_proof: bool = False
    """A run fails whose claims or changes are not proven."""


class RunOptions(SharedOptions, frozen=True, kw_only=True):
    """Options of one run of a session; a default leaves the option to the configuration.

    `team`, `name` and `agent` are for a new session. What the log keeps of it: `SessionOptions`.

    Example:

        pirate = RunOptions(system_prompt="You are a pirate.", disallowed_tools=("bash",))
        planck.run("Say hello.", settings=pirate)
    """

    dry_run: bool = False
    agent: str = ""
    """The agent file that the orchestrator is made of."""
    system_prompt: str | None = None
    """Replaces the base prompt."""
    append_system_prompt: str = ""
    effort: str = ""
    fallback_model: str = ""
    """Who answers when an agent's own model can't."""
    allowed_tools: tuple[str, ...] = ()
    """`edit`, `Bash(git log:*)`: what is run without a question."""
    disallowed_tools: tuple[str, ...] = ()
    """A name alone: no agent has the tool. With a pattern: such a call is denied."""
    isolated: bool = False
    """The whole team works in one view: the workspace stays as it is until that lands."""

    @property
    def budget(self) -> dict[str, float]:
        """What the run may take, by the units of an `Allowance`."""
        said = {"usd": self.max_budget_usd, "tokens": self.max_tokens}
        return {unit: value for unit, value in said.items() if value is not None}

    def add(self, **said: Any) -> "RunOptions":
        """Returns them with what is said besides; None, False and an empty text say nothing."""
        given = {name: one for name, one in said.items() if one is not False and one not in (None, "")}
        return msgspec.structs.replace(self, **given)


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What holds for a session while one process runs it: with it, what was decided can be decided again."""

    mode: str
    max_steps: int
    dry_run: bool
    budget: float | None
    """In USD, of this run."""
    limits: dict[str, Any]
    """By their names in the configuration; a map, because other versions know other limits."""
    rules: str
    """Digest of the rules in force, in their order."""
    sandbox: str
    """What confines its commands, as installed: that it really does is tried before the first of them."""
    catalog: str
    """The day of the snapshot that windows and prices come from."""
    person: bool | None = None
    """Whether somebody could be asked; not known of older logs."""
    added: tuple[str, ...] = ()
    """Folders beside the workspace that its agents may work in."""
    max_tokens: int | None = None
    """What this run may read and write; None: nothing was said."""
    disallowed_tools: tuple[str, ...] = ()
    """What its agents were not given, or not allowed."""
    checks: tuple[str, ...] = ()
    """What the runtime ran before a run counted as done."""
    require_proof: bool = False
    isolated: bool = False
    """The whole team works in one view."""
    session_budget: dict[str, float] = {}
    """By unit, what the configuration gives the session over all its runs."""
    program_tools: tuple[str, ...] = ()
    """Names of the tools that the embedding program passed: a resume needs them again."""


RECORDED = tuple(name for name in SessionOptions.__struct_fields__ if name in RunOptions.__struct_fields__)
"""Options that the log keeps under their own name, and that hold again when a server opens the session."""
