"""The table: what router, OpenAPI document, tests and pages are made of."""

from typing import Any, Literal

import msgspec

from planck.api import shapes
from planck.api.exchange import EVENTS, JSON, NDJSON
from planck.headless import RunResult
from planck.records.board import Board
from planck.records.outcome import ErrorKind

PREFIX = "/api/v1"

Method = Literal["GET", "POST", "PATCH", "DELETE"]
UNSAFE = ("POST", "PATCH", "DELETE")

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


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    method: Method
    path: str
    """Below the prefix; `{name}` is one segment."""
    name: str
    """Of the handler, and of the operation in the document."""
    about: str
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
    open: bool = False
    """Whether it answers without a token."""

    @property
    def content_types(self) -> tuple[str, ...]:
        return self.stream or (JSON,)


def _get(path: str, name: str, about: str, returns: Any = None, **more: Any) -> Operation:
    return Operation(method="GET", path=path, name=name, about=about, returns=returns, **more)


def _post(path: str, name: str, about: str, returns: Any = None, **more: Any) -> Operation:
    return Operation(method="POST", path=path, name=name, about=about, returns=returns, **more)


OPERATIONS: tuple[Operation, ...] = (
    _get("/health", "read_health", "Says that the server lives, and nothing else.", shapes.Health, open=True),
    _get("/me", "read_me", "Says which server this is, and how the caller may use it.", shapes.Me),
    _get("/openapi.json", "read_document", "This document.", dict[str, Any]),
    _post(
        "/auth/code",
        "redeem_code",
        "Gives a cookie for a one-time code.",
        shapes.Health,
        body=shapes.RedeemCode,
        open=True,
    ),
    Operation(
        method="DELETE",
        path="/auth",
        name="end_cookies",
        about="Ends the cookie that was sent; with the token, all of them.",
        status=204,
    ),
    _get(
        "/sessions",
        "list_sessions",
        "The sessions of this workspace, newest first.",
        shapes.SessionPage,
        query=shapes.ListSessions,
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
    ),
    _get("/sessions/{id}", "read_session", "One session in detail.", shapes.SessionDetails, errors=_FIND),
    Operation(
        method="PATCH",
        path="/sessions/{id}",
        name="change_session",
        about="Gives a session another name, mode or model.",
        body=shapes.ChangeSession,
        returns=shapes.SessionRow,
        errors=(*_OPEN, ErrorKind.NOT_UNIQUE),
    ),
    Operation(
        method="DELETE",
        path="/sessions/{id}",
        name="delete_session",
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
    ),
    _post(
        "/sessions/{id}/close",
        "close_session",
        "Ends its turns, lets others open it, and ends its streams.",
        shapes.SessionRow,
        body=shapes.Nothing,
        errors=(*_FIND, ErrorKind.WRITER_CONFLICT),
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
    ),
    _get(
        "/sessions/{id}/result",
        "read_result",
        "Waits up to 30 s until the work after an event is done; 204: it is not yet.",
        RunResult,
        query=shapes.AskResult,
        empty=True,
        errors=_FIND,
    ),
    _post(
        "/sessions/{id}/interrupt",
        "interrupt",
        "Ends every turn in flight, or that of one agent.",
        shapes.Health,
        body=shapes.Interrupt,
        status=202,
        errors=(*_FIND, ErrorKind.WRITER_CONFLICT, ErrorKind.DETACHED),
    ),
    _get(
        "/sessions/{id}/board",
        "read_board",
        "Who does what now, or after an event.",
        Board,
        query=shapes.ReadBoard,
        errors=_FIND,
    ),
    _get("/sessions/{id}/why", "explain_wait", "Why nothing moves, in words.", shapes.Why, errors=_FIND),
    _get(
        "/sessions/{id}/events",
        "read_events",
        "A page of recorded events as lines of JSON, or all and then what happens as an event stream.",
        str,
        query=shapes.ReadEvents,
        stream=(NDJSON, EVENTS),
        empty=True,
        errors=_FIND,
    ),
)
