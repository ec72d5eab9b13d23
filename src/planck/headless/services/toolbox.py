"""The tools of a workspace: which there are, where they come from, and one call by the user's own hand."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import msgspec

from planck.config.keys.credentials import CredentialFile, Keyring
from planck.config.project import Project
from planck.config.tool_files import external_tools
from planck.context.skill_tools import Skills
from planck.headless.session_tools import make_built_in_tools
from planck.peers.peers import Peers
from planck.records.messages import ToolCall
from planck.records.nearest import did_you_mean_one_of
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.tools import ORCHESTRATOR_TOOLS, TEAM_TOOLS
from planck.toolkit.clock import RandomIds, SystemClock
from planck.toolkit.journal import Unrecorded
from planck.toolkit.permit import Allowed
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet
from planck.tools import arguments
from planck.tools.executor import Executor, Site, read_calls
from planck.tools.external import ExternalTool, Problem
from planck.tools.results import Finished

BUILT_IN = "built-in"
PEER = "peer"
"""Stands for a path: a problem of a sidecar or an MCP server."""
_PATIENCE = 20.0
"""Seconds that a listing waits for what is slow to start."""


class ToolRow(msgspec.Struct, frozen=True):
    tool: Tool
    source: str
    """`built-in`, the file that it was read from, or the sidecar or MCP server that has it."""
    trusted: bool = True

    def as_dict(self) -> dict[str, Any]:
        tool = self.tool
        spec = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        more = {"source": self.source, "effect": str(self.tool.effect), "trusted": self.trusted}
        command = {"command": self.tool.command} if isinstance(self.tool, ExternalTool) else {}
        return {**spec, **more, **command}


class Inventory(msgspec.Struct, frozen=True):
    entries: list[ToolRow]
    problems: list[Problem]
    notices: list[str] = []
    """Of what else was not looked at, and why."""

    def find(self, name: str) -> ToolRow | Err:
        names = [entry.tool.name for entry in self.entries]
        if name in names:
            return self.entries[names.index(name)]
        hint = did_you_mean_one_of(name, names) or f". Available: {', '.join(names)}."
        also = [problem.error.message for problem in self.problems if problem.path == PEER]
        more = "".join(f" {text.removesuffix('.')}." for text in (*also, *self.notices))
        text = f'Unknown tool: {name!r}{hint}{more} Run "planck tools list".'
        return Err(ErrorKind.UNKNOWN_TOOL, text)


class ToolBox:
    """What `planck tools` needs of a home and a workspace."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._resources = project.resources
        self._spill = project.home / "outputs"

    def skills_for(self, agent_id: str) -> Skills:
        return self._resources.skills().skills

    def inventory(self) -> Inventory:
        """Tools that may be called first, then what an untrusted folder would bring."""
        built_in = make_built_in_tools(self._project, self, self._spill)
        names = [tool.name for tool in built_in]
        found = external_tools(self._resources, self._project.environ, self._spill, names)
        entries = [ToolRow(tool, BUILT_IN) for tool in built_in]
        entries += [ToolRow(tool, tool.path) for tool in found.tools]
        entries += [ToolRow(tool, tool.path, trusted=False) for tool in found.untrusted]
        return Inventory(entries, found.problems)

    async def list_all(self) -> Inventory:
        """With what sidecars and MCP servers have; one that is slow to start is told, and not waited for."""
        async with self._with_peers(patience=_PATIENCE) as inventory:
            return inventory

    @asynccontextmanager
    async def find(self, name: str) -> AsyncGenerator[ToolRow | Err, None]:
        """The tool, while the peer that has it runs; none is started for a name that is known without."""
        entry = self.inventory().find(name)
        if isinstance(entry, Err):
            async with self._with_peers(name) as inventory:
                yield inventory.find(name)
        else:
            yield entry

    @asynccontextmanager
    async def _with_peers(
        self, tool: str = "", patience: float | None = None
    ) -> AsyncGenerator[Inventory, None]:
        peers = Peers(self._project, clock=SystemClock())
        try:
            peers.start(tool=tool)
            yield await self.list_with(peers, patience)
        finally:
            await peers.aclose()

    async def list_with(self, peers: Peers, patience: float | None = _PATIENCE) -> Inventory:
        """The same, with what peers have that were started by somebody else, and are the caller's to end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await peers.settle()
        return self._join(peers)

    def _join(self, peers: Peers) -> Inventory:
        """As a session has them: a name that is taken stays with who had it."""
        own = self.inventory()
        entries = [entry for entry in own.entries if entry.trusted]
        problems = list(own.problems)
        taken = {*TEAM_TOOLS, *ORCHESTRATOR_TOOLS, *(entry.tool.name for entry in entries)}
        for peer, tool in [(owner, tool) for owner in peers.open for tool in owner.tools.values()]:
            if tool.name in taken:
                owner = f"{peer.component} {peer.name!r}"
                text = f"tool {tool.name!r} from {owner}: another tool has the same name. Rename one of them."
                problems.append(Problem(PEER, Err(ErrorKind.NOT_UNIQUE, text)))
            else:
                taken.add(tool.name)
                entries.append(ToolRow(tool, f"{peer.component} {peer.name}"))
        for report in peers.report():
            if report.state != "connected":
                of_server = f'Run "planck mcp test {report.name}"'
                test = of_server if report.component == "mcp" else 'Run "planck sidecar status"'
                why = report.detail or f"not ready after {_PATIENCE:g} s (state: {report.state}). {test}"
                text = f"{report.component} {report.name!r}: {why}"
                problems.append(Problem(PEER, Err(ErrorKind.PEER_FAILED, text)))
        entries += [entry for entry in own.entries if not entry.trusted]
        return Inventory(entries, problems, [*self._list_trust_notices(), *peers.plan.notices])

    def _list_trust_notices(self) -> list[str]:
        state = self._project.trust.state
        peers = any(path.startswith((".mcp.json", ".planck/sidecar/")) for path in state.content.hashes)
        return [state.notice] if peers and state.notice else []

    async def call(self, name: str, args: str, *, dry_run: bool = False) -> Finished | Err:
        """Runs one tool without a question; confinement and trust hold."""
        self._project.check_place()
        async with self.find(name) as entry:
            if isinstance(entry, Err):
                return _refuse_unknown(entry, args)
            return await self._run(entry, args, dry_run)

    async def _run(self, entry: ToolRow, args: str, dry_run: bool) -> Finished | Err:
        name = entry.tool.name
        if not entry.trusted:
            return Err(
                ErrorKind.PERMISSION_DENIED,
                f"The tool {name!r} is defined in {entry.source}, and this folder is not trusted. "
                "Review the file, then pass --trust to run the tool.",
            )
        tools = ToolSet([entry.tool])
        scribe = Scribe(Unrecorded(), "user")
        ring = Keyring(CredentialFile(self._project.home), self._project.environ, SystemClock())
        site = Site("", self._project.workspace, dry_run, keys=ring.redactor)
        executor = Executor(tools, site, permit=Allowed(), scribe=scribe, clock=SystemClock())
        calls = read_calls(tools, [ToolCall(RandomIds().new(), "", name, args)])
        async with aclosing(executor.run(calls)) as results:
            return await anext(results)


def _refuse_unknown(unknown: Err, args: str) -> Err:
    """As the executor has it: arguments that can't be read come first."""
    try:
        arguments.parse(args)
    except PlanckError as unreadable:
        return unreadable.err
    return unknown
