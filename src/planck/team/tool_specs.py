"""What a model is told of the tools by which agents work together."""

from functools import lru_cache

from planck.records.specs import ToolSpec
from planck.records.tools import SPAWN
from planck.toolkit.schema import Schema, arguments, integer, text, texts

ASK_MS = 300_000
MAX_ASK_MS = 3_600_000

_TEXT: Schema = {"type": "string"}
_BUDGET = {"type": "object", "description": "usd, tokens"}
_WORKSPACE = {
    "type": "string",
    "enum": ["shared", "own"],
    "description": "own: a copy; its changes land with its report",
}
_TIMEOUT = integer(f"Default {ASK_MS}", minimum=1, maximum=MAX_ASK_MS)
_TARGET: dict[str, Schema] = {
    "identifier": _TEXT,
    "identifier_type": {"type": "string", "enum": ["type", "name", "id"]},
}

_TEXTS: Schema = {"type": "array", "items": _TEXT, "maxItems": 16}
_CLAIMS: dict[str, Schema] = {
    "claims": {
        "type": "array",
        "items": {"type": "object"},
        "description": "text, and command with exit_code, or path",
    }
}

RESET = "reset_previous_context"
_RESET: dict[str, Schema] = {RESET: {"type": "boolean"}}

ASK_AGENT = ToolSpec(
    "ask_agent",
    "Ask another agent and wait, when you cannot continue without the answer. It knows only what you write.",
    arguments({**_TARGET, "question": _TEXT}, {"timeout_ms": _TIMEOUT, **_RESET}),
)

DELEGATE_TASK = ToolSpec(
    "delegate_task",
    "Give another agent a task and continue. Its report is a message that joins this turn or starts your "
    "next. Write a whole `task`: goal, why, the files it may change, what you know, what to report. "
    "Commands in `done_when` must pass.",
    arguments({**_TARGET, "task": _TEXT}, {"done_when": _TEXTS, "budget": _BUDGET, **_RESET}),
)

SEND_RESPONSE = ToolSpec(
    "send_response",
    "Answer the task or question at hand before your turn ends; a task may get several answers. Without "
    "any, your final text is sent. The log judges `claims`.",
    arguments({"response": _TEXT}, _CLAIMS),
)
SEND_RESPONSE_ALONE = ToolSpec(
    SEND_RESPONSE.name,
    "Answer the task or question at hand before your turn ends. Without any, your final text is sent.",
    arguments({"response": _TEXT}, {}, _CLAIMS),
)
"""For an orchestrator, which nobody gives tasks to: `claims` is taken, and not offered."""

LIST_TEAM = ToolSpec(
    "list_team",
    "List the agents and their work. Do not poll it.",
    arguments(optional={"verbose": {"type": "boolean"}}),
)

DESTROY_AGENT = ToolSpec(
    "destroy_agent",
    "End a worker once its work is done.",
    arguments(_TARGET),
)

INTERRUPT_AGENT = ToolSpec(
    "interrupt_agent",
    "Stop a worker's turn to redirect it. It keeps its history and queue.",
    arguments(_TARGET),
)

LIST_MODELS = ToolSpec(
    "list_models", "List the models for spawn_agent: provider, id and base_url.", arguments()
)

_FIXED = (ASK_AGENT, DELEGATE_TASK, SEND_RESPONSE, LIST_TEAM, DESTROY_AGENT, INTERRUPT_AGENT, LIST_MODELS)
SPECS = {spec.name: spec for spec in _FIXED}
"""All but spawn_agent, which says what can be granted."""

_DESCRIBED = {
    "description": text("One line, for the other agents"),
    "system_prompt": text("Its role, and rules for all its tasks"),
}
"""Required of a worker that no file describes."""
_MODEL = {
    "provider": text("From list_models, with model_id; neither: your model"),
    "model_id": _TEXT,
    "base_url": text("For a local server"),
}


@lru_cache(64)
def describe_spawn(tools: tuple[str, ...], skills: tuple[str, ...], kinds: str = "") -> ToolSpec:
    """Returns the spec of spawn_agent, which names the tools and skills that this orchestrator can grant.

    `kinds` are types whose prompt, tools and model a file has; with one of them the rest may be left out.
    `skills` is an argument in any case, but a model is told of it only where there are some.
    """
    granting = (
        f"Available built-in tools to grant: {', '.join(tools)}."
        if tools
        else "No built-in tools available to grant."
    )
    skilled = (
        f"Available skills to grant: {', '.join(skills)}." if skills else "No skills available to grant."
    )
    named = {"skills": texts("Names")}
    return ToolSpec(
        SPAWN,
        "Create a worker for independent work if no existing agent fits. It does not see your history. Its "
        f"type and name must be new in the team. {granting} You can "
        f"grant other tools you hold, but only what it needs. {skilled}{kinds}",
        arguments(
            {"type": text("Its role, one word"), "name": _TEXT, **({} if kinds else _DESCRIBED)},
            {
                **(_DESCRIBED if kinds else {}),
                **_MODEL,
                "tools": texts("Names"),
                **(named if skills else {}),
                "budget": _BUDGET,
                "workspace": _WORKSPACE,
            },
            {} if skills else named,
        ),
    )
