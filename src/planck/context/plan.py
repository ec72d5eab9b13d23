"""`update_plan`: the steps an agent has in mind, kept where the user can see them."""

from typing import Any

from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.schema import arguments, text
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext

MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
_STEP = arguments({"text": {"type": "string"}, "status": text(", ".join(MARKS))})
_PARAMETERS = arguments({"steps": {"type": "array", "maxItems": 100, "items": _STEP}})
_SYNONYMS = {"todo": "pending", "doing": "in_progress", "done": "completed"}


def make_plan_tool() -> Tool:
    return Tool(
        "update_plan",
        "Show the user your plan if the work has three steps or more. Send all steps each time. Keep one "
        "step in_progress, and send the plan again as steps are done.",
        _PARAMETERS,
        _update,
        effect=Effect.NONE,
    )


async def _update(args: dict[str, Any], ctx: ToolContext) -> Outcome:
    lines = []
    for step in args["steps"]:
        status = _SYNONYMS.get(step["status"], step["status"])
        if status not in MARKS:
            return Err(
                ErrorKind.INVALID_ARGS, f"{step['status']!r} is not a status; use one of {', '.join(MARKS)}"
            )
        lines.append(f"{MARKS[status]} {step['text']}")
    return Ok({"output": "\n".join(lines) or "The plan is empty."})
