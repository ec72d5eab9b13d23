"""Asks `opener` for overlays, and says what the kernel refuses."""

import errno
import json
import os
import socket
import subprocess
import sys
import threading

from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.views import opener as program

_PATIENCE = 20.0
"""Seconds for one answer of the opener, on a machine that is busy."""


class ViewError(PlanckError):
    """No view can be opened here; the message says why, and what the user can change."""


class Opener:
    """The program that mounts: one for each session that has views, started at its first one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ours: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def open(self, request: dict[str, object]) -> tuple[int, int, int]:
        with self._lock:
            for attempt in (1, 2):  # a program that was killed is started again
                try:
                    return self._ask(json.dumps(request).encode())
                except (BrokenPipeError, ConnectionError):
                    self._stop()
                    if attempt == 2:
                        raise ViewError(
                            ErrorKind.SANDBOX_UNAVAILABLE, "the program that opens views ended; try again"
                        ) from None
        raise AssertionError

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _ask(self, request: bytes) -> tuple[int, int, int]:
        ours = self._ours or self._start()
        ours.send(request)
        try:
            said, fds, _, _ = socket.recv_fds(ours, program.MAX_REQUEST, 3)
            ended = said != program.DONE and ours.recv(16) == program.DONE
        except TimeoutError:
            self._stop()
            raise ViewError(
                ErrorKind.TIMEOUT, f"a view was not mounted within {_PATIENCE:g} s; try again"
            ) from None
        if not ended:
            for fd in fds:
                os.close(fd)
            raise ConnectionError
        answer = json.loads(said)
        if "errno" in answer:
            raise refuse_mount(answer["errno"], answer["step"])
        for fd in fds:
            os.set_inheritable(fd, False)
        user, mounts, root = fds
        return user, mounts, root

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # The socket's end is its end: it lives as long as this process, and no longer.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", program.__file__],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        ours.settimeout(_PATIENCE)
        self._ours = ours
        return ours

    def _stop(self) -> None:
        if self._ours is not None:
            self._ours.close()
            self._ours = None
        if self._process is not None:
            self._process.kill()  # it holds nothing: what it mounted is held by descriptors
            self._process.wait()
            self._process = None


def refuse_mount(number: int, step: str) -> ViewError:
    """Says what the kernel refused; `step` is the call, as `opener` names it."""
    why = os.strerror(number)
    if step == "mount" and number == errno.EINVAL:
        return ViewError(
            ErrorKind.SANDBOX_UNAVAILABLE,
            "views can't lie on an overlay: set views.folder to a volume",
            {"errno": number, "step": step},
        )
    if number in (errno.ENOSPC, errno.EPERM, errno.EACCES, errno.EUSERS):
        return ViewError(
            ErrorKind.SANDBOX_UNAVAILABLE,
            f"user namespaces are not allowed here ({step}: {why})",
            {"errno": number, "step": step},
        )
    return ViewError(
        ErrorKind.SANDBOX_UNAVAILABLE,
        f"the kernel mounts no overlay here ({step}: {why})",
        {"errno": number, "step": step},
    )
