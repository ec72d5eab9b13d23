"""A recorder, a workspace and a way to run one recorded command in it."""

import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planck.records.authority import Confinement
from planck.workspace.process.process import Command, Completed, run, shell
from planck.workspace.recording.client import SeccompRecording
from planck.workspace.recording.recording import Record
from planck.workspace.recording.spool import Difference, Spool, differences, read_spool

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


class Place:
    """A workspace, a folder beside it, and the recorder."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.ws = base / "ws"
        self.out = base / "out"
        self.spool = base / "session" / "recording" / "call"
        self.recording = SeccompRecording()
        self.ws.mkdir()
        self.out.mkdir()

    async def run(
        self, script: str, rights: Confinement | None = None, timeout: float = 30, spool: str = ""
    ) -> Completed:
        record = Record(self.recording, self.spool.with_name(spool or "call"), (str(self.ws),))
        return await run(Command(shell(script), self.ws, ENVIRONMENT, rights, record=record), timeout)

    async def python(self, script: str, *arguments: str) -> Completed:
        record = Record(self.recording, self.spool, (str(self.ws),))
        argv = ["/usr/bin/python3", "-I", "-S", "-c", script, *arguments]
        return await run(Command(argv, self.ws, ENVIRONMENT, record=record), 60)

    def read(self, spool: str = "") -> Spool:
        return read_spool(self.spool.with_name(spool or "call"))

    def changes(self, spool: str = "") -> dict[str, Difference]:
        with self.root() as root:
            found = differences(self.read(spool), {str(self.ws): root})
        assert [one.place for one in found] == sorted((one.place for one in found), key=os.fsencode)
        return {one.path: one for one in found}

    @contextmanager
    def root(self) -> Iterator[int]:
        root = os.open(self.ws, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield root
        finally:
            os.close(root)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    """Not below /tmp, which the sandbox hides."""
    home = next(folder for folder in ("/opt", str(Path.home()), "/tmp") if os.access(folder, os.W_OK))
    base = Path(tempfile.mkdtemp(prefix="planck-recording-", dir=home)).resolve()
    one = Place(base)
    assert await one.recording.prepare() == ""
    try:
        yield one
    finally:
        await one.recording.aclose()
        subprocess.run(["rm", "-rf", base], check=True)  # deeper than Python's own goes
