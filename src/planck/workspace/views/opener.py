"""Mounts overlays for views: a program of one thread, because a process with threads can't leave its user
namespace. One for each session that opens views: `python -I -S opener.py`. It ends by itself, so that an
idle view has no process.

It takes one JSON request at a time from the socket that is its standard input and forks for each. The child
mounts the overlay in namespaces of its own, sends three descriptors (user namespace, mount namespace, root
of the view) and ends: the descriptors alone hold the view. Standard library only, for `-S` and for whoever
imports it.
"""

import ctypes
import errno
import json
import os
import socket
import sys
import tempfile

MAX_REQUEST = 1 << 16
IDLE_S = 5.0
DONE = b"done"
"""Follows each answer, once nothing but its descriptors holds the view."""
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_SET_DUMPABLE = 4

_libc = ctypes.CDLL(None, use_errno=True)


class StepError(OSError):
    """A system call that failed; `step` names it for the reader of the refusal."""

    def __init__(self, number: int, step: str) -> None:
        super().__init__(number, os.strerror(number))
        self.step = step


def serve(requests: socket.socket) -> None:
    """Answers until the other end is closed, or nobody asked for a while."""
    requests.settimeout(IDLE_S)
    while request := _receive(requests):
        wanted = json.loads(request)
        spot = tempfile.mkdtemp(prefix="planck-view-") if wanted["owner"] else ""
        pid = os.fork()
        if pid == 0:
            try:
                _answer(requests, wanted, spot)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        if spot:
            os.rmdir(spot)  # what was mounted there, in the namespaces of the child, goes with it
        requests.send(DONE)


def _receive(requests: socket.socket) -> bytes:
    try:
        return requests.recv(MAX_REQUEST)
    except TimeoutError:
        return b""


def _answer(requests: socket.socket, wanted: "dict[str, object]", spot: str) -> None:
    try:
        fds = open_overlay(**wanted, spot=spot)  # type: ignore[arg-type]
    except OSError as problem:
        step = problem.step if isinstance(problem, StepError) else problem.filename or ""
        requests.send(json.dumps({"errno": problem.errno, "step": step}).encode())
        return
    socket.send_fds(requests, [b"{}"], fds)


def open_overlay(
    base: str, home: str, layers: "list[str]", view: str, owner: "list[int] | None", spot: str = ""
) -> "tuple[int, int, int]":
    """Mounts the overlay over the path of `base` and returns the three descriptors.

    `layers` (topmost first) and `view` are folders below `home`; `view` holds `upper` and `work`. `owner`:
    the user and group to become first, where we are root and the workspace is another user's; `spot` is then
    an empty folder where that user finds `home`, which may lie in a folder that is closed to it.
    """
    if owner:
        _become(owner, home, spot)
        home = spot
    uid, gid = os.geteuid(), os.getegid()
    _call("unshare", _libc.unshare(_NEW_USER | _NEW_MOUNTS))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        try:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        except OSError as problem:
            raise StepError(problem.errno or 0, name) from None
    _mount("none", "/", _RECURSIVE | _PRIVATE)
    lowers = ":".join(map(_escape, [*(f"{home}/{layer}" for layer in layers), base]))
    upper, work = (_escape(f"{home}/{view}/{name}") for name in ("upper", "work"))
    # Not `volatile`: such an overlay can't be mounted again after a crash.
    options = f"lowerdir={lowers},upperdir={upper},workdir={work},userxattr"
    if len(os.fsencode(options)) > os.sysconf("SC_PAGE_SIZE") - 1:
        raise StepError(errno.ENAMETOOLONG, "mount")
    _mount("overlay", base, 0, "overlay", options)
    return (
        os.open("/proc/self/ns/user", os.O_RDONLY | os.O_CLOEXEC),
        os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC),
        os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC),
    )


def _become(owner: "list[int]", home: str, spot: str) -> None:
    _call("unshare", _libc.unshare(_NEW_MOUNTS))
    _mount("none", "/", _RECURSIVE | _PRIVATE)
    _mount(home, spot, _BIND)
    os.setgroups([])
    os.setresgid(owner[1], owner[1], owner[1])
    os.setresuid(owner[0], owner[0], owner[0])
    # Else its own /proc/self/uid_map would belong to root since the change of user.
    _call("prctl", _libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0))


def _escape(path: str) -> str:
    """For the options of an overlay, where these three mean something."""
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")


def _mount(source: str, target: str, flags: int, kind: str = "", options: str = "") -> None:
    words = (os.fsencode(source), os.fsencode(target), os.fsencode(kind) or None)
    _call("mount", _libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(options) or None))


def _call(step: str, result: int) -> None:
    if result < 0:
        raise StepError(ctypes.get_errno(), step)


if __name__ == "__main__":
    serve(socket.socket(fileno=os.dup(sys.stdin.fileno())))
