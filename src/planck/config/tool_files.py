"""TOOL.json tools that come, change and go while a session runs: taken in at each agent's next turn."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from planck.config.external import External
from planck.config.reload import Resources, stamps
from planck.records.specs import EVERY_TOOL
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet


class ToolFiles:
    """Reads the files again only when one of them changed."""

    def __init__(self, resources: Resources, load: Callable[[], External]) -> None:
        self._resources = resources
        self._load = load
        self._seen = self._stamps()
        self._tools = self._loaded()

    @property
    def tools(self) -> dict[str, Tool]:
        self._resources.refresh()  # a file that changed is not the one that was trusted
        seen = self._stamps()
        if seen != self._seen:
            self._seen = seen
            self._tools = self._loaded()
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

    def _loaded(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self._load().tools}

    def _stamps(self) -> tuple[Any, ...]:
        files: list[Path] = []
        for folder in self._resources.tool_dirs():
            try:
                files += sorted(entry / "TOOL.json" for entry in folder.iterdir())
            except OSError:
                continue
        return (tuple(files), stamps(files), self._resources.loaded.trusted)
