"""What `planck mcp serve` offers beside its tools: commands and skills as prompts, and hints on tools."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from planck.config.resources import Resources
from planck.context.skills import read_skill
from planck.mcp.listing import drop_unseen
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.redact import Redactor
from planck.toolkit.tool import Effect
from planck.toolkit.toolset import ToolSet

if TYPE_CHECKING:
    from planck.mcp.serve import OfferedPrompt

_SKILL = "skill:"
"""Before the name of a skill, as a prompt."""


class WorkbenchGuide:
    """Reads the files anew at each request; what it says holds no key that is known."""

    def __init__(self, tools: ToolSet, resources: Resources, keys: Callable[[], Redactor]) -> None:
        self._tools = tools
        self._resources = resources
        self._keys = keys

    def is_read_only(self, tool: str) -> bool:
        found = self._tools.get(tool)
        return found is not None and found.effect is Effect.NONE

    def prompts(self) -> "Sequence[OfferedPrompt]":
        from planck.mcp.serve import OfferedPrompt  # loads the SDK

        own = [
            OfferedPrompt(name, drop_unseen(one.description), drop_unseen(one.hint) or "Text for the command")
            for name, one in self._resources.commands().items()
        ]
        skills = self._resources.skills().skills.values()
        return own + [OfferedPrompt(_SKILL + one.name, drop_unseen(one.description)) for one in skills]

    def say_prompt(self, name: str, words: str) -> str:
        commands, skills = self._resources.commands(), self._resources.skills().skills
        if name in commands:
            text = commands[name].expand(words)
        elif (skill := name.removeprefix(_SKILL)) != name and skill in skills:
            text = read_skill(skills[skill])
        else:
            raise PlanckError(ErrorKind.NOT_FOUND, f"unknown prompt: {name!r}; list the prompts to see them")
        return self._keys()(text.encode()).decode()
