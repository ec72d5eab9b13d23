"""Restricts itself, then becomes the command; run as a file by `landlock`, it imports nothing of Planck.

python -I -S landlock_exec.py PLAN program args...       (PLAN: a file, {"read": [...], "write": [...]})
"""

import ctypes
import json
import os
import platform
import struct
import sys

_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, read a folder
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_CREATE, _ADD, _RESTRICT = 444, 445, 446

# x86-64. Refused with EPERM: what Landlock does not cover (metadata, sockets of every kind), what could get
# around it (rings, namespaces, mounts, handles, tracing), and what only root could do.
_DENIED = (
    *(41, 425, 426, 427),  # socket, io_uring
    *(90, 91, 268, 452, 92, 93, 94, 260),  # chmod, chown
    *(132, 235, 261, 280, 188, 189, 190, 197, 198, 199, 463, 466),  # utime, xattr
    *(165, 166, 155, 161, 272, 308, 428, 429, 430, 431, 432, 433, 442),  # mount, chroot, unshare, setns
    *(101, 310, 311, 321, 323, 298, 304, 250, 248, 249),  # ptrace, process_vm, bpf, handles, keys
    *(133, 259, 169, 175, 176, 313, 246, 320),  # root's: mknod, reboot, modules, kexec
    *(167, 168, 172, 173, 170, 171, 164, 227, 159, 305, 163),  # root's: swap, ports, host name, time, acct
)
_CLONE, _CLONE3 = 56, 435
_NEW_NAMESPACES = 0x7E020000 | 0x80


def main(plan: "dict[str, list[str]]", argv: "list[str]") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    rules = _ruleset(libc)
    for path in plan["read"]:
        _allow(libc, rules, path, _READ)
    for path in plan["write"]:
        _allow(libc, rules, path, abi_rights(libc) & ~(1 << 6 | 1 << 11))  # no devices
    for path in _DEVICES:
        _allow(libc, rules, path, 1 << 1 | 1 << 2)
    _require(libc.prctl(38, 1, 0, 0, 0), "no_new_privs")
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)  # the bounding set; only root has one to drop
    header, empty = struct.pack("<Ii", 0x20080522, 0), struct.pack("<6I", *[0] * 6)
    _require(libc.capset(header, empty), "capset")
    _require(libc.syscall(_RESTRICT, rules, 0), "landlock")
    _seccomp(libc)
    os.close(rules)
    os.execvp(argv[0], argv)


def abi_rights(libc: ctypes.CDLL) -> int:
    """Every right that this kernel's Landlock knows; raises where it does not know truncation (ABI 3)."""
    abi = libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1)
    if abi < 3:
        raise OSError(f"Landlock ABI {abi} is too old")
    return (1 << (16 if abi >= 5 else 15)) - 1


def _ruleset(libc: ctypes.CDLL) -> int:
    attribute = struct.pack("<Q", abi_rights(libc))
    return _require(libc.syscall(_CREATE, attribute, ctypes.c_size_t(len(attribute)), 0), "ruleset")


def _allow(libc: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is gone needs no right
    try:
        if not os.path.isdir(path):
            rights &= 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
        _require(libc.syscall(_ADD, rules, 1, struct.pack("<Qi", rights, fd), 0), path)
    finally:
        os.close(fd)


def _seccomp(libc: ctypes.CDLL) -> None:
    if platform.machine() != "x86_64":
        raise OSError("no system call list for this machine")

    def step(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("<HBBI", code, yes, no, k)

    load, equal, at_least, bits, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, refuse, unknown = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38
    program = [
        step(load, 4),
        step(equal, 0xC000003E, 1, 0),  # another architecture would mean other numbers
        step(give, 0x80000000),
        step(load, 0),
        step(at_least, 0x40000000, 0, 1),  # x32
        step(give, refuse),
    ]
    for number in _DENIED:
        program += [step(equal, number, 0, 1), step(give, refuse)]
    program += [step(equal, _CLONE3, 0, 1), step(give, unknown)]  # libc falls back to clone
    program += [step(equal, _CLONE, 0, 3), step(load, 16)]
    program += [step(bits, _NEW_NAMESPACES, 0, 1), step(give, refuse)]
    program += [step(give, allow)]
    code = ctypes.create_string_buffer(b"".join(program))
    head = struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(code))
    _require(libc.prctl(22, 2, head, 0, 0), "seccomp")


def _require(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        found = json.load(file)
    os.unlink(sys.argv[1])
    main(found, sys.argv[2:])
