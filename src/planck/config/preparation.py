"""What files give an agent, taken in anew at each of its turns: AGENTS.md, skills and TOOL.json tools."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from planck.config.project import Project
from planck.config.resources import stamps
from planck.config.tool_files import external_tools
from planck.context.prompt import Prepared
from planck.records.specs import EVERY_TOOL, AgentSpec
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet


class ToolFiles:
    """The TOOL.json tools of a session; the files are read again only when one of them changed."""

    def __init__(self, project: Project, spill: Path, built_in: Collection[str]) -> None:
        self.resources = project.resources
        self._environ = project.environ
        self._root = project.root
        self._spill = spill
        self._built_in = built_in
        self._seen: Any = None
        self.known: dict[str, Tool] = {}
        """As they were when `tools` was last asked for."""

    @property
    def tools(self) -> dict[str, Tool]:
        """As the files are now."""
        self.resources.refresh()  # a file that changed is not the one that was trusted
        seen = self._stamps()
        if seen != self._seen:
            self._seen = seen
            self.known = self._read() if seen[0] else {}  # most folders hold none
        return self.known

    def _read(self) -> dict[str, Tool]:
        found = external_tools(self.resources, self._environ, self._spill, self._built_in, self._root)
        return {tool.name: tool for tool in found.tools}

    def _stamps(self) -> tuple[Any, ...]:
        files: list[str] = []
        for folder in self.resources.tool_dirs():
            if not os.access(folder, os.F_OK):
                continue
            try:
                files += sorted(f"{folder}/{name}/TOOL.json" for name in os.listdir(folder))
            except OSError:
                continue
        return (tuple(files), stamps(files), self.resources.loaded.trusted)


class Preparation:
    """Prepares the turns of one agent."""

    def __init__(
        self, spec: AgentSpec, tools: ToolSet, files: ToolFiles, skill_tools: Sequence[Tool]
    ) -> None:
        self._spec = spec
        self._tools = tools
        self._files = files
        self._skill_tools = skill_tools
        self._held = {name: tool for name, tool in files.known.items() if tools.get(name) is tool}
        """What the agent has of the files."""

    def prepare_turn(self) -> Prepared:
        """Takes in what changed on disk since the last turn: tools of files come and go in the set."""
        resources = self._files.resources
        self._take_files()
        skills = resources.skills_of(self._spec)
        for tool in self._skill_tools if skills else ():
            if self._tools.get(tool.name) is None:
                self._tools.add(tool)  # what the prompt names can be had
        system = resources.build_system(self._spec, skills.values())
        return Prepared(system, self._tools)

    def _take_files(self) -> None:
        granted = self._spec.tools
        now = {n: tool for n, tool in self._files.tools.items() if n in granted or EVERY_TOOL in granted}
        for name, tool in list(self._held.items()):
            if now.get(name) is not tool:
                self._tools.remove(name)
                del self._held[name]
        for name, tool in now.items():
            if name not in self._held and self._tools.get(name) is None:
                self._tools.arrive(tool)
                self._held[name] = tool
