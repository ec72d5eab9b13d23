"""Starts the commands of a session and writes before-images while they run; see `client`.

A process of its own, with the standard library alone, started at the first command that is recorded. It forks
each command, which installs the filter of `notify` on itself and hands over its listener. From then on each
call that can change a name waits until this process has written what was there, and goes on as it is: nothing
is emulated, and nothing that a command does is decided here.

One thread does everything: the kernel's death signal belongs to the thread that forked, and a fork with
threads is unsafe. If this process dies, its commands die with it; a call that still waits gets `ENOSYS`.
"""

import ctypes
import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
from contextlib import suppress

from planck.workspace.recording.calls import Call
from planck.workspace.recording.images import Images

TYPE_CHECKING = False  # `typing` itself is a quarter of the start
if TYPE_CHECKING:
    from typing import Any

_RECEIVE, _ANSWER, _IS_VALID, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082102, 0x40082104
"""`ioctl` numbers of a listener (linux/seccomp.h), the same on all machines that have a filter."""
_NOTICE = struct.Struct("<QIIiIQ6Q")
_REPLY = struct.Struct("<QqiI")
_CONTINUE = 1
_SYNC_WAKE_UP = 1
_SET_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5
_SET_DEATH_SIGNAL, _SET_NO_NEW_PRIVILEGES = 1, 38
_MAX_FDS = 250
_KINDS = {errno.EACCES: "unreadable", errno.EPERM: "unreadable", errno.ENAMETOOLONG: "unreadable"}
"""What says that a change may go unrecorded; the last: the kernel can't name a folder that is so deep."""


class Filter:
    """The filter as this process got it: how to install it, and what its notices mean."""

    def __init__(self, program: bytes, seccomp: int, calls: "dict[int, dict[int, str]]") -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._code = ctypes.create_string_buffer(program, len(program))
        self._head = struct.pack("@HxxxxxxP", len(program) // 8, ctypes.addressof(self._code))
        self._seccomp = seccomp
        self.calls = calls

    def die_with_parent(self, parent: int) -> None:
        self._libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the signal was set
            os._exit(125)

    def install(self) -> int:
        """Puts the filter on this process for good; returns the listener."""
        if self._libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "no_new_privs")
        for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):  # the second: before Linux 5.19
            listener: int = self._libc.syscall(self._seccomp, _SET_FILTER, flags, self._head)
            if listener >= 0:
                return listener
        raise OSError(ctypes.get_errno(), "seccomp")


class Command:
    """A command that runs: its process, its listener and the images that it made necessary."""

    def __init__(self, pid: int, listener: int, status: socket.socket, images: Images) -> None:
        self.pid = pid
        self.pidfd: int = os.pidfd_open(pid)
        self.listener: int | None = listener
        self.status = status
        self.images: Images | None = images
        self._notice = bytearray(_NOTICE.size)
        self.abandoned = False
        with suppress(OSError):  # before Linux 6.6
            fcntl.ioctl(listener, _SET_FLAGS, struct.pack("<Q", _SYNC_WAKE_UP))

    def answer(self, calls: "dict[int, dict[int, str]]") -> None:
        """Takes one notice, writes what it makes necessary, and lets the call go on."""
        assert self.listener is not None
        self._notice[:] = bytes(_NOTICE.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, self._notice)
        except OSError as problem:
            if problem.errno in (errno.ENOENT, errno.EINTR):  # killed while it waited
                return
            raise
        id, pid, _, number, audit, _, *arguments = _NOTICE.unpack(self._notice)
        try:
            if self.images is not None:
                _Checked(pid, tuple(arguments), self.listener, id).record(calls[audit][number], self.images)
        except OSError as problem:
            # A path that leads nowhere, or a process that is gone: the call fails as well.
            if self.images is not None and problem.errno in _KINDS:
                self.images.skip(_KINDS[problem.errno])
        except Exception:  # a call that is not understood must not hold up the command
            if self.images is not None:
                self.images.skip("unreadable")
        with suppress(OSError):
            fcntl.ioctl(self.listener, _ANSWER, bytearray(_REPLY.pack(id, 0, 0, _CONTINUE)))


class _Checked(Call):
    """A call whose process still waits: a number alone may be another process by now."""

    def __init__(self, pid: int, arguments: "tuple[int, ...]", listener: int, id: int) -> None:
        super().__init__(pid, arguments)
        self._listener, self._id = listener, id

    def find(self, folder: int, path: str, *, follow: bool = False) -> "str | None":
        place = super().find(folder, path, follow=follow)
        fcntl.ioctl(self._listener, _IS_VALID, struct.pack("<Q", self._id))
        return place


class Recorder:
    def __init__(self, control: socket.socket, filter: Filter) -> None:
        self._control = control
        self._filter = filter
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._commands: dict[int, Command] = {}
        """By each descriptor that is watched for it."""

    def serve(self) -> None:
        while True:
            for fd, events in self._poll.poll():
                if fd == self._control.fileno():
                    self._take_request()
                    continue
                command = self._commands.get(fd)
                if command is None:  # forgotten in this round
                    continue
                if fd == command.listener:
                    self._hear(command, events)
                elif fd == command.pidfd:
                    self._end(command)
                else:
                    self._let_go(command)

    def _hear(self, command: Command, events: int) -> None:
        assert command.listener is not None
        if events & select.POLLIN:
            try:
                command.answer(self._filter.calls)
                return
            except OSError:
                pass  # nobody has this filter any more
        self._forget(command.listener)
        os.close(command.listener)
        command.listener = None
        if command.images is not None and command.pidfd < 0:
            command.images.close()
            command.images = None

    def _end(self, command: Command) -> None:
        """The command's own process has ended; what it left behind is still recorded."""
        while command.listener is not None and self._has_notice(command.listener):
            self._hear(command, select.POLLIN)
        result = os.waitid(os.P_PIDFD, command.pidfd, os.WEXITED | os.WNOWAIT)
        self._forget(command.pidfd)
        os.close(command.pidfd)
        command.pidfd = -1
        code = 0
        if result is not None:
            code = result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
        if command.images is not None:
            command.images.end()
            if command.listener is None:
                command.images.close()
                command.images = None
        with suppress(OSError):
            command.status.send(json.dumps({"code": code}).encode())
        if command.abandoned:
            self._reap(command)

    def _has_notice(self, listener: int) -> bool:
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        return any(events & select.POLLIN for _, events in poll.poll(0))

    def _let_go(self, command: Command) -> None:
        """The runtime closed its end: nobody there signals the process by its number any more."""
        self._forget(command.status.fileno())
        if command.pidfd < 0:
            self._reap(command)
            return
        command.abandoned = True  # before it ended: the call was cancelled while it started
        with suppress(OSError):
            os.killpg(command.pid, signal.SIGKILL)

    def _reap(self, command: Command) -> None:
        command.status.close()
        with suppress(ChildProcessError):
            os.waitpid(command.pid, 0)

    def _forget(self, fd: int) -> None:
        self._poll.unregister(fd)
        self._commands.pop(fd, None)

    def _take_request(self) -> None:
        """Descriptors: a text, a socket for the answer, the working folder, the spool, perhaps a view, and
        those of the command."""
        data, fds = _receive(self._control, _MAX_FDS)
        if not data:
            os._exit(0)
        with os.fdopen(fds[0], "rb") as file:
            file.seek(0)
            request = json.load(file)
        status = socket.socket(fileno=fds[1])
        folder, spool = fds[2:4]
        view = fds[4] if request["view"] else None
        passed = fds[5:] if request["view"] else fds[4:]
        try:
            command = self._start(request, status, folder, spool, view, passed)
        except OSError as problem:
            with suppress(OSError):
                status.send(json.dumps({"errno": problem.errno, "text": problem.strerror}).encode())
            status.close()
            os.close(spool)
            if view is not None:
                os.close(view)
            return
        finally:
            for fd in (folder, *passed):
                os.close(fd)
        assert command.listener is not None
        for watched in (command.listener, command.pidfd, command.status.fileno()):
            self._commands[watched] = command
            self._poll.register(watched, select.POLLIN)
        with suppress(OSError):
            status.send(json.dumps({"pid": command.pid}).encode())

    def _start(
        self,
        request: "dict[str, Any]",
        status: socket.socket,
        folder: int,
        spool: int,
        view: "int | None",
        passed: "list[int]",
    ) -> Command:
        images = Images(request["roots"], spool, view, request["apart"])
        ours, theirs = socket.socketpair()
        # Closed by a program that starts; an error comes through it otherwise.
        failed, failing = os.pipe2(os.O_CLOEXEC)
        us = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(request, self._filter, us, theirs, failing, folder, passed)
        theirs.close()
        os.close(failing)
        try:
            with os.fdopen(failed, "rb") as words, ours:
                _, listeners = _receive(ours, 1)
                problem = words.read()
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        if problem or not listeners:
            os.waitpid(pid, 0)
            for listener in listeners:
                os.close(listener)
            number = int(problem or errno.EIO)
            raise OSError(number, os.strerror(number))
        return Command(pid, listeners[0], status, images)


def _become(
    request: "dict[str, Any]",
    filter: Filter,
    parent: int,
    channel: socket.socket,
    failing: int,
    folder: int,
    passed: "list[int]",
) -> None:
    """In the child: becomes the command, or says why not."""
    try:
        filter.die_with_parent(parent)
        os.setsid()
        numbers: list[int] = request["numbers"]
        # First all out of the way: a number that is asked for may be one of ours.
        room = max((100, *(number + 1 for number in numbers)))
        held = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, room) for fd in passed]
        failing = fcntl.fcntl(failing, fcntl.F_DUPFD_CLOEXEC, room)
        channel = socket.socket(fileno=fcntl.fcntl(channel.detach(), fcntl.F_DUPFD_CLOEXEC, room))
        folder = fcntl.fcntl(folder, fcntl.F_DUPFD_CLOEXEC, room)
        if 0 not in numbers:  # the command's first process looks there whether we live
            held.append(fcntl.fcntl(os.open(f"/proc/{parent}", os.O_RDONLY), fcntl.F_DUPFD_CLOEXEC, room))
            numbers = [*numbers, 0]
        for fd, number in zip(held, numbers, strict=True):
            os.dup2(fd, number)
        os.fchdir(folder)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(ignored, signal.SIG_DFL)
        words: list[str] = request["words"]
        environment: dict[str, str] = request["environment"]
        listener = filter.install()
        socket.send_fds(channel, [b"."], [listener])
        os.close(listener)
        os.execvpe(words[0], words, environment)
    except OSError as problem:
        os.write(failing, str(problem.errno or errno.EIO).encode())
    except BaseException:
        os.write(failing, str(errno.EIO).encode())
    os._exit(126)


def _receive(channel: socket.socket, count: int) -> "tuple[bytes, list[int]]":
    """Receives a short message and its descriptors, which no command inherits: `recv_fds` ignores its flags,
    and one thread does everything."""
    data, fds, _, _ = socket.recv_fds(channel, 16, count)
    for fd in fds:
        os.set_inheritable(fd, False)
    return data, fds


def probe(filter: Filter) -> int:
    """Tries all of it with a child of our own; returns 0, or the number of the error."""
    ours, theirs = socket.socketpair()
    us = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            filter.die_with_parent(us)
            listener = filter.install()
            socket.send_fds(theirs, [b"."], [listener])
            os.close(listener)
            theirs.close()
            ours.close()
            os.rmdir("/proc/self/planck-is-not-here")
        except FileNotFoundError:
            os._exit(0)
        except OSError as problem:
            with suppress(OSError):
                theirs.send(str(problem.errno).encode())
        finally:
            os._exit(1)
    theirs.close()
    try:
        with ours:
            word, listeners = _receive(ours, 1)
        if not listeners:
            return int(word or errno.EIO)
        return _answer_probe(listeners[0], filter)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _answer_probe(listener: int, filter: Filter) -> int:
    try:
        notice = bytearray(_NOTICE.size)
        fcntl.ioctl(listener, _RECEIVE, notice)
        id, pid, _, number, audit, _, *arguments = _NOTICE.unpack(notice)
        if filter.calls[audit][number] not in ("rmdir", "unlinkat"):
            return errno.EIO
        address = arguments[0] if filter.calls[audit][number] == "rmdir" else arguments[1]
        if not Call(pid, ()).read_path(address).endswith("planck-is-not-here"):
            return errno.EIO
        fcntl.ioctl(listener, _ANSWER, bytearray(_REPLY.pack(id, 0, 0, _CONTINUE)))
        return 0
    except OSError as problem:
        return problem.errno or errno.EIO
    finally:
        os.close(listener)


def run() -> None:
    """`recorder FD PARENT`: the control socket, and the process that started us."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)  # passed on to us, and to nobody else
    hello = json.loads(control.recv(1 << 16))
    calls = {int(audit): {int(n): name for n, name in c.items()} for audit, c in hello["calls"].items()}
    filter = Filter(bytes.fromhex(hello["program"]), hello["seccomp"], calls)
    filter.die_with_parent(int(sys.argv[2]))
    try:
        problem = probe(filter)
    except OSError as failure:
        problem = failure.errno or errno.EIO
    control.send(json.dumps({"errno": problem}).encode())
    if not problem:
        Recorder(control, filter).serve()
