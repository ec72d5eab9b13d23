"""Standard input and output are taken for the protocol alone, before anybody's code is loaded."""

import fcntl
import os

from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.process.duplex import Duplex


def claim_standard_streams() -> tuple[int, int]:
    """Returns private descriptors for the protocol; from now on, print goes to stderr and input is empty."""
    read_end, write_end = (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return read_end, write_end


def open_standard(read_end: int, write_end: int) -> Duplex:
    """Lines on what were standard input and output; what is no pipe, socket or terminal is refused."""
    try:
        return Duplex(read_end, write_end, files=False)
    except PermissionError:  # epoll's word for a file
        raise PlanckError(
            ErrorKind.STDIN_ERROR,
            "Standard input is not a pipe, socket or terminal. Let an MCP client start this command, "
            "or serve with --http PORT.",
        ) from None
