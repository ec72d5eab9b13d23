"""What a model is told of the tools by which agents work together."""

from functools import lru_cache

from planck.records.specs import ToolSpec
from planck.records.tools import SPAWN
from planck.toolkit.schema import arguments, flag, integer, text, texts

ASK_MS = 300_000
MAX_ASK_MS = 3_600_000

_TEXT = {"type": "string"}
_BUDGET = {"type": "object", "description": "usd, tokens"}
_TIMEOUT = integer(f"Default {ASK_MS}", minimum=1, maximum=MAX_ASK_MS)
_TARGET = {
    "identifier": text("The agent's name, type or id"),
    "identifier_type": {"type": "string", "enum": ["type", "name", "id"]},
}

ASK_AGENT = ToolSpec(
    "ask_agent",
    "Ask another agent and wait for its answer: for what you must know before you can go on.",
    arguments({**_TARGET, "question": _TEXT}, {"timeout_ms": _TIMEOUT}),
)

DELEGATE_TASK = ToolSpec(
    "delegate_task",
    "Give another agent a task. Returns at once; the result comes later, as a message that starts your next "
    "turn or joins this one. End your turn then, unless you can delegate more that does not depend on it.",
    arguments({**_TARGET, "task": _TEXT}, {"budget": _BUDGET}),
)

SEND_RESPONSE = ToolSpec(
    "send_response",
    "Answer whoever gave you the task or question at hand, before your turn ends. A task may get several; "
    "without any, your final text is sent.",
    arguments({"response": _TEXT}),
)

LIST_TEAM = ToolSpec(
    "list_team",
    "List the agents of the team and what they do.",
    arguments(optional={"verbose": flag("With tools and model")}),
)

DESTROY_AGENT = ToolSpec("destroy_agent", "End a worker for good.", arguments(_TARGET))

INTERRUPT_AGENT = ToolSpec(
    "interrupt_agent", "Stop a worker's turn; it lives on with what waits for it.", arguments(_TARGET)
)

LIST_MODELS = ToolSpec(
    "list_models", "List the models for spawn_agent: provider, id and base_url.", arguments()
)

_FIXED = (ASK_AGENT, DELEGATE_TASK, SEND_RESPONSE, LIST_TEAM, DESTROY_AGENT, INTERRUPT_AGENT, LIST_MODELS)
SPECS = {spec.name: spec for spec in _FIXED}
"""All but spawn_agent, which says what can be granted."""

_OWN = {
    "description": text("One line, for the other agents"),
    "system_prompt": _TEXT,
    "provider": text("As list_models says"),
    "model_id": _TEXT,
    "base_url": text('Of a local server (ollama, llama_cpp), else ""'),
}
"""What a worker that no file describes is described by."""


@lru_cache(64)
def describe_spawn(tools: tuple[str, ...], skills: tuple[str, ...], kinds: str = "") -> ToolSpec:
    """Returns the spec of spawn_agent, which names the tools and skills that this orchestrator can grant.

    `kinds` are types whose prompt, tools and model a file has; with one of them the rest may be left out.
    """
    granting = f"Available built-in tools to grant: {', '.join(tools)}."
    skilled = (
        f"Available skills to grant: {', '.join(skills)}." if skills else "No skills available to grant."
    )
    return ToolSpec(
        SPAWN,
        "Create a worker, to be addressed by its type, name or id; type and name must be new in the team. "
        f"{granting if tools else 'No built-in tools available to grant.'} "
        f"Tools of sidecars, MCP servers and files that you hold can be granted too. {skilled}{kinds}",
        arguments(
            {"type": text("Its role"), "name": _TEXT, **({} if kinds else _OWN)},
            {
                **(_OWN if kinds else {}),
                "tools": texts('Names, e.g. ["read", "bash"]; unknown ones are ignored, and listed'),
                "skills": texts("Names"),
                "budget": _BUDGET,
            },
        ),
    )
