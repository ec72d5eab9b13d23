"""The tools of a workspace: which there are, where they come from, and one call by the user's own hand."""

from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from planck.context.plan import plan_tool
from planck.context.skill_tools import skill_tools
from planck.headless import config as configuration
from planck.headless.external import external_tools
from planck.headless.resources import Resources
from planck.headless.system import RandomIds, SystemClock
from planck.headless.trust import Trust
from planck.records.messages import ToolCall
from planck.records.outcome import Err, ErrorKind
from planck.toolkit.tool import Tool, ToolContext
from planck.toolkit.toolset import ToolSet
from planck.tools import arguments
from planck.tools.builtin.catalog import builtin_tools
from planck.tools.executor import Executor, Finished
from planck.tools.external import ExternalTool, Problem

BUILT_IN = "built-in"


class Entry(msgspec.Struct, frozen=True):
    tool: Tool
    source: str
    """`built-in`, or the file that it was read from."""
    trusted: bool = True

    def shown(self) -> dict[str, Any]:
        spec = msgspec.to_builtins(self.tool.to_ai_tool())
        more = {"source": self.source, "effect": str(self.tool.effect), "trusted": self.trusted}
        command = {"command": self.tool.command} if isinstance(self.tool, ExternalTool) else {}
        return {**spec, **more, **command}


class Inventory(msgspec.Struct, frozen=True):
    entries: list[Entry]
    problems: list[Problem]

    def find(self, name: str) -> Entry | Err:
        names = [entry.tool.name for entry in self.entries]
        if name in names:
            return self.entries[names.index(name)]
        hint = arguments.near(name, names) or f"; there are: {', '.join(names)}"
        return Err(ErrorKind.UNKNOWN_TOOL, f"there is no tool named {name!r}{hint}")


class ToolBox:
    """What `planck tools` needs of a home and a workspace."""

    def __init__(
        self,
        workspace: Path | None = None,
        *,
        home: Path | None = None,
        environ: Mapping[str, str] | None = None,
        trust: bool = False,
    ) -> None:
        self._environ = configuration.environment() if environ is None else environ
        self._home = home or configuration.home_dir(self._environ)
        self._workspace = (workspace or Path.cwd()).absolute()
        allowed = Trust(self._home, self._workspace, this_run=trust)
        self._resources = Resources(
            self._home,
            self._workspace,
            self._environ,
            lambda: configuration.load(self._home, self._workspace, self._environ, trusted=allowed.holds),
        )

    def inventory(self) -> Inventory:
        """Tools that may be called first, then what an untrusted folder would bring."""
        built_in = [
            *builtin_tools(self._workspace, spill=self._spill, environment=self._environ),
            *skill_tools(lambda agent_id: self._resources.skills().skills),
            plan_tool(),
        ]
        names = [tool.name for tool in built_in]
        found = external_tools(self._resources, self._environ, self._spill, names)
        entries = [Entry(tool, BUILT_IN) for tool in built_in]
        entries += [Entry(tool, tool.path) for tool in found.tools]
        entries += [Entry(tool, tool.path, trusted=False) for tool in found.untrusted]
        return Inventory(entries, found.problems)

    async def call(self, name: str, args: str, *, dry_run: bool = False) -> Finished | Err:
        """Run one tool without a question; confinement and trust hold."""
        inventory = self.inventory()
        entry = inventory.find(name)
        if isinstance(entry, Err):
            return entry
        if not entry.trusted:
            return Err(
                ErrorKind.PERMISSION_DENIED,
                f"{name!r} comes from this folder ({entry.source}), which is not trusted; "
                "read it, then pass --trust to run it",
            )
        executor = Executor(
            ToolSet([entry.tool]),
            clock=SystemClock(),
            permit=_allowed,
            session_id="",
            agent_id="user",
            workspace=self._workspace,
            dry_run=dry_run,
        )
        async with aclosing(executor.run([ToolCall(RandomIds().new(), "", name, args)])) as results:
            return await anext(results)

    @property
    def _spill(self) -> Path:
        return self._home / "outputs"


async def _allowed(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Err | None:
    return None
