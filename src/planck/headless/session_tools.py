"""The tools that agents of one session can be given, before any agent is there."""

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from planck.config.project import Project
from planck.config.tool_files import Preparation, ToolFiles
from planck.context.plan import make_plan_tool
from planck.context.skill_tools import Skills, SkillSource, make_skill_tools
from planck.records.outcome import ErrorKind
from planck.records.specs import AgentSpec
from planck.records.tools import LOAD_SKILL, ORCHESTRATOR_TOOLS, TEAM_TOOLS
from planck.toolkit.tool import InvalidTool, Tool, ToolError
from planck.toolkit.toolset import ToolSet
from planck.tools.builtin.catalog import builtin_tools
from planck.tools.builtin.files import Spills, Views
from planck.tools.command_recording import CommandRecording, make_recording
from planck.workspace.process.jobs import Jobs, ShellCommand

if TYPE_CHECKING:
    from planck.workspace.views.view import View


def make_built_in_tools(
    project: Project,
    skills: SkillSource,
    spill: Path | Spills,
    jobs: Jobs | None = None,
    views: Views | None = None,
    recording: CommandRecording | None = None,
) -> list[Tool]:
    """Those that need no file; without `jobs` no command goes to the background."""
    coding = builtin_tools(
        project.workspace,
        spill=spill,
        environment=project.command_environ,
        jobs=jobs,
        views=views or Views(project.open_root()),
        recording=recording,
    )
    return [*coding, *make_skill_tools(skills), make_plan_tool()]


class SessionTools:
    """Built-in tools, those of files and the program's own; owns the commands left in the background."""

    def __init__(
        self, project: Project, spills: Spills, own: Sequence[Tool] = (), *, dry_run: bool = False
    ) -> None:
        self._resources = project.resources
        self._listeners: list[Callable[[ShellCommand], None]] = []
        self._jobs = Jobs(self._tell_end)
        # A call has its rights from the gate, which knows the private places; nobody asks it in a dry run.
        root = project.open_root() if dry_run else project.root
        self._views = Views(root)
        self._specs: dict[str, AgentSpec] = {}
        on = project.config.undo.commands and not dry_run
        self._recording = CommandRecording(make_recording, spills, project.command_environ) if on else None
        built_in = make_built_in_tools(project, self, spills, self._jobs, self._views, self._recording)
        self._built_in = {tool.name: tool for tool in built_in}
        self._skill_tools = [self._built_in[name] for name in ("load_skill", "list_skills")]
        self._own = _check_own(own, {*self._built_in, *TEAM_TOOLS, *ORCHESTRATOR_TOOLS})
        built_in_names = [*self._built_in, *self._own]
        self._files = ToolFiles(project, spills.folder, built_in_names, self._views, self._recording)
        self._changes: dict[str, dict[str, Tool | None]] = {}
        """By agent: what the program gave it later, or (None) took away."""
        self._given: WeakSet[Tool] = WeakSet(self._own.values())
        """Every tool that the program passed."""

    def listen(self, hear_end: Callable[[ShellCommand], None]) -> None:
        """From here on it is told of each command in the background that ends by itself."""
        self._listeners.append(hear_end)

    def _tell_end(self, ended: ShellCommand) -> None:
        for hear_end in self._listeners:
            hear_end(ended)

    @property
    def bash(self) -> Tool:
        """The built-in one, whoever holds it."""
        return self._built_in["bash"]

    @property
    def names(self) -> tuple[str, ...]:
        """Every tool that an agent of this session can be given."""
        return (*self._built_in, *self._own, *self._files.tools)

    @property
    def own(self) -> tuple[str, ...]:
        """The program's, which are the orchestrator's whatever its spec names."""
        return tuple(self._own)

    def grant(self, spec: AgentSpec, skills: Collection[str]) -> list[Tool]:
        """The tools of a spec that are here; its skills are known from now on."""
        self._specs[spec.id] = spec
        given = {name: tool for name, tool in self._changed(spec.delegator_id).items() if tool}
        there = {**given, **self._built_in, **self._own, **self._files.tools}
        own = self._own if spec.role == "orchestrator" else ()
        if not skills:  # their tools come with the first one: see `prepare`
            there = {name: tool for name, tool in there.items() if tool not in self._skill_tools}
        return [there[name] for name in dict.fromkeys((*spec.tools, *own)) if name in there]

    def is_own(self, tool: Tool) -> bool:
        """Whether the program passed this very tool, to an agent or to be granted to one.

        One with the name of a built-in tool may be that very tool, which a program can grant: it asks.
        """
        return tool in self._given and tool.name not in self._built_in

    def offer(self, tools: Iterable[Tool]) -> None:
        """Takes note of tools that the program lets an orchestrator grant."""
        self._given.update(tools)

    def change(self, agent_id: str, name: str, tool: Tool | None) -> None:
        """Keeps what a program gave an agent or took away: it holds when the agent is built again."""
        self._changes.setdefault(agent_id, {})[name] = tool
        if tool is not None:
            self._given.add(tool)

    def apply_changes(self, agent_id: str, tools: ToolSet) -> None:
        for name, tool in self._changed(agent_id).items():
            tools.remove(name)
            if tool is not None:
                tools.arrive(tool)

    def _changed(self, agent_id: str) -> dict[str, Tool | None]:
        return self._changes.get(agent_id, {})

    def prepare(self, spec: AgentSpec, tools: ToolSet) -> Preparation:
        wanted = [one for one in self._skill_tools if one.name == LOAD_SKILL or one.name in spec.tools]
        return Preparation(spec, tools, self._files, wanted)

    def skills_for(self, agent_id: str) -> Skills:
        return self._resources.skills_of(self._specs[agent_id])

    def give_view(self, agent_id: str, view: "View | None") -> None:
        """Has an agent's tools work in a view of its own; None: in the workspace."""
        self._views.give(agent_id, view)

    def end(self, agent_id: str) -> None:
        """Forgets what an agent that is gone saw of the workspace; a restarted one has it still."""
        self._views.end(agent_id)

    @property
    def commands(self) -> tuple[ShellCommand, ...]:
        return self._jobs.commands

    async def aclose(self) -> None:
        await self._jobs.aclose()
        if self._recording is not None:
            await self._recording.aclose()

    async def record_running(self) -> None:
        """Records what the commands in the background have changed until now."""
        await self._jobs.record_running()


def _check_own(tools: Sequence[Tool], taken: Collection[str]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for tool in tools:
        check_tool(tool)
        if tool.name in taken or tool.name in found:
            raise ToolError(
                ErrorKind.NOT_UNIQUE,
                f"A tool named {tool.name!r} already exists. Rename yours.",
                {"name": tool.name},
            )
        found[tool.name] = tool
    return found


def check_tool(tool: object) -> None:
    """Raises for something else than a tool: a bare function, most often."""
    if not isinstance(tool, Tool):
        raise InvalidTool(f"{tool!r} is not a Tool. Create one with Tool(...) or @tool.")
    if getattr(tool, "needs_object", False):
        raise InvalidTool(f"{tool.name} is a method without its object. Pass it from an object of its class.")
