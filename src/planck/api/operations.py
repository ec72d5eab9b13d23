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
BELOW_SESSION = "/sessions/{id}"
"""In these paths a session's name is accepted instead of its id."""

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
        "Check that the server is running",
        shapes.Health,
        role="anyone",
    ),
    _get("/me", "read_me", "Describe this server and the caller's credentials", shapes.Me, role="view"),
    _get("/openapi.json", "read_document", "Return this OpenAPI document", dict[str, Any], role="view"),
    _get("/docs", "read_docs", "Return this API as a web page", str, stream=("text/html",), role="view"),
    _post(
        "/auth/code",
        "redeem_code",
        "Exchange a one-time code for a cookie",
        shapes.Acknowledged,
        body=shapes.RedeemCode,
        role="anyone",
    ),
    Operation(
        method="DELETE",
        path="/auth",
        name="end_cookies",
        role="admin",
        about="Revoke the cookie that was sent; with the token, revoke all cookies",
        status=204,
    ),
    _get(
        "/sessions",
        "list_sessions",
        "List the sessions in this workspace, newest first",
        shapes.SessionPage,
        query=shapes.ListSessions,
        role="view",
    ),
    _post(
        "/sessions",
        "start_session",
        "Start a session, optionally with a first prompt",
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
        "Return one session in detail",
        shapes.SessionDetails,
        errors=_FIND,
        role="view",
    ),
    Operation(
        method="PATCH",
        path="/sessions/{id}",
        name="change_session",
        role="submit",
        about="Change the name, mode or model of a session",
        body=shapes.ChangeSession,
        returns=shapes.SessionRow,
        errors=(*_OPEN, ErrorKind.NOT_UNIQUE),
    ),
    Operation(
        method="DELETE",
        path="/sessions/{id}",
        name="delete_session",
        role="submit",
        about="Delete a session permanently",
        status=204,
        errors=(*_FIND, ErrorKind.WRITER_CONFLICT, ErrorKind.LOG_WRITE_FAILED),
    ),
    _post(
        "/sessions/{id}/open",
        "open_session",
        "Open a stored session; sending a prompt also opens it",
        shapes.SessionRow,
        body=shapes.Nothing,
        errors=_OPEN,
        role="submit",
    ),
    _post(
        "/sessions/{id}/close",
        "close_session",
        "Close a session: end its turns and streams so that other processes can open it",
        shapes.SessionRow,
        body=shapes.Nothing,
        errors=(*_FIND, ErrorKind.WRITER_CONFLICT),
        role="submit",
    ),
    _post(
        "/sessions/{id}/prompts",
        "send_prompt",
        "Send a prompt to the orchestrator or to a member; it is stored before the response is sent",
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
        "Wait up to 30 s for the result of the work that started after a given event; "
        "204 if it is not finished yet",
        RunResult,
        query=shapes.AskResult,
        empty=True,
        errors=_FIND,
        role="view",
    ),
    _post(
        "/sessions/{id}/interrupt",
        "interrupt",
        "Interrupt all running turns, or one agent's turn",
        shapes.Acknowledged,
        body=shapes.Interrupt,
        status=202,
        errors=(*_FIND, ErrorKind.WRITER_CONFLICT, ErrorKind.DETACHED),
        role="submit",
    ),
    _get(
        "/sessions/{id}/board",
        "read_board",
        "Return what each agent is doing now, or what it was doing at a given event",
        Board,
        query=shapes.ReadBoard,
        errors=_FIND,
        role="view",
    ),
    _get(
        "/sessions/{id}/why",
        "explain_wait",
        "Explain what the session is waiting for",
        shapes.Why,
        errors=_FIND,
        role="view",
    ),
    _get(
        "/sessions/{id}/events",
        "read_events",
        "Return a page of recorded events as NDJSON, or stream all events as server-sent events",
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
        "Compact the orchestrator's history to about half its length",
        shapes.Compact,
        body=shapes.Nothing,
        errors=_MODEL,
        role="submit",
    ),
    _post(
        "/sessions/{id}/rewind",
        "rewind",
        "Rewind all agents' histories to a given event; files are not changed",
        shapes.SessionRow,
        body=shapes.Rewind,
        errors=_OPEN,
        role="submit",
    ),
    _post(
        "/sessions/{id}/fork",
        "fork",
        "Fork a session: start a new one with this session's events up to a given event",
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
        "Export the whole session as NDJSON, Markdown or HTML",
        str,
        query=shapes.Export,
        stream=(NDJSON, "text/markdown", "text/html"),
        errors=_FIND,
        role="view",
    ),
    _get(
        "/sessions/{id}/agents",
        "list_agents",
        "List the agents in a session",
        shapes.AgentPage,
        errors=_FIND,
        role="view",
    ),
    _get(
        "/sessions/{id}/agents/{agent}",
        "read_agent",
        "Return one agent, by id or name",
        AgentRow,
        errors=_FIND,
        role="view",
    ),
    Operation(
        method="PATCH",
        path="/sessions/{id}/agents/{agent}",
        name="change_agent",
        role="submit",
        about="Change an agent's model",
        body=shapes.ChangeAgent,
        returns=AgentRow,
        errors=(*_OPEN, ErrorKind.DETACHED),
    ),
    _get(
        "/sessions/{id}/calls/{call}/output",
        "read_output",
        "Return the output of a tool call, or the part that is available",
        shapes.Output,
        query=shapes.ReadOutput,
        errors=_FIND,
        role="view",
    ),
    _get(
        "/sessions/{id}/changes",
        "list_changes",
        "List file changes as unified diffs",
        shapes.ChangePage,
        query=shapes.SelectChanges,
        errors=_FIND,
        role="view",
    ),
    _post(
        "/sessions/{id}/undo/plan",
        "plan_undo",
        "Preview what an undo would change in the current files",
        shapes.UndoPlan,
        body=shapes.PlanUndo,
        errors=(*_OPEN, ErrorKind.EDIT_CONFLICT),
        role="submit",
    ),
    _post(
        "/sessions/{id}/undo",
        "undo",
        "Apply an undo plan",
        shapes.Undone,
        body=shapes.Undo,
        keyed=True,
        errors=(*_OPEN, ErrorKind.EDIT_CONFLICT, ErrorKind.NOT_UNIQUE, ErrorKind.PROTECTED_PATH),
        role="submit",
    ),
    _get(
        "/approvals",
        "list_approvals",
        "List pending approvals, oldest first",
        shapes.ApprovalPage,
        query=shapes.ListApprovals,
        role="view",
    ),
    _post(
        "/approvals/{id}",
        "answer_approval",
        "Answer an approval; the first answer counts",
        shapes.Acknowledged,
        body=shapes.AnswerApproval,
        keyed=True,
        errors=(ErrorKind.NOT_FOUND, ErrorKind.WRITER_CONFLICT, ErrorKind.NOT_UNIQUE),
        role="approve",
    ),
    _get(
        "/inbox/events",
        "follow_inbox",
        "Stream approvals as they open and close, and the states of open sessions",
        str,
        stream=(EVENTS,),
        role="view",
    ),
    _get(
        "/files",
        "list_files",
        "List a folder in the workspace",
        shapes.FilePage,
        query=shapes.ListFiles,
        errors=_FILES,
        role="submit",
    ),
    _get(
        "/files/content",
        "read_content",
        "Read part of a file in the workspace",
        shapes.FileContent,
        query=shapes.ReadContent,
        errors=_FILES,
        role="submit",
    ),
    _get(
        "/models",
        "list_models",
        "List the available models; with `all`, include providers that have no key",
        shapes.ModelPage,
        query=shapes.ListModels,
        role="view",
    ),
    _post(
        "/models/test",
        "test_model",
        "Test a model with one small request",
        dict[str, Any],
        body=shapes.TestModel,
        errors=_MODEL,
        role="admin",
    ),
    _get(
        "/teams",
        "list_teams",
        "List the teams in this folder and in the user's home folder",
        shapes.TeamPage,
        role="view",
    ),
    _get(
        "/teams/{team}",
        "read_team",
        "Return the contents of a team file",
        dict[str, Any],
        errors=(ErrorKind.NOT_FOUND, ErrorKind.INVALID_ARGS, ErrorKind.READ_FAILED),
        role="view",
    ),
    _post(
        "/teams/{team}/check",
        "check_team",
        "Check a team and list all its problems",
        shapes.Checked,
        body=shapes.Nothing,
        errors=(ErrorKind.NOT_FOUND, ErrorKind.INVALID_ARGS, ErrorKind.READ_FAILED),
        role="submit",
    ),
    _get(
        "/tools",
        "list_tools",
        "List the tools available to agents, including sidecar and MCP tools",
        shapes.AnyPage,
        role="submit",
    ),
    _get(
        "/skills",
        "list_skills",
        "List the skills in this folder and in the user's home folder",
        shapes.AnyPage,
        role="view",
    ),
    _get(
        "/search",
        "search",
        "Search the text of sessions",
        shapes.AnyPage,
        query=shapes.Search,
        errors=(ErrorKind.LOG_READ_FAILED,),
        role="view",
    ),
    _get("/doctor", "run_doctor", "Check the installation and list problems", shapes.Doctor, role="admin"),
    _get(
        "/config",
        "read_config",
        "Return the effective configuration, without secrets",
        dict[str, Any],
        role="admin",
    ),
    _get(
        "/config/origins",
        "explain_config",
        "Show where each configuration value comes from",
        shapes.AnyPage,
        role="admin",
    ),
    _post(
        "/setup",
        "set_up",
        "Test a model with a key, and save both in the user's configuration if the test succeeds",
        shapes.SetUpResult,
        body=shapes.SetUp,
        errors=(ErrorKind.NOT_FOUND, ErrorKind.WRITE_FAILED, ErrorKind.AUTH_WRITE_FAILED),
        role="admin",
    ),
    _get("/notices", "list_notices", "List notices about this workspace", shapes.Notices, role="view"),
    _get(
        "/metrics",
        "read_metrics",
        "Return metrics in Prometheus format",
        str,
        stream=("text/plain",),
        role="view",
    ),
    _get(
        "/nodes",
        "list_nodes",
        "List the nodes in this pool",
        shapes.NodePage,
        role="view",
    ),
    _post(
        "/nodes/{name}/drain",
        "drain_node",
        "Drain a node: let it finish its sessions and assign it no new ones",
        shapes.Acknowledged,
        body=shapes.Nothing,
        status=202,
        errors=(ErrorKind.NOT_FOUND,),
        role="admin",
    ),
    _post(
        "/nodes/{name}/forget",
        "forget_node",
        "Declare a node lost, so that other nodes can take over its sessions at once",
        shapes.Acknowledged,
        body=shapes.Nothing,
        status=202,
        errors=(ErrorKind.NOT_FOUND,),
        role="admin",
    ),
    _post(
        "/submissions",
        "submit_work",
        "Queue a task for the next free node; it is stored before the response is sent",
        shapes.SessionDetails,
        body=shapes.SubmitWork,
        status=201,
        keyed=True,
        errors=(ErrorKind.NOT_UNIQUE,),
        role="submit",
    ),
)
