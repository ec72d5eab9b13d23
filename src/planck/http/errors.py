"""How a request fails."""

from typing import Any

from planck.records.outcome import ErrorKind, PlanckError


class ProviderError(PlanckError):
    """A request that failed; `retry_after` is how long the server asks to wait, in seconds.

    `why` is the message without its next step: for a line that says that we try again.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        details: dict[str, Any] | None = None,
        *,
        retry_after: float | None = None,
        why: str = "",
    ) -> None:
        super().__init__(kind, message, details)
        self.retry_after = retry_after
        self.why: str = why or self.err.full_message


class AuthError(PlanckError):
    """Signing in, or staying so, failed; the message says what to do."""
