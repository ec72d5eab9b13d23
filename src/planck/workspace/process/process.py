"""Child processes: spawned on the loop, contained, bounded in time and memory, and gone when we say so.

The door for every command (`bash`, TOOL.json, git):

    done = await run(Command(shell("ls | wc -l"), folder, allowed(environ), spill=file), timeout=30.0)
    done.output, done.exit_code, done.timed_out, done.containment, done.spilled

    job = start(Command(argv, folder, allowed(environ)))     # the same, without waiting
    await job.wait(); await job.kill()

Cancelling `run` kills the command and everything it started before the cancellation goes on.

The ladder, probed once by trying it: a PID namespace of its own, which dies with the runtime and takes every
descendant along, or else a process group, which a `setsid` escapes: `containment()` says which.
"""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from planck.records.authority import Confinement, Mode
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import KnownKeys
from planck.workspace.process.containment import Containment, bash, containment, wrapper
from planck.workspace.process.output import KEEP_BYTES, OutputTail
from planck.workspace.sandbox import remains
from planck.workspace.sandbox.sandbox import Looks, Wrapped, look_ahead, wrap

if TYPE_CHECKING:
    from planck.workspace.recording.recording import Record, Started
    from planck.workspace.views.view import View

MAX_FILE = 1 << 30
"""Bytes of a file that a command may write."""
MAX_DATA = 4 << 30
"""Bytes of memory of its own that each process of a command may have: there is no cgroup to count them all.
(`RLIMIT_AS` would break programs that reserve much and use little.)"""
MAX_PROCESSES = 4096
"""Processes and threads of one command: far more than a large build needs, far less than a fork bomb wants.
Only in a user namespace of its own, where since Linux 5.14 nobody else's count; root is exempt."""


class ProcessError(PlanckError):
    """A command that could not be started."""


class Command(msgspec.Struct, frozen=True):
    """What is started where, with which rights, and how much of its output is kept."""

    argv: Sequence[str]
    cwd: Path | int
    """An int is a directory's descriptor that was opened by `paths`, so that nobody can swap it."""
    environment: Mapping[str, str]
    confinement: Confinement | None = None
    """What it forbids is impossible, or nothing is started."""
    spill: Path | None = None
    """Gets the output once it is longer than `keep`; with `spill_all` from its first byte."""
    spill_all: bool = False
    keys: KnownKeys | None = None
    """What is never kept of the output."""
    keep: int = KEEP_BYTES
    level: Containment | None = None
    """Asks for less containment than there is."""
    record: "Record | None" = None
    """What it changes is written down first; only `run` and `begin` do that."""
    view: "View | None" = None
    """Where it runs, if not in the workspace itself; `cwd` is then a descriptor of a folder in it."""


class Completed(msgspec.Struct, frozen=True):
    exit_code: int | None
    """128 + N for a command ended by signal N; None if it ran out of time."""
    output: str
    """stdout and stderr as they came, at most `keep` bytes of them, free of control sequences."""
    total_bytes: int
    timed_out: bool
    containment: Containment
    spilled: Path | None
    lines: int = 0
    """Of the whole output."""


async def run(
    command: Command,
    timeout: float,
    on_output: Callable[[bytes], None] | None = None,
    on_start: "Callable[[Job], None] | None" = None,
    on_cut: "Callable[[Completed], None] | None" = None,
) -> Completed:
    """Returns when the process has ended or the time is up, even if another process holds its pipes.

    `on_start` is told of the process, once it is there; `on_cut` of what it had done when this is cancelled.
    """
    for _ in range(_ATTEMPTS):
        looks = await look_ahead(rights, command.view) if (rights := _find_rights(command)) else None
        job = await begin(command, on_output, looks=looks)
        try:
            if on_start:
                on_start(job)
            timed_out = not await job.wait(timeout)
        except asyncio.CancelledError:
            await job.kill()
            if on_cut:
                on_cut(job.completed())
            raise
        finally:
            await job.kill()
        done = job.completed(timed_out)
        if timed_out or job.begun:
            if remains.left:
                remains.refuse_remains()
            return done
    why = done.output.strip().rstrip(".") or "no reason was given"
    raise ProcessError(
        ErrorKind.SANDBOX_UNAVAILABLE,
        f"the command was not run, because the sandbox could not be set up: {why}. "
        "If this happens again, use tools that do not run commands, and report the problem "
        "(`planck doctor` shows the cause)",
    )


def start(
    command: Command,
    on_output: Callable[[bytes], None] | None = None,
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int | None = None,
    looks: Looks | None = None,
) -> "Job":
    """Spawns on the calling thread, which must be the loop's: the child dies when that thread ends.

    `looks` are those of `look_ahead`, of this moment. A long-lived peer gets `stdin` and `stdout`,
    descriptors that stay the caller's: the output that is kept is then its stderr alone.
    """
    _check_words(command)
    return _spawn(command, _wrap_for(command, looks), on_output, stdin, stdout)


def _spawn(
    command: Command,
    wrapped: Wrapped,
    on_output: Callable[[bytes], None] | None,
    stdin: int = subprocess.DEVNULL,
    stdout: int | None = None,
) -> "Job":
    cwd = command.cwd
    entered = command.view.fds if command.view else ()
    read_end, write_end = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
    us = _open_own_proc() if stdin == subprocess.DEVNULL and wrapped.level in _WITH_OWN_INIT else None
    try:
        process = subprocess.Popen(
            [*wrapped.prefix, *_first_process(wrapped, look=us is not None), *command.argv],
            cwd=_folder_path(cwd) if isinstance(cwd, int) else cwd,
            env=dict(command.environment),
            stdin=stdin if us is None else us,
            stdout=write_end if stdout is None else stdout,
            stderr=write_end,
            start_new_session=True,
            pass_fds=(*wrapped.passed, *entered),
        )
    except OSError as problem:
        wrapped.release()
        os.close(read_end)
        raise _start_error(command.argv, problem) from problem
    finally:
        for fd in (write_end, *wrapped.passed, *(() if us is None else (us,))):
            os.close(fd)
    return Job(process, read_end, wrapped, command, on_output)


async def begin(
    command: Command,
    on_output: Callable[[bytes], None] | None = None,
    *,
    looks: Looks | None = None,
) -> "Job":
    """As `start`; with `Command.record` by the recorder, whose child the command then is."""
    _check_words(command)
    wrapped = await _wrap_in(command) if command.view else _wrap_for(command, looks)
    if command.record is None:
        return _spawn(command, wrapped, on_output)
    alone = wrapped.level in _WITH_OWN_INIT
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    # Its own folder in /proc, which the command's first process looks at, is put there by the recorder.
    null = None if alone else os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    entered = command.view.fds if command.view else ()
    passed = {1: write_end, 2: write_end, **{fd: fd for fd in (*wrapped.passed, *entered)}}
    try:
        with _folder(command.cwd) as cwd:
            process = await command.record.start(
                [*wrapped.prefix, *_first_process(wrapped, look=alone), *command.argv],
                passed if null is None else {0: null, **passed},
                cwd,
                command.environment,
                wrapped.stubs,
            )
    except BaseException as problem:
        wrapped.release()
        os.close(read_end)
        if isinstance(problem, OSError):
            raise _start_error(command.argv, problem) from problem
        raise
    finally:
        for fd in (write_end, *wrapped.passed, *(() if null is None else (null,))):
            os.close(fd)
    return Job(process, read_end, wrapped, command, on_output)


def _check_words(command: Command) -> None:
    for word in (*command.argv, *command.environment.keys(), *command.environment.values()):
        if "\0" in word:
            raise ProcessError(
                ErrorKind.INVALID_ARGS,
                f"a NUL character cannot be passed to a program; remove it from {word!r}",
            )


def _keep_output(command: Command) -> OutputTail:
    return OutputTail(command.keep, command.spill, spill_all=command.spill_all, keys=command.keys)


@contextmanager
def _folder(cwd: Path | int) -> Iterator[int]:
    if isinstance(cwd, int):
        yield cwd
        return
    fd = os.open(cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def shell(script: str) -> list[str]:
    """The argv that runs `script` without anybody's profile."""
    return [bash(), "--noprofile", "--norc", "-c", script]


class Job:
    """A command that runs; its owner must `kill` it in the end, which is harmless when it is over."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes] | Started",
        pipe: int,
        wrapped: Wrapped,
        command: Command,
        on_output: Callable[[bytes], None] | None,
    ) -> None:
        level = wrapped.level
        self.begun: bool = level is not Containment.BUBBLEWRAP
        """Whether more than the sandbox's own setting up happened: only then did the command run."""
        self._process = process
        self._setting_up = b""
        self._pipe: int | None = pipe
        self._level = level
        self._kept = _keep_output(command)
        self._on_output = on_output
        self._release = wrapped.release
        self._asks = command.view is not None
        """Whether another program is asked to release, which may take long, or hang."""
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._drained = asyncio.Event()
        self._muted = False
        self._waiter: asyncio.Future[object] | None = None
        self._pidfd = _watch(process)
        os.set_blocking(pipe, False)
        self._loop.add_reader(pipe, self._readable)
        if self._pidfd is not None:
            self._loop.add_reader(self._pidfd, self._exited)
        else:
            unreaped = os.WEXITED | os.WNOWAIT
            self._waiter = self._loop.run_in_executor(None, os.waitid, os.P_PID, process.pid, unreaped)
            self._waiter.add_done_callback(lambda _: self._exited())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return not self._ended.is_set()

    async def wait(self, timeout: float | None = None) -> bool:
        """True once the process itself has ended; the pipes may still be held by what it left behind."""
        try:
            async with asyncio.timeout(timeout):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def end(self) -> None:
        """Signal now, without waiting; `kill` must still follow."""
        if self.running:
            self._signal_all()

    async def kill(self) -> None:
        """End the process and all it started, take what is left in the pipe, and let go of everything."""
        killing = asyncio.ensure_future(self._kill())
        try:
            await asyncio.shield(killing)
        except asyncio.CancelledError:
            await asyncio.wait({killing}, timeout=_KILL_TIMEOUT)
            raise

    def completed(self, timed_out: bool = False) -> Completed:
        code = self._process.returncode
        exit_code = None if timed_out or code is None else code if code >= 0 else 128 - code
        kept = self._kept
        return Completed(exit_code, kept.text(), kept.total, timed_out, self._level, kept.spilled, kept.lines)

    def _readable(self) -> None:
        if self._pipe is None:
            return
        try:
            chunk = os.read(self._pipe, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._close_pipe()
            return
        if not self.begun:
            chunk = self._skip_setup(chunk)
        if self._muted or not chunk:
            return
        self._kept.add(chunk)
        if self._on_output is not None:
            self._on_output(chunk)

    def _skip_setup(self, chunk: bytes) -> bytes:
        """Nothing before the command can begin; from the mark on, what the command says."""
        self._setting_up += chunk
        words, mark, rest = self._setting_up.partition(_MARK)
        if not mark:
            return b""
        self.begun, self._setting_up = True, b""
        return words + rest

    def _exited(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if self._level is Containment.PROCESS_GROUP:
            self._signal_group()  # before the reaping: until then nobody else can have this number
        self._process.wait()  # it has ended: this reaps, it does not wait
        if self._asks:
            self._loop.run_in_executor(None, self._release).add_done_callback(self._end)
            return
        try:
            self._release()
        finally:
            self._end()

    def _end(self, released: "asyncio.Future[None] | None" = None) -> None:
        self._ended.set()
        self._let_go()
        if released is not None:
            released.result()

    async def _kill(self) -> None:
        if self.running:
            self._signal_all()
            if not await self.wait(_KILL_TIMEOUT):
                self._signal_group()  # the namespace did not end by its init alone
                await self.wait(_KILL_TIMEOUT)
        await self._drain()
        if not self.begun:
            self._kept.add(self._setting_up)
        self._kept.close()

    def _signal_all(self) -> None:
        """In a namespace: kill its init, so that its wrapper outlives every process in it and then ends."""
        self._readable()
        self._muted = True  # what follows is the wrapper's complaint about the signal
        if self._process.returncode is not None:
            return  # it is over, and its number may be another's; what it held is being released
        if self._level is Containment.PROCESS_GROUP or not _kill_children(self.pid):
            self._signal_group()

    def _signal_group(self) -> None:
        # Only while the leader is not reaped: its number, which is the group's, can't be another's then.
        if self._process.returncode is not None:
            return
        if not isinstance(self._process, subprocess.Popen):
            self._process.kill()
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def _drain(self) -> None:
        """What the pipe still holds is ours; an escaped process that holds it open is not waited for."""
        # Where the recorder died, its commands are being killed: a last call may still change a file.
        lost = not isinstance(self._process, subprocess.Popen) and self._process.lost
        try:
            async with asyncio.timeout(_KILL_TIMEOUT if lost else _DRAIN_TIMEOUT):
                await self._drained.wait()
        except TimeoutError:
            self._close_pipe()

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = None
        self._drained.set()
        self._let_go()

    def _let_go(self) -> None:
        """A command in the background may be over long before anybody kills it: no file stays open for it."""
        if self._ended.is_set() and self._drained.is_set():
            self._kept.close()


_WITH_OWN_INIT = frozenset({Containment.PID_NAMESPACE, Containment.BUBBLEWRAP})
"""Where our first process is PID 1, so that nobody inside keeps what it let go of."""
_LIMITS = 'ulimit -c 0; ulimit -f "$1"; ulimit -d "$2" 2>/dev/null; shift 2; "$@"; exit $?'
_ATTEMPTS = 2
"""A mount's target may go between our look at it and the sandbox's start: once more, with another look."""
_MARK = b"\x1e\x06\x1e"
_TELL = r"printf '\036\006\036' >&2; "
"""First of all output, so that it can't come from the command: the sandbox stands and the command begins."""
_FEWER = f"{{ ulimit -u {MAX_PROCESSES} || ulimit -p {MAX_PROCESSES}; }} 2>/dev/null; "
"""As bash and as dash have it."""
_ALIVE = (
    "read -r us 2>/dev/null </proc/self/fd/0/stat || exit 125; exec </dev/null; "
    'case $us in *") Z "*|*") X "*) exit 125;; esac; '
)
"""Whether the runtime still lives. Each death signal on the way is set a moment after its fork; this comes
when all are set, so a runtime that was killed before then leaves nobody behind either."""
_CHUNK = 1 << 16
_KILL_TIMEOUT = 2.0
_DRAIN_TIMEOUT = 0.2
"""Seconds for the last output: whoever left the containment may hold the pipe open for ever."""


def _find_rights(command: Command) -> Confinement | None:
    """What a sandbox enforces of them; None: it runs with the user's."""
    rights = command.confinement
    return None if rights is None or rights.mode is Mode.FULL else rights


def _wrap_for(command: Command, looks: Looks | None) -> Wrapped:
    if remains.left:
        remains.refuse_remains()
    rights, view = _find_rights(command), command.view
    if rights:
        return view.wrap(rights) if view else wrap(rights, looks)
    level = command.level or containment()
    if view is None:
        return Wrapped(tuple(wrapper(level)), level, lambda: None)
    return Wrapped((*view.words(), *wrapper(level, nested=True)), level, lambda: None)


async def _wrap_in(command: Command) -> Wrapped:
    """The same in a view, whose program may take long, or hang: in a thread. No caller waits for it that is
    cancelled, so what comes too late is released."""
    wrapping = asyncio.ensure_future(asyncio.to_thread(_wrap_for, command, None))
    try:
        return await asyncio.shield(wrapping)
    except asyncio.CancelledError:
        wrapping.add_done_callback(_give_up)
        raise


def _give_up(wrapping: "asyncio.Future[Wrapped]") -> None:
    if wrapping.cancelled() or wrapping.exception() is not None:
        return
    wrapped = wrapping.result()
    for fd in wrapped.passed:
        os.close(fd)
    wrapping.get_loop().run_in_executor(None, wrapped.release)


def _first_process(wrapped: Wrapped, *, look: bool) -> tuple[str, ...]:
    """Sets the limits, then stays as the namespace's PID 1: a command in that place is deaf to TERM and reaps
    nothing. (A `preexec_fn` costs 2 ms more and is unsafe with threads; `prlimit` from outside is too late.)
    """
    script = (_ALIVE if look else "") + wrapped.check
    if wrapped.level is Containment.BUBBLEWRAP:
        script += _TELL
    if wrapped.note:
        from shlex import quote

        script += f"echo {quote(wrapped.note)} >&2; "
    if wrapped.level in _WITH_OWN_INIT and _counts_apart():
        script += _FEWER
    return ("/bin/sh", "-c", script + _LIMITS, "sh", str(MAX_FILE // 512), str(MAX_DATA // 1024))


@cache
def _counts_apart() -> bool:
    """Whether `RLIMIT_NPROC` counts a user namespace by itself; before, it counted all that a user runs."""
    numbers = [int(number) for number in re.findall(r"\d+", os.uname().release)[:2]]
    return sys.platform.startswith("linux") and numbers >= [5, 14]


def _open_own_proc() -> int | None:
    """Our own folder in /proc, which tells a child in whatever namespace whether we live."""
    try:
        return os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None


def _watch(process: "subprocess.Popen[bytes] | Started") -> int | None:
    """Returns a descriptor that is readable once the process has ended; None where there is none such."""
    if not isinstance(process, subprocess.Popen):
        return os.dup(process.fileno())
    try:
        return os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return None


def _folder_path(fd: int) -> str:
    """A path that means this very directory in the child, whatever happens to its name."""
    if sys.platform == "darwin":
        import fcntl

        return fcntl.fcntl(fd, 50, b"\0" * 1024).rstrip(b"\0").decode()  # F_GETPATH
    return f"/proc/self/fd/{fd}"


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (OSError, ValueError):
        return []


def _kill_children(pid: int) -> bool:
    """True if there was one. By pidfd, checked once it is open: a number alone may be another's by now."""
    killed = False
    for child in _children(pid):
        try:
            pidfd = os.pidfd_open(child)
        except OSError:
            continue
        try:
            if child in _children(pid):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                killed = True
        except OSError:
            pass
        finally:
            os.close(pidfd)
    return killed


def kill_children() -> None:
    """Ends whatever this process has started and what that started, now; from any thread.

    For a process that must stop acting: the commands' own containment takes care of their descendants.
    """
    for child in _list_children():
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        with suppress(OSError):
            os.kill(child, signal.SIGKILL)


def _list_children() -> list[int]:
    """Of all threads: a child belongs to the one that started it."""
    found: list[int] = []
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError, ValueError):
            found += map(int, path.read_text().split())
    return found


def _start_error(argv: Sequence[str], problem: OSError) -> ProcessError:
    if problem.errno == 7:  # E2BIG
        size = sum(map(len, argv))
        return ProcessError(
            ErrorKind.INVALID_ARGS,
            f"the command is too long for the system ({size} characters; one argument can have at most "
            "131071 bytes). Write it to a file and run the file",
        )
    return ProcessError(
        ErrorKind.COMMAND_FAILED,
        f"cannot start {argv[0]!r}: {problem}; check that the program and its working folder exist",
    )
