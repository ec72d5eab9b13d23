"""A peer runs once for each set of rights that its calls have: rights travel with the call.

Its first instance, which says what tools there are, has the user's own rights. A call that is confined runs
in another, in the sandbox, which is started when the first such call comes.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from planck.closing import close_together
from planck.mcp.listing import ListedTool
from planck.mcp.peer import Peer, PeerListener, State, add_step
from planck.mcp.transport import Launch
from planck.records.authority import Confinement, Mode
from planck.records.outcome import Err, ErrorKind
from planck.records.ports import Clock
from planck.toolkit.tool import Outcome, ToolContext

if TYPE_CHECKING:
    from planck.mcp.elicitation import Person

EXECUTOR_GRACE = 10.0
"""Seconds: the executor's clock stands behind ours, which knows the partial output and stops the peer."""


class Instances:
    def __init__(self, launch: Launch, clock: Clock, listener: PeerListener) -> None:
        """`listener` hears of the first instance, and of no confined one but that it failed."""
        self.own: Peer = Peer(launch, clock, listener)
        self.confinable: bool = launch.confinable
        """Whether its calls may be confined: until one could not be."""
        self.launch = launch
        self._clock = clock
        self._listener = listener
        self._confined: dict[Confinement, asyncio.Task[Peer | Err]] = {}

    async def call(
        self,
        listed: ListedTool,
        arguments: dict[str, Any],
        ctx: ToolContext,
        *,
        timeout: float,
        meta: dict[str, Any] | None = None,
        person: "Person | None" = None,
    ) -> Outcome:
        """Calls a tool in the instance for the rights of the call; a peer that still starts is waited for."""
        begun = asyncio.get_running_loop().time()
        # Both start at once: a server that takes long to start would otherwise be waited for twice.
        self._begin(ctx.confinement)
        try:
            async with asyncio.timeout(timeout):
                await self.own.settle()
        except TimeoutError:
            late = f"{self.launch.label} was not ready within {timeout:g} s; try again later"
            return Err(ErrorKind.TIMEOUT, late, {"timeout_ms": int(timeout * 1000)})
        if self.own.state is State.CONNECTED and listed not in self.own.tools.tools:
            # It was offered as the peer listed it before, in this run or an earlier one.
            return Err(
                ErrorKind.UNKNOWN_TOOL,
                f"unknown tool: {listed.spec.name} ({self.launch.label} changed or removed it); "
                "use the tools that you have now",
            )
        peer = await self.find(ctx.confinement)
        if isinstance(peer, Err):
            return peer
        waited = int(
            asyncio.get_running_loop().time() - begun
        )  # whole seconds: a call is told what it asked for
        left = max(timeout - waited, 0.001)
        outcome = await peer.call(
            listed.name, arguments, timeout=left, meta=meta, progress=ctx.progress, person=person
        )
        if isinstance(outcome, Err) and outcome.kind in (ErrorKind.PEER_FAILED, ErrorKind.PEER_PROTOCOL):
            given_up = peer.state is State.ERROR
            step = "continue without this tool"
            step = f"for now, {step}" if given_up else f"try once more, and if that fails, {step}"
            return Err(outcome.kind, add_step(outcome.message, step), outcome.details)
        return outcome

    def find_rights(self, given: Confinement) -> Confinement:
        """Returns the rights of the process that a call with these rights reaches."""
        return (self.launch.held or given) if given.mode is Mode.FULL else given

    async def find(self, confinement: Confinement | None) -> Peer | Err:
        """Returns the instance for a call with these rights; waits for the start of one in the sandbox."""
        confined = self._begin(confinement)
        return await asyncio.shield(confined) if confined else self.own

    def _begin(self, confinement: Confinement | None) -> "asyncio.Task[Peer | Err] | None":
        """Returns the start of the instance in the sandbox; None: the first one has the call's rights."""
        if confinement is None or confinement.mode is Mode.FULL or self.launch.address:
            return None
        if (held := self.launch.held) and held == replace(confinement, mode=held.mode, basis=""):
            return None  # it knows of earlier calls, too
        if confinement not in self._confined:
            self._confined[confinement] = asyncio.get_running_loop().create_task(self._start(confinement))
        return self._confined[confinement]

    async def aclose(self) -> None:
        await close_together(self.own.aclose, self._close_confined)

    async def _close_confined(self) -> None:
        tasks = self._confined.values()
        for task in tasks:
            task.cancel()
        for instance in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(instance, Err | BaseException):
                await instance.aclose()

    async def _start(self, confinement: Confinement) -> Peer | Err:
        peer = Peer(self.launch.confine(confinement), self._clock)
        peer.start()
        try:
            async with asyncio.timeout(self.launch.start_timeout):
                await peer.settle()
        except TimeoutError:
            why = f"{self.launch.label} did not start within {self.launch.start_timeout:g} s"
        except asyncio.CancelledError:
            await peer.aclose()
            raise
        else:
            if peer.state is State.CONNECTED:
                return peer
            why = peer.detail
        await peer.aclose()
        self.confinable = False
        self._listener.failed_in_sandbox()
        refused = f"the tool cannot run in the sandbox for mode {confinement.mode.value!r}: {why}"
        step = (
            "to run it without the sandbox, call the tool again (the user will be asked), or tell the user "
            "to add a rule with `unconfined`"
        )
        return Err(ErrorKind.SANDBOX_UNAVAILABLE, add_step(refused, step))
