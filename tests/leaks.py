"""A pytest plugin that fails a test when it leaves something open, and says what.

After the teardown of each test, the process is compared with what it was before: file descriptors,
child processes, threads and temporary files. Each event loop is inspected before it is closed: tasks,
timers, transports, servers. What a fixture of a wider scope opens belongs to that fixture, not to the
test that needed it first; a helper that lives until the end of the run is started inside `kept()`.
"""

import asyncio
import gc
import io
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from asyncio import base_subprocess, runners, sslproto, transports
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from tests import command

GRACE = 5.0
"""Seconds for a thread or a process that is about to end. Only a leak costs them."""
TURNS = 100
"""Iterations of a loop in which everything that was closed or cancelled must be gone; none of them waits."""


class Watch:
    """What is open in this process, and what the current test has been found to leave open."""

    def __init__(self, base: Path) -> None:
        self.pid = os.getpid()
        self._base = f"{base}/"
        self.folder = tempfile.mkdtemp(prefix="pk")
        """The temporary folder of this process. Short: the path of a Unix socket has 108 bytes at most."""
        os.chmod(self.folder, 0o1777)  # like /tmp: some tests run a program as another user
        self._marker = f"TMPDIR={self.folder}".encode()
        self.found: list[str] = []
        self.spawned = False
        """Whether a process may have been started since the last look, which takes milliseconds."""
        self._fds = _read_fds()
        self._threads = set(threading.enumerate())
        self._names = set(os.listdir(self.folder))
        self._pids = _read_pids()
        self._kept: dict[int, str] = {}
        """Processes that belong to a wider fixture or to the run, each with its working directory."""

    def look(self) -> list[str]:
        """Returns what is open now and was not before; each of them is closed, or known from now on."""
        if not self._is_suspicious():
            return []
        try:
            self._collect_garbage()
            self._check_transports()
            self._check_processes()
            self._check_threads()
            self._check_fds()
            self._check_folder()
        finally:
            self.settle()
        found, self.found = self.found, []
        return found

    def settle(self) -> None:
        """Takes what is open now as given."""
        self._fds = _read_fds()
        self._threads = set(threading.enumerate())
        self._names = set(os.listdir(self.folder))

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is opened inside belongs to someone who lives longer than the test."""
        fds, threads = _read_fds(), set(threading.enumerate())
        names, pids = set(os.listdir(self.folder)), _read_pids()
        try:
            yield
        finally:
            self._fds |= {fd: name for fd, name in _read_fds().items() if fds.get(fd) != name}
            self._threads |= set(threading.enumerate()) - threads
            self._names |= set(os.listdir(self.folder)) - names
            if self.spawned:
                for pid in _read_pids() - pids:
                    if self._is_ours(pid):
                        self._kept[pid] = _read_cwd(pid)
                        self._pids.add(pid)

    def _is_suspicious(self) -> bool:
        return bool(
            self.spawned
            or self.found
            or _unclosed()
            or _read_fds() != self._fds
            or set(threading.enumerate()) - self._threads
            or set(os.listdir(self.folder)) - self._names
            or (not self._kept and _has_children())
        )

    def _collect_garbage(self) -> None:
        """Drops what only a cycle keeps alive, and takes the warnings that would hit a later test."""
        if _read_fds() == self._fds and not _unclosed() and not _unwaited():
            return
        before = sys.unraisablehook
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            sys.unraisablehook = lambda broken: self.found.append(
                f"error in a destructor: {broken.exc_value!r}"
            )
            try:
                gc.collect()
            finally:
                sys.unraisablehook = before
        self.found += [f"never closed: {warning.message}" for warning in told]

    def _check_transports(self) -> None:
        """Finds those of loops that were closed without a runner."""
        for transport in _unclosed():
            if transport._loop is None or transport._loop.is_closed():
                self.found.append(_describe_transport(transport))
                _transports.discard(transport)

    def _check_processes(self) -> None:
        if not self.spawned and not _has_children():
            return
        self.spawned = False
        pids = _read_pids()
        new, self._pids = pids - self._pids, pids
        leaked = []
        for pid in sorted(new):
            if not self._is_ours(pid) or self._is_helper(pid):
                continue
            words = _read_command(pid)
            if _read_parent(pid) != os.getpid():
                # Nobody here can wait for it, so one that was told to end may need a moment.
                if not _ends(pid, GRACE):
                    leaked.append(pid)
                    self.found.append(f"process {pid} still runs, which a child process started: {words}")
            elif _read_state(pid) == "Z":
                leaked.append(pid)
                self.found.append(f"child process {pid} has ended, and nobody waited for it")
            elif not _is_awaited(pid) or not _ends(pid, GRACE):
                leaked.append(pid)
                self.found.append(f"child process {pid} still runs: {words}")
        for pid in leaked:
            _end(pid)

    def _is_ours(self, pid: int) -> bool:
        """Whether this process started it, directly or not. One that changes both its folder and its
        environment and has lost its parent is not recognised."""
        if pid == os.getpid():
            return False
        try:
            if _read_parent(pid) == os.getpid() or f"{_read_cwd(pid)}/".startswith(self._base):
                return True
            return self._marker in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:  # it has ended, or it belongs to another user
            return False

    def _is_helper(self, pid: int) -> bool:
        """Whether a kept process started it to do its own work, as a database does for each connection."""
        cwd = _read_cwd(pid)
        while pid > 1:
            pid = _read_parent(pid)
            if pid in self._kept:
                return self._kept[pid] == cwd
        return False

    def _check_threads(self) -> None:
        pool = getattr(sys.modules.get("planck.store.threads"), "_THREADS", None)
        for thread in set(threading.enumerate()) - self._threads:
            # Those that came from outside of Python stay listed after their end, and the product has one
            # pool of threads that wait for the disk until the process ends.
            target = getattr(thread, "_target", None)
            if isinstance(thread, threading._DummyThread) or _is_of(pool, target):
                continue
            thread.join(GRACE)
            if thread.is_alive():
                doing = f", which runs {_describe_call(target)}" if target else ""
                self.found.append(f"thread {thread.name!r}{doing}")

    def _check_fds(self) -> None:
        fds = _read_fds()
        runtime = _find_runtime(fds)
        for fd, name in fds.items():
            if self._fds.get(fd) != name and fd not in runtime:
                self.found.append(_describe_fd(fd, name))
                _close_owner(fd)

    def _check_folder(self) -> None:
        for name in set(os.listdir(self.folder)) - self._names:
            path = Path(self.folder, name)
            if path.is_dir() and not path.is_symlink():
                self.found.append(f"temporary folder {path}")
                shutil.rmtree(path, ignore_errors=True)
            else:
                self.found.append(f"{'lock' if 'lock' in name else 'temporary'} file {path}")
                path.unlink(missing_ok=True)


class Known:
    """The objects of some classes that are alive. Unlike a WeakSet, it can be read while a thread adds."""

    def __init__(self, *kinds: type[Any]) -> None:
        self._refs: dict[int, ref[Any]] = {}
        for kind in kinds:
            self._follow(kind)

    def __iter__(self) -> Iterator[Any]:
        return iter([each for each in [found() for found in list(self._refs.values())] if each is not None])

    def discard(self, each: object) -> None:
        self._refs.pop(id(each), None)

    def _follow(self, kind: type[Any]) -> None:
        original, refs = kind.__init__, self._refs

        def init(self: Any, *args: Any, **options: Any) -> None:
            key = id(self)
            refs[key] = ref(self, lambda _: refs.pop(key, None))
            original(self, *args, **options)
            if kind is subprocess.Popen:
                _note_process()

        _patch.setattr(kind, "__init__", init)


_patch = pytest.MonkeyPatch()
_watch: Watch | None = None
_transports: Known
_popens: Known


@contextmanager
def kept() -> Iterator[None]:
    """What is opened inside lives until the end of the run: it is not a leak of the test that needed it."""
    if _watch is None:
        yield
    else:
        with _watch.kept():
            yield


# The hooks of pytest.


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    # Not earlier: with xdist, the process that only distributes the tests has nothing to watch.
    if _watch is None and os.path.isdir("/proc/self/fd"):
        _start(item.config)
    yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if found := _look():
            item.add_report_section("teardown", "leaks", found)
        raise
    if found := _look():
        pytest.fail(f"{item.nodeid} left open:\n{found}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
    if fixturedef.scope == "function" or _watch is None:
        return (yield)
    with _watch.kept():
        return (yield)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    global _watch
    if _watch is not None and _watch.pid == os.getpid():  # not in a process that a test forked
        _patch.undo()
        shutil.rmtree(_watch.folder, ignore_errors=True)
        _watch = None


def _start(config: pytest.Config) -> None:
    global _watch, _transports, _popens
    # Before the temporary folder changes: `tmp_path` stays where pytest keeps and removes it.
    base = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    _watch = Watch(base)
    _patch.setattr(tempfile, "tempdir", _watch.folder)
    _patch.setenv("TMPDIR", _watch.folder)
    _patch.setitem(command.PLAIN, "TMPDIR", _watch.folder)
    os.register_at_fork(after_in_parent=_note_process)
    _patch.setattr(runners, "_cancel_all_tasks", _cancel_all_tasks)
    _transports = Known(transports.BaseTransport, sslproto._SSLProtocolTransport)
    _popens = Known(subprocess.Popen)
    _watch.settle()


def _look() -> str:
    if _watch is None:
        return ""
    return "\n".join(f"  - {line}" for line in _watch.look())


def _note_process() -> None:
    if _watch is not None:
        _watch.spawned = True


# Event loops.

_original_cancel = runners._cancel_all_tasks  # type: ignore[attr-defined]


def _cancel_all_tasks(loop: Any) -> None:
    """Takes the place of the function with which a runner starts to close its loop."""
    with inspected(loop):
        _original_cancel(loop)


@contextmanager
def inspected(loop: Any) -> Iterator[None]:
    """Reports what a loop still has to do: tasks before they are cancelled inside, the rest after that."""
    if _watch is None or loop.is_closed():
        yield
        return
    _turn(loop)
    for task in asyncio.all_tasks(loop):
        _watch.found.append(f"task {task.get_name()!r} still runs {_describe_task(task)}")
    yield
    _turn(loop)
    _watch.found += _close_all(loop)


def _turn(loop: Any) -> None:
    """Lets callbacks that are ready run, but nothing that has to wait."""
    for _ in range(TURNS):
        if not loop._ready and not _unclosed(loop) and not asyncio.all_tasks(loop):
            break
        loop.call_soon(loop.stop)
        loop.run_forever()


def _close_all(loop: Any) -> list[str]:
    """Closes the transports, servers and timers of a loop, and says which there were."""
    found = []
    for key in list(loop._selector.get_map().values()):
        reader = key.data[0]
        if key.fd == loop._ssock.fileno() or reader is None:
            continue
        for server in reader._args or ():
            if isinstance(server, asyncio.AbstractServer):
                found.append(f"server on {_describe_fd(key.fd, '')}")
                server.close()
    open_ones = _unclosed(loop)
    pipes = {id(pipe.pipe) for each in open_ones for pipe in getattr(each, "_pipes", {}).values() if pipe}
    for transport in open_ones:
        _transports.discard(transport)
        if id(transport) not in pipes:
            found.append(_describe_transport(transport))
            # A pipe that is read has nothing to abort, and the child of a subprocess is killed by `close`.
            getattr(transport, "abort", transport.close)()
    for timer in loop._scheduled:
        if not timer.cancelled() and not open_ones:
            found.append(
                f"timer that calls {_describe_call(timer._callback)} in {timer.when() - loop.time():.1f} s"
            )
            timer.cancel()
    for key in list(loop._selector.get_map().values()):
        if key.fd != loop._ssock.fileno() and not open_ones:
            calls = [handle._callback for handle in key.data if handle]
            found.append(f"file descriptor {key.fd} is still watched by {_describe_call(calls[0])}")
            loop._selector.unregister(key.fileobj)
    if found:
        _turn(loop)
    return found


def _unclosed(loop: Any = None) -> list[Any]:
    """Returns the transports, of one loop or of all, that are not closed to the end."""
    found = []
    for transport in _transports:
        its_loop = getattr(transport, "_loop", None)
        if (loop is None or its_loop is loop) and _is_open(transport):
            found.append(transport)
    return found


def _is_open(transport: Any) -> bool:
    """Says what the destructor of a transport would complain of."""
    if isinstance(transport, base_subprocess.BaseSubprocessTransport | sslproto._SSLProtocolTransport):
        return not getattr(transport, "_closed", True)
    return getattr(transport, "_sock", None) is not None or getattr(transport, "_pipe", None) is not None


def _describe_transport(transport: Any) -> str:
    if isinstance(transport, base_subprocess.BaseSubprocessTransport):
        pid = transport.get_pid()
        state = "still runs" if transport.get_returncode() is None else "has ended, but its pipes are open"
        words = getattr(transport._proc, "args", "")
        return f"transport of child process {pid}, which {state}: {words}"
    if "asyncpg" in type(transport.get_protocol()).__module__:
        return f"PostgreSQL connection to {transport.get_extra_info('peername')}"
    state = "is closing, but has data to send" if transport.is_closing() else "is open"
    if pipe := transport.get_extra_info("pipe"):
        return f"transport of a pipe, which {state}: {pipe}"
    ends = f"{transport.get_extra_info('sockname')} to {transport.get_extra_info('peername')}"
    return f"transport from {ends}, which {state} ({type(transport.get_protocol()).__name__})"


def _is_of(owner: object, method: object) -> bool:
    return owner is not None and getattr(method, "__self__", None) is owner


def _describe_task(task: "asyncio.Task[Any]") -> str:
    where = task.get_stack(limit=1)
    at = f" at {where[0].f_code.co_filename}:{where[0].f_lineno}" if where else ""
    return f"{getattr(task.get_coro(), '__qualname__', task.get_coro())}{at}"


def _describe_call(call: Any) -> str:
    call = getattr(call, "func", call)  # of a partial
    return f"{getattr(call, '__module__', '')}.{getattr(call, '__qualname__', repr(call))}"


# File descriptors.


def _read_fds() -> dict[int, str]:
    found = {}
    for fd in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the one that read the folder
            found[int(fd)] = os.readlink(f"/proc/self/fd/{fd}").removesuffix(" (deleted)")
    return found


def _find_runtime(fds: dict[int, str]) -> set[int]:
    """Returns the descriptors of a runtime inside a library: Go opens an epoll with an eventfd, when its
    first timer is set, and keeps both until the process ends. An event loop of Python has a socket pair."""
    found = set()
    for fd, name in fds.items():
        if name == "anon_inode:[eventpoll]":
            with suppress(OSError):
                watched = re.findall(r"^tfd:\s+(\d+)", Path(f"/proc/self/fdinfo/{fd}").read_text(), re.M)
                if wakers := [int(each) for each in watched if fds.get(int(each)) == "anon_inode:[eventfd]"]:
                    found |= {fd, *wakers}
    return found


def _describe_fd(fd: int, name: str) -> str:
    text = f"file descriptor {fd}: {name}" if name else f"file descriptor {fd}"
    with suppress(OSError, ValueError):
        if "lock:" in Path(f"/proc/self/fdinfo/{fd}").read_text():
            return f"lock on {name} (file descriptor {fd})"
    try:
        duplicate = socket.socket(fileno=os.dup(fd))
    except OSError:
        return f"{text} (event loop)" if "eventpoll" in name else text
    with duplicate:
        if duplicate.family == socket.AF_NETLINK:
            return text
        if duplicate.type == socket.SOCK_STREAM and duplicate.getsockopt(
            socket.SOL_SOCKET, socket.SO_ACCEPTCONN
        ):
            return f"socket that listens on {duplicate.getsockname()} (file descriptor {fd})"
        with suppress(OSError):
            return (
                f"socket from {duplicate.getsockname()} to {duplicate.getpeername()} (file descriptor {fd})"
            )
        return f"socket (file descriptor {fd})"


def _close_owner(fd: int) -> None:
    """Closes the object that holds a descriptor, whose destructor would complain in a later test.

    A descriptor without such an object stays open: closing it below a library would break that.
    """
    for each in gc.get_objects():
        if issubclass(type(each), socket.socket | io.FileIO | asyncio.SelectorEventLoop):
            with suppress(OSError, ValueError, RuntimeError):
                holder = getattr(each, "_selector", each)
                if holder is not None and holder.fileno() == fd:  # a closed loop has none
                    each.close()


# Processes.


def _read_pids() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def _read_cwd(pid: int) -> str:
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/cwd")
    return ""


def _read_stat(pid: int) -> list[str]:
    """Returns what follows the name of the program: the state, the parent, and so on."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return ["X", "0"]


def _read_state(pid: int) -> str:
    return _read_stat(pid)[0]


def _read_parent(pid: int) -> int:
    return int(_read_stat(pid)[1])


def _read_command(pid: int) -> str:
    with suppress(OSError):
        return (
            Path(f"/proc/{pid}/cmdline")
            .read_bytes()
            .replace(b"\0", b" ")
            .decode(errors="replace")[:200]
            .strip()
        )
    return ""


def _unwaited() -> list[Any]:
    return [popen for popen in _popens if getattr(popen, "returncode", 0) is None]


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _is_awaited(pid: int) -> bool:
    """Whether a thread of asyncio already waits for the end of a child."""
    return any(pid in getattr(thread, "_args", ()) for thread in threading.enumerate())


def _ends(pid: int, seconds: float) -> bool:
    """Waits for the end of a process; a zombie has ended."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(fd)


def _end(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    for popen in _popens:
        if getattr(popen, "pid", None) == pid:
            popen.wait(GRACE)
    with suppress(OSError):
        os.waitpid(pid, 0)
