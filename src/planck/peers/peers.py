"""Sidecars and MCP servers of a workspace: started in the background, their tools put into each agent's set.

Nothing from a project's own files starts unless the folder is trusted. A start never delays a turn; a call of
a tool that is still on its way waits for it.
"""

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planck.config.project import Project
from planck.mcp.instances import Lives
from planck.mcp.pins import Agreed, Change
from planck.peers.plan import PlannedPeer, PlannedSidecar, plan_peers
from planck.records.authority import Confinement
from planck.records.events import Status, ToolsChanged, View
from planck.records.messages import Message
from planck.records.outcome import Err, ErrorKind, Ok, PlanckError
from planck.records.ports import Clock
from planck.records.specs import EVERY_TOOL
from planck.toolkit.journal import Journal
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet

if TYPE_CHECKING:  # most runs have no peer: they load nothing of this
    from planck.mcp.listing import Listed
    from planck.mcp.peer import Peer, Way

log = logging.getLogger(__name__)

_COMPACT_TIMEOUT = 120.0
"""Seconds; a turn waits for it, as it would for the model's summary."""

Record = Callable[[View], Awaitable[None]]

Agree = Callable[[Change, Callable[[View], Awaitable[object]]], Awaitable[bool]]
"""Asks a person about a changed tool; what was asked and said goes to the second."""


@dataclass(frozen=True)
class PeerReport:
    """One peer, for a listing."""

    component: str
    name: str
    state: str
    detail: str
    tools: tuple[str, ...]
    compactors: tuple[str, ...] = ()


@dataclass(eq=False)
class _Known:
    """A peer with the tools that agents hold of it."""

    component: str
    name: str
    make: "Callable[[Listed], Tool]"
    prefix: str = ""
    """Of its tools' names."""
    peer: "Peer | None" = None
    lives: Lives | None = None
    confinable: bool = True
    """Whether it runs in the sandbox; an address does not."""
    problem: str = ""
    listed: "dict[str, Listed]" = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)
    compactors: tuple[str, ...] = ()
    agreed: Agreed | None = None
    """None: it is a sidecar, whose word is taken."""
    asking: "asyncio.Task[None] | None" = None
    asked_in: Journal | None = None


@dataclass(frozen=True)
class _Holder:
    """The agent behind a set of tools."""

    names: frozenset[str]
    record: "weakref.WeakMethod[Record]"
    """Weak: the set is the key by which this is found, and it lives only as long as its agent."""

    def wants(self, name: str) -> bool:
        return EVERY_TOOL in self.names or name in self.names


@dataclass(frozen=True)
class _Arrivals:
    """What one agent waits for: only the names that it was granted."""

    peers: "Peers"
    holder: _Holder

    async def wait_for(self, name: str) -> None:
        if self.holder.wants(name):
            await self.peers.wait_for(name)


class Peers:
    def __init__(self, project: Project, *, clock: Clock) -> None:
        self._resources = project.resources
        self._environ = project.environ
        self._trusted = project.resources.loaded.trusted
        self._clock = clock
        self._known: list[_Known] | None = None
        self._sets: weakref.WeakKeyDictionary[ToolSet, _Holder] = weakref.WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self._journals: weakref.WeakKeyDictionary[Journal, Agree | None] = weakref.WeakKeyDictionary()
        self.plan = plan_peers(self._resources)

    def join(self, journal: Journal, agree: Agree | None = None) -> None:
        """A session begins: its watchers hear of states; the first one starts everything."""
        self._journals[journal] = agree
        self.start()

    def leave(self, journal: Journal) -> None:
        """A session ends; what it was asked and did not answer, another one is asked."""
        self._journals.pop(journal, None)
        for known in self._known or ():
            if known.asking is not None and known.asked_in is journal:
                known.asking.cancel()
                known.asking = known.asked_in = None
                if known.agreed is not None:
                    self._ask(known, known.agreed)

    def attach(self, tools: ToolSet, wanted: tuple[str, ...], record: Record) -> None:
        """The set holds what peers offer of these names; what comes and goes is told to `record`."""
        holder = _Holder(frozenset(wanted), weakref.WeakMethod(record))
        self._sets[tools] = holder
        tools.arrivals = _Arrivals(self, holder)
        for known in self._known or ():
            for tool in known.tools.values():
                self._give(known, tools, holder, tool)

    def start(self, component: str = "", name: str = "", tool: str = "") -> None:
        """Starts everything that is planned, or what `PeerPlan.select` gives; a second call does nothing."""
        if self._known is None:
            self._known = [self._open(planned) for planned in self.plan.select(component, name, tool)]
            for known in self._known:
                if known.peer is not None:
                    known.peer.start()

    @property
    def tools(self) -> list[tuple[str, str, Tool]]:
        """What they offer now, each with its component and its name."""
        every = self._known or ()
        return [(known.component, known.name, tool) for known in every for tool in known.tools.values()]

    async def settle(self) -> None:
        """Waits until each is connected, or known not to be."""
        peers = [known.peer for known in self._known or () if known.peer is not None]
        await asyncio.gather(*(peer.settled() for peer in peers))

    async def compact(self, name: str, messages: Sequence[Message]) -> Ok[str] | Err:
        """What a sidecar's compactor puts in the place of messages; a sidecar that starts is waited for."""
        from planck.sidecar import compacting

        try:
            async with asyncio.timeout(_COMPACT_TIMEOUT):
                for known in self._known or ():
                    if known.component == "sidecar" and known.peer is not None:
                        await known.peer.settled()
                        if name in known.compactors:
                            return await compacting.compact(known.peer, name, messages, _COMPACT_TIMEOUT)
        except TimeoutError:
            return Err(ErrorKind.TIMEOUT, f"no summary within {_COMPACT_TIMEOUT:g} s")
        return Err(
            ErrorKind.NOT_FOUND, "no sidecar here has it now; `planck sidecar status` shows those there are"
        )

    def report(self) -> list[PeerReport]:
        return [
            PeerReport(
                known.component,
                known.name,
                str(known.peer.state) if known.peer else "error",
                known.peer.detail if known.peer else known.problem,
                tuple(known.tools),
                known.compactors,
            )
            for known in self._known or ()
        ]

    async def aclose(self) -> None:
        """All at once; none outlives it."""
        self._closing = True
        for known in self._known or ():
            if known.asking is not None:
                known.asking.cancel()
        peers = [known.peer for known in self._known or () if known.peer is not None]
        lives = [known.lives for known in self._known or () if known.lives is not None]
        await asyncio.gather(*(peer.aclose() for peer in peers), *(life.aclose() for life in lives))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5.0)

    def _open(self, planned: PlannedPeer) -> _Known:
        known = _Known(planned.component, planned.name, _no_tool)
        try:
            if isinstance(planned, PlannedSidecar):
                known.peer = self._sidecar(known, planned.path)
            else:
                known.peer = self._server(known, planned.entry)
        except PlanckError as failure:
            known.problem = failure.err.message
            log.warning("%s", failure.err)
            self._publish(known, "error", failure.err.message)
        return known

    def _sidecar(self, known: _Known, path: Path) -> "Peer":
        from planck.mcp.peer import Peer
        from planck.sidecar import host

        def way(confinement: Confinement | None = None) -> "Way":
            return host.way_to(
                path,
                self._resources.workspace,
                cache=self._resources.home / "cache" / "sidecars",
                environment=self._environ,
                progress=lambda text: self._publish(known, "building", text),
                confinement=confinement,
            )

        life = partial(Peer, known.name, clock=self._clock, kind="sidecar", ours=True)
        peer = life(
            way(),
            on_state=lambda state, detail: self._publish(known, state, detail),
            on_tools=lambda listing: self._listed(known, self._without_compactors(known, listing.tools)),
        )
        known.lives = lives = Lives(peer, lambda rights: life(way(rights)), partial(_ask_from_now_on, known))
        known.make = lambda listed: host.sidecar_tool(lives.reach, listed, confinable=known.confinable)
        return peer

    def _server(self, known: _Known, entry: Any) -> "Peer":
        from planck.mcp import client
        from planck.mcp.peer import Peer
        from planck.mcp.transport import PeerError

        spec = client.read_server(known.name, entry, self._environ)
        if spec.disabled:
            raise PeerError(ErrorKind.PEER_FAILED, f"mcpServers.{known.name} is disabled")
        # In a folder that is not trusted, a program of the user's must not find the project's modules.
        folder = self._resources.workspace if self._trusted else self._resources.home
        folder.mkdir(parents=True, exist_ok=True)
        known.prefix = client.prefix(known.name)
        known.agreed = agreed = Agreed(known.name)
        known.confinable = not spec.url
        way = partial(client.way_to, spec, folder, self._environ)
        life = partial(Peer, known.name, clock=self._clock, prefix=known.prefix)
        peer = life(
            way(),
            on_state=lambda state, detail: self._publish(known, state, detail),
            on_tools=lambda listing: self._listed(known, self._unchanged(known, agreed, listing.tools)),
        )
        known.lives = lives = Lives(peer, lambda rights: life(way(rights)), partial(_ask_from_now_on, known))
        timeout = spec.timeout / 1000 or client.TIMEOUT
        known.make = lambda listed: client.mcp_tool(lives.reach, listed, timeout, confinable=known.confinable)
        return peer

    def _unchanged(self, known: _Known, agreed: Agreed, tools: "tuple[Listed, ...]") -> "tuple[Listed, ...]":
        """What a server first said is what the user took; the rest is asked about, or held back."""
        same = agreed.sift(tools)
        if agreed.held:
            asked = self._ask(known, agreed)
            names = ", ".join(listed.spec.name for listed in agreed.held[:10])
            way_out = "you are asked about them" if asked else "start planck again to take them"
            self._publish(
                known, "connected", f"new or changed since it was started, held back: {names}; {way_out}"
            )
        return same

    def _without_compactors(self, known: _Known, tools: "tuple[Listed, ...]") -> "list[Listed]":
        from planck.sidecar import compacting

        own = [listed for listed in tools if listed.name == compacting.NAME]
        known.compactors = tuple(name for listed in own for name in compacting.names(listed))
        return [listed for listed in tools if listed not in own]

    def _ask(self, known: _Known, agreed: Agreed) -> bool:
        """In the background: no turn waits for the answer. False where nobody can be asked."""
        if known.asking is not None:
            return True
        asked_in = next((journal for journal, agree in self._journals.items() if agree is not None), None)
        change = None if asked_in is None or self._closing else agreed.question()
        if asked_in is None or change is None:
            return False
        known.asked_in = asked_in
        known.asking = self._task(self._answered(known, agreed, change, asked_in))
        return True

    async def _answered(self, known: _Known, agreed: Agreed, change: Change, journal: Journal) -> None:
        """Cancelled when its session ends or all do; whoever cancels it says what comes after."""
        agree = self._journals[journal]
        assert agree is not None
        try:
            allowed = await agree(change, lambda fact: journal.record(None, 0, fact, barrier=True))
        except Exception:  # an approver is anybody's code, and no answer is no
            log.exception("no answer about the tools of %r", known.name)
            allowed = False
        agreed.take(change) if allowed else agreed.refuse(change)
        known.asking = known.asked_in = None
        if known.peer is not None:  # as it lists them now: they may have changed again
            self._listed(known, self._unchanged(known, agreed, known.peer.tools.tools))

    def _listed(self, known: _Known, listed: "Iterable[Listed]") -> None:
        """What is said again as it was stays the tool that it was: its place in a prompt does not move."""
        before, known.listed = known.listed, {one.spec.name: one for one in listed}
        kept = {
            name: tool for name, tool in known.tools.items() if before.get(name) == known.listed.get(name)
        }
        self._replace(known, {n: kept.get(n) or known.make(one) for n, one in known.listed.items()})

    def _replace(self, known: _Known, tools: dict[str, Tool]) -> None:
        if self._closing:
            return
        old, known.tools = known.tools, tools
        for toolset, holder in list(self._sets.items()):
            gone = [n for n, tool in old.items() if toolset.get(n) is tool and tools.get(n) is not tool]
            for name in gone:
                toolset.remove(name)
            new = [tool for name, tool in tools.items() if toolset.get(name) is not tool]
            given = [tool.name for tool in new if self._give(known, toolset, holder, tool)]
            if gone != given:
                fact = ToolsChanged(
                    added=tuple(name for name in given if name not in gone),
                    removed=tuple(name for name in gone if name not in given),
                )
                self._record(holder, fact)

    def _give(self, known: _Known, toolset: ToolSet, holder: "_Holder", tool: Tool) -> bool:
        if not holder.wants(tool.name):
            return False
        if toolset.get(tool.name) is not None:
            text = f"its tool {tool.name!r} is left out: there is one of that name already; rename it"
            log.warning("%s %r: %s", known.component, known.name, text)
            self._publish(known, "connected", text)
            return False
        toolset.arrive(tool)
        return True

    def _record(self, holder: "_Holder", fact: ToolsChanged) -> None:
        if record := holder.record():
            self._task(_recorded(record, fact))

    def _task(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait_for(self, name: str) -> None:
        """Returns when each peer that might bring a tool of this name is settled."""
        for known in self._known or ():
            if known.peer is not None and name.startswith(known.prefix):
                await known.peer.settled()

    def _publish(self, known: _Known, state: str, detail: str = "") -> None:
        delta = Status(component=known.component, name=known.name, state=str(state), detail=detail[:2000])
        for journal in list(self._journals):
            journal.publish(None, 0, delta)


async def _recorded(record: Record, fact: View) -> None:
    try:
        await record(fact)
    except PlanckError as failure:  # the session closed meanwhile
        log.debug("%s was not recorded: %s", fact.type, failure.err)


def _ask_from_now_on(known: _Known) -> None:
    """What does not run in the sandbox is asked about, call by call, where that is not allowed otherwise."""
    known.confinable = False
    for tool in known.tools.values():
        tool.confinable = False


def _no_tool(listed: "Listed") -> Tool:
    raise AssertionError("a peer that did not open lists nothing")
