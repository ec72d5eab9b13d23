"""TOOL.json tools of the configured places, as far as trust goes; changes are taken in at the next turn."""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from planck.config.load import read_environment
from planck.config.reload import Resources, stamps
from planck.records.outcome import Err, Ok
from planck.records.specs import EVERY_TOOL, ORCHESTRATOR_TOOLS, TEAM_TOOLS
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet
from planck.tools import external
from planck.tools.external import ExternalTool, Problem


def from_file(path: str | os.PathLike[str]) -> Ok[Tool] | Err:
    """The tool of a TOOL.json, or why there is none."""
    result = external.from_file(path, environment=read_environment())
    return result if isinstance(result, Err) else Ok(result.value)


def load_all(dirs: Iterable[str | os.PathLike[str]]) -> list[Tool]:
    """Every sound `<dir>/<tool>/TOOL.json`; missing directories and malformed entries are skipped."""
    return list(external.load_all(dirs, environment=read_environment()))


class External(msgspec.Struct, frozen=True):
    tools: list[ExternalTool]
    untrusted: list[ExternalTool]
    """The workspace's own; they may be looked at, not called."""
    problems: list[Problem]


def external_tools(
    resources: Resources, environ: Mapping[str, str], spill: Path, built_in: Iterable[str]
) -> External:
    """The project's before the user's; an untrusted project's can't take a name from the user's."""
    folders = list({folder.resolve(): folder for folder in resources.tool_dirs()}.values())
    taken = [*built_in, *TEAM_TOOLS, *ORCHESTRATOR_TOOLS]
    theirs = [] if resources.loaded.trusted else [f for f in folders if _is_project(f, resources)]
    ours = [folder for folder in folders if folder not in theirs]
    used = external.discover(ours, environment=environ, spill=spill, taken=taken)
    seen = external.discover(theirs, environment=environ, spill=spill, taken=taken, before=used.tools)
    return External(used.tools, seen.tools, [*used.problems, *seen.problems])


def _is_project(folder: Path, resources: Resources) -> bool:
    """By where it is, and by where it really is: a link out of the workspace is still the project's word."""
    home, workspace = resources.home.resolve(), resources.workspace
    inside = folder.is_relative_to(workspace) or folder.resolve().is_relative_to(workspace.resolve())
    return inside and not folder.resolve().is_relative_to(home)


class ToolFiles:
    """Reads the files again only when one of them changed."""

    def __init__(
        self, resources: Resources, environ: Mapping[str, str], spill: Path, built_in: Collection[str]
    ) -> None:
        self._resources = resources
        self._environ = environ
        self._spill = spill
        self._built_in = built_in
        self._seen = self._stamps()
        self._tools = self._load_tools()

    @property
    def tools(self) -> dict[str, Tool]:
        self._resources.refresh()  # a file that changed is not the one that was trusted
        seen = self._stamps()
        if seen != self._seen:
            self._seen = seen
            self._tools = self._load_tools()
        return self._tools

    def sync(self, agent: ToolSet, granted: Collection[str], held: dict[str, Tool]) -> None:
        """Give an agent what it may have of the files as they are now; `held` is what it has of them."""
        now = {name: tool for name, tool in self.tools.items() if name in granted or EVERY_TOOL in granted}
        for name, tool in list(held.items()):
            if now.get(name) is not tool:
                agent.remove(name)
                del held[name]
        for name, tool in now.items():
            if name not in held and agent.get(name) is None:
                agent.arrive(tool)
                held[name] = tool

    def _load_tools(self) -> dict[str, Tool]:
        found = external_tools(self._resources, self._environ, self._spill, self._built_in)
        return {tool.name: tool for tool in found.tools}

    def _stamps(self) -> tuple[Any, ...]:
        files: list[Path] = []
        for folder in self._resources.tool_dirs():
            try:
                files += sorted(entry / "TOOL.json" for entry in folder.iterdir())
            except OSError:
                continue
        return (tuple(files), stamps(files), self._resources.loaded.trusted)
