"""Restricts itself, then becomes the command; run as a file by `landlock`, it imports nothing of Planck.

python -I -S landlock_exec.py PLAN program args...

PLAN: a file, {"read": [...], "write": [...], "calls": the filter of system calls, in hex}
"""

import ctypes
import json
import os
import struct
import sys
from typing import Any

_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, read a folder
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_CREATE, _ADD, _RESTRICT = 444, 445, 446


def main(plan: "dict[str, Any]", argv: "list[str]") -> None:
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
    _seccomp(libc, bytes.fromhex(plan["calls"]))
    os.close(rules)
    os.execvp(argv[0], argv)


def abi_rights(libc: ctypes.CDLL) -> int:
    """Every right that this kernel's Landlock knows; raises where it does not know truncation (ABI 3)."""
    abi = libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1)
    if abi < 3:
        raise OSError(f"Landlock ABI {abi} is too old (3 or later is needed)")
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


def _seccomp(libc: ctypes.CDLL, program: bytes) -> None:
    code = ctypes.create_string_buffer(program)
    head = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
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
