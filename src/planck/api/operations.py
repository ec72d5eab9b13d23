"""The table: what router, OpenAPI document, tests and pages are made of."""

from typing import Any, Literal

import msgspec

from planck.api import shapes
from planck.api.exchange import EVENTS, JSON, NDJSON
from planck.api.rights import Role
from planck.headless import RunResult
from planck.records.board import Board
from planck.records.outcome import ErrorKind
from planck.records.rows import AgentRow

PREFIX = "/api/v1"

Method = Literal["GET", "POST", "PATCH", "DELETE"]
UNSAFE = ("POST", "PATCH", "DELETE")
_Needed = Role | Literal["anyone"]

_FIND = (ErrorKind.NOT_FOUND, ErrorKind.LOG_READ_FAILED)
_OPEN = (
    *_FIND,
    ErrorKind.WRITER_CONFLICT,
    ErrorKind.PERMISSION_DENIED,
    ErrorKind.MODEL_NOT_SUPPORTED,
    ErrorKind.NOT_AUTHENTICATED,
    ErrorKind.NETWORK,
    ErrorKind.OVERLOADED,
    ErrorKind.LOG_WRITE_FAILED,
)
"""What opening a session may come to."""
_MODEL = (*_OPEN, ErrorKind.RATE_LIMITED, ErrorKind.TIMEOUT, ErrorKind.BUDGET_EXCEEDED)
_FILES = (ErrorKind.NOT_FOUND, ErrorKind.OUTSIDE_WORKSPACE)


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    method: Method
    path: str
    """Below the prefix; `{name}` is one segment."""
    name: str
    """Of the handler, and of the operation in the document."""
    about: str
    role: _Needed
    """The role that a token needs. It has no default, so that each new route decides it. An operation that
    changes a session also needs a role that may use the session's mode, which `SessionCache` checks."""
    query: type[shapes.Query] | None = None
    body: type[shapes.Body] | None = None
    returns: Any = None
    """None: an answer without a body."""
    status: int = 200
    errors: tuple[ErrorKind, ...] = ()
    """Beyond those that any request may come to."""
    stream: tuple[str, ...] = ()
    """Content types of what is no JSON."""
    empty: bool = False
    """Whether 204 is an answer too."""
    keyed: bool = False
    """Whether it takes an `Idempotency-Key`."""

    @property
    def open(self) -> bool:
        """Whether it answers without a token."""
        return self.role == "anyone"

    @property
    def content_types(self) -> tuple[str, ...]:
        return self.stream or (JSON,)


def _get(path: str, name: str, about: str, returns: Any, *, role: _Needed, **more: Any) -> Operation:
    return Operation(method="GET", path=path, name=name, about=about, returns=returns, role=role, **more)


def _post(path: str, name: str, about: str, returns: Any, *, role: _Needed, **more: Any) -> Operation:
    return Operation(method="POST", path=path, name=name, about=about, returns=returns, role=role, **more)


OPERATIONS: tuple[Operation, ...] = (
    _get(
        "/health",
        "read_health",
        "Says that the server lives, and nothing else.",
        shapes.Health,
        role="anyone",
    ),
    _get(
        "/me", "read_me", "Says which server this is, and how the caller may use it.", shapes.Me, role="view"
    ),
    _get("/openapi.json", "read_document", "This document.", dict[str, Any], role="view"),
    _post(
        "/auth/code",
        "redeem_code",
        "Gives a cookie for a one-time code.",
        shapes.Acknowledged,
        body=shapes.RedeemCode,
        role="anyone",
    ),
    Operation(
        method="DELETE",
        path="/auth",
        name="end_cookies",
        role="admin",
        about="Ends the cookie that was sent; with the token, all of them.",
        status=204,
    ),
    _get(
        "/sessions",
        "list_sessions",
        "The sessions of this workspace, newest first.",
        shapes.SessionPage,
        query=shapes.ListSessions,
        role="view",
    ),
    _post(
        "/sessions",
        "start_session",
        "Starts a session, and gives it its first prompt if there is one.",
        shapes.SessionRow,
        body=shapes.StartSession,
        status=201,
        keyed=True,
        errors=(*_OPEN, ErrorKind.NOT_UNIQUE),
        role="submit",
    ),
    _get(
        "/sessions/{id}",
        "read_session",
        "One session in detail.",
        shapes.SessionDetails,
        errors=_FIND,
        role="view",
    ),
    Operation(
        method="PATCH",
        path="/sessions/{id}",
        name="change_session",
        role="submit",
        about="Gives a session another name, mode or model.",
        body=shapes.ChangeSession,
        returns=shapes.SessionRow,
        errors=(*_OPEN, ErrorKind.NOT_UNIQUE),
    ),
    Operation(
        method="DELETE",
        path="/sessions/{id}",
        name="delete_session",
        role="submit",
        about="Deletes a session for good.",
        status=204,
        errors=(*_FIND, ErrorKind.WRITER_CONFLICT, ErrorKind.LOG_WRITE_FAILED),
    ),
    _post(
        "/sessions/{id}/open",
        "open_session",
        "Opens a stored session; prompts do that too.",
        shapes.SessionRow,
        body=shapes.Nothing,
        errors=_OPEN,
        role="submit",
    ),
    _post(
        "/sessions/{id}/close",
        "close_session",
        "Ends its turns, lets others open it, and ends its streams.",
        shapes.SessionRow,
        body=shapes.Nothing,
        errors=(*_FIND, ErrorKind.WRITER_CONFLICT),
        role="submit",
    ),
    _post(
        "/sessions/{id}/prompts",
        "send_prompt",
        "Gives the orchestrator, or a member, something to do. It is durable when this answers.",
        shapes.Accepted,
        body=shapes.SendPrompt,
        status=202,
        keyed=True,
        errors=(*_OPEN, ErrorKind.NOT_UNIQUE, ErrorKind.LIMIT_EXCEEDED, ErrorKind.DETACHED),
        role="submit",
    ),
    _get(
        "/sessions/{id}/result",
        "read_result",
        "Waits up to 30 s until the work after an event is done; 204: it is not yet.",
        RunResult,
        query=shapes.AskResult,
        empty=True,
        errors=_FIND,
        role="view",
    ),
    _post(
        "/sessions/{id}/interrupt",
        "interrupt",
        "Ends every turn in flight, or the turn of one agent.",
        shapes.Acknowledged,
        body=shapes.Interrupt,
        status=202,
        errors=(*_FIND, ErrorKind.WRITER_CONFLICT, ErrorKind.DETACHED),
        role="submit",
    ),
    _get(
        "/sessions/{id}/board",
        "read_board",
        "Who does what now, or after an event.",
        Board,
        query=shapes.ReadBoard,
        errors=_FIND,
        role="view",
    ),
    _get(
        "/sessions/{id}/why",
        "explain_wait",
        "Why nothing moves, in words.",
        shapes.Why,
        errors=_FIND,
        role="view",
    ),
    _get(
        "/sessions/{id}/events",
        "read_events",
        "A page of recorded events as lines of JSON, or all and then what happens as an event stream.",
        str,
        query=shapes.ReadEvents,
        stream=(NDJSON, EVENTS),
        empty=True,
        errors=_FIND,
        role="view",
    ),
    _post(
        "/sessions/{id}/compact",
        "compact",
        "Makes the orchestrator's history about half as long.",
        shapes.Compact,
        body=shapes.Nothing,
        errors=_MODEL,
        role="submit",
    ),
    _post(
        "/sessions/{id}/rewind",
        "rewind",
        "Shows every agent again what it was shown after that event; files stay.",
        shapes.SessionRow,
        body=shapes.Rewind,
        errors=_OPEN,
        role="submit",
    ),
    _post(
        "/sessions/{id}/fork",
        "fork",
        "Makes a session that begins with this one's first events.",
        shapes.SessionRow,
        body=shapes.Fork,
        status=201,
        keyed=True,
        errors=(*_FIND, ErrorKind.NOT_UNIQUE, ErrorKind.LOG_WRITE_FAILED),
        role="submit",
    ),
    _get(
        "/sessions/{id}/export",
        "export",
        "The whole session as lines of JSON, Markdown or a page.",
        str,
        query=shapes.Export,
        stream=(NDJSON, "text/markdown", "text/html"),
        errors=_FIND,
        role="view",
    ),
    _get("/sessions/{id}/agents", "list_agents", "Its agents.", shapes.AgentPage, errors=_FIND, role="view"),
    _get(
        "/sessions/{id}/agents/{agent}",
        "read_agent",
        "One agent, by id or name.",
        AgentRow,
        errors=_FIND,
        role="view",
    ),
    Operation(
        method="PATCH",
        path="/sessions/{id}/agents/{agent}",
        name="change_agent",
        role="submit",
        about="Lets an agent go on with another model.",
        body=shapes.ChangeAgent,
        returns=AgentRow,
        errors=(*_OPEN, ErrorKind.DETACHED),
    ),
    _get(
        "/sessions/{id}/calls/{call}/output",
        "read_output",
        "What a call put out, as far as it is known.",
        shapes.Output,
        query=shapes.ReadOutput,
        errors=_FIND,
        role="view",
    ),
    _get(
        "/sessions/{id}/changes",
        "list_changes",
        "What was done to files, as unified diffs.",
        shapes.ChangePage,
        query=shapes.SelectChanges,
        errors=_FIND,
        role="view",
    ),
    _post(
        "/sessions/{id}/undo/plan",
        "plan_undo",
        "Says what taking something back would do to the files now.",
        shapes.UndoPlan,
        body=shapes.PlanUndo,
        errors=(*_OPEN, ErrorKind.EDIT_CONFLICT),
        role="submit",
    ),
    _post(
        "/sessions/{id}/undo",
        "undo",
        "Does what a plan says.",
        shapes.Undone,
        body=shapes.Undo,
        keyed=True,
        errors=(*_OPEN, ErrorKind.EDIT_CONFLICT, ErrorKind.NOT_UNIQUE, ErrorKind.PROTECTED_PATH),
        role="submit",
    ),
    _get(
        "/approvals",
        "list_approvals",
        "The questions that wait for an answer, the oldest first.",
        shapes.ApprovalPage,
        query=shapes.ListApprovals,
        role="view",
    ),
    _post(
        "/approvals/{id}",
        "answer_approval",
        "Answers a question; the first answer counts.",
        shapes.Acknowledged,
        body=shapes.AnswerApproval,
        keyed=True,
        errors=(ErrorKind.NOT_FOUND, ErrorKind.WRITER_CONFLICT, ErrorKind.NOT_UNIQUE),
        role="approve",
    ),
    _get(
        "/inbox/events",
        "follow_inbox",
        "Questions as they come and go, and how the open sessions stand.",
        str,
        stream=(EVENTS,),
        role="view",
    ),
    _get(
        "/files",
        "list_files",
        "A folder of the workspace.",
        shapes.FilePage,
        query=shapes.ListFiles,
        errors=_FILES,
        role="submit",
    ),
    _get(
        "/files/content",
        "read_content",
        "A part of a file of the workspace.",
        shapes.FileContent,
        query=shapes.ReadContent,
        errors=_FILES,
        role="submit",
    ),
    _get(
        "/models",
        "list_models",
        "The models that can be used; all: also of vendors without a key.",
        shapes.ModelPage,
        query=shapes.ListModels,
        role="view",
    ),
    _post(
        "/models/test",
        "test_model",
        "Sends one small request to a model.",
        dict[str, Any],
        body=shapes.TestModel,
        errors=_MODEL,
        role="admin",
    ),
    _get("/teams", "list_teams", "The teams of this folder and of the user.", shapes.TeamPage, role="view"),
    _get(
        "/teams/{team}",
        "read_team",
        "A team's file.",
        dict[str, Any],
        errors=(ErrorKind.NOT_FOUND, ErrorKind.INVALID_ARGS, ErrorKind.READ_FAILED),
        role="view",
    ),
    _post(
        "/teams/{team}/check",
        "check_team",
        "Everything that would go wrong with a team.",
        shapes.Checked,
        body=shapes.Nothing,
        errors=(ErrorKind.NOT_FOUND, ErrorKind.INVALID_ARGS, ErrorKind.READ_FAILED),
        role="submit",
    ),
    _get(
        "/tools",
        "list_tools",
        "The tools that agents can be given here, those of peers too.",
        shapes.AnyPage,
        role="submit",
    ),
    _get("/skills", "list_skills", "The skills of this folder and of the user.", shapes.AnyPage, role="view"),
    _get(
        "/search",
        "search",
        "Sentences of sessions that say it.",
        shapes.AnyPage,
        query=shapes.Search,
        errors=(ErrorKind.LOG_READ_FAILED,),
        role="view",
    ),
    _get("/doctor", "run_doctor", "What works here and what does not.", shapes.Doctor, role="admin"),
    _get(
        "/config", "read_config", "The configuration in force, without secrets.", dict[str, Any], role="admin"
    ),
    _get(
        "/config/origins",
        "explain_config",
        "Where each value of it comes from.",
        shapes.AnyPage,
        role="admin",
    ),
    _post(
        "/setup",
        "set_up",
        "Tries a model with a key, and keeps both as the user's own if it answers.",
        shapes.SetUpResult,
        body=shapes.SetUp,
        errors=(ErrorKind.WRITE_FAILED, ErrorKind.AUTH_WRITE_FAILED),
        role="admin",
    ),
    _get("/notices", "list_notices", "What the user should know of the place.", shapes.Notices, role="view"),
    _get("/metrics", "read_metrics", "Counts for Prometheus.", str, stream=("text/plain",), role="view"),
    _get(
        "/nodes",
        "list_nodes",
        "The machines that work on sessions of this database.",
        shapes.NodePage,
        role="view",
    ),
    _post(
        "/nodes/{name}/drain",
        "drain_node",
        "Lets a node finish what it has, and gives it nothing new.",
        shapes.Acknowledged,
        body=shapes.Nothing,
        status=202,
        errors=(ErrorKind.NOT_FOUND,),
        role="admin",
    ),
    _post(
        "/nodes/{name}/forget",
        "forget_node",
        "Says that a node is lost: what it had can be taken at once.",
        shapes.Acknowledged,
        body=shapes.Nothing,
        status=202,
        errors=(ErrorKind.NOT_FOUND,),
        role="admin",
    ),
    _post(
        "/submissions",
        "submit_work",
        "Hands in a task for whichever node has room; it is kept when this answers.",
        shapes.SessionDetails,
        body=shapes.SubmitWork,
        status=201,
        keyed=True,
        errors=(ErrorKind.NOT_UNIQUE,),
        role="submit",
    ),
)
