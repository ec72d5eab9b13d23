"""What files give one agent, taken in anew at each of its turns: AGENTS.md, skills and TOOL.json tools."""

from planck.config.reload import Resources
from planck.config.tool_files import ToolFiles
from planck.context.prompt import Prepared
from planck.records.specs import AgentSpec
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet


class Preparation:
    """Prepares the turns of one agent."""

    def __init__(
        self, spec: AgentSpec, tools: ToolSet, resources: Resources, files: ToolFiles, load_skill: Tool
    ) -> None:
        self._spec = spec
        self._tools = tools
        self._resources = resources
        self._files = files
        self._load_skill = load_skill
        self._held = {name: tool for name, tool in files.tools.items() if tools.get(name) is tool}
        """What the agent has of the files."""

    def prepare_turn(self) -> Prepared:
        """Takes in what changed on disk since the last turn: tools of files come and go in the set."""
        self._resources.refresh()
        self._files.sync(self._tools, self._spec.tools, self._held)
        if self._resources.skills_of(self._spec) and self._tools.get(self._load_skill.name) is None:
            self._tools.add(self._load_skill)  # what the prompt names can be had
        return Prepared(self._resources.system(self._spec, self._tools.names()), self._tools)
