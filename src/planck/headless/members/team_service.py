"""The team's tools for a member that is another program: an MCP server that it starts in its sandbox.

No socket leads out of a sandbox, so each connection takes one slot: two named pipes in a folder that no other
sandbox shows. A slot is used once.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from planck.acp import shim
from planck.acp.external_turn import ExternalTurn
from planck.acp.methods import McpServer
from planck.agent.agent import Runner
from planck.mcp.line_server import serve_lines
from planck.records.events import ToolStart
from planck.records.messages import ToolCall
from planck.records.outcome import Err, ErrorKind
from planck.records.ports import Ids
from planck.records.specs import ToolSpec
from planck.toolkit.scribe import Scribe
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import read_calls
from planck.tools.results import Finished, finish
from planck.workspace.process.duplex import Duplex

_AHEAD = 4
"""Slots that wait for a client: an agent may start the server several times at once."""
_MOST = 64
"""Slots of one process, ever."""


class TeamCalls:
    """Runs what the member calls, as calls of its own, while a turn of it is in flight."""

    def __init__(self, tools: ToolSet, runner: Runner, scribe: Scribe, ids: Ids) -> None:
        self._tools = tools
        self._runner = runner
        self._scribe = scribe
        self._ids = ids
        self._turn: ExternalTurn | None = None
        self._running: set[asyncio.Task[Finished]] = set()

    @property
    def waits(self) -> bool:
        return bool(self._running)

    def begin_turn(self, turn: ExternalTurn) -> None:
        self._turn = turn

    async def end_turn(self) -> None:
        """What still runs is stopped; its result is `interrupted`."""
        self._turn = None
        running = list(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def specs(self) -> Sequence[ToolSpec]:
        return self._tools.specs

    async def run(
        self, call: ToolCall, meta: dict[str, Any], progress: Callable[[str, str], None] | None
    ) -> AsyncGenerator[Finished, None]:
        own = replace(call, id=self._ids.new(self._scribe.agent_id or ""), provider_id="")
        if self._turn is None:
            over = Err(
                ErrorKind.INTERRUPTED,
                "your turn is over and this call was not run; wait for the next message",
            )
            yield finish(own, over, 0)
            return
        task = asyncio.get_running_loop().create_task(self._call(own, self._turn))
        self._running.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._running.discard(task)
        if task.cancelled():
            yield finish(own, Err(ErrorKind.INTERRUPTED, "your turn was stopped before this call ended"), 0)
        else:
            yield task.result()

    async def _call(self, call: ToolCall, turn: ExternalTurn) -> Finished:
        await turn.flush()
        read = read_calls(self._tools, [call])[0]
        await self._scribe.record(ToolStart(id=call.id, name=call.name, args=read.shown, foreign=True))
        async with aclosing(self._runner.run([read])) as results:
            finished = await anext(results)
        await self._scribe.record(replace(finished.as_fact(), foreign=True))
        return finished


class TeamServer:
    """The slots of one process, in a folder of its own."""

    def __init__(self, folder: Path, calls: TeamCalls, owner: tuple[int, int] | None = None) -> None:
        """`owner`: user and group that the process runs as, where they are not ours."""
        self._folder = folder
        self._calls = calls
        self._owner = owner
        self._python = find_python(owner)
        # Beside the slots, since another user may not reach where we are installed.
        self._shim = str(folder / "shim.py")
        shutil.copyfile(shim.__file__, self._shim)
        if owner is not None:
            os.chown(self._shim, *owner)
        self._made = 0
        self._slots: set[_Slot] = set()
        self._serving: set[asyncio.Task[None]] = set()
        for _ in range(_AHEAD):
            self._add_slot()

    @property
    def entry(self) -> McpServer:
        """As it stands in `session/new`."""
        words = ("-I", "-S", self._shim, str(self._folder))
        return McpServer(name="planck", command=self._python, args=words, env=())

    async def aclose(self) -> None:
        for slot in list(self._slots):
            slot.end("closed")
            slot.close_output()
        if self._serving:
            await asyncio.wait(self._serving)

    def _add_slot(self) -> None:
        if self._made >= _MOST:
            return
        self._made += 1
        up, down = (str(self._folder / f"{self._made:03}.{way}") for way in ("up", "down"))
        for path in (up, down):
            os.mkfifo(path, 0o600)
            if self._owner is not None:
                os.chown(path, *self._owner)
        read_end = os.open(up, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        held = os.open(up, os.O_WRONLY | os.O_CLOEXEC)
        write_end = os.open(down, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        slot = _Slot(self, (up, down), read_end, write_end, held)
        self._slots.add(slot)
        task = asyncio.get_running_loop().create_task(self._serve(slot))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, slot: "_Slot") -> None:
        try:
            await serve_lines("planck", self._calls, slot)
        finally:
            slot.end("closed")
            slot.close_output()
            self._slots.discard(slot)

    def take(self, slot: "_Slot") -> None:
        """Its client has spoken: nobody else may find it, and another one takes its place."""
        for name in slot.names:
            with suppress(OSError):
                os.unlink(name)
        slot.names = ()
        if not slot.ended.is_set():
            self._add_slot()


def find_python(owner: tuple[int, int] | None) -> str:
    """Returns our own, or the system's for a user who can't reach that: below root's home for example."""
    own = sys.executable
    if owner is None or all(_may_run(path, owner) for path in (own, os.path.realpath(own))):
        return own
    return shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin") or own


def _may_run(path: str, owner: tuple[int, int]) -> bool:
    for place in (Path(path), *Path(path).parents):
        found = place.stat()
        shift = 6 if found.st_uid == owner[0] else 3 if found.st_gid == owner[1] else 0
        if not found.st_mode >> shift & 1:
            return False
    return True


class _Slot(Duplex):
    def __init__(
        self, server: TeamServer, names: tuple[str, str], read_end: int, write_end: int, held: int
    ) -> None:
        self.names: tuple[str, ...] = names
        self._server = server
        super().__init__(read_end, write_end, held=held, files=False)

    def release(self) -> None:
        """The first bytes came, or none will."""
        super().release()
        if self.names:
            self._server.take(self)
