"""A planned peer is opened: its instances, and the tools that agents hold of it.

Only a start with something planned loads this module, and with it MCP and sidecars.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from planck.config.project import Project
from planck.config.rules import replaceable_rights
from planck.mcp.instances import Instances
from planck.mcp.listing import ListedTool, Listing
from planck.mcp.transport import Launch, PeerError
from planck.peers.changes import ServerChanges
from planck.peers.handout import Handout
from planck.peers.listing_file import ListingFile
from planck.peers.person import SessionPerson
from planck.peers.plan import PlannedPeer, PlannedServer, PlannedSidecar
from planck.peers.server import ServerLaunch, ServerSpec, ServerTool, read_server
from planck.peers.tokens import TokenFile
from planck.records.authority import Confinement, Mode
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Clock
from planck.sidecar import compacting
from planck.sidecar.host import SidecarLaunch, SidecarTool
from planck.toolkit.tool import Tool, ToolContext
from planck.workspace.sandbox.programs import tell_confined

log: logging.Logger = logging.getLogger(__name__)


def find_confined(planned: PlannedPeer, project: Project) -> str:
    """Returns why a peer would run in the sandbox, without starting it; "" where it would not, or can't."""
    try:
        match planned:
            case PlannedSidecar():
                launch: Launch = _launch_sidecar(planned, project, log.info)
            case PlannedServer():
                spec = read_server(planned.name, planned.entry, project.environ)
                if spec.disabled:
                    return ""
                launch = _launch_server(planned, spec, project)
    except PlanckError:
        return ""
    return tell_confined(launch.label, launch.replaceable) if launch.replaceable else ""


def _find_guard(project: Project) -> Confinement | None:
    """What an agent could replace of a peer runs in the sandbox, unless nothing does."""
    return None if project.config.permissions.mode is Mode.FULL else replaceable_rights(project)


def _launch_server(planned: PlannedServer, spec: ServerSpec, project: Project) -> ServerLaunch:
    return ServerLaunch(
        planned.name,
        spec,
        planned.folder,
        project.environ,
        guarded=_find_guard(project),
        elsewhere=project.home,
        sign_in=TokenFile(project.home, planned.name, spec.url, spec.client) if spec.url else None,
    )


def _launch_sidecar(
    planned: PlannedSidecar, project: Project, progress: Callable[[str], None]
) -> SidecarLaunch:
    cache = project.home / "cache" / "sidecars"
    return SidecarLaunch(
        planned.name,
        planned.path,
        project.workspace,
        cache,
        project.environ,
        progress,
        guarded=_find_guard(project),
    )


class OpenPeer:
    """Listens to its instances: passes states on to sessions, and its tools to agents."""

    instances: Instances | None = None
    problem: str = ""
    """Why it has no instances."""
    disabled = False
    """Whether the user turned it off, which is no error."""
    confined: str = ""
    """Why its first instance, too, runs in the sandbox."""
    compactors: tuple[str, ...] = ()

    def __init__(self, planned: PlannedPeer, project: Project, clock: Clock, handout: Handout) -> None:
        """Starts nothing yet; what can't be opened says why in its report."""
        self.component: str = planned.component
        self.name: str = planned.name
        self.tools: dict[str, Tool] = {}
        self._handout = handout
        self._sessions = handout.sessions
        self._listed: dict[str, ListedTool] = {}
        self._file = ListingFile(project.home, self.component, self.name, str(planned.place))
        self.listed_before: bool = False
        """Whether its tools, as it listed them last, are offered already while it starts."""
        try:
            launch = self._make_launch(planned, project)
            if replaceable := launch.hold():
                self.confined = tell_confined(launch.label, replaceable)
                self.changed_state("confined", self.confined)
            self.instances = Instances(launch, clock, self)
            self._offer_kept(self.instances)
        except PlanckError as failure:
            self.problem = failure.err.message
            if not self.disabled:
                log.warning("%s", failure.err)
                self.changed_state("error", self.problem)

    def _offer_kept(self, instances: Instances) -> None:
        kept = self._file.read(instances.launch.digest)
        if kept is None:
            return
        self._listed = {one.spec.name: one for one in self._recall(kept.tools)}
        self.tools = {name: self._make_tool(one, instances) for name, one in self._listed.items()}
        self.listed_before = True

    def _recall(self, tools: tuple[ListedTool, ...]) -> Iterable[ListedTool]:
        """Returns those that were offered of an earlier listing; nobody is asked about them again."""
        return tools

    def _make_launch(self, planned: Any, project: Project) -> Launch:
        raise NotImplementedError

    def _make_tool(self, listed: ListedTool, instances: Instances) -> Tool:
        raise NotImplementedError

    def _admit(self, tools: tuple[ListedTool, ...]) -> Iterable[ListedTool]:
        """Returns those that agents may hold."""
        raise NotImplementedError

    def _may_keep(self, one: ListedTool) -> bool:
        """What a person has not taken is not offered next time either."""
        return one.spec.name in self._listed

    def changed_state(self, state: str, detail: str) -> None:
        self._sessions.publish_state(self.component, self.name, str(state), detail)

    @property
    def is_new(self) -> bool:
        """Whether it still starts, and nothing is known of the tools that it will have."""
        return self.instances is not None and not self.listed_before and not self.instances.own.settled

    async def settle(self) -> None:
        if self.instances is not None:
            await self.instances.own.settle()

    def announce_wait(self, seconds: float) -> None:
        if self.instances is not None:
            text = f"waiting up to {seconds:.1f} s for its first list of tools"
            self.changed_state(str(self.instances.own.state), text)

    def listed_tools(self, listing: Listing) -> None:
        """What is said again as it was stays the tool that it was: its place in a prompt does not move."""
        assert self.instances is not None  # they have listed it
        before, self._listed = self._listed, {one.spec.name: one for one in self._admit(listing.tools)}
        if not listing.over:
            taken = Listing(tuple(one for one in listing.tools if self._may_keep(one)))
            self._file.write(self.instances.launch.digest, taken)
        old = self.tools
        kept = {name: tool for name, tool in old.items() if before.get(name) == self._listed.get(name)}
        if not self._sessions.closed:
            self.tools = {
                name: kept.get(name) or self._make_tool(one, self.instances)
                for name, one in self._listed.items()
            }
            self._handout.replace(self, old, self.tools)

    def failed_in_sandbox(self) -> None:
        for tool in self.tools.values():
            tool.confinable = False


class OpenSidecar(OpenPeer):
    """Its word is taken: what it lists, agents hold; its compactors are no agent's."""

    def _make_launch(self, planned: PlannedSidecar, project: Project) -> Launch:
        return _launch_sidecar(planned, project, self._hear_build)

    def _make_tool(self, listed: ListedTool, instances: Instances) -> Tool:
        return SidecarTool(listed, instances)

    def _hear_build(self, text: str) -> None:
        self.changed_state("building", text)

    def _recall(self, tools: tuple[ListedTool, ...]) -> Iterable[ListedTool]:
        return self._admit(tools)

    def _may_keep(self, one: ListedTool) -> bool:
        return True

    def _admit(self, tools: tuple[ListedTool, ...]) -> Iterable[ListedTool]:
        own = [listed for listed in tools if listed.name == compacting.TOOL_NAME]
        self.compactors = tuple(name for listed in own for name in compacting.names_of(listed))
        return [listed for listed in tools if listed not in own]


class OpenServer(OpenPeer):
    """What it first lists is taken; what it changes later is not, until a person says so."""

    def _make_launch(self, planned: PlannedServer, project: Project) -> Launch:
        self._changes = ServerChanges(self, self._sessions)
        spec = read_server(self.name, planned.entry, project.environ)
        if spec.disabled:
            self.disabled = True
            raise PeerError(
                ErrorKind.PEER_FAILED,
                f"mcpServers.{self.name} is disabled; remove `disabled` (or `enabled: false`) to use it",
            )
        planned.folder.mkdir(parents=True, exist_ok=True)
        self._timeout = spec.timeout
        return _launch_server(planned, spec, project)

    def _make_tool(self, listed: ListedTool, instances: Instances) -> Tool:
        return ServerTool(listed, instances, self._timeout, self._find_person)

    def _find_person(self, ctx: ToolContext) -> SessionPerson | None:
        approvals = self._sessions.find_approvals(ctx.session_id)
        return SessionPerson(self, ctx, approvals) if approvals else None

    def _admit(self, tools: tuple[ListedTool, ...]) -> Iterable[ListedTool]:
        return self._changes.admit(tools)

    def list_again(self) -> None:
        """After an answer: as it lists them now, for they may have changed again."""
        if self.instances is not None:
            self.listed_tools(self.instances.own.tools)
