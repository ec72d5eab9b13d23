"""Filters of system calls for the two sandboxes, as the kernel takes them (seccomp-BPF).

Mounts say what a command can write; they do not stop it from talking to a socket that it can name, from
keyrings or from rings of calls. Refused is `EPERM`, so that a program can say what it could not do.
"""

import platform
import struct
from collections.abc import Iterable

import msgspec

_NAMES = (
    *("socket", "socketpair", "ioctl", "clone", "clone3"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("add_key", "request_key", "keyctl"),
    *("bpf", "perf_event_open", "userfaultfd", "open_by_handle_at"),
    *("mount", "umount2", "pivot_root", "chroot", "unshare", "setns"),
    *("open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),
    *("ptrace", "process_vm_readv", "process_vm_writev"),
)
_X86_64 = (
    *(41, 53, 16, 56, 435),
    *(425, 426, 427),
    *(248, 249, 250),
    *(321, 298, 323, 304),
    *(165, 166, 155, 161, 272, 308),
    *(428, 429, 430, 431, 432, 433, 442),
    *(101, 310, 311),
)
_GENERIC = (
    *(198, 199, 29, 220, 435),
    *(425, 426, 427),
    *(217, 218, 219),
    *(280, 241, 282, 265),
    *(40, 39, 41, 51, 97, 268),
    *(428, 429, 430, 431, 432, 433, 442),
    *(117, 270, 271),
)
_REFUSED = (*_NAMES[5:-3],)
"""Under bubblewrap, where a debugger may look at what runs with it and nobody else is there."""
_METADATA = (90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199, 463, 466)
_OF_ROOT = (133, 259, 169, 175, 176, 313, 246, 320, 167, 168, 172, 173, 170, 171, 164, 227, 159, 305, 163)
"""x86-64: chmod, chown, utime and xattr, which Landlock does not know; mknod, modules, clocks and so on."""
_FAMILIES = (2, 10)
"""AF_INET, AF_INET6: in a network of the command's own, or where a rule gives it the user's. No AF_UNIX: a
socket outside is reached by any of its names. No AF_VSOCK: it leads out of a virtual machine."""
_NETLINK = 16
_STREAM, _SEQPACKET = 1, 5
"""Of a pair; one of datagrams can be sent elsewhere by name."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_NEW_NAMESPACES = 0x7E020000 | 0x80
_SET_USER_ID = 0o4000
"""A file that others run with the rights of the workspace's owner is no work of an agent."""
_CREATING = 0o100 | 0o20000000
"""`O_CREAT`, `O_TMPFILE`: only then an opening has a mode."""
_OPENAT2 = 437
"""Its mode can't be looked at; who is told that there is none takes `openat`."""


class Machine(msgspec.Struct, frozen=True):
    audit: int
    numbers: dict[str, int]
    modes: dict[int, int]
    """Calls that give a file its mode, and which argument that is."""
    opens: dict[int, int]
    """Calls that may make a file, and which argument says so; the next one is its mode."""


_MODES_X86_64 = {90: 1, 91: 1, 268: 2, 452: 2, 133: 1, 259: 2, 85: 1}
_MODES_GENERIC = {52: 1, 53: 2, 452: 2, 33: 2}
"""chmod, fchmod, fchmodat, fchmodat2, mknod, mknodat, creat."""
_MACHINES = {
    "x86_64": Machine(0xC000003E, dict(zip(_NAMES, _X86_64, strict=True)), _MODES_X86_64, {2: 1, 257: 2}),
    "aarch64": Machine(0xC00000B7, dict(zip(_NAMES, _GENERIC, strict=True)), _MODES_GENERIC, {56: 2}),
    "riscv64": Machine(0xC00000F3, dict(zip(_NAMES, _GENERIC, strict=True)), _MODES_GENERIC, {56: 2}),
}


def bubblewrap_filter() -> bytes | None:
    """None for a machine whose numbers we do not know: nothing is to run there."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return None
    number = machine.numbers
    program = _begin(machine)
    program += _refuse(number[name] for name in _REFUSED)
    program += _refuse_set_user_id(machine)
    program += _only_families(number["socket"])
    program += _only_pairs(number["socketpair"])
    program += _refuse_argument(number["ioctl"], 1, (_TIOCSTI, _TIOCLINUX))
    return b"".join((*program, *_refuse_namespaces(number), GIVE_ALLOW))


def landlock_filter() -> bytes | None:
    """Of more: no socket at all, no metadata, no tracing. x86-64 alone."""
    if platform.machine() != "x86_64":
        return None
    machine = _MACHINES["x86_64"]
    number = machine.numbers
    refused = [number[name] for name in (*_NAMES[5:], "socket")]
    program = _begin(machine) + _refuse((*refused, *_METADATA, *_OF_ROOT))
    program += _only_pairs(number["socketpair"])
    program += _refuse_argument(number["ioctl"], 1, (_TIOCSTI, _TIOCLINUX))
    return b"".join((*program, *_refuse_namespaces(number), GIVE_ALLOW))


_LOAD, _AND, _EQUAL, _AT_LEAST, _BITS, _GIVE = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _UNKNOWN, _KILL = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38, 0x80000000


def step(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, k)


def give(answer: int) -> bytes:
    return step(_GIVE, answer)


GIVE_ALLOW = give(_ALLOW)


def _begin(machine: Machine) -> list[bytes]:
    program = [
        step(_LOAD, 4),
        step(_EQUAL, machine.audit, 1, 0),  # another architecture would mean other numbers
        give(_KILL),
        step(_LOAD, 0),
    ]
    if machine.audit == _MACHINES["x86_64"].audit:
        program += [step(_AT_LEAST, 0x40000000, 0, 1), give(_REFUSE)]  # x32
    return program


def _refuse(numbers: Iterable[int]) -> list[bytes]:
    return [one for number in numbers for one in (step(_EQUAL, number, 0, 1), give(_REFUSE))]


def _refuse_namespaces(number: dict[str, int]) -> list[bytes]:
    program = [step(_EQUAL, number["clone3"], 0, 1), give(_UNKNOWN)]  # libc falls back to clone
    steps = [argument(0), step(_BITS, _NEW_NAMESPACES, 0, 1), give(_REFUSE), GIVE_ALLOW]
    return [*program, *when(number["clone"], steps)]


def _refuse_set_user_id(machine: Machine) -> list[bytes]:
    program = [step(_EQUAL, _OPENAT2, 0, 1), give(_UNKNOWN)]
    for call, mode in machine.modes.items():
        steps = [argument(mode), step(_BITS, _SET_USER_ID, 0, 1), give(_REFUSE), GIVE_ALLOW]
        program += when(call, steps)
    for call, flags in machine.opens.items():
        steps = [argument(flags), step(_BITS, _CREATING, 0, 3)]
        steps += [argument(flags + 1), step(_BITS, _SET_USER_ID, 0, 1), give(_REFUSE), GIVE_ALLOW]
        program += when(call, steps)
    return program


def argument(number: int) -> bytes:
    """The low half: all that the kernel takes of an `int`."""
    return step(_LOAD, 16 + 8 * number)


def when(number: int, steps: list[bytes]) -> list[bytes]:
    """What decides about one call; it must come to an answer."""
    return [step(_EQUAL, number, 0, len(steps)), *steps]


def _only_families(number: int) -> list[bytes]:
    steps = [argument(0)]
    for family in _FAMILIES:
        steps += [step(_EQUAL, family, 0, 1), GIVE_ALLOW]
    steps += [step(_EQUAL, _NETLINK, 0, 3), argument(2), step(_EQUAL, 0, 0, 1), GIVE_ALLOW]  # routes
    return when(number, [*steps, give(_REFUSE)])


def _only_pairs(number: int) -> list[bytes]:
    steps = [argument(1), step(_AND, 0xF)]
    for kind in (_STREAM, _SEQPACKET):
        steps += [step(_EQUAL, kind, 0, 1), GIVE_ALLOW]
    return when(number, [*steps, give(_REFUSE)])


def _refuse_argument(number: int, which: int, values: Iterable[int]) -> list[bytes]:
    steps = [argument(which)]
    for value in values:
        steps += [step(_EQUAL, value, 0, 1), give(_REFUSE)]
    return when(number, [*steps, GIVE_ALLOW])
