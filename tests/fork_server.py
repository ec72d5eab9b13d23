"""Starts `python -m planck` for tests by forking a process that has already imported it.

A test still gets a process of its own for each command: a child of the test's process, with its own
environment, folder, streams, signals and exit code. Only the 0.2 s of imports are saved. Whatever this can't
do faithfully (another interpreter option, a locale, another user) is started in the ordinary way.
"""

import atexit
import ctypes
import errno
import fcntl
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from typing import Any

_PREFIX = (sys.executable, "-m", "planck")
_CLONE_PARENT = 0x8000
_CLONE = {"x86_64": 56, "aarch64": 220}
_HARMLESS = {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": None, "PYTHONUNBUFFERED": None}
"""Variables of the interpreter that make no difference here: with that value, or with any."""

EXEC = "PLANCK_TEST_EXEC"
"""A test that sets this variable for a command gets an interpreter that starts from nothing."""


def own_terminal() -> None:
    """Makes standard input the terminal of the new session, as a terminal emulator does: jobs need it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def install() -> None:
    """From now on, every `Popen` of this process uses the server where it can, asyncio's too."""
    if sys.platform == "linux" and platform.machine() in _CLONE:
        subprocess.Popen._execute_child = _Client(subprocess.Popen._execute_child).as_method()  # type: ignore[attr-defined]


class _Client:
    def __init__(self, ordinary: Any) -> None:
        self._ordinary = ordinary
        self._lock = threading.Lock()
        self._server: socket.socket | None = None

    def as_method(self) -> Any:
        def execute_child(popen: Any, *given: Any) -> None:
            if not self._fork(popen, *given):
                self._ordinary(popen, *given)

        return execute_child

    def _fork(
        self,
        popen: Any,
        args: Any,
        executable: Any,
        preexec_fn: Any,
        close_fds: bool,
        pass_fds: Sequence[int],
        cwd: Any,
        env: Mapping[str, str] | None,
        startupinfo: Any,
        creationflags: int,
        shell: bool,
        p2cread: int,
        p2cwrite: int,
        c2pread: int,
        c2pwrite: int,
        errread: int,
        errwrite: int,
        restore_signals: bool,
        gid: Any,
        gids: Any,
        uid: Any,
        umask: int,
        start_new_session: bool,
        process_group: int,
    ) -> bool:
        """Returns False where the ordinary way must be taken."""
        odd = executable or shell or pass_fds or not close_fds or not restore_signals
        if odd or (gid, gids, uid, umask) != (None, None, None, -1) or preexec_fn not in (None, own_terminal):
            return False
        if isinstance(args, str | bytes | os.PathLike) or tuple(args[:3]) != _PREFIX:
            return False
        variables = dict(os.environ if env is None else env)
        folder = os.fspath(cwd or os.getcwd())
        if not all(isinstance(word, str) for word in (*args, *variables, *variables.values())):
            return False
        if not _is_ordinary(variables) or not os.path.isdir(folder):
            return False
        streams = [own if given < 0 else given for own, given in enumerate((p2cread, c2pwrite, errwrite))]
        request = {
            "argv": list(args),
            "cwd": folder,
            "env": variables,
            "session": start_new_session,
            "group": process_group,
            "terminal": preexec_fn is own_terminal,
        }
        popen.pid = self._ask(request, streams)
        popen._child_created = True
        popen._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)
        return True

    def _ask(self, request: dict[str, Any], streams: list[int]) -> int:
        body = json.dumps(request).encode()
        with self._lock:
            server = self._server = self._server or self._start()
            socket.send_fds(server, [len(body).to_bytes(4, "big")], streams)
            server.sendall(body)
            return int.from_bytes(_receive(server, 4), "big")

    def _start(self) -> socket.socket:
        from tests.leaks import kept

        with kept():
            return self._start_kept()

    def _start_kept(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            keep = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONUTF8": "1"}
            # It ends when this process does: its end of the socket is closed then.
            process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], env=keep, stdin=subprocess.DEVNULL
            )
        process.returncode = 0  # nobody waits for it, and nobody should be told so
        if _receive(ours, 1) != b"!":
            raise RuntimeError("the fork server did not start")
        return ours


def _is_ordinary(env: Mapping[str, str]) -> bool:
    """Whether an interpreter with these variables would start as the server itself did."""
    for name, value in env.items():
        if name == EXEC:
            return False
        if name.startswith("PYTHON") and _HARMLESS.get(name, "") not in (None, value):
            return False
        if name in ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE") and value not in ("", "C", "POSIX", "C.UTF-8"):
            return False
    return True


def _receive(source: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        piece = source.recv(count - len(found))
        if not piece:
            raise EOFError("the other side of the fork server is gone")
        found += piece
    return found


def _serve(asked: socket.socket) -> dict[str, Any] | None:
    """Forks for each request; returns the request in the child, and None once nobody asks any more."""
    asked.sendall(b"!")
    while True:
        size, streams, _, _ = socket.recv_fds(asked, 4, 3)
        if not size:
            return None
        while len(size) < 4:
            size += asked.recv(4 - len(size))
        request: dict[str, Any] = json.loads(_receive(asked, int.from_bytes(size, "big")))
        if _fork_sibling() == 0:
            try:
                _become(request, streams)
            finally:
                # Not before: a test may look at the process, or signal it, as soon as it has its id.
                asked.sendall(os.getpid().to_bytes(4, "big"))
                asked.detach()
                os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
            return request
        for fd in streams:
            os.close(fd)


def _fork_sibling() -> int:
    """A fork whose child belongs to *our parent*, so that a test waits for it as for a child of its own."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid: int = ctypes.PyDLL(None, use_errno=True).syscall(
        _CLONE[platform.machine()], _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0
    )
    if pid == 0:
        python.PyOS_AfterFork_Child()
        return 0
    python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(ctypes.get_errno(), errno.errorcode.get(ctypes.get_errno(), "?"))
    return pid


def _become(request: dict[str, Any], streams: Sequence[int]) -> None:
    """Makes this process what an interpreter started with the request would be."""
    for own, fd in enumerate(streams):
        os.dup2(fd, own)
    if request["session"]:
        os.setsid()
    if request["group"] >= 0:
        os.setpgid(0, request["group"])
    if request["terminal"]:
        own_terminal()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    if not any(os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG")):
        os.environ["LC_CTYPE"] = "C.UTF-8"  # as the interpreter itself does it (PEP 538)
    sys.argv = [_MAIN, *request["argv"][3:]]
    sys.orig_argv = request["argv"]
    sys.path[0] = os.getcwd()
    sys.stdin = _open_text(0, "r", "surrogateescape")
    sys.stdout = _open_text(1, "w", "surrogateescape")
    sys.stderr = _open_text(2, "w", "backslashreplace")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))


def _open_text(fd: int, mode: str, errors: str) -> Any:
    lines = mode == "w" and (fd == 2 or os.isatty(fd))
    newline = "\n" if mode == "w" else None
    return open(fd, mode, 1 if lines else -1, "utf-8", errors, newline, closefd=False)


def _preload() -> str:
    """Imports all that a command may load later; returns the path of what `-m planck` runs."""
    import gc
    import importlib
    import pkgutil

    import planck

    for module in pkgutil.walk_packages(planck.__path__, "planck."):
        if not module.name.endswith(_NOT_PRELOADED):
            try:
                importlib.import_module(module.name)
            except ImportError:
                pass  # of an extra that is not installed
    for name in ("asyncio", "sqlite3", "ssl"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    return os.path.join(planck.__path__[0], "__main__.py")


_NOT_PRELOADED = ("__main__", "planck.mcp.serve", "planck.peers.sign_in", "planck.headless.services.spans")
"""All but the first load a large SDK: every fork would pay for its memory."""

_MAIN = ""

if __name__ == "__main__":
    sys.path[0] = os.getcwd()
    _MAIN = _preload()
    if _serve(socket.socket(fileno=int(sys.argv[1]))):
        from planck.cli.main import main

        code = main()
        # An ordinary exit, without the teardown of every module that was loaded: 70 ms for a command of 10.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
