"""The facts of a session: an envelope whose `data` stays raw bytes, and a typed view for each known type.

Unknown types and fields survive by construction: nothing here decodes `data` until somebody asks.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from planck.records import codec
from planck.records.amounts import Allowance
from planck.records.authority import Right
from planck.records.messages import AssistantMessage, Image, Message
from planck.records.specs import AgentSpec, ModelSpec, SessionOptions
from planck.records.usage import Usage


class Event(msgspec.Struct, frozen=True, gc=False):
    """One recorded fact, or a delta (`seq` is None). `turn` is 0 outside a turn."""

    seq: int | None
    ts: str
    agent_id: str | None
    turn: int
    type: str
    data: msgspec.Raw


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A fact before the log gave it a number."""

    ts: str
    agent_id: str | None
    turn: int
    type: str
    data: msgspec.Raw


class View(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The typed view of one event type's `data`; a type sets those of the traits below that it has."""

    type: ClassVar[str]
    delta: ClassVar[bool] = False
    """It passes, and is never stored."""
    behind_checkpoint: ClassVar[bool] = False
    """A later `compacted` stands for it: not needed to go on, so a long log costs its active window."""
    repeats: ClassVar[bool] = False
    """It says again what events before it said: a search passes over it."""
    skeleton: ClassVar[bool] = False
    """Without it the rest can't be understood: an export keeps it when it leaves out older events."""
    unseen: ClassVar[tuple[str, ...]] = ()
    """Fields that no page shows: whole files and histories."""
    plain: ClassVar[bool] = False
    """It has neither arguments nor outputs of a call in it, which the owner of a session may want to hide."""
    names_paths: ClassVar[bool] = False
    """It names paths as such."""
    noted: ClassVar[bool] = False
    """The page says it in a line of its own, `note.TYPE` in page/i18n."""


class Kind(StrEnum):
    PROMPT = "prompt"
    ASK = "ask"
    TASK = "task"
    RESPONSE = "response"


class TurnStatus(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed_out"
    CAPPED = "capped"


USER = "user"


class Origin(StrEnum):
    """Whose words a message is: the user's, another agent's, a hook's, or those of the runtime.

    Older logs have `planck` for what agents sent each other, too.
    """

    USER = "user"
    AGENT = "agent"
    HOOK = "hook"
    PLANCK = "planck"


Verdict = Literal["proven", "stale", "unsupported", "contradicted"]
"""What the log says of a claim: `proven`, its command ended so and nothing changed since; `stale`, something
changed since; `unsupported`, there is no such run or change; `contradicted`, it ended otherwise."""


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an agent says of its work, beside the command or the path that would show it."""

    text: str
    command: str = ""
    exit_code: int = 0
    path: str = ""
    verdict: Verdict = "unsupported"


def read_claims(said: Any) -> tuple[Claim, ...]:
    """Returns the claims in a call's arguments, without verdicts; what is not a claim is left out."""
    found = []
    for one in said if isinstance(said, list) else ():
        try:
            found.append(msgspec.structs.replace(msgspec.convert(one, Claim), verdict="unsupported"))
        except msgspec.ValidationError:
            continue
    return tuple(found)


class RequestKey(msgspec.Struct, frozen=True):
    """What a client called its request, so that one that is sent again is done once."""

    key: str
    digest: str
    """Of what it asked for: the same key with another one is a mistake."""


class SessionStarted(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "session_started"
    skeleton = True
    plain = True
    names_paths = True
    id: str
    name: str
    workspace: str
    version: str
    options: SessionOptions | None = None
    team: str = ""
    """As it was named; empty: one orchestrator alone."""
    request: RequestKey | None = None


class SessionResumed(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "session_resumed"
    plain = True
    names_paths = True
    noted = True
    version: str
    interrupted: tuple[str, ...] = ()
    """Ids of the tool calls that were in flight."""
    options: SessionOptions | None = None


class AgentStarted(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "agent_started"
    skeleton = True
    plain = True
    names_paths = True
    noted = True
    agent: AgentSpec
    call_id: str | None = None
    """The call that spawned it; absent for those the session began with."""
    account: str | msgspec.UnsetType = msgspec.UNSET
    """The task whose loan its budget comes out of; absent: its delegator's own account, or the run's."""


class AgentEnded(View, frozen=True, kw_only=True, omit_defaults=False):
    type: ClassVar[str] = "agent_ended"
    skeleton = True
    plain = True
    noted = True
    status: Literal["destroyed", "failed"]
    reason: str


class ViewOpened(View, frozen=True, kw_only=True):
    """An agent works in a tree of its own from here on; it is there, and its next turn begins in it."""

    type: ClassVar[str] = "view_opened"
    plain = True
    names_paths = True
    noted = True
    view: str
    agent_id: str
    backend: Literal["overlay", "worktree"]
    layers: tuple[str, ...] = ()
    """What it lies on, topmost first, by their names in the session's folder of views."""
    exact: bool = True
    """False: it has nothing that git ignores, and another path."""
    notice: str = ""
    """What the user should know of it."""


class ViewDropped(View, frozen=True, kw_only=True):
    """A view goes, with what was changed in it; recorded before."""

    type: ClassVar[str] = "view_dropped"
    plain = True
    noted = True
    view: str
    why: str
    """`unchanged`, `landed`, `lost`, or who dropped it."""


_WIRE_NAMES = {"sender": "from", "sender_name": "from_name", "receiver": "to"}


IN_PROGRESS = "in progress"
"""Outcome of a response to a task that is not its report yet."""


class Envelope(View, frozen=True, kw_only=True, omit_defaults=False, rename=_WIRE_NAMES):
    """One message between agents, or from the user."""

    type: ClassVar[str] = "message"
    plain = True
    id: str
    kind: Kind
    sender: str
    receiver: str
    text: str
    correlation_id: str | None = None
    deadline: str | None = None
    hops: int = 0
    sender_name: str = ""
    call_id: str | None = None
    """The call that sent it; null: no agent did."""
    root: str | None = None
    """The user's message that it descends from: its own id, where the user wrote it. Null in older logs."""
    origin: Origin | None = None
    """Null in older logs."""
    request: RequestKey | msgspec.UnsetType = msgspec.UNSET
    budget: Allowance | msgspec.UnsetType = msgspec.UNSET
    """Of a task: what was lent for it, given back when its turn ends."""
    images: tuple[Image, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the user attached."""
    typed: str | msgspec.UnsetType = msgspec.UNSET
    """What the user wrote, where `text` has attached files or outputs too: frontends show this alone."""
    user_knows: bool | msgspec.UnsetType = msgspec.UNSET
    """Of news to the agents: the user did it, so frontends do not show it. Absent in older logs."""
    reset: bool | msgspec.UnsetType = msgspec.UNSET
    """Of an ask or a task: its receiver forgets its earlier messages first. Absent: it does not."""
    cause: Literal["turn_end", "agent_end", "cut"] | msgspec.UnsetType = msgspec.UNSET
    """What sent a response that no call sent: the end of its sender's turn (with origin `agent`, `text` is
    the final text), the end of the sender itself, or the loss of its process or its actor."""
    outcome: str | msgspec.UnsetType = msgspec.UNSET
    """Of a response to a task: `completed`, `in progress`, `stopped`, or `not finished` and why."""
    facts: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the log knows of the work that a response is about."""
    claims: tuple[Claim, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the sender claims of its work, each with the verdict of the log."""
    done_when: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Of a task: commands that the runtime runs before the report is delivered."""


class Delivery(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "delivery"
    plain = True
    ids: tuple[str, ...]
    state: Literal["delivered", "answered", "expired", "dead"]
    call_id: str | None = None
    """Of `answered`: the call that answered; absent where the end of the turn did."""


class Wait(View, frozen=True, kw_only=True):
    """This agent waits for another; the end of the call that waits ends it."""

    type: ClassVar[str] = "wait"
    plain = True
    on: str
    message_id: str
    deadline: str
    call_id: str | None = None
    """The call that waits."""


class Control(View, frozen=True, kw_only=True):
    """Somebody stopped an agent or the session: its own fact, also where there was nothing to stop.

    It is the event of the agent that did it, else of nobody's: the user's, or a limit's of the run.
    """

    type: ClassVar[str] = "control"
    behind_checkpoint = True
    plain = True
    noted = True
    action: Literal["interrupt", "destroy", "halt"]
    """`halt`: every turn ends and none begins until somebody prompts again or resumes the session."""
    target: str
    """An agent's id; of a halt the session's."""
    status: TurnStatus
    """How the turns that it stops end."""
    call_id: str | None = None


class TurnStart(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "turn_start"
    plain = True
    kind: Kind
    message_id: str
    system: str = ""
    """Names the blob in this log that is the system prompt which the model sees in this turn."""
    tools: str = ""
    """The same for what it is told of its tools, as JSON, until a `tools_changed` names another."""


class AssistantSaid(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "assistant_message"
    behind_checkpoint = True
    names_paths = True
    message: AssistantMessage
    unfinished: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether its turn was stopped while it was written: the text is what there was of it. Absent: no."""


class ToolStart(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "tool_start"
    behind_checkpoint = True
    names_paths = True
    id: str
    name: str
    args: Any
    """The parsed arguments; the raw text where it could not be parsed."""
    foreign: bool = False
    """A call of an agent that is another program; no answer of a model stands before it."""


class ErrorData(msgspec.Struct, frozen=True):
    kind: str
    message: str
    details: dict[str, Any]


class ToolEnd(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "tool_end"
    behind_checkpoint = True
    id: str
    name: str
    ok: bool
    output: str
    error: ErrorData | None = None
    exit_code: int | None = None
    duration_ms: int
    images: tuple[Image, ...] = ()
    notice: str = ""
    """What the runtime tells the model beside the output: that it goes in circles."""
    foreign: bool = False
    lines: int = 0
    """Of the whole output of a command, where `output` is not all of it."""
    whole: str = ""
    """The name of the blob with all of it, in a log that other machines may go on with."""
    summary: str = ""
    """What a line shows of an output that was read or searched for, if that is not its number of lines: which
    part of a file it is, or that nothing was found. Absent in older logs."""
    spilled: bool = False
    """Whether all of it is kept: `read` pages it at `output:<id>`."""


class UsageSpent(View, frozen=True, kw_only=True, omit_defaults=False):
    type: ClassVar[str] = "usage"
    behind_checkpoint = True
    plain = True
    model: str
    usage: Usage
    cost_usd: float | None = None
    outcome: Literal["cut"] | msgspec.UnsetType = msgspec.UNSET
    """Absent: an answer, or a `compacted`, came of it. `cut`: nothing did, because the call was cut off,
    tried again or interrupted, or because what it summarised was too big all the same."""
    account: str | msgspec.UnsetType = msgspec.UNSET
    """The task whose loan paid for it; absent: the agent's own account did."""
    estimated: bool | msgspec.UnsetType = msgspec.UNSET
    """True: the server did not count it, or not all of it, and what is missing was estimated by its size."""


class BudgetSpent(View, frozen=True, kw_only=True):
    """Where something limits the work: what an account has, after each answer and when that changes."""

    type: ClassVar[str] = "budget"
    plain = True
    limit_usd: float | None = None
    """Of the whole run, where it has a limit in USD."""
    spent_usd: float | None = None
    account: str = ""
    """The session, the run, an agent's id, or the id of the task for which it was lent."""
    parent: str = ""
    limit: dict[str, float] = {}
    """By unit: `usd`, `tokens`, `ms`, `steps`, `calls`; what is not there is limited above it, or not."""
    spent: dict[str, float] = {}
    """By the account and all below it."""
    own: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
    """Of `ms` and `calls`, what the account spent itself, where somebody below it spent some too. What those
    did may be recorded after this, and is counted once."""
    lent: dict[str, float] = {}
    why: Literal["", "spent", "lent", "returned", "notice", "last_step"] = ""
    """`notice`: 80 % are used. `last_step`: the next request is the last one, and goes without tools."""
    stops_in_s: float | None = None
    """Of a notice: when it is used up, at the rate so far."""


class TurnEnd(View, frozen=True, kw_only=True, omit_defaults=False):
    type: ClassVar[str] = "turn_end"
    repeats = True
    plain = True
    status: TurnStatus
    text: str
    usage: Usage


class PermissionRequest(View, frozen=True, kw_only=True, omit_defaults=False):
    """A call waits for somebody's answer."""

    type: ClassVar[str] = "permission_request"
    behind_checkpoint = True
    id: str
    call_id: str
    tool: str
    agent: str = ""
    """Who asks, and for whom it works."""
    text: str
    """The whole call as it is shown, nothing invisible in it."""
    adds: str
    """What an approval would allow beyond what the agent may do already."""
    reason: str
    rights: tuple[Right, ...] = ()
    """What a command may do beyond reading once it is approved: write in the workspace, use the network, run
    outside the sandbox (which includes the others). Empty for other tools, and in older logs."""
    rule: str = ""
    """What an answer for longer than once would allow; empty: there is none."""
    preview: str = ""
    """The tool's dry run, bounded: of `edit` and `write` the path and a unified diff."""
    hidden_lines: int = 0
    """Lines left out of the middle of `preview`, because it is long; `text` is whole."""
    preview_failed: bool = False
    """The dry run failed or did not finish: `preview` says why."""
    deadline: str = ""
    """When the answer is no."""
    digest: str
    """Of the agent, the tool, its arguments and the rights: an answer to anything else is no answer."""


DeniedBy = Literal["", "user", "nobody", "mode", "rule", "hook", "grant", "address"]
"""Why a call was denied; `nobody`: nobody could be asked or has answered, `address`: nobody could be asked
about the address that it names."""


class PermissionDecision(View, frozen=True, kw_only=True):
    """Recorded where a call was denied, asked about, or allowed by more than the mode."""

    type: ClassVar[str] = "permission_decision"
    behind_checkpoint = True
    call_id: str
    tool: str
    decision: Literal["allow", "deny"]
    reason: str
    request_id: str = ""
    scope: Literal["", "once", "session", "rule"] = ""
    request: RequestKey | None = None
    by: DeniedBy = ""
    words: str = ""
    """What the user said when they denied it."""
    way_out: str = ""
    """What the user can change so that such a call is allowed; empty: nothing, or the reason names it."""


class Cut(msgspec.Struct, frozen=True):
    """Where a key was, and which: a digest that tells it from other keys."""

    at: int
    key: str


Place: TypeAlias = Literal["file", "link", "folder", "other"]
"""What can have a path; `other` is a pipe, a socket or a device, whose mode has its type."""


class FileChanged(View, frozen=True, kw_only=True, omit_defaults=False):
    """Recorded before the change happens, so that what was there is never lost."""

    type: ClassVar[str] = "file_changed"
    unseen: ClassVar[tuple[str, ...]] = ("before", "keys")
    plain = True
    names_paths = True
    call_id: str
    path: str
    """Relative to the workspace."""
    before: bytes | None
    """The whole old content, but for known keys; None where there was no file, or it is kept elsewhere."""
    mode: int | None
    after_sha256: str
    """Of the new content; empty: there is no file afterwards."""
    undoes: tuple[str, ...] = ()
    """The calls that this change takes back."""
    keys: tuple[Cut, ...] = ()
    """What stands in `before` for a key that was taken out, in order."""
    request: RequestKey | msgspec.UnsetType = msgspec.UNSET
    """Of the first change of an undo that a client asked for."""
    undoable: bool | msgspec.UnsetType = msgspec.UNSET
    """False: `before` is not what the disk had, or was too large to keep."""
    was: Place | msgspec.UnsetType = msgspec.UNSET
    """What had the path; absent: a file if there is a `before`, else nothing."""
    link: str | msgspec.UnsetType = msgspec.UNSET
    """What the old link led to."""
    becomes: Place | msgspec.UnsetType = msgspec.UNSET
    """What has the path afterwards; absent: a file if there is an `after_sha256`, else nothing."""
    after_mode: int | msgspec.UnsetType = msgspec.UNSET
    """Its permission bits afterwards, where they are known and not `mode`."""
    after_link: str | msgspec.UnsetType = msgspec.UNSET
    """What the new link leads to."""
    blob: str | msgspec.UnsetType = msgspec.UNSET
    """Names the blob of this log that is the old content, where that is too large for an event."""
    image: str | msgspec.UnsetType = msgspec.UNSET
    """The digest of the old content of a file that git ignores: it stays on the machine that recorded it."""
    view: str | msgspec.UnsetType = msgspec.UNSET
    """The view in which it happened; absent: the workspace itself."""
    landing: str | msgspec.UnsetType = msgspec.UNSET
    """The landing that made the change."""


class CommandRecorded(View, frozen=True, kw_only=True):
    """What a command changed is on record: the `file_changed` facts of its call stand before this one."""

    type: ClassVar[str] = "command_recorded"
    plain = True
    call_id: str
    view: str = ""
    """The view in which it ran; empty: the workspace itself."""
    changed: int = 0
    """How many names it changed."""
    skipped: int = 0
    """How many changed names are not recorded, because they are too large or too many."""
    partial: bool = False
    """Whether an undo may leave some of its changes."""
    running: bool = False
    """Whether the command goes on in the background: what it changes later is recorded then."""


class LandingConflict(msgspec.Struct, frozen=True):
    path: str
    why: str


class LandingProposed(View, frozen=True, kw_only=True):
    """An agent's view differs from what it began with, and is to be merged into the workspace."""

    type: ClassVar[str] = "landing_proposed"
    behind_checkpoint = True
    plain = True
    names_paths = True
    noted = True
    landing: str
    view: str
    layers: tuple[str, ...]
    """What it is compared with."""
    paths: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    """Names that git ignores: they stay in the view."""
    task: str = ""
    """The message whose turn made the changes."""


class LandingStarted(View, frozen=True, kw_only=True):
    """In one commit with the `file_changed` of each path, before the first of them changes."""

    type: ClassVar[str] = "landing_started"
    plain = True
    landing: str
    paths: int


class LandingSkipped(View, frozen=True, kw_only=True):
    """One path of a landing was left as it is."""

    type: ClassVar[str] = "landing_skipped"
    plain = True
    names_paths = True
    noted = True
    landing: str
    path: str
    why: str


class LandingFinished(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "landing_finished"
    plain = True
    noted = True
    landing: str
    paths: int
    """How many the workspace has now as the landing made them."""
    branch: str = ""
    """The branch that has them as a commit; the workspace was not touched then."""


class LandingRefused(View, frozen=True, kw_only=True):
    """Nothing of it landed; the view keeps everything."""

    type: ClassVar[str] = "landing_refused"
    plain = True
    names_paths = True
    noted = True
    landing: str
    why: Literal["conflict", "check", "limit", "another_landed"]
    conflicts: tuple[LandingConflict, ...] = ()
    exit_code: int | None = None
    """Of the check that failed."""


class ViewRebased(View, frozen=True, kw_only=True):
    """The view has what the workspace has now, and its own changes on top; it is compared with these layers
    from here on."""

    type: ClassVar[str] = "view_rebased"
    plain = True
    names_paths = True
    view: str
    layers: tuple[str, ...]
    carried: int
    """How many changes of its own it still has."""
    conflicts: tuple[str, ...] = ()
    """Files in which both versions stand between markers."""


class Compacted(View, frozen=True, kw_only=True):
    """From here on the agent's history is these messages: nothing before this event is needed to go on."""

    type: ClassVar[str] = "compacted"
    behind_checkpoint = True
    repeats = True
    unseen: ClassVar[tuple[str, ...]] = ("messages", "summary", "plan")
    plain = True
    noted = True
    messages: tuple[Message, ...]
    turn_at: int
    """Where the messages of the turn at hand begin."""
    tokens_before: int
    tokens_after: int
    how: Literal["pruned", "summarised", "digest"]
    usage: Usage = Usage()
    """All that the agent had used up to here."""
    window: int = 0
    """What the model's window is taken to be, in tokens; smaller than its own where it refused what fits."""
    overflowed: bool = False
    """The model had refused the request as too long."""
    summary: str = ""
    """What the summariser wrote, whether it stands in the messages or was too long for them."""
    plan: str = ""
    """The agent's plan, as `update_plan` showed it last."""


class Rewound(View, frozen=True, kw_only=True):
    """The agent's history is again what it was after event `to`; the events in between stay in the log."""

    type: ClassVar[str] = "rewound"
    repeats = True
    unseen: ClassVar[tuple[str, ...]] = ("messages",)
    plain = True
    to: int
    messages: tuple[Message, ...]


class Forked(View, frozen=True, kw_only=True):
    """This log began as a copy of another one's first `at` events."""

    type: ClassVar[str] = "forked"
    skeleton = True
    plain = True
    noted = True
    session_id: str
    at: int
    request: RequestKey | None = None


class ModeChanged(View, frozen=True, kw_only=True):
    """The user gave the session another permission mode."""

    type: ClassVar[str] = "mode_changed"
    skeleton = True
    plain = True
    noted = True
    mode: str
    before: str


class Renamed(View, frozen=True, kw_only=True):
    """The session has another name from here on; its id stays."""

    type: ClassVar[str] = "renamed"
    skeleton = True
    plain = True
    noted = True
    name: str


class Snapshot(View, frozen=True, kw_only=True):
    """All that lay in the workspace is on record: in its own repository, under a ref of the session's."""

    type: ClassVar[str] = "snapshot"
    plain = True
    ref: str
    commit: str


class ModelChanged(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "model_changed"
    skeleton = True
    plain = True
    noted = True
    model: ModelSpec


class ToolsChanged(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "tools_changed"
    plain = True
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    tools: str = ""
    """Names the blob of what the model is told of its tools from the next call on, as `turn_start` does."""


class Checked(View, frozen=True, kw_only=True, omit_defaults=False):
    """The runtime ran a check, or was refused it."""

    type: ClassVar[str] = "checked"
    behind_checkpoint = True
    noted = True
    id: str
    scope: Literal["run", "task", "base"]
    task_id: str | msgspec.UnsetType = msgspec.UNSET
    landing: str | msgspec.UnsetType = msgspec.UNSET
    command: str
    exit_code: int | None
    """None: it did not end by itself, or was not run."""
    ok: bool
    attempt: int
    """From 1 on, within its run or its task."""
    duration_ms: int
    output: str
    after: int = 0
    """The newest event when the check began."""
    refused: bool = False
    """It was not run: a rule, the mode or the user does not allow it."""
    spilled: bool = False
    """Whether all of the output is kept: `read` pages it at `output:<id>`."""


class ErrorEvent(View, frozen=True, kw_only=True, omit_defaults=False):
    type: ClassVar[str] = "error"
    behind_checkpoint = True
    noted = True
    kind: str
    message: str
    details: dict[str, Any] = {}


class TextDelta(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "text_delta"
    delta = True
    text: str


class ThinkingDelta(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "thinking_delta"
    delta = True
    text: str


class ToolProgress(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "tool_progress"
    delta = True
    id: str
    text: str


class UsageDelta(View, frozen=True, kw_only=True):
    """What the server has counted of the call in flight so far; the `usage` fact at its end is what holds."""

    type: ClassVar[str] = "usage_delta"
    delta = True
    usage: Usage


class Compacting(View, frozen=True, kw_only=True):
    """The history is being made to fit; `compacted` follows, or an error."""

    type: ClassVar[str] = "compacting"
    delta = True
    tokens: int
    window: int


class Status(View, frozen=True, kw_only=True):
    type: ClassVar[str] = "status"
    delta = True
    component: str
    state: str
    name: str = ""
    """Of `working`: the tool that the model writes a call of."""
    detail: str = ""
    subject: str = ""
    """Of `working`: what that call is about, such as its path, once the model has written that."""
    size: int = 0
    """Of `working`: bytes of the call's arguments so far."""
    wait_s: float = 0.0
    """Of `retrying`: seconds until the next attempt."""
    attempt: int = 0
    """Of `retrying`: which attempt that will be, from 1 on."""
    attempts: int = 0
    """Of `retrying`: how many there are at most."""


class TextBurst(TextDelta, frozen=True, kw_only=True):
    """Deltas that came together, `text` being all that they say; each becomes an event of its own."""

    texts: Sequence[str]

    @property
    def deltas(self) -> list[TextDelta]:
        return [TextDelta(text=text) for text in self.texts]


class ThinkingBurst(ThinkingDelta, frozen=True, kw_only=True):
    """The same of thoughts."""

    texts: Sequence[str]

    @property
    def deltas(self) -> list[ThinkingDelta]:
        return [ThinkingDelta(text=text) for text in self.texts]


VIEWS: dict[str, type[View]] = {view.type: view for view in View.__subclasses__()}


def list_types(trait: str) -> frozenset[str]:
    """Returns the types of which a trait holds."""
    return frozenset(type for type, view in VIEWS.items() if getattr(view, trait))


DELTAS = list_types("delta")

decode_event: Callable[[bytes | bytearray | memoryview | str], Event] = msgspec.json.Decoder(Event).decode
"""Raises `ValueError`, and `RecursionError` for what is nested too deeply."""

_decoders: dict[str, msgspec.json.Decoder[View]] = {}
"""Made by the first event of each type: all of them at once take milliseconds of every start."""


def view(event: Event) -> View | None:
    """The typed data, or None for a type or a shape that this version does not know."""
    decoder = _decoders.get(event.type)
    if decoder is None and event.type in VIEWS:
        decoder = _decoders[event.type] = msgspec.json.Decoder(VIEWS[event.type])
    try:
        return decoder.decode(event.data) if decoder else None
    except (ValueError, RecursionError):  # no UTF-8 and too deep included: not what we write, but on disk
        return None


class Frame(msgspec.Struct, frozen=True, gc=False):
    """An event as the outside world sees it."""

    seq: int | None
    ts: str
    session_id: str
    agent_id: str | None
    turn: int
    type: str
    data: msgspec.Raw


def frame(event: Event, session_id: str) -> bytes:
    return codec.encode(
        Frame(event.seq, event.ts, session_id, event.agent_id, event.turn, event.type, event.data)
    )
