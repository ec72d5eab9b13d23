"""The filter of system calls that has each change wait until its before-image is written (seccomp-BPF).

Notified are the calls that can change a name, and openings for writing; the flags of `open` and `openat` are
tested in the filter, so that reading costs nothing. `io_uring` passes filters by: it gets `ENOSYS`, and
programs fall back to plain calls. A filter of the sandbox comes on top, and wins where it refuses.
"""

import errno
import os

import msgspec

from planck.workspace.sandbox.system_calls import GIVE_ALLOW, argument, give, step, when

_NAMES = (
    *("openat", "unlinkat", "renameat2", "renameat", "mkdirat", "symlinkat", "linkat", "mknodat"),
    *("truncate", "fchmod", "fchmodat", "fchownat", "fchown", "fchmodat2", "openat2", "bind"),
)
_OLD = (
    "open",
    "creat",
    "rename",
    "unlink",
    "rmdir",
    "mkdir",
    "link",
    "symlink",
    "mknod",
    "chmod",
    "chown",
    "lchown",
)
"""Without a folder's descriptor: newer machines do not have them."""
_X86_64 = (257, 263, 316, 264, 258, 266, 265, 259, 76, 91, 268, 260, 93, 452, 437, 49)
_OLD_X86_64 = (2, 85, 82, 87, 84, 83, 86, 88, 133, 90, 92, 94)
_GENERIC = (56, 35, 276, 38, 34, 36, 37, 33, 45, 52, 53, 54, 55, 452, 437, 200)
_I386 = (295, 301, 353, 302, 296, 304, 303, 297, 92, 94, 306, 298, 95, 452, 437, 361)
_OLD_I386 = (5, 8, 38, 10, 40, 39, 9, 83, 14, 15, 182, 16)
_ARM = (322, 328, 382, 329, 323, 331, 330, 324, 92, 94, 333, 325, 95, 452, 437, 282)
_WIDE = {193: "truncate", 198: "lchown", 207: "fchown", 212: "chown"}
"""Of 32-bit machines: the same calls with 64-bit sizes and 32-bit owners."""
_RINGS = (425, 426, 427)
_WRITING = 0o3 | 0o100 | 0o1000 | 0o20000000
"""`O_ACCMODE`, `O_CREAT`, `O_TRUNC`, `O_TMPFILE`: the same on all of these machines."""
_FLAGS = {"open": 1, "openat": 2}
"""Which argument has the flags."""
_X32 = 0x40000000
_NOTIFY, _UNKNOWN = 0x7FC00000, 0x00050000 | errno.ENOSYS
_EQUAL, _AT_LEAST, _BITS, _LOAD, _JUMP = 0x15, 0x35, 0x45, 0x20, 0x05


def _table(names: tuple[str, ...], numbers: tuple[int, ...]) -> dict[int, str]:
    return {number: name for name, number in zip(names, numbers, strict=True)}


_MACHINES: dict[str, tuple[dict[int, dict[int, str]], int]] = {
    "x86_64": (
        {
            0xC000003E: _table((*_NAMES, *_OLD), (*_X86_64, *_OLD_X86_64)),
            0x40000003: _table((*_NAMES, *_OLD), (*_I386, *_OLD_I386)) | _WIDE,
        },
        317,
    ),
    "aarch64": (
        {
            0xC00000B7: _table(_NAMES, _GENERIC),
            0x40000028: _table((*_NAMES, *_OLD), (*_ARM, *_OLD_I386)) | _WIDE,
        },
        277,
    ),
    "riscv64": ({0xC00000F3: _table(_NAMES, _GENERIC)}, 277),
}
"""By machine: the calls of each architecture that its kernel runs, its own first; the number of `seccomp`."""


class Filter(msgspec.Struct, frozen=True):
    program: bytes
    calls: dict[int, dict[int, str]]
    """By audit architecture: numbers and names of what is notified."""
    seccomp: int


def make_filter(machine: str = "") -> Filter | None:
    """None for a machine whose numbers we do not know."""
    found = _MACHINES.get(machine or os.uname().machine)
    if found is None:
        return None
    calls, seccomp = found
    program = [step(_LOAD, 4)]
    for audit, numbers in calls.items():
        block = _block(numbers, x32=audit == 0xC000003E)
        # A conditional jump reaches 255 steps, and a block may be longer.
        program += [step(_EQUAL, audit, 1, 0), step(_JUMP, len(block)), *block]
    # Another architecture, which no kernel for this machine runs: its numbers would be others.
    return Filter(b"".join((*program, give(_UNKNOWN))), calls, seccomp)


def _block(numbers: dict[int, str], *, x32: bool) -> list[bytes]:
    steps = [step(_LOAD, 0)]
    if x32:
        steps += [step(_AT_LEAST, _X32, 0, 1), give(_UNKNOWN)]
    for number, name in numbers.items():
        if name in _FLAGS:
            tested = [argument(_FLAGS[name]), step(_BITS, _WRITING, 0, 1), give(_NOTIFY), GIVE_ALLOW]
            steps += when(number, tested)
        else:
            steps += when(number, [give(_NOTIFY)])
    for number in _RINGS:
        steps += when(number, [give(_UNKNOWN)])
    return [*steps, GIVE_ALLOW]
