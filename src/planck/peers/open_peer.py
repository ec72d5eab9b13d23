"""A planned peer is opened: its instances, and the tools that agents hold of it.

Only a start with something planned loads this module, and with it MCP and sidecars.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from planck.config.project import Project
from planck.mcp.calls import PeerSettings
from planck.mcp.client import TIMEOUT, ServerLauncher, ServerTools, read_server, tool_prefix
from planck.mcp.instances import Instances
from planck.mcp.listing import ListedTool, Listing
from planck.mcp.transport import PeerError
from planck.peers.changes import ServerChanges
from planck.peers.handout import Handout
from planck.peers.plan import PlannedPeer, PlannedServer, PlannedSidecar
from planck.peers.sessions import Sessions, Tasks
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Clock
from planck.sidecar import compacting
from planck.sidecar.host import SidecarLauncher, SidecarTools
from planck.toolkit.journal import Journal
from planck.toolkit.tool import Tool

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PeerContext:
    """What all peers of a project share."""

    project: Project
    clock: Clock
    sessions: Sessions
    handout: Handout
    tasks: Tasks


def open_peer(planned: PlannedPeer, context: PeerContext) -> "OpenPeer":
    """Starts nothing yet; what can't be opened says why in its report."""
    peer: OpenPeer
    if isinstance(planned, PlannedSidecar):
        peer = OpenSidecar(planned, context)
    else:
        peer = OpenServer(planned, context)
    try:
        peer.open()
    except PlanckError as failure:
        peer.problem = failure.err.message
        log.warning("%s", failure.err)
        peer.publish_state("error", failure.err.message)
    return peer


class ToolFactory(Protocol):
    def make(self, listed: ListedTool) -> Tool: ...


class OpenPeer:
    """Listens to its instances: passes states on to sessions, and its tools to agents."""

    instances: Instances | None = None
    problem = ""
    """Why it has no instances."""
    prefix = ""
    """Of its tools' names."""
    compactors: tuple[str, ...] = ()

    def __init__(self, planned: PlannedPeer, context: PeerContext) -> None:
        self.component = planned.component
        self.name = planned.name
        self.tools: dict[str, Tool] = {}
        self._context = context
        self._factory: ToolFactory | None = None
        self._listed: dict[str, ListedTool] = {}

    def open(self) -> None:
        raise NotImplementedError

    def admit(self, tools: tuple[ListedTool, ...]) -> Iterable[ListedTool]:
        """Returns those that agents may hold."""
        raise NotImplementedError

    def changed_state(self, state: str, detail: str) -> None:
        self.publish_state(state, detail)

    def listed_tools(self, listing: Listing) -> None:
        """What is said again as it was stays the tool that it was: its place in a prompt does not move."""
        before, self._listed = self._listed, {one.spec.name: one for one in self.admit(listing.tools)}
        old, factory = self.tools, self._factory
        assert factory is not None  # it was opened before it was started
        kept = {name: tool for name, tool in old.items() if before.get(name) == self._listed.get(name)}
        if not self._context.handout.closed:
            self.tools = {name: kept.get(name) or factory.make(one) for name, one in self._listed.items()}
            self._context.handout.replace(self, old, self.tools)

    def failed_in_sandbox(self) -> None:
        for tool in self.tools.values():
            tool.confinable = False

    def publish_state(self, state: str, detail: str) -> None:
        self._context.sessions.publish_state(self.component, self.name, str(state), detail)

    def leave(self, journal: Journal) -> None:
        """A session ends."""

    def stop_asking(self) -> None:
        """All sessions end."""


class OpenSidecar(OpenPeer):
    """Its word is taken: what it lists, agents hold; its compactors are no agent's."""

    def __init__(self, planned: PlannedSidecar, context: PeerContext) -> None:
        super().__init__(planned, context)
        self._path = planned.path

    def open(self) -> None:
        project = self._context.project
        cache = project.home / "cache" / "sidecars"
        launcher = SidecarLauncher(self._path, project.workspace, cache, project.environ, self.hear_build)
        settings = PeerSettings(self.name, kind="sidecar", ours=True)
        self.instances = Instances(settings, launcher, self._context.clock, self)
        self._factory = SidecarTools(self.instances)

    def hear_build(self, text: str) -> None:
        self.publish_state("building", text)

    def admit(self, tools: tuple[ListedTool, ...]) -> Iterable[ListedTool]:
        own = [listed for listed in tools if listed.name == compacting.TOOL_NAME]
        self.compactors = tuple(name for listed in own for name in compacting.names_of(listed))
        return [listed for listed in tools if listed not in own]


class OpenServer(OpenPeer):
    """What it first lists is taken; what it changes later is not, until a person says so."""

    def __init__(self, planned: PlannedServer, context: PeerContext) -> None:
        super().__init__(planned, context)
        self._planned = planned
        self._changes = ServerChanges(self, context.sessions, context.tasks)

    def open(self) -> None:
        environ, folder = self._context.project.environ, self._planned.folder
        spec = read_server(self.name, self._planned.entry, environ)
        if spec.disabled:
            raise PeerError(ErrorKind.PEER_FAILED, f"mcpServers.{self.name} is disabled")
        folder.mkdir(parents=True, exist_ok=True)
        self.prefix = tool_prefix(self.name)
        settings = PeerSettings(self.name, prefix=self.prefix)
        launcher = ServerLauncher(spec, folder, environ)
        self.instances = Instances(settings, launcher, self._context.clock, self)
        self._factory = ServerTools(self.instances, spec.timeout / 1000 or TIMEOUT)

    def admit(self, tools: tuple[ListedTool, ...]) -> Iterable[ListedTool]:
        return self._changes.admit(tools)

    def list_again(self) -> None:
        """After an answer: as it lists them now, for they may have changed again."""
        if self.instances is not None:
            self.listed_tools(self.instances.own.tools)

    def leave(self, journal: Journal) -> None:
        self._changes.leave(journal)

    def stop_asking(self) -> None:
        self._changes.close()
