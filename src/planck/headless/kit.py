"""The tools that agents of one session can be given, before any agent is there."""

from pathlib import Path

from planck.config.preparation import Preparation, ToolFiles
from planck.config.project import Project
from planck.context.plan import make_plan_tool
from planck.context.skill_tools import Skills, SkillSource, make_skill_tools
from planck.records.specs import AgentSpec
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet
from planck.tools.builtin.catalog import builtin_tools
from planck.workspace.jobs import Jobs


def make_built_in_tools(
    project: Project, skills: SkillSource, spill: Path, jobs: Jobs | None = None
) -> list[Tool]:
    """Those that need no file; without `jobs` no command goes to the background."""
    coding = builtin_tools(project.workspace, spill=spill, environment=project.environ, jobs=jobs)
    return [*coding, *make_skill_tools(skills), make_plan_tool()]


class SessionTools:
    """Built-in tools and those of files; owns the commands that they leave in the background."""

    def __init__(self, project: Project, spill: Path) -> None:
        self._resources = project.resources
        self._jobs = Jobs()
        self._specs: dict[str, AgentSpec] = {}
        built_in = make_built_in_tools(project, self, spill, self._jobs)
        self._built_in = {tool.name: tool for tool in built_in}
        self._files = ToolFiles(project, spill, list(self._built_in))

    @property
    def names(self) -> tuple[str, ...]:
        """Every tool that an agent of this session can be given."""
        return (*self._built_in, *self._files.tools)

    def grant(self, spec: AgentSpec) -> list[Tool]:
        """The tools of a spec that are here; its skills are known from now on."""
        self._specs[spec.id] = spec
        there = {**self._built_in, **self._files.tools}
        return [there[name] for name in spec.tools if name in there]

    def prepare(self, spec: AgentSpec, tools: ToolSet) -> Preparation:
        return Preparation(spec, tools, self._files, self._built_in["load_skill"])

    def skills_for(self, agent_id: str) -> Skills:
        return self._resources.skills_of(self._specs[agent_id])

    async def aclose(self) -> None:
        await self._jobs.aclose()
