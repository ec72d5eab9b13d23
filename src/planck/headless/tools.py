"""The tools of a workspace: which there are, where they come from, and one call by the user's own hand."""

import os
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from planck.headless import config as configuration
from planck.headless.config import Config
from planck.headless.system import RandomIds, SystemClock
from planck.records.messages import ToolCall
from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.tool import Tool, ToolContext
from planck.toolkit.toolset import ToolSet
from planck.tools import arguments, external
from planck.tools.builtin.catalog import builtin_tools
from planck.tools.executor import Executor, Finished
from planck.tools.external import ExternalTool, Problem

BUILT_IN = "built-in"


def from_file(path: str | os.PathLike[str]) -> Ok[Tool] | Err:
    """The tool of a TOOL.json, or why there is none."""
    result = external.from_file(path, environment=configuration.environment())
    return result if isinstance(result, Err) else Ok(result.value)


def load_all(dirs: Iterable[str | os.PathLike[str]]) -> list[Tool]:
    """Every sound `<dir>/<tool>/TOOL.json`; missing directories and malformed entries are skipped."""
    return list(external.load_all(dirs, environment=configuration.environment()))


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
        self._trust = trust
        loaded = configuration.load(self._home, self._workspace, self._environ, trusted=trust)
        self._config = loaded.config
        self.notices = loaded.notices

    def inventory(self) -> Inventory:
        """Tools that may be called first, then what an untrusted folder would bring."""
        built_in = builtin_tools(self._workspace, spill=self._spill, environment=self._environ)
        found = external_tools(
            self._config,
            self._home,
            self._workspace,
            self._environ,
            trusted=self._trust,
            spill=self._spill,
            taken=[tool.name for tool in built_in],
        )
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


class External(msgspec.Struct, frozen=True):
    tools: list[ExternalTool]
    untrusted: list[ExternalTool]
    """The workspace's own; they may be looked at, not called."""
    problems: list[Problem]


def external_tools(
    config: Config,
    home: Path,
    workspace: Path,
    environ: Mapping[str, str],
    *,
    trusted: bool,
    spill: Path,
    taken: Iterable[str],
) -> External:
    """The project's before the user's; an untrusted project's can't take a name from the user's."""
    default = [workspace / ".planck" / "tools", home / "tools"]
    folders = {
        folder.resolve(): folder
        for folder in [workspace / Path(f).expanduser() for f in config.tools_dirs or default]
    }.values()
    theirs = [folder for folder in folders if not trusted and _is_project(folder, home, workspace)]
    ours = [folder for folder in folders if folder not in theirs]
    used = external.discover(ours, environment=environ, spill=spill, taken=taken)
    names = [*taken, *(tool.name for tool in used.tools)]
    seen = external.discover(theirs, environment=environ, spill=spill, taken=names)
    return External(used.tools, seen.tools, [*used.problems, *seen.problems])


def _is_project(folder: Path, home: Path, workspace: Path) -> bool:
    """By where it really is: a link from the workspace to elsewhere is still the project's word."""
    inside = folder.is_relative_to(workspace) or folder.resolve().is_relative_to(workspace.resolve())
    return inside and not folder.resolve().is_relative_to(home.resolve())


async def _allowed(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Err | None:
    return None
