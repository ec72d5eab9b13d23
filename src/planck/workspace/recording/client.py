"""The runtime's end of the recorder: one process for each session, started at the first command."""

import asyncio
import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from planck.workspace.git.settings import find_excludes
from planck.workspace.process.isolated import isolated
from planck.workspace.recording.notify import Filter, make_filter

_PATIENCE = 10.0
"""Seconds for the recorder to start: 20 ms when nothing else runs."""
_END_TIMEOUT = 2.0
_MAX_REPLY = 1 << 12


class SeccompRecording:
    """Implements `Recording`. Its methods belong to the loop's thread, with which the recorder dies."""

    def __init__(self, filter: Filter | None = None) -> None:
        self._filter = filter
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._problem: str | None = None
        """Why nothing can be recorded here; None: not tried yet."""
        self._starting = asyncio.Lock()

    async def prepare(self) -> str:
        async with self._starting:
            if self._process is not None and self._process.poll() is not None:
                self._let_go()  # somebody killed it; the next one works
            elif self._problem is not None:
                return self._problem
            try:
                self._problem = await self._launch()
            except (OSError, ValueError, TimeoutError) as problem:
                self._problem = f"the recorder did not start: {problem}"
            except BaseException:
                self._let_go()
                raise
            if self._problem:
                self._let_go()
            return self._problem

    async def start(
        self,
        words: Sequence[str],
        fds: Mapping[int, int],
        cwd: int,
        env: Mapping[str, str],
        roots: Sequence[str],
        spool: Path,
        at: int | None,
        apart: Sequence[str] = (),
    ) -> "RecordedProcess":
        if problem := await self.prepare():
            raise OSError(errno.ECONNREFUSED, problem)
        assert self._control is not None
        assert self._process is not None
        request = {
            "words": list(words),
            "environment": dict(env),
            "roots": list(roots),
            "apart": list(apart),
            "excludes": [find_excludes(root) for root in roots],
            "numbers": list(fds),
            "view": at is not None,
        }
        loop = asyncio.get_running_loop()
        status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            opened = [_write_request(request), _open_spool(spool)]
            try:
                passed = [opened[0], theirs.fileno(), cwd, opened[1], *([] if at is None else [at])]
                status.setblocking(False)
                # One small message: the text is in a file, because it may be longer than any message.
                socket.send_fds(self._control, [b"start"], [*passed, *fds.values()])
            finally:
                for fd in opened:
                    os.close(fd)
                theirs.close()
            # If this is cancelled the socket is closed, and the recorder kills what it has started.
            reply = _read_reply(await loop.sock_recv(status, _MAX_REPLY))
        except BaseException:
            status.close()
            theirs.close()
            raise
        if "pid" not in reply:
            status.close()
            number = int(reply.get("errno", errno.EPIPE))
            raise OSError(number, reply.get("text") or "the recorder ended")
        return RecordedProcess(int(reply["pid"]), status, self._process)

    async def aclose(self) -> None:
        process, control = self._process, self._control
        self._process = self._control = None
        self._problem = "the session is closed"
        if control is not None:
            control.close()  # it ends by that, and its commands with it
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(process.wait, _END_TIMEOUT)
            process.kill()
            process.wait()

    async def _launch(self) -> str:
        if not sys.platform.startswith("linux"):
            return "commands can be recorded on Linux only"
        filter = self._filter or make_filter()
        if filter is None:
            return f"Planck does not know the system calls of {os.uname().machine}"
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = control
        with theirs:
            self._process = _spawn(theirs.fileno())
        calls = {str(audit): names for audit, names in filter.calls.items()}
        hello = {"program": filter.program.hex(), "seccomp": filter.seccomp, "calls": calls}
        control.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(control, json.dumps(hello).encode())
        async with asyncio.timeout(_PATIENCE):
            reply = _read_reply(await loop.sock_recv(control, _MAX_REPLY))
        return explain(int(reply["errno"])) if "errno" in reply else "the recorder ended at its start"

    def _let_go(self) -> None:
        process, control = self._process, self._control
        self._process = self._control = None
        if control is not None:
            control.close()
        if process is not None:
            process.kill()
            process.wait()


class RecordedProcess:
    """A command that the recorder started: implements `Started`."""

    def __init__(self, pid: int, status: socket.socket, recorder: "subprocess.Popen[bytes]") -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.lost: bool = False
        self._status = status
        self._recorder = recorder
        try:
            self._leader = os.pidfd_open(pid)
        except OSError:  # its recorder died already, and init took its remains
            self._leader = -1

    def fileno(self) -> int:
        return self._status.fileno()

    def kill(self) -> None:
        """Kills the process group. The recorder does not reap the process before `wait`, so that the number
        can't be another's. The death of the recorder ends the process, but nothing that it started."""
        if self.returncode is not None or (self._recorder.poll() is not None and self._is_reused()):
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _is_reused(self) -> bool:
        """Whether the number may be another process's; it can't be while one of the group is left."""
        if self._leader < 0:
            return True
        poll = select.poll()
        poll.register(self._leader, select.POLLIN)
        if not poll.poll(0):
            return False  # it has not ended yet
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_bytes()
        except OSError:
            return False
        return stat.rpartition(b")")[2].split()[0] not in (b"Z", b"X")

    def wait(self) -> int:
        if self.returncode is None:
            self._status.setblocking(True)
            try:
                reply = _read_reply(self._status.recv(_MAX_REPLY))
            except OSError:
                reply = {}
            self._status.close()
            if self._leader >= 0:
                os.close(self._leader)
            self.lost = "code" not in reply
            self.returncode = int(reply.get("code", -signal.SIGKILL))
        return self.returncode


def explain(number: int) -> str:
    """Says why this kernel or container does not let commands be recorded; empty for 0."""
    match number:
        case 0:
            return ""
        case errno.EBUSY:
            return "a seccomp listener is in force here already, of another Planck or of a container manager"
        case errno.ENOSYS | errno.EINVAL:
            return f"this needs Linux 5.5 or later with seccomp, and this is {os.uname().release}"
        case errno.EACCES | errno.EPERM:
            return "the memory of commands cannot be read here (kernel.yama.ptrace_scope must be 0 or 1)"
    return f"seccomp failed: {os.strerror(number)}"


def _spawn(control: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*isolated("planck.workspace.recording.recorder"), str(control), str(os.getpid())],
        cwd="/",
        env={"LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl+C at a terminal is not for it
        pass_fds=(control,),
    )


def _write_request(request: Mapping[str, object]) -> int:
    fd = os.memfd_create("planck-command", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(fd), "wb") as file:
            # Not our codec: arguments may hold bytes that are not UTF-8.
            file.write(json.dumps(request).encode())
    except BaseException:
        os.close(fd)
        raise
    return fd


def _open_spool(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _read_reply(data: bytes) -> dict[str, Any]:
    reply: dict[str, Any] = json.loads(data) if data else {}
    return reply
