"""The port between commands and the recorder, and what a call hands to it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec


class Started(Protocol):
    """A process that somebody else started for us: what `process.Job` needs of `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None:
        """Negative for a signal, as of `Popen`; None until `wait`."""

    @property
    def lost(self) -> bool:
        """Whether it was killed with the process that started it: what it started may still be ending."""

    def fileno(self) -> int:
        """A descriptor that becomes readable once the process has ended. Owned by this object."""

    def kill(self) -> None:
        """Kills its process group, unless it was let go of."""

    def wait(self) -> int:
        """Returns the exit code of a process that has ended, and lets go of it: its number may be reused."""


class Recording(Protocol):
    """Starts commands so that what they change is written to their spools first. One for each session."""

    async def prepare(self) -> str:
        """Starts what is needed. Returns why commands can't be recorded here, or the empty text.

        Never raises: a command that can't be recorded runs all the same.
        """

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
    ) -> Started:
        """Runs `words`. `fds`: number in the child and our descriptor; both stay the caller's.

        `roots` are the folders whose changes are recorded. `at` is the descriptor of the root of a view,
        through which images are read; None: the real tree. `apart` are places that are never recorded: the
        sandbox put something there. Raises `OSError` as `Popen` does.
        """

    async def aclose(self) -> None:
        """Ends the recorder; commands that still run end with it."""


class Record(msgspec.Struct, frozen=True):
    """What `Command.record` holds: how one command is recorded."""

    recording: Recording
    spool: Path
    roots: Sequence[str]
    at: int | None = None

    async def start(
        self,
        words: Sequence[str],
        fds: Mapping[int, int],
        cwd: int,
        env: Mapping[str, str],
        apart: Sequence[str],
    ) -> Started:
        return await self.recording.start(words, fds, cwd, env, self.roots, self.spool, self.at, apart)
