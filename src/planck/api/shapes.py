"""What goes in and out of the API: struct in, struct out."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from planck.headless import FileDiff, ModelRow
from planck.records.approval import FormField, Question
from planck.records.rows import AgentRow
from planck.records.specs import SharedOptions
from planck.records.usage import Usage


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A response body."""


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request body; unknown fields are an error."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Query parameters; unknown names are ignored."""


Seq = Annotated[int, Meta(ge=0, le=2**53)]
Limit = Annotated[int, Meta(ge=1, le=1000)]
Text = Annotated[str, Meta(max_length=4 << 20)]
Word = Annotated[str, Meta(max_length=256)]
Given = Annotated[str, Meta(min_length=1, max_length=256)]
Path = Annotated[str, Meta(max_length=4096)]


class Problem(Shape, frozen=True, kw_only=True):
    kind: str
    message: str
    details: dict[str, Any]


class Failure(Shape, frozen=True, kw_only=True):
    """The body of every error response."""

    ok: Literal[False]
    error: Problem


class Health(Shape, frozen=True, kw_only=True):
    ok: bool = True


Acknowledged = Health
"""The reply where there is nothing else to say; the document has always called its shape `Health`."""


class Me(Shape, frozen=True, kw_only=True):
    version: str
    workspace: str
    pid: int
    by: Literal["token", "cookie"]
    """How the caller showed that it may."""
    locale: str = ""
    """The language of the interface, where the configuration names one."""


class Holder(Shape, frozen=True, kw_only=True):
    pid: int
    host: str


class SessionRow(Shape, frozen=True, kw_only=True):
    id: str
    name: str
    state: Literal["running", "waiting", "done", "failed", "interrupted", ""]
    """Empty: its log can't be read."""
    first_prompt: str
    team: str
    model: str
    mode: str
    cost_usd: float | None
    """None: a price is unknown."""
    head: int
    created: str
    updated: str
    node: str | None
    holder: Holder | None
    """The process that has it open."""
    parent: str
    """The session that it was forked from, as it was after event `forked_at`."""
    forked_at: int
    estimated: int = 0
    """How many model calls the provider did not count, so that the cost is an estimate."""


class AgentDetail(Shape, frozen=True, kw_only=True):
    id: str
    type: str
    name: str
    model: str
    state: str
    turns: int
    usage: Usage


class SpentRow(Shape, frozen=True, kw_only=True):
    agent_id: str
    agent: str
    model: str
    calls: int
    usage: Usage
    cost_usd: float | None


class CostRow(SpentRow, frozen=True, kw_only=True):
    depth: int
    """0: the orchestrator; each loan is one deeper."""
    source: Literal["", "run", "lent"]
    """Where its budget comes from; empty: nothing of its own."""
    budget: dict[str, float]
    """By unit: `usd`, `tokens`, `ms`, `steps`, `calls`."""
    left: dict[str, float]
    stops_in_s: float | None
    """When it is used up, at the rate so far."""


class SessionDetails(SessionRow, frozen=True, kw_only=True):
    problem: str
    agents: tuple[AgentDetail, ...]
    usage: Usage
    spent: tuple[SpentRow, ...]
    costs: tuple[CostRow, ...]
    """The same with who works for whom, and what is left of whose budget."""
    last_text: str


class SessionPage(Shape, frozen=True, kw_only=True):
    items: tuple[SessionRow, ...]
    next: str | None


class ListSessions(Query, frozen=True, kw_only=True):
    limit: Limit = 50
    cursor: Word = ""
    all: bool = False
    """Those of other workspaces too, which takes the role `admin`."""
    q: Word = ""
    """Only those whose name or first prompt has it."""


Mode = Literal["read-only", "plan", "ask", "workspace", "full"]


class StartSession(SharedOptions, Body, frozen=True, kw_only=True):
    mode: Mode | None = None
    dry_run: bool = False
    prompt: Text = ""


class SubmitWork(SharedOptions, Body, frozen=True, kw_only=True):
    prompt: Text
    repo: Path
    """An address that git knows, or a path that every node sees."""
    ref: Word = ""
    need: tuple[Word, ...] = ()
    """Labels that its node must have."""
    mode: Mode | None = None
    on_loss: Literal["continue", "stop"] = "continue"


class Node(Shape, frozen=True, kw_only=True):
    """A node of the pool."""

    name: str
    version: str
    labels: tuple[str, ...]
    seen: str
    draining: bool
    sessions: tuple[str, ...]


class NodePage(Shape, frozen=True, kw_only=True):
    items: tuple[Node, ...]
    next: str | None = None


class ChangeSession(Body, frozen=True, kw_only=True):
    name: Given | None = None
    mode: Mode | None = None
    model: Given | None = None


class SendPrompt(Body, frozen=True, kw_only=True):
    text: Text
    steer: bool = False
    agent: Word = ""


class Accepted(Shape, frozen=True, kw_only=True):
    message_id: str
    seq: int


class Interrupt(Body, frozen=True, kw_only=True):
    agent: Word = ""


class AskResult(Query, frozen=True, kw_only=True):
    after: Seq | None = None


class ReadEvents(Query, frozen=True, kw_only=True):
    after: Seq = 0
    before: Seq | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    agent: Word = ""
    type: Word = ""


class ReadBoard(Query, frozen=True, kw_only=True):
    at: Seq | None = None


class RedeemCode(Body, frozen=True, kw_only=True):
    code: Word


class Nothing(Body, frozen=True, kw_only=True):
    """An empty object, or no body at all."""


class Why(Shape, frozen=True, kw_only=True):
    lines: tuple[str, ...]


class AgentPage(Shape, frozen=True, kw_only=True):
    items: tuple[AgentRow, ...]
    next: str | None = None


class ChangeAgent(Body, frozen=True, kw_only=True):
    model: Given


class ReadOutput(Query, frozen=True, kw_only=True):
    offset: Seq = 0


class Output(Shape, frozen=True, kw_only=True):
    """Part of the output of a call; offsets and sizes are in characters."""

    call_id: str
    output: str
    offset: int
    size: int
    next: int | None
    done: bool
    missing: Problem | None = None
    """Why this is only what the model was shown of it: the rest is on no machine that can be asked."""


class Compact(Shape, frozen=True, kw_only=True):
    compacted: bool
    """False: nothing could be taken out."""
    tokens_before: int = 0
    tokens_after: int = 0


class Rewind(Body, frozen=True, kw_only=True):
    to: Seq


class Fork(Body, frozen=True, kw_only=True):
    at: Seq | None = None
    name: Word = ""


class Export(Query, frozen=True, kw_only=True):
    format: Literal["ndjson", "md", "html"] = "ndjson"


class SelectChanges(Query, frozen=True, kw_only=True):
    """Which changes to return; set at most one field."""

    agent: Word = ""
    turn: Seq = 0
    call: Word = ""


class ChosenFile(Body, frozen=True, kw_only=True):
    call: Word
    path: Path


class Chosen(Body, frozen=True, kw_only=True):
    """Which changes to undo; set at most one field."""

    agent: Word = ""
    turn: Seq = 0
    call: Word = ""
    files: Annotated[tuple[ChosenFile, ...], Meta(max_length=10_000)] = ()
    """What these calls did to these files."""
    all: bool = False
    """Everything that agents changed in the session."""


class ChangePage(Shape, frozen=True, kw_only=True):
    items: tuple[FileDiff, ...]
    next: str | None = None


class PlanUndo(Body, frozen=True, kw_only=True):
    selection: Chosen = Chosen()


class Conflict(Shape, frozen=True, kw_only=True):
    path: str
    reason: str


class UndoPlan(Shape, frozen=True, kw_only=True):
    plan_id: str
    diff: str
    """Unified, of all files that would change."""
    conflicts: tuple[Conflict, ...]
    commands: tuple[str, ...]
    """What ran in the same scope and is not completely recorded, so that an undo may leave some of it."""


class Undo(Body, frozen=True, kw_only=True):
    plan_id: Word


class Undone(Shape, frozen=True, kw_only=True):
    call_id: str
    """It undoes the undo."""
    files: tuple[str, ...]


class ListApprovals(Query, frozen=True, kw_only=True):
    session: Word = ""


class Pending(Shape, frozen=True, kw_only=True):
    """A pending approval: the data of its `permission_request` event, with its session and agent."""

    session_id: str
    agent_id: str
    id: str
    call_id: str
    tool: str
    agent: str
    text: str
    adds: str
    reason: str
    rights: tuple[Literal["write", "network", "outside"], ...] = ()
    rule: str
    preview: str
    hidden_lines: int = 0
    preview_failed: bool = False
    asked: str
    deadline: str
    digest: str
    wider: str
    place: str
    project: str = ""
    asks: Literal["permission", "form", "page"] = "permission"
    """`form` and `page`: what a server asks the user; a yes permits nothing."""
    fields: tuple[FormField, ...] = ()
    """Of a form: the values that are asked for; they are sent as `content`."""
    url: str = ""
    """Of a page: what the user is asked to open."""

    @classmethod
    def of(cls, question: Question) -> "Pending":
        return msgspec.convert(question, cls, from_attributes=True)


class ApprovalPage(Shape, frozen=True, kw_only=True):
    items: tuple[Pending, ...]
    next: str | None = None


class AnswerApproval(Body, frozen=True, kw_only=True):
    digest: Word
    allow: bool
    scope: Literal["once", "session", "rule"] = "once"
    reason: Annotated[str, Meta(max_length=10_000)] = ""
    rule: Annotated[str, Meta(max_length=10_000)] = ""
    """Another rule than the one that was offered."""
    content: dict[str, str | int | float | bool | list[str] | None] = {}
    """Of a form: the values, by the names of its fields."""


class ListFiles(Query, frozen=True, kw_only=True):
    path: Path = "."


class FileEntry(Shape, frozen=True, kw_only=True):
    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int


class FilePage(Shape, frozen=True, kw_only=True):
    path: str
    items: tuple[FileEntry, ...]
    next: str | None = None


class ReadContent(Query, frozen=True, kw_only=True):
    path: Path
    offset: Seq = 0


class FileContent(Shape, frozen=True, kw_only=True):
    """Part of a file; offsets and sizes are in bytes, and invalid UTF-8 is replaced."""

    path: str
    content: str
    offset: int
    size: int
    next: int | None


class ListModels(Query, frozen=True, kw_only=True):
    all: bool = False


class ModelPage(Shape, frozen=True, kw_only=True):
    items: tuple[ModelRow, ...]
    next: str | None = None
    catalog_date: str


class TestModel(Body, frozen=True, kw_only=True):
    model: Word = ""


class SetUp(Body, frozen=True, kw_only=True):
    """A known vendor by name, or another provider name with the `base_url` of an OpenAI-compatible server."""

    provider: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    model: Word = ""
    """Empty: the vendor's default."""
    base_url: Annotated[str, Meta(pattern=r"^(https?://[^\s@]{1,2000})?$")] = ""
    key: Annotated[str, Meta(pattern=r"^[!-~]{0,4096}$")] = ""
    """It is kept, and never answered."""


class SetUpResult(Shape, frozen=True, kw_only=True):
    ok: bool
    """False: nothing was kept."""
    model: str
    error: Problem | None = None


class TeamEntry(Shape, frozen=True, kw_only=True):
    alias: str
    path: str
    name: str
    description: str
    members: tuple[str, ...]
    problem: str


class TeamPage(Shape, frozen=True, kw_only=True):
    items: tuple[TeamEntry, ...]
    next: str | None = None


class Checked(Shape, frozen=True, kw_only=True):
    ok: bool
    problems: tuple[str, ...]


class AnyPage(Shape, frozen=True, kw_only=True):
    items: tuple[dict[str, Any], ...]
    next: str | None = None


class Notices(Shape, frozen=True, kw_only=True):
    items: tuple[str, ...]
    next: str | None = None


class Doctor(Shape, frozen=True, kw_only=True):
    ok: bool
    checks: tuple[dict[str, Any], ...]


class Search(Query, frozen=True, kw_only=True):
    q: Annotated[str, Meta(min_length=1, max_length=256)]
    all: bool = False
    """Sessions of other workspaces too, which takes the role `admin`."""
    limit: Limit = 50
