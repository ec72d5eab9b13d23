"""How a failure that ends a command becomes an exit code."""

from __future__ import annotations

from planck import headless
from planck.records.outcome import ErrorKind, PlanckError


class UsageError(PlanckError):
    """The command line asks for nothing that can be done."""


def refuse_words(*words: str | None, step: str) -> None:
    """Raises for what an action would ignore: the user meant something by it. `step`: what to do instead."""
    if word := next(filter(None, words), ""):
        raise UsageError(ErrorKind.INVALID_ARGS, f"Unexpected argument: {word!r}. {step}")


def exit_code(failure: PlanckError) -> headless.Exit:
    if failure.err.kind is ErrorKind.WRITER_CONFLICT:
        return headless.Exit.LOCKED
    if failure.err.kind is ErrorKind.PERMISSION_DENIED:
        return headless.Exit.DENIED
    from planck.headless import ConfigError, ModelError, SessionError, TeamFileError, UndoError

    usage = isinstance(
        failure, UsageError | ConfigError | ModelError | SessionError | TeamFileError | UndoError
    )
    return (
        headless.Exit.USAGE if usage or failure.err.kind is ErrorKind.INVALID_ARGS else headless.Exit.FAILURE
    )
