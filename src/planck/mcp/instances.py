"""A peer that is a process, once for each set of rights that its calls have: rights travel with the call.

The first life, which says what tools there are, is the user's own. A call that is confined runs in another,
in the sandbox, which is started when the first such call comes.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from planck.records.authority import Confinement, Mode
from planck.records.outcome import Err, ErrorKind

if TYPE_CHECKING:
    from planck.mcp.peer import Peer

_START_TIMEOUT = 30.0


class Lives:
    def __init__(
        self, own: "Peer", confined: "Callable[[Confinement], Peer]", on_refused: Callable[[], None]
    ) -> None:
        """`on_refused` is told that it can't live in the sandbox: from then on its calls are to be asked."""
        self._own = own
        self._make = confined
        self._on_refused = on_refused
        self._confined: dict[Confinement, asyncio.Task[Peer | Err]] = {}

    async def reach(self, confinement: Confinement | None) -> "Peer | Err":
        """Waits for the start of a life in the sandbox."""
        if confinement is None or confinement.mode is Mode.FULL:
            return self._own
        if confinement not in self._confined:
            self._confined[confinement] = asyncio.get_running_loop().create_task(self._begin(confinement))
        return await asyncio.shield(self._confined[confinement])

    async def aclose(self) -> None:
        tasks = self._confined.values()
        for task in tasks:
            task.cancel()
        for life in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(life, Err | BaseException):
                await life.aclose()

    async def _begin(self, confinement: Confinement) -> "Peer | Err":
        from planck.mcp.peer import State

        peer = self._make(confinement)
        peer.start()
        try:
            async with asyncio.timeout(_START_TIMEOUT):
                await peer.settled()
        except TimeoutError:
            why = f"it did not start within {_START_TIMEOUT:g} s"
        except asyncio.CancelledError:
            await peer.aclose()
            raise
        else:
            if peer.state is State.CONNECTED:
                return peer
            why = peer.detail
        await peer.aclose()
        self._on_refused()
        return Err(
            ErrorKind.SANDBOX_UNAVAILABLE,
            f"{self._own.label} does not run in the sandbox of mode {confinement.mode.value!r}: {why}; "
            "call it again to have the user asked, or tell the user to add a rule with `unconfined`",
        )
