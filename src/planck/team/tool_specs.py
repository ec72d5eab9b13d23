"""What a model is told of the eight tools by which agents work together."""

from collections.abc import Sequence

from planck.records.specs import ToolSpec
from planck.toolkit.schema import arguments, flag, integer, text, texts

ASK_MS = 300_000
MAX_ASK_MS = 3_600_000

_TIMEOUT = integer(f"How long to wait for the answer (default {ASK_MS})", minimum=1, maximum=MAX_ASK_MS)
_TARGET = {
    "identifier": text("The value that identifies the target agent"),
    "identifier_type": text(
        "How to resolve the identifier: by role type, display name, or agent id", enum=["type", "name", "id"]
    ),
}

ASK_AGENT = ToolSpec(
    "ask_agent",
    "Ask another agent of the team a question and wait for its answer. Use it for what you must know "
    "before you can go on; the agent answers after what it already has to do.",
    arguments({**_TARGET, "question": text("The question to ask")}, {"timeout_ms": _TIMEOUT}),
)

DELEGATE_TASK = ToolSpec(
    "delegate_task",
    "Give a task to another agent of the team. Returns at once; the result comes later, as a message "
    "that starts your next turn or joins this one. After delegating, end your turn, unless you have "
    "something else to delegate that does not depend on it. Do not use the result before it has come.",
    arguments({**_TARGET, "task": text("The task to delegate")}),
)

SEND_RESPONSE = ToolSpec(
    "send_response",
    "Send a result to the agent that gave you the current task or asked you the current question. "
    "Does not wait. A task may get several responses; without any, your final answer is sent.",
    arguments({"response": text("The response to send back")}),
)

LIST_TEAM = ToolSpec(
    "list_team",
    "List the agents of the team and what they are doing. "
    "Pass verbose: true to include each agent's tools and model.",
    arguments(
        optional={"verbose": flag("When true, include tool names and model for each agent (default: false)")}
    ),
)

DESTROY_AGENT = ToolSpec("destroy_agent", "End a worker of the team for good.", arguments(_TARGET))

INTERRUPT_AGENT = ToolSpec(
    "interrupt_agent",
    "Stop a worker's current turn; it stays alive and goes on with what waits for it. "
    "Use destroy_agent to end it for good.",
    arguments(_TARGET),
)

TARGETED = (ASK_AGENT, DELEGATE_TASK, DESTROY_AGENT, INTERRUPT_AGENT)

LIST_MODELS = ToolSpec(
    "list_models",
    "List the configured and connected models. "
    "Use the returned provider, id and base_url when you call spawn_agent.",
    arguments(),
)


def describe_spawn(tools: Sequence[str], skills: Sequence[str]) -> ToolSpec:
    """Returns the spec of spawn_agent, which names the tools and skills that this orchestrator can grant."""
    granting = f"Available built-in tools to grant: {', '.join(tools)}."
    skilled = f"Available skills to grant: {', '.join(skills)}."
    return ToolSpec(
        "spawn_agent",
        "Create a new worker in the team, to be addressed by its type, name or id. Fails if an agent of the "
        "same type or name already exists. "
        f"{granting if tools else 'No built-in tools available to grant.'} "
        "Tools of sidecars, MCP servers and files that you hold can be granted by their names too. "
        f"{skilled if skills else 'No skills available to grant.'}",
        arguments(
            {
                "type": text("Role type for the new agent"),
                "name": text("Human-readable name"),
                "description": text("One-line purpose shown to other agents via list_team"),
                "system_prompt": text("System prompt"),
                "provider": text("LLM provider (e.g. anthropic)"),
                "model_id": text("Model id (e.g. claude-sonnet-4-6)"),
                "base_url": text(
                    'Address of a local server (ollama, llama_cpp), e.g. "http://localhost:11434". '
                    "Ignored for every other provider: pass an empty string."
                ),
            },
            {
                "tools": texts(
                    'Tool names to grant (e.g. ["read", "bash"]). Unknown names are ignored '
                    "and listed in the result."
                ),
                "skills": texts("Skill names to attach. Unknown names are ignored and listed in the result."),
            },
        ),
    )
