"""Our tools for other agents: what `planck mcp serve` puts behind MCP."""

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from planck.config.keys.credentials import CredentialFile, Keyring
from planck.config.project import Project
from planck.config.rules import RuleBook
from planck.headless.services.toolbox import ToolBox
from planck.headless.services.workbench_guide import WorkbenchGuide
from planck.mcp import meta as meta_keys
from planck.permissions.authority import session_ceiling
from planck.permissions.gate import AgentGate, Gate
from planck.records.authority import Mode
from planck.records.messages import ToolCall
from planck.records.specs import ToolSpec
from planck.toolkit.clock import RandomIds, SystemClock
from planck.toolkit.journal import Unrecorded
from planck.toolkit.scribe import Scribe
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import Executor, Site, read_calls
from planck.tools.results import Finished


class Workbench:
    """The tools of a workspace under a mode; where the mode would ask, it is denied: nobody is there."""

    def __init__(self, project: Project, mode: Mode | str | None = None) -> None:
        self._tools = ToolSet(entry.tool for entry in ToolBox(project).inventory().entries if entry.trusted)
        self._workspace = project.workspace
        self._keys = Keyring(CredentialFile(project.home), project.environ, SystemClock()).redactor
        self.guide: WorkbenchGuide = WorkbenchGuide(self._tools, project, self._keys)
        self._scribe = Scribe(Unrecorded(), "mcp")
        chosen = Mode(mode) if mode else project.config.permissions.mode
        gate = Gate(RuleBook(project), ids=RandomIds())
        rights = session_ceiling(chosen, project.roots, 0)
        self._permit = AgentGate(gate, "mcp", rights, Scribe(Unrecorded(), "mcp"))

    def running(self) -> AbstractAsyncContextManager[None]:
        """Starts the sidecars of the workspace, whose tools are offered too, and ends them."""
        return self.guide.running(self._scribe)

    def specs(self) -> Sequence[ToolSpec]:
        return self._tools.specs

    def run(
        self, call: ToolCall, meta: dict[str, Any], progress: Callable[[str, str], None] | None
    ) -> AsyncGenerator[Finished, None]:
        site = Site("mcp", self._workspace, meta.get(meta_keys.DRY_RUN) is True, keys=self._keys)
        scribe = Scribe(Unrecorded(progress), str(meta.get(meta_keys.AGENT_ID) or "mcp"))
        executor = Executor(self._tools, site, permit=self._permit, scribe=scribe, clock=SystemClock())
        own = ToolCall(RandomIds().new(), "", call.name, call.arguments)
        return executor.run(read_calls(self._tools, [own]))


async def serve_stdio(bench: Workbench) -> None:
    """Serves on standard input and output, until the client closes its side."""
    from planck.mcp.serve import serve_wire
    from planck.mcp.standard import claim_standard_streams, open_standard

    wire = open_standard(*claim_standard_streams())
    async with bench.running():
        await serve_wire("planck", bench, wire, bench.guide)


async def serve_http(bench: Workbench, port: int, token: str, on_ready: Callable[[str], None]) -> None:
    from planck.mcp import http

    async with bench.running():
        await http.serve_http("planck", bench, port, token, on_ready, guide=bench.guide)


def make_token() -> str:
    return os.urandom(32).hex()
