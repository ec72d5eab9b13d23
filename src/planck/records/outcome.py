"""Ok or Err: what every tool call, and every expected failure, ends as."""

from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

import msgspec

from planck.own_code import is_command

T = TypeVar("T")


class ErrorKind(StrEnum):
    """The closed vocabulary of failures; callers and models branch on it.

    Example:

        try:
            planck.run("Go on.", resume="no-such-session")
        except PlanckError as problem:
            assert problem.err.kind is ErrorKind.NOT_FOUND
    """

    # tools
    INVALID_ARGS = "invalid_args"
    UNKNOWN_TOOL = "unknown_tool"
    OUTSIDE_WORKSPACE = "outside_workspace"
    NOT_FOUND = "not_found"
    RESOURCE_MISSING = "resource_missing"
    NO_MATCH = "no_match"
    NOT_UNIQUE = "not_unique"
    READ_FAILED = "read_failed"
    WRITE_FAILED = "write_failed"
    COMMAND_FAILED = "command_failed"
    TIMEOUT = "timeout"
    PERMISSION_DENIED = "permission_denied"
    DETACHED = "detached"
    INTERNAL_ERROR = "internal_error"
    INTERRUPTED = "interrupted"
    LIMIT_EXCEEDED = "limit_exceeded"
    EDIT_CONFLICT = "edit_conflict"
    PROTECTED_PATH = "protected_path"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    # turn loop
    ITERATION_CAP = "iteration_cap"
    TOOL_RESULT_RECORD_FAILED = "tool_result_record_failed"
    # team
    DEADLOCK = "deadlock"
    TARGET_GONE = "target_gone"
    BUDGET_EXCEEDED = "budget_exceeded"
    # log
    CORRUPT_LOG_LINE = "corrupt_log_line"
    EPHEMERAL_NOT_LOGGABLE = "ephemeral_not_loggable"
    LOG_ENCODE_FAILED = "log_encode_failed"
    LOG_READ_FAILED = "log_read_failed"
    LOG_WRITE_FAILED = "log_write_failed"
    WRITER_CONFLICT = "writer_conflict"
    # provider
    PROVIDER_HTTP_ERROR = "provider_http_error"
    MODEL_NOT_SUPPORTED = "model_not_supported"
    USAGE_LIMIT_REACHED = "usage_limit_reached"
    RATE_LIMITED = "rate_limited"
    NETWORK = "network"
    CONTEXT_OVERFLOW = "context_overflow"
    OVERLOADED = "overloaded"
    STREAM_CUT = "stream_cut"
    # auth
    NOT_AUTHENTICATED = "not_authenticated"
    TOKEN_REQUEST_FAILED = "token_request_failed"
    NO_ACCOUNT_ID = "no_account_id"
    INVALID_RESPONSE = "invalid_response"
    CORRUPT_AUTH = "corrupt_auth"
    AUTH_READ_FAILED = "auth_read_failed"
    AUTH_WRITE_FAILED = "auth_write_failed"
    DEVICE_AUTH_FAILED = "device_auth_failed"
    DEVICE_CODE_UNSUPPORTED = "device_code_unsupported"
    SESSION_START_FAILED = "session_start_failed"
    # peer, api, cli
    PEER_FAILED = "peer_failed"
    PEER_PROTOCOL = "peer_protocol"
    UNAUTHORIZED = "unauthorized"
    NO_PROMPT = "no_prompt"
    STDIN_ERROR = "stdin_error"


class Ok(msgspec.Struct, Generic[T], frozen=True):
    """Success; a tool's value is a string-keyed map whose `"output"` the model reads.

    Example:

        outcome = Ok({"output": "42 passed", "count": 42})
        if isinstance(outcome, Ok):
            assert outcome.value["count"] == 42
    """

    value: T

    @property
    def ok(self) -> Literal[True]:
        return True


class Err(msgspec.Struct, frozen=True):
    """Failure; a kind outside `ErrorKind` can't be built.

    Example:

        @tool
        def find(name: str) -> str | Err:
            "Find a user by name."
            return Err(ErrorKind.NOT_FOUND, f"There is no user {name!r}. Check the name.")
    """

    kind: ErrorKind
    message: str
    details: dict[str, Any] = {}

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "kind", ErrorKind(self.kind))

    @property
    def ok(self) -> Literal[False]:
        return False

    def envelope(self) -> dict[str, Any]:
        """The shape in which an error crosses every boundary."""
        return {
            "ok": False,
            "error": {"kind": str(self.kind), "message": self.message, "details": self.details},
        }

    @property
    def full_message(self) -> str:
        """For a person: the message, and the way out where a message of fixed wording has none of its own."""
        return f"{self.message} {self.details['hint']}" if "hint" in self.details else self.message

    def __str__(self) -> str:
        return f"{self.kind}: {self.full_message}"


def say_extra(extra: str) -> str:
    """Returns how to install an extra. From a clone, because no package index has Planck yet."""
    return f"run \"pip install '.[{extra}]'\" in your clone of Planck"


def say_option(flag: str, keyword: str) -> str:
    """Returns how the caller gives an option: a flag of the command, or an argument of a program's call."""
    return flag if is_command() else keyword


def say_exception(problem: BaseException) -> str:
    """Returns what an exception says; one without a text, most often a timeout, is put into words."""
    if text := str(problem).strip():
        return text
    return "no answer in time" if isinstance(problem, TimeoutError) else type(problem).__name__


def name_exception(problem: BaseException) -> str:
    """Returns its type and what it says, if it says anything: of what nobody expected."""
    return f"{type(problem).__name__}: {problem}".removesuffix(": ")


def error(kind: ErrorKind | str, message: str, details: dict[str, Any] | None = None) -> Err:
    """Returns an error for a tool to return; raises `ValueError` for a kind that there is not.

    Example:

        error("not_found", "There is no such order.", {"id": 7})
    """
    return Err(ErrorKind(kind), message, details or {})


class PlanckError(Exception):
    """An `Err` as an exception; `problem.err` has its kind, message and details.

    PlanckError
    ├── toolkit.ToolError       a tool's expected failure, unwrapped by the executor
    ├── llm.ProviderError       a model call's failure, wrapped by retry, ends the turn
    └── store.StoreError        the log can't be read or written

    Example:

        try:
            planck.run("Say hello.", model="no-such-model")
        except PlanckError as problem:
            print(problem.err.kind, problem.err.message)
    """

    def __init__(self, kind: ErrorKind, message: str, details: dict[str, Any] | None = None) -> None:
        self.err: Err = Err(kind, message, details or {})
        super().__init__(str(self.err))
