"""The sandbox of commands in a view is set up by a program that is in the view: what must be protected there
is looked for at the same paths as anywhere, and no other code has to know that there are two trees.

The runtime has threads, and so can't enter. The program is started at the first command, and ends when the
view had none for some seconds. This module is both ends: `Planner` is ours, `main` the program's.
"""

import ctypes
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence

import msgspec

import planck
from planck.own_code import import_paths
from planck.records.authority import Confinement
from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.process.containment import Containment
from planck.workspace.sandbox import bubblewrap, landlock, remains, sandbox
from planck.workspace.sandbox.bubblewrap import find_own_code
from planck.workspace.sandbox.sandbox import OwnCode, SandboxError, Wrapped

_IDLE_S = 5.0
_PATIENCE = 30.0
_MAX_FDS = 16
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from planck.workspace.views.planner import main; main()"
)
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_NAMES_FD = frozenset({"--file", "--seccomp"})
"""Words of bubblewrap that are followed by the number of a descriptor."""


class _Request(msgspec.Struct, omit_defaults=True):
    rights: Confinement | None = None
    own: OwnCode | None = None
    release: int = 0
    look: bool = False
    """Only look, so that the next `wrap` is quick."""


class _Answer(msgspec.Struct, omit_defaults=True):
    id: int = 0
    prefix: tuple[str, ...] = ()
    level: str = ""
    check: str = ""
    note: str = ""
    passed: tuple[int, ...] = ()
    stubs: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What a command made that would run with the user's permissions, and that could not be taken away."""
    kind: str = ""
    message: str = ""


class Planner:
    """Asks the program of one view, from any thread."""

    def __init__(self, namespaces: Sequence[int], owner: Sequence[int] | None, words: Sequence[str]) -> None:
        self._namespaces = tuple(namespaces)
        self._owner = owner
        self._words = tuple(words)
        self._lock = threading.Lock()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self, rights: Confinement) -> None:
        self._ask(_Request(rights, find_own_code(rights.writable), look=True))

    def wrap(self, rights: Confinement) -> Wrapped:
        said, fds = self._ask(_Request(rights, find_own_code(rights.writable)))
        numbers = dict(zip(map(str, said.passed), map(str, fds), strict=True))
        pairs = zip(("", *said.prefix), said.prefix, strict=False)
        words = [numbers[word] if before in _NAMES_FD else word for before, word in pairs]
        level = Containment(said.level)
        return Wrapped(
            (*self._words, *words),
            level,
            lambda: self._release(said.id),
            tuple(fds),
            said.check,
            said.note,
            said.stubs,
        )

    def _release(self, id: int) -> None:
        with self._lock:
            if self._channel is None:
                return  # it ended, and did it then
            try:
                said, _ = self._talk(self._channel, _Request(release=id))
            except OSError:
                self._stop()
                return
        remains.left.update(said.left)

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _ask(self, request: _Request) -> tuple[_Answer, list[int]]:
        with self._lock:
            for attempt in (1, 2):  # it may have ended in this moment, because nobody asked it
                try:
                    said, fds = self._talk(self._channel or self._start(), request)
                    break
                except OSError as problem:
                    self._stop()
                    if attempt == 2:
                        raise SandboxError(
                            ErrorKind.SANDBOX_UNAVAILABLE,
                            f"the sandbox of the view could not be set up: {problem}. Use tools that do not "
                            "run commands, and report the problem",
                        ) from None
        if said.kind:
            raise SandboxError(ErrorKind(said.kind), said.message)
        return said, fds

    def _talk(self, channel: socket.socket, request: _Request) -> tuple[_Answer, list[int]]:
        _send(channel, msgspec.json.encode(request), ())
        content, fds = _receive(channel)
        return msgspec.json.decode(content, type=_Answer), fds

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        paths = [os.path.dirname(os.path.dirname(planck.__file__)), *import_paths()]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, json.dumps(paths)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        ours.settimeout(_PATIENCE)
        self._channel = ours
        _send(ours, json.dumps(self._owner).encode(), self._namespaces)
        return ours

    def _stop(self) -> None:
        """The end of the socket is the end of the program, which first releases what is held."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


def _send(channel: socket.socket, content: bytes, fds: Sequence[int]) -> None:
    """In a file in memory: a packet has a limit, and the rights of a call with many secrets have none."""
    file = os.memfd_create("planck-request", os.MFD_CLOEXEC)
    try:
        os.write(file, content)
        socket.send_fds(channel, [b"."], [file, *fds])
    finally:
        os.close(file)


def _receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    said, fds, _, _ = socket.recv_fds(channel, 16, _MAX_FDS)
    if not said:
        raise ConnectionResetError("it ended")
    for fd in fds:
        os.set_inheritable(fd, False)
    file, *rest = fds
    try:
        return os.pread(file, os.fstat(file).st_size, 0), rest
    finally:
        os.close(file)


def main() -> None:
    """The program: enters the view, then answers."""
    channel = socket.socket(fileno=os.dup(0))
    content, namespaces = _receive(channel)
    _enter(json.loads(content), *namespaces)
    held: dict[int, Wrapped] = {}
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    number = 0
    try:
        while held or poll.poll(_IDLE_S * 1000):
            try:
                content, _ = _receive(channel)
            except OSError:
                break
            request = msgspec.json.decode(content, type=_Request)
            number += 1
            answer, fds = _answer(request, held, number)
            try:
                _send(channel, msgspec.json.encode(answer), fds)
            finally:
                for fd in fds:
                    os.close(fd)
    finally:
        for wrapped in held.values():
            wrapped.release()


def _answer(request: _Request, held: dict[int, Wrapped], id: int) -> tuple[_Answer, tuple[int, ...]]:
    try:
        if request.release:
            if wrapped := held.pop(request.release, None):
                wrapped.release()
            return _Answer(left=tuple(remains.left)), ()
        assert request.rights is not None
        if request.look:
            if found := sandbox.find().sandbox:
                found.look(request.rights)
            return _Answer(), ()
        remains.refuse_remains()
        wrapped = sandbox.wrap(request.rights, None, request.own)
    except PlanckError as refused:
        return _Answer(kind=refused.err.kind, message=refused.err.message), ()
    held[id] = wrapped
    said = _Answer(
        id=id,
        prefix=wrapped.prefix,
        level=wrapped.level,
        check=wrapped.check,
        note=wrapped.note,
        passed=wrapped.passed,
        stubs=tuple(wrapped.stubs),
    )
    return said, wrapped.passed


def _enter(owner: Sequence[int] | None, user: int, mounts: int) -> None:
    """All that is needed is imported by now: from here on this process sees the files of the view."""
    assert bubblewrap
    assert landlock
    if owner:
        os.setgroups([])
        os.setresgid(owner[1], owner[1], owner[1])
        os.setresuid(owner[0], owner[0], owner[0])
    libc = ctypes.CDLL(None, use_errno=True)
    for fd, kind in ((user, _NEW_USER), (mounts, _NEW_MOUNTS)):
        if libc.setns(fd, kind) < 0:
            raise OSError(ctypes.get_errno(), "setns")
        os.close(fd)
    os.chdir("/")
