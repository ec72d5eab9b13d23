"""What a model is told of the eight tools by which agents work together."""

from collections.abc import Mapping, Sequence
from typing import Any

from planck.records.specs import ToolSpec

ASK_MS = 300_000
MAX_ASK_MS = 3_600_000


_TIMEOUT = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_ASK_MS,
    "description": f"How long to wait for the answer (default {ASK_MS})",
}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _spec(name: str, description: str, properties: Mapping[str, Any], required: Sequence[str]) -> ToolSpec:
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    return ToolSpec(name, description, schema | ({"required": list(required)} if required else {}))


_ONE_AGENT = ("identifier", "identifier_type")
_TARGET: dict[str, Any] = {
    "identifier": _text("The value that identifies the target agent"),
    "identifier_type": {
        "type": "string",
        "enum": ["type", "name", "id"],
        "description": "How to resolve the identifier: by role type, display name, or agent id",
    },
}

ASK_AGENT = _spec(
    "ask_agent",
    "Ask another agent of the team a question and wait for its answer. Use it for what you must know "
    "before you can go on; the agent answers after what it already has to do.",
    {**_TARGET, "question": _text("The question to ask"), "timeout_ms": _TIMEOUT},
    (*_ONE_AGENT, "question"),
)

DELEGATE_TASK = _spec(
    "delegate_task",
    "Give a task to another agent of the team. Returns at once; the result comes later, as a message "
    "that starts your next turn or joins this one. After delegating, end your turn, unless you have "
    "something else to delegate that does not depend on it. Do not use the result before it has come.",
    {**_TARGET, "task": _text("The task to delegate")},
    (*_ONE_AGENT, "task"),
)

SEND_RESPONSE = _spec(
    "send_response",
    "Send a result to the agent that gave you the current task or asked you the current question. "
    "Does not wait. A task may get several responses; without any, your final answer is sent.",
    {"response": _text("The response to send back")},
    ("response",),
)

LIST_TEAM = _spec(
    "list_team",
    "List the agents of the team and what they are doing. "
    "Pass verbose: true to include each agent's tools and model.",
    {
        "verbose": {
            "type": "boolean",
            "description": "When true, include tool names and model for each agent (default: false)",
        }
    },
    (),
)

DESTROY_AGENT = _spec("destroy_agent", "End a worker of the team for good.", _TARGET, _ONE_AGENT)

INTERRUPT_AGENT = _spec(
    "interrupt_agent",
    "Stop a worker's current turn; it stays alive and goes on with what waits for it. "
    "Use destroy_agent to end it for good.",
    _TARGET,
    _ONE_AGENT,
)

TARGETED = (ASK_AGENT, DELEGATE_TASK, DESTROY_AGENT, INTERRUPT_AGENT)

LIST_MODELS = _spec(
    "list_models",
    "List the configured and connected models. "
    "Use the returned provider, id and base_url when you call spawn_agent.",
    {},
    (),
)


def describe_spawn(tools: Sequence[str], skills: Sequence[str]) -> ToolSpec:
    """Returns the spec of spawn_agent, which names the tools and skills that this orchestrator can grant."""
    granting = f"Available built-in tools to grant: {', '.join(tools)}."
    skilled = f"Available skills to grant: {', '.join(skills)}."
    return _spec(
        "spawn_agent",
        "Create a new worker in the team, to be addressed by its type, name or id. Fails if an agent of the "
        "same type or name already exists. "
        f"{granting if tools else 'No built-in tools available to grant.'} "
        "Tools of sidecars, MCP servers and files that you hold can be granted by their names too. "
        f"{skilled if skills else 'No skills available to grant.'}",
        {
            "type": _text("Role type for the new agent"),
            "name": _text("Human-readable name"),
            "description": _text("One-line purpose shown to other agents via list_team"),
            "system_prompt": _text("System prompt"),
            "provider": _text("LLM provider (e.g. anthropic)"),
            "model_id": _text("Model id (e.g. claude-sonnet-4-6)"),
            "base_url": _text(
                'Address of a local server (ollama, llama_cpp), e.g. "http://localhost:11434". '
                "Ignored for every other provider: pass an empty string."
            ),
            "tools": _texts(
                'Tool names to grant (e.g. ["read", "bash"]). Unknown names are ignored '
                "and listed in the result."
            ),
            "skills": _texts("Skill names to attach. Unknown names are ignored and listed in the result."),
        },
        ("type", "name", "description", "system_prompt", "provider", "model_id", "base_url"),
    )
