"""What a board is made of: one row for each thing that is open now, and counts of what is over."""

from typing import Literal

import msgspec

from planck.records.usage import Usage

Status = Literal["idle", "streaming", "executing_tools", "ended"]


class Letter(msgspec.Struct, frozen=True, rename={"sender": "from", "receiver": "to"}):
    """A message that is unread, or that still awaits an answer."""

    id: str
    kind: str
    sender: str
    receiver: str
    since: str


class Step(msgspec.Struct, frozen=True):
    text: str = ""
    status: str = ""


class OpenCall(msgspec.Struct, frozen=True):
    """A tool call that has not ended."""

    id: str
    name: str
    subject: str
    since: str
    plan: tuple[Step, ...] = ()
    """What `update_plan` makes of the plan once it has ended well."""


class OpenWait(msgspec.Struct, frozen=True):
    """A question to another agent that awaits an answer; it ends at its deadline in any case."""

    on: str
    message_id: str
    call_id: str
    """Empty in logs from before waits had one."""
    deadline: str
    since: str


class OpenQuestion(msgspec.Struct, frozen=True):
    """A question to the user; event `seq` has its full text."""

    id: str
    seq: int
    agent_id: str
    call_id: str
    tool: str
    text: str
    adds: str
    reason: str
    digest: str
    deadline: str
    since: str


class AgentProblem(msgspec.Struct, frozen=True):
    agent_id: str
    kind: str
    message: str
    since: str


class AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    type: str
    name: str
    role: str
    model: str
    delegator_id: str = ""
    status: Status = "idle"
    """As `list_team` says it; `ended` for one that is gone."""
    since: str
    """When that status began."""
    stopping: bool = False
    """It was told to stop, and its turn has not ended yet: it waits for nothing any more."""
    turn: int = 0
    """Of its newest turn; 0 before the first."""
    steps: int = 0
    """Answers of the model in that turn."""
    opened_by: str = ""
    """The message that the turn at hand works on; empty between turns."""
    last_turn: str = ""
    """How its newest turn that ended did."""
    ended: str = ""
    """How it ended, already when it was told to; empty: it is a member of its team."""
    reason: str = ""
    unread: tuple[Letter, ...] = ()
    """In order of arrival."""
    calls: tuple[OpenCall, ...] = ()
    waits: tuple[OpenWait, ...] = ()
    plan: tuple[Step, ...] = ()
    usage: Usage = Usage()
    cost_usd: float = 0.0
    unpriced: int = 0
    """Model calls whose price is unknown: they are not in the cost."""
    estimated: int | msgspec.UnsetType = msgspec.UNSET
    """Model calls that the provider did not count: their tokens and costs are estimates; absent: none."""
    context: int = 0
    """Tokens of the window in use after its newest answer or compaction; 0: not known."""
    window: int = 0
    error: AgentProblem | None = None
    """Of its newest turn."""


class Spending(msgspec.Struct, frozen=True):
    limit_usd: float | None = None
    """None: the fact is of an account in a run without a limit in USD."""
    spent_usd: float | None = None


class FileRow(msgspec.Struct, frozen=True):
    path: str
    agent_id: str
    call_id: str
    changes: int
    removed: bool
    since: str


class Counts(msgspec.Struct, frozen=True):
    messages: int = 0
    turns: int = 0
    calls: int = 0
    """That ended, and how many of these did not go well."""
    failed_calls: int = 0
    questions: int = 0
    denials: int = 0
    file_changes: int = 0
    compactions: int = 0
    errors: int = 0
    resumes: int = 0
