"""How a failure is said over HTTP: one status for each kind, and the envelope of the contract."""

from typing import assert_never

from planck.records.outcome import Err, ErrorKind, PlanckError

RETRY_AFTER = 1
"""Seconds; on 429 and 503."""


def hide_store(message: str) -> str:
    """Hides the address of the store, which only the person who runs the server may see."""
    if "postgresql://" not in message and "postgres://" not in message:
        return message
    return "The server's database failed. Try again later. The server log has the reason."


class ApiError(PlanckError):
    """A refusal whose status is not its kind's usual one."""

    def __init__(self, status: int, kind: ErrorKind, message: str) -> None:
        super().__init__(kind, message)
        self.status = status


def find_status(failure: PlanckError) -> int:
    if isinstance(failure, ApiError):
        return failure.status
    return status_of(failure.err.kind, full_disk=is_full_disk(failure.err))


def is_full_disk(err: Err) -> bool:
    """SQLite's words for it, and the system's: the kind alone says only that nothing could be written."""
    words = ("disk is full", "No space left")
    return err.kind is ErrorKind.LOG_WRITE_FAILED and any(word in err.message for word in words)


def status_of(kind: ErrorKind, *, full_disk: bool = False) -> int:
    """Returns the row of the table; a kind without one is a type error."""
    match kind:
        case ErrorKind.INVALID_ARGS | ErrorKind.NO_PROMPT:
            return 400
        case ErrorKind.UNAUTHORIZED:
            return 401
        case ErrorKind.BUDGET_EXCEEDED | ErrorKind.USAGE_LIMIT_REACHED:
            return 402
        case ErrorKind.PERMISSION_DENIED | ErrorKind.OUTSIDE_WORKSPACE | ErrorKind.PROTECTED_PATH:
            return 403
        case ErrorKind.NOT_FOUND | ErrorKind.UNKNOWN_TOOL | ErrorKind.RESOURCE_MISSING:
            return 404
        case ErrorKind.WRITER_CONFLICT | ErrorKind.EDIT_CONFLICT | ErrorKind.NOT_UNIQUE:
            return 409
        case ErrorKind.NO_MATCH | ErrorKind.DETACHED | ErrorKind.DEADLOCK | ErrorKind.INTERRUPTED:
            return 409
        case ErrorKind.TARGET_GONE:
            return 410
        case ErrorKind.CONTEXT_OVERFLOW | ErrorKind.MODEL_NOT_SUPPORTED | ErrorKind.ITERATION_CAP:
            return 422
        # The provider's own sign-in failed, not ours: a client must not throw its token away.
        case ErrorKind.NOT_AUTHENTICATED | ErrorKind.TOKEN_REQUEST_FAILED | ErrorKind.NO_ACCOUNT_ID:
            return 424
        case ErrorKind.CORRUPT_AUTH | ErrorKind.AUTH_READ_FAILED | ErrorKind.AUTH_WRITE_FAILED:
            return 424
        case ErrorKind.DEVICE_AUTH_FAILED | ErrorKind.DEVICE_CODE_UNSUPPORTED:
            return 424
        case ErrorKind.SESSION_START_FAILED:
            return 424
        case ErrorKind.LIMIT_EXCEEDED | ErrorKind.RATE_LIMITED:
            return 429
        case ErrorKind.PROVIDER_HTTP_ERROR | ErrorKind.NETWORK | ErrorKind.STREAM_CUT:
            return 502
        case ErrorKind.PEER_FAILED | ErrorKind.PEER_PROTOCOL | ErrorKind.INVALID_RESPONSE:
            return 502
        case ErrorKind.OVERLOADED | ErrorKind.SANDBOX_UNAVAILABLE:
            return 503
        case ErrorKind.TIMEOUT:
            return 504
        case ErrorKind.LOG_WRITE_FAILED:
            return 507 if full_disk else 500
        case ErrorKind.READ_FAILED | ErrorKind.WRITE_FAILED | ErrorKind.COMMAND_FAILED:
            return 500
        case ErrorKind.INTERNAL_ERROR | ErrorKind.TOOL_RESULT_RECORD_FAILED | ErrorKind.STDIN_ERROR:
            return 500
        case ErrorKind.CORRUPT_LOG_LINE | ErrorKind.EPHEMERAL_NOT_LOGGABLE | ErrorKind.LOG_ENCODE_FAILED:
            return 500
        case ErrorKind.LOG_READ_FAILED:
            return 500
    assert_never(kind)
