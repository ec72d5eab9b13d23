"""Sidecars and MCP servers of a project are started in the background, once for all its sessions.

What a peer listed before is offered while it starts, and a call waits for it; only for one that never listed
anything does the first request wait, and not for long.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from planck.closing import close_all, close_together
from planck.config.project import Project
from planck.peers.handout import Handout
from planck.peers.plan import PeerPlan, PlannedServer, PlannedSidecar, plan_peers
from planck.peers.sessions import Sessions
from planck.permissions.gate import Gate
from planck.records.messages import Message
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.ports import Clock
from planck.toolkit.journal import Journal
from planck.toolkit.scribe import Scribe
from planck.toolkit.toolset import ToolSet

if TYPE_CHECKING:  # most runs have no peer: they load nothing of MCP
    from planck.mcp.peer import Peer
    from planck.peers.open_peer import OpenPeer

_COMPACT_TIMEOUT = 120.0
"""Seconds; a turn waits for it, as it would for the model's summary."""


class PeerReport(msgspec.Struct, frozen=True):
    """One peer, for a listing."""

    component: str
    name: str
    state: str
    detail: str
    tools: tuple[str, ...]
    compactors: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Tools whose names are taken: no agent gets them."""


class Peers:
    def __init__(self, project: Project, *, clock: Clock) -> None:
        self.plan: PeerPlan = plan_peers(project.resources)
        self.open: Sequence[OpenPeer] = ()
        """What was started of the plan."""
        self._started = False
        self._listings_due = 0.0
        """On the clock: when a first request goes out without what was not listed yet."""
        self._project = project
        self._clock = clock
        self._sessions = Sessions()
        self._handout = Handout(self, self._sessions)

    def join(self, journal: Journal, gate: Gate | None = None) -> None:
        """A session begins: its watchers hear of states; the first one starts everything."""
        self._sessions.join(journal, gate)
        self.start()

    def leave(self, journal: Journal) -> None:
        """A session ends; what it was asked and did not answer, another one is asked."""
        self._sessions.leave(journal)

    def attach(self, toolset: ToolSet, wanted: Iterable[str], scribe: Scribe, window: int) -> None:
        """Puts what peers offer of these names into the set; what comes and goes is recorded.

        `window`: the tokens that the agent's model takes, of which they may have a tenth.
        """
        if self.open:
            self._handout.attach(toolset, wanted, scribe, self.open, window)

    def start(self, component: str = "", name: str = "", tool: str = "") -> None:
        """Starts everything that is planned, or what `PeerPlan.select` gives; a second call does nothing."""
        if self._started:
            return
        self._started = True
        wait = self._project.config.peers_wait_ms / 1000
        self._listings_due = self._clock.monotonic() + wait
        if planned := self.plan.select(component, name, tool):
            from planck.peers.open_peer import OpenServer, OpenSidecar

            kinds = {PlannedSidecar: OpenSidecar, PlannedServer: OpenServer}
            about = (self._project, self._clock, self._handout)
            self.open = [kinds[type(one)](one, *about) for one in planned]
        for peer in self._peers:
            peer.start()

    async def settle(self) -> None:
        """Waits until each is connected, or known not to be."""
        await asyncio.gather(*(peer.settle() for peer in self._peers))

    async def wait_for(self, name: str) -> None:
        """Returns when each peer that might bring a tool of this name is settled."""
        for peer in self._peers:
            if name.startswith(peer.launch.prefix):
                await peer.settle()

    async def wait_for_listings(self, held: Collection[str] = ()) -> None:
        """Waits for those that never listed their tools, once, as long as the user lets them; visibly."""
        new = [peer for peer in self.open if peer.is_new]
        left = self._listings_due - self._clock.monotonic()
        if not new or left <= 0:
            return
        for peer in new:
            peer.announce_wait(left)
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await asyncio.gather(*(peer.settle() for peer in new))

    async def compact(self, name: str, messages: Sequence[Message]) -> Ok[str] | Err:
        """Returns what a sidecar's compactor puts in the place of messages; one that starts is waited for."""
        from planck.sidecar import compacting

        try:
            async with asyncio.timeout(_COMPACT_TIMEOUT):
                for sidecar in self.open:
                    if sidecar.component == "sidecar" and sidecar.instances is not None:
                        peer = sidecar.instances.own
                        await peer.settle()
                        if name in sidecar.compactors:
                            return await compacting.compact(peer, name, messages, _COMPACT_TIMEOUT)
        except TimeoutError:
            return Err(ErrorKind.TIMEOUT, f"the sidecar returned no summary within {_COMPACT_TIMEOUT:g} s")
        return Err(ErrorKind.NOT_FOUND, "no running sidecar has this compactor; run `planck sidecar status`")

    def report(self, taken: Collection[str] = ()) -> list[PeerReport]:
        """Returns what became of each; a name that is taken stays with who had it, as in a session."""
        seen, reports = set(taken), []
        for peer in self.open:
            left_out = tuple(name for name in peer.tools if name in seen)
            offered = tuple(name for name in peer.tools if name not in seen)
            seen.update(offered)
            state, detail = "disabled" if peer.disabled else "error", peer.problem
            if peer.instances is not None:
                state, detail = str(peer.instances.own.state), peer.instances.own.detail or peer.confined
            reports.append(
                PeerReport(peer.component, peer.name, state, detail, offered, peer.compactors, left_out)
            )
        return reports

    async def aclose(self) -> None:
        """Ends all at once; none outlives it."""
        self._sessions.stop_asking()
        peers = [peer.instances.aclose for peer in self.open if peer.instances]
        await close_all(partial(close_together, *peers), self._sessions.aclose)

    @property
    def _peers(self) -> "list[Peer]":
        return [peer.instances.own for peer in self.open if peer.instances is not None]
