"""Standard input and output are taken for the protocol alone, before the SDK or anybody's code is loaded."""

import fcntl
import os


def claim_standard_streams() -> tuple[int, int]:
    """Returns private descriptors for the protocol; from now on, print goes to stderr and input is empty."""
    read_end, write_end = (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return read_end, write_end
