"""Commands of a session's agents: those that are waited for, and those that run on in the background."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from planck.closing import close_all
from planck.records.outcome import PlanckError
from planck.workspace.process.process import Job

log: logging.Logger = logging.getLogger(__name__)

REMEMBERED = 64
"""Commands that ended and can still be named: each has the ends of its output in memory."""
READ_BYTES = 1 << 20
"""Of a long output that is looked at while it grows, its end."""


class Commit(Protocol):
    """Records what a command changed; again and again, if it has not ended."""

    async def __call__(self, *, ended: bool) -> None: ...


class ShellCommand(msgspec.Struct, frozen=True):
    """A command that an agent or the user started, and the process that it became."""

    call_id: str
    agent_id: str
    """Empty, as the call: it is the user's own."""
    text: str
    background: bool
    began: float
    """By the loop's clock."""
    job: Job

    @property
    def running(self) -> bool:
        return self.job.running

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return asyncio.get_running_loop().time() - self.began

    @property
    def exit_code(self) -> int | None:
        """None for as long as it runs."""
        return None if self.job.running else self.job.completed().exit_code

    def read_output(self) -> str:
        """Returns what it has put out until now; of more than a mebibyte the end, and a line that says so."""
        done = self.job.completed()
        if done.spilled is None:
            return done.output
        try:
            return read_end(done.spilled)
        except OSError:  # the disk was full, or somebody removed it
            return done.output


def read_end(output: Path) -> str:
    """Returns an output that is kept in a file; of more than a mebibyte the end, and a line that says so."""
    with output.open("rb") as file:
        left = max(file.seek(0, 2) - READ_BYTES, 0)
        file.seek(left)
        text = file.read(READ_BYTES).decode(errors="replace")
    return f"[{left:,} earlier bytes are in {output}]\n{text}" if left else text


class Jobs:
    """Owns the commands in the background: `aclose` leaves none alive. Of the others it knows who runs."""

    limit = 16

    def __init__(self, hear_end: Callable[[ShellCommand], None] = lambda command: None) -> None:
        """`hear_end` is told of each command in the background that ended and that nobody killed."""
        self._hear_end = hear_end
        self._killed: set[str] = set()
        self._jobs: dict[str, Job] = {}
        self._commands: dict[str, ShellCommand] = {}
        """By call; in the background also those that ended and can still be named."""
        self._commits: dict[str, Commit] = {}
        self._settling: dict[str, asyncio.Task[None]] = {}
        """By handle: records what a command changed, once it has ended."""
        self._starting = 0

    @property
    def is_full(self) -> bool:
        return len(self.running) + self._starting >= self.limit

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Counts a command that is not there yet."""
        self._starting += 1
        try:
            yield
        finally:
            self._starting -= 1

    @property
    def running(self) -> dict[str, Job]:
        return {handle: job for handle, job in self._jobs.items() if job.running}

    @property
    def commands(self) -> tuple[ShellCommand, ...]:
        """What runs, and what ended in the background; the oldest first."""
        return tuple(self._commands.values())

    @contextmanager
    def watch(self, call_id: str) -> Iterator[None]:
        """Forgets the command of a call that is waited for, once that is over."""
        try:
            yield
        finally:
            self._commands.pop(call_id, None)

    def note(self, job: Job, call_id: str, agent_id: str, text: str, *, background: bool = False) -> None:
        """Knows from now on that this command runs."""
        began = asyncio.get_running_loop().time()
        self._commands[call_id] = ShellCommand(call_id, agent_id, text, background, began, job)

    async def add(self, handle: str, job: Job, commit: "Commit | None" = None) -> None:
        """The oldest that ended are forgotten; their outputs stay in their files.

        `commit` is called once it has ended.
        """
        self._jobs[handle] = job
        if commit is not None:
            self._commits[handle] = commit
        self._settling[handle] = asyncio.ensure_future(self._settle(handle, job))
        ended = [handle for handle, job in self._jobs.items() if not job.running]
        for forgotten in ended[:-REMEMBERED]:
            await self.kill(forgotten)  # what left its containment may still hold the pipe
            gone = self._jobs.pop(forgotten, None)
            self._commands = {call: one for call, one in self._commands.items() if one.job is not gone}

    def get(self, handle: str) -> Job | None:
        return self._jobs.get(handle)

    async def kill(self, handle: str) -> Job | None:
        """The job, ended; None for a handle nobody gave out."""
        job = self._jobs.get(handle)
        if job is not None:
            self._killed.add(handle)
            await job.kill()
        if settling := self._settling.get(handle):
            await asyncio.wait({settling})
        return job

    async def record_running(self) -> None:
        """Records what the commands that still run have changed until now."""
        for handle, commit in tuple(self._commits.items()):
            if (job := self._jobs.get(handle)) and job.running:
                try:
                    await commit(ended=False)
                except (PlanckError, OSError):  # the same: its end, or a resume, records it
                    log.exception("What a running command changed was not recorded: %s", handle)

    async def aclose(self) -> None:
        jobs, self._jobs = self._jobs, {}
        self._killed |= set(jobs)
        await close_all(*(job.kill for job in jobs.values()))
        if settling := set(self._settling.values()):
            await asyncio.wait(settling)

    async def _settle(self, handle: str, job: Job) -> None:
        try:
            await job.wait()
            if commit := self._commits.get(handle):
                await commit(ended=True)
            ended = next((one for one in self._commands.values() if one.job is job), None)
            if ended and handle not in self._killed:
                self._hear_end(ended)
        except (PlanckError, OSError):  # the log may be closed or full: a resume finds the spool
            log.exception("What a background command changed was not recorded: %s", handle)
        finally:
            self._commits.pop(handle, None)
            del self._settling[handle]
