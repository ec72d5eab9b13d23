"""`load_skill` and `list_skills`: the other half of what the system prompt only names."""

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from planck.context import skills
from planck.context.skills import Skill
from planck.records import codec
from planck.records.nearest import did_you_mean
from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.schema import arguments, text
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext

Skills = Mapping[str, Skill]
"""By name."""
_LOAD = arguments(
    {"name": text("The skill's name, as listed")},
    {"resource": text("Path of a file, relative to the skill's folder")},
)
_LIST = arguments()


class SkillSource(Protocol):
    def skills_for(self, agent_id: str) -> Skills:
        """Is asked at every call: a skill that comes or goes is seen."""


def make_skill_tools(source: SkillSource) -> list[Tool]:
    work = _SkillTools(source)
    return [
        Tool(
            "load_skill",
            "Load a skill's instructions, or one of its files, before you start work that it covers.",
            _LOAD,
            work.load,
            effect=Effect.NONE,
        ),
        Tool(
            "list_skills",
            "List the skills you can load: name, description and scope, as JSON.",
            _LIST,
            work.list,
            effect=Effect.NONE,
        ),
    ]


class _SkillTools:
    def __init__(self, source: SkillSource) -> None:
        self._source = source

    async def load(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        known = self._source.skills_for(ctx.agent_id)
        skill = known.get(args["name"])
        if skill is None:
            hint = did_you_mean(args["name"], known) or "; list_skills lists the skills"
            return Err(ErrorKind.NOT_FOUND, f"there is no skill {args['name']!r}{hint}")
        try:
            found = await asyncio.to_thread(skills.read_skill, skill, args.get("resource") or "")
        except skills.SkillError as failure:
            return failure.err
        return Ok({"output": found, "skill": skill.name, "path": str(skill.folder)})

    async def list(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        rows = [
            {"name": skill.name, "description": skill.description, "scope": skill.scope}
            for skill in self._source.skills_for(ctx.agent_id).values()
        ]
        return Ok({"output": codec.encode_str(rows)})
