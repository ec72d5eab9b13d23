"""What goes in and out of the API: struct in, struct out."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from planck.headless import RunResult
from planck.records.board import Board
from planck.records.usage import Usage


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What is answered."""


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is sent: a field that nobody knows is a mistake."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What stands after the question mark; names that are not known are passed over."""


Seq = Annotated[int, Meta(ge=0, le=2**53)]
Limit = Annotated[int, Meta(ge=1, le=1000)]
Text = Annotated[str, Meta(max_length=4 << 20)]
Word = Annotated[str, Meta(max_length=256)]
Path = Annotated[str, Meta(max_length=4096)]


class Problem(Shape, frozen=True, kw_only=True):
    kind: str
    message: str
    details: dict[str, Any]


class Failure(Shape, frozen=True, kw_only=True):
    """Every error."""

    ok: Literal[False]
    error: Problem


class Health(Shape, frozen=True, kw_only=True):
    ok: bool = True


class Me(Shape, frozen=True, kw_only=True):
    version: str
    workspace: str
    pid: int
    by: Literal["token", "cookie"]
    """How the caller showed that it may."""


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


class SessionDetails(SessionRow, frozen=True, kw_only=True):
    parent: str
    forked_at: int
    problem: str
    agents: tuple[AgentDetail, ...]
    usage: Usage
    spent: tuple[SpentRow, ...]
    last_text: str


class SessionPage(Shape, frozen=True, kw_only=True):
    items: tuple[SessionRow, ...]
    next: str | None


class ListSessions(Query, frozen=True, kw_only=True):
    limit: Limit = 50
    cursor: Word = ""
    all: bool = False
    """Those of other workspaces too."""
    q: Word = ""
    """Only those whose name or first prompt has it."""


Mode = Literal["read-only", "plan", "ask", "workspace", "full"]


class StartSession(Body, frozen=True, kw_only=True):
    team: Word = ""
    model: Word = ""
    name: Word = ""
    mode: Mode | None = None
    max_budget_usd: Annotated[float, Meta(gt=0, le=1_000_000)] | None = None
    max_steps: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    dry_run: bool = False
    prompt: Text = ""


class ChangeSession(Body, frozen=True, kw_only=True):
    name: Word | None = None
    mode: Mode | None = None
    model: Word | None = None


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


RESULTS = (RunResult, Board)
