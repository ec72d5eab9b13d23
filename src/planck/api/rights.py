"""What each role may do: by a request, and to the session that a request is about."""

from collections.abc import Mapping
from typing import Literal, get_args

from planck.api.errors import ApiError
from planck.records.authority import STRICTNESS, Mode
from planck.records.outcome import ErrorKind

Role = Literal["view", "submit", "approve", "admin"]
"""Each may do what those before it may."""
ROLES: tuple[Role, ...] = get_args(Role)

_WIDEST: Mapping[Role, Mode] = {
    "view": Mode.READ_ONLY,
    "submit": Mode.WORKSPACE,
    "approve": Mode.FULL,
    "admin": Mode.FULL,
}
"""Mode `full` asks nobody: only a role that may answer questions may answer them all at once."""
EVERYWHERE: Role = "admin"
"""What the sessions of other workspaces take: they are private to the user who runs the server."""


def check_role(role: Role, needed: Role) -> None:
    """Raises where the role may do less than what is asked for takes."""
    if ROLES.index(role) < ROLES.index(needed):
        raise _refuse(f"This token has the role {role!r}; the request requires {needed!r}.", needed)


def check_mode(role: Role, mode: Mode | str) -> None:
    """Raises where the role may not give a session this mode, nor use one that has it.

    A mode that this version does not know is taken for the widest.
    """
    known = Mode(mode) if mode in list(Mode) else Mode.FULL
    if STRICTNESS.index(known) > STRICTNESS.index(_WIDEST[role]):
        needed = next(one for one in ROLES if STRICTNESS.index(_WIDEST[one]) >= STRICTNESS.index(known))
        raise _refuse(
            f"This token has the role {role!r}; a session in mode {known.value!r} requires {needed!r}.",
            needed,
        )


def check_widening(role: Role, now: Mode, mode: Mode) -> None:
    """Raises where the role may only narrow a session, and the mode allows more than the session has now."""
    if find_ceiling(role) is not None and STRICTNESS.index(mode) > STRICTNESS.index(now):
        raise _refuse(
            f"This token has the role {role!r}; changing a session from mode {now.value!r} to "
            f"{mode.value!r} requires 'approve'.",
            "approve",
        )


def find_ceiling(role: Role) -> Mode | None:
    """Returns the widest mode of a session that the role may start or use; None: any."""
    return None if _WIDEST[role] is Mode.FULL else _WIDEST[role]


def find_narrowest(role: Role, *others: str) -> Role:
    """Returns the least of them; one that is not known is the least there is."""
    named: list[Role] = [next((one for one in ROLES if one == other), ROLES[0]) for other in others]
    return min(role, *named, key=ROLES.index) if named else role


def _refuse(what: str, needed: Role) -> ApiError:
    step = f'Create a token with that role: run "planck store token add NAME" with --role {needed}.'
    return ApiError(403, ErrorKind.PERMISSION_DENIED, f"{what} {step}")
