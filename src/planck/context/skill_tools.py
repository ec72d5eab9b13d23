"""`load_skill` and `list_skills`: the other half of what the system prompt only names."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from planck.context import skills
from planck.context.skills import Skill
from planck.records import codec
from planck.records.nearest import did_you_mean
from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext


def skill_tools(available: Callable[[str], Mapping[str, Skill]]) -> list[Tool]:
    """`available` gives an agent's skills; it is asked at every call: one that comes or goes is seen."""

    async def load(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        known = available(ctx.agent_id)
        skill = known.get(args["name"])
        if skill is None:
            return _unknown(args["name"], list(known))
        try:
            text = await asyncio.to_thread(skills.read_skill, skill, args.get("resource") or "")
        except skills.SkillError as failure:
            return failure.err
        return Ok({"output": text, "skill": skill.name, "path": str(skill.folder)})

    async def listed(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        rows = [
            {"name": skill.name, "description": skill.description, "scope": skill.scope}
            for skill in available(ctx.agent_id).values()
        ]
        return Ok({"output": codec.encode_str(rows)})

    return [
        Tool(
            "load_skill",
            "Load a skill's instructions, or one file of it. Do so before work that the skill describes.",
            {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The skill's name, as listed"},
                    "resource": {
                        "type": "string",
                        "description": "A file of the skill, relative to its folder",
                    },
                },
                "required": ["name"],
            },
            load,
            effect=Effect.NONE,
        ),
        Tool(
            "list_skills",
            "List the skills you can load: name, description and scope, as JSON.",
            {"type": "object", "properties": {}},
            listed,
            effect=Effect.NONE,
        ),
    ]


def _unknown(name: str, known: list[str]) -> Err:
    hint = did_you_mean(name, known) or "; list_skills shows what there is"
    return Err(ErrorKind.NOT_FOUND, f"no skill {name!r}{hint}")
