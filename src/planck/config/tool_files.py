"""TOOL.json tools of the configured places, as far as trust goes; an agent's turns are prepared with them,
AGENTS.md and skills as the files are now.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planck.config.environment import read_environment
from planck.config.project import Project
from planck.config.resources import Resources, stamps
from planck.context.prompt import Prepared
from planck.records.outcome import Err, Ok
from planck.records.specs import EVERY_TOOL, AgentSpec
from planck.records.tools import ORCHESTRATOR_TOOLS, TEAM_TOOLS
from planck.toolkit.tool import ArgumentError, Tool
from planck.toolkit.toolset import ToolSet
from planck.tools import external
from planck.tools.builtin.files import Views
from planck.tools.command_recording import CommandRecording
from planck.tools.external import ExternalTool, Problem


def from_file(path: str | os.PathLike[str]) -> Ok[Tool] | Err:
    """The tool of a TOOL.json, or why there is none.

    Example:

        match from_file(".planck/tools/count/TOOL.json"):
            case Ok(found):
                session = await p.start(tools=[found])
            case Err(kind, message):
                print(kind, message)
    """
    result = external.from_file(path, environment=read_environment())
    return result if isinstance(result, Err) else Ok(result.value)


def load_all(dirs: Iterable[str | os.PathLike[str]]) -> list[Tool]:
    """Returns every sound `<dir>/<tool>/TOOL.json`; missing directories and malformed entries are skipped.

    Example:

        session = await p.start(tools=load_all([".planck/tools"]))
    """
    if isinstance(dirs, (str, os.PathLike)):
        # A text is iterable too: its characters would be taken for folders, and nothing would be found.
        raise ArgumentError(f"load_all takes a list of folders. Use load_all([{os.fspath(dirs)!r}]).")
    return list(external.discover(dirs, environment=read_environment()).tools)


class External(msgspec.Struct, frozen=True):
    tools: list[ExternalTool]
    untrusted: list[ExternalTool]
    """The workspace's own; they may be looked at, not called."""
    problems: list[Problem]


def external_tools(
    resources: Resources,
    environ: Mapping[str, str],
    spill: Path,
    built_in: Iterable[str],
    views: Views | None = None,
    recording: CommandRecording | None = None,
) -> External:
    """The project's before the user's; an untrusted project's can't take a name from the user's.

    `views`: the workspace as each agent of a session has it; None: as it is at each call.
    """
    folders = list({folder.resolve(): folder for folder in resources.tool_dirs()}.values())
    taken = [*built_in, *TEAM_TOOLS, *ORCHESTRATOR_TOOLS]
    theirs = [folder for folder in folders if not resources.may_run(folder)]
    ours = [folder for folder in folders if folder not in theirs]
    used = external.discover(
        ours, environment=environ, spill=spill, taken=taken, views=views, recording=recording
    )
    seen = external.discover(theirs, environment=environ, spill=spill, taken=taken, before=used.tools)
    return External(used.tools, seen.tools, [*used.problems, *seen.problems])


class ToolFiles:
    """The TOOL.json tools of a session; the files are read again only when one of them changed."""

    def __init__(
        self,
        project: Project,
        spill: Path,
        built_in: Collection[str],
        views: Views,
        recording: CommandRecording | None = None,
    ) -> None:
        self.resources: Resources = project.resources
        self._environ = project.command_environ
        self._views = views
        self._spill = spill
        self._built_in = built_in
        self._recording = recording
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
        found = external_tools(
            self.resources, self._environ, self._spill, self._built_in, self._views, self._recording
        )
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
