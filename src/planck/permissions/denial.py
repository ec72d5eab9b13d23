"""What an agent can do instead of a call that was denied: by the reason, and by whom it works for."""

from collections.abc import Mapping
from typing import Any

from planck.records.events import DeniedBy
from planck.toolkit.tool import Effect, Tool

_NO_DETOUR = "Do not try to do the same another way."


def find_next_step(by: DeniedBy, tool: Tool, args: Mapping[str, Any], asker: str, words: str) -> str:
    """`asker` gave the agent its work; `words` are what the user said with a no."""
    match by:
        case "user" if words:
            return "Do what they say."
        case "user":
            return f"{_NO_DETOUR} Do the rest, or end your turn by asking {asker} what to do instead."
        case "nobody":
            return f"{_NO_DETOUR} Do the rest, and list this call in your final text as still to do."
        case "mode" if args.get("escalate"):
            return "Call it without `escalate` if it only reads."
        case "mode" if tool.effect is Effect.FILES:
            return "Describe the change in your answer instead."
        case "hook":
            return "Do what it says, or leave the call out."
        case "grant":
            return f"Ask {asker} to have it done, or report it as not done."
        case "address":
            return "Use a model from `list_models`."
    return "Leave it out, and say so at the end."
