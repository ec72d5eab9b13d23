"""The tools of peers are handed to agents: into the `ToolSet` of each that was granted their names."""

import logging
import weakref
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import msgspec

from planck.peers.sessions import Sessions
from planck.records import codec
from planck.records.events import ToolsChanged, View
from planck.records.history import BYTES_PER_TOKEN
from planck.records.outcome import PlanckError
from planck.records.specs import EVERY_TOOL
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import Arrivals, ToolSet

if TYPE_CHECKING:  # most runs have no peer: they load nothing of MCP
    from planck.peers.open_peer import OpenPeer

log: logging.Logger = logging.getLogger(__name__)


class _Holder(msgspec.Struct, frozen=True):
    """The agent behind a set of tools, and what that set waits for."""

    names: frozenset[str]
    scribe: weakref.ref[Scribe]
    """Weak: the set is the key by which this is found, and it lives only as long as its agent."""
    arrivals: Arrivals
    room: int
    """Bytes of every request that all these tools may take."""
    found: set[str]
    """What the agent looked for and is shown, of more than there is room for."""

    def wants(self, name: str) -> bool:
        return EVERY_TOOL in self.names or name in self.names

    async def wait_for(self, name: str) -> None:
        if self.wants(name):
            await self.arrivals.wait_for(name)

    async def wait_for_listings(self, held: Collection[str]) -> None:
        if EVERY_TOOL in self.names or not self.names.issubset(held):
            await self.arrivals.wait_for_listings(held)


class Handout:
    def __init__(self, arrivals: Arrivals, sessions: Sessions) -> None:
        self._arrivals = arrivals
        self.sessions = sessions
        self._holders: weakref.WeakKeyDictionary[ToolSet, _Holder] = weakref.WeakKeyDictionary()

    def attach(
        self,
        toolset: ToolSet,
        wanted: Iterable[str],
        scribe: Scribe,
        peers: "Iterable[OpenPeer]",
        window: int,
    ) -> None:
        """Gives the set what these peers offer of the wanted names, and from now on what comes and goes."""
        room = window // 10 * BYTES_PER_TOKEN
        holder = _Holder(frozenset(wanted), weakref.ref(scribe), self._arrivals, room, set())
        self._holders[toolset] = holder
        toolset.arrivals = holder
        for peer in peers:
            for tool in peer.tools.values():
                _give(peer, toolset, holder, tool)
        _make_room(toolset, holder)

    def replace(self, peer: "OpenPeer", old: dict[str, Tool], new: dict[str, Tool]) -> None:
        """Puts a peer's new tools in the place of its old ones; an agent whose set changes is told."""
        for toolset, holder in list(self._holders.items()):
            gone = [n for n, tool in old.items() if toolset.get(n) is tool and new.get(n) is not tool]
            for name in gone:
                toolset.remove(name)
            missing = [tool for name, tool in new.items() if toolset.get(name) is not tool]
            given = [tool.name for tool in missing if _give(peer, toolset, holder, tool)]
            scribe = holder.scribe()
            if gone or given:
                _make_room(toolset, holder)
            if scribe is None or not (gone or given):
                continue
            before, now = scribe.tools_kept, scribe.keep_tools(toolset.specs)
            # One of the same name may be another tool; what nobody was shown yet did not change.
            if gone != given or before not in ("", now):
                added = tuple(name for name in given if name not in gone)
                removed = tuple(name for name in gone if name not in given)
                self.sessions.start(_record(scribe, ToolsChanged(added=added, removed=removed, tools=now)))


def _make_room(toolset: ToolSet, holder: _Holder) -> None:
    """Where all tools of servers would take too much of every request, they are shown when asked for."""
    served = [tool for tool in toolset if tool.name.startswith(SERVED)]
    much = len(served) > _MANY or sum(len(codec.encode(tool.to_ai_tool())) for tool in served) > holder.room
    if not much:
        toolset.defer(())
        toolset.remove(SEARCH)
        return
    toolset.defer({tool.name for tool in served} - holder.found)
    if toolset.get(SEARCH) is None:
        from planck.peers.search import make_search_tool  # few have so many

        toolset.add(make_search_tool(toolset, holder.found, holder.scribe))


SERVED = "mcp__"
"""What the names of tools of MCP servers begin with; a sidecar's are the user's own, and few."""
SEARCH = "search_tools"
_MANY = 128


def _give(peer: "OpenPeer", toolset: ToolSet, holder: _Holder, tool: Tool) -> bool:
    if not holder.wants(tool.name) or toolset.withholds(tool.name):
        return False
    if toolset.get(tool.name) is not None:
        text = f"tool {tool.name!r} is left out, because another tool has the same name; rename one of them"
        log.warning("%s %r: %s", peer.component, peer.name, text)
        peer.changed_state("connected", text)
        return False
    toolset.arrive(tool)
    return True


async def _record(scribe: Scribe, fact: View) -> None:
    try:
        await scribe.record(fact)
    except PlanckError as failure:  # the session closed meanwhile
        log.debug("Event %s was not recorded: %s", fact.type, failure.err)
