"""A peer that takes long to start is waited for once, also by a call that runs in the sandbox."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from planck.mcp.listing import ListedTool, Listing
from planck.mcp.transport import FinalError, Launch, Link
from planck.records.authority import Confinement, Mode
from planck.records.outcome import Err, ErrorKind
from planck.records.specs import ToolSpec
from planck.toolkit.tool import ToolContext
from tests.mcp.bench import WAIT, Watched

SANDBOXED = Confinement(Mode.WORKSPACE, ("/w",), ("/w",))
LISTED = ListedTool("look", ToolSpec("look", "", {"type": "object"}))


class SlowLaunch(Launch):
    """Notes with which rights it was opened, and is ready when the test says so."""

    def __init__(self) -> None:
        self.opened: list[Confinement | None] = []
        self.both = asyncio.Event()
        self.ready = asyncio.Event()

    def open(self) -> AbstractAsyncContextManager[Link]:
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Link, None]:
        self.opened.append(self.confinement)
        if len(self.opened) == 2:
            self.both.set()
        await self.ready.wait()
        raise FinalError(ErrorKind.PEER_FAILED, "enough")
        yield


class Patient(Watched):
    def failed_in_sandbox(self) -> None:
        return

    def listed_tools(self, listing: Listing) -> None:
        return


async def test_a_confined_call_starts_its_own_process_while_the_first_one_still_starts() -> None:
    launch = SlowLaunch()
    peer = Patient("slow", launch)
    peer.peer.start()
    try:
        ctx = ToolContext("s", "a", "c", Path("/w"), confinement=SANDBOXED)
        call = asyncio.create_task(peer.instances.call(LISTED, {}, ctx, timeout=WAIT))
        async with asyncio.timeout(WAIT / 3):
            await launch.both.wait()
        assert sorted(launch.opened, key=str) == sorted([None, SANDBOXED], key=str)
        launch.ready.set()
        outcome = await call
        assert isinstance(outcome, Err)
    finally:
        await peer.instances.aclose()
