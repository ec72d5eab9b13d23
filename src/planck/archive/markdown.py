"""A session as a page to read: what was said and done, without the bookkeeping."""

import re
from collections.abc import Iterator

from planck.archive.transcript import Denials, describe_denial
from planck.records import codec
from planck.records.events import (
    USER,
    AgentStarted,
    AssistantSaid,
    Checked,
    CommandRecorded,
    Envelope,
    ErrorEvent,
    FileChanged,
    Origin,
    PermissionDecision,
    Rewound,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStatus,
    View,
    view,
)
from planck.records.visible import spell_out
from planck.store.store import Log


def render_page(log: Log) -> Iterator[str]:
    """Yields one piece of Markdown for each event that says something."""
    meta = log.meta
    id, workspace = meta.get("id", ""), meta.get("workspace", "")
    yield f"# Session {meta.get('name', '')}\n\nID `{id}`, workspace `{workspace}`\n"
    names: dict[str, str] = {USER: "User"}
    denials = Denials()
    changed: dict[str, list[str]] = {}
    for event in log.read():
        fact = view(event)
        if isinstance(fact, AgentStarted):
            names[fact.agent.id] = fact.agent.name
        elif isinstance(fact, PermissionDecision):
            denials.add(fact)
        elif isinstance(fact, FileChanged):
            changed.setdefault(fact.call_id, []).append(fact.path)
        elif isinstance(fact, CommandRecorded):
            if paths := changed.pop(fact.call_id, None):
                yield f"\n{spell_out(_list_changed(paths))}\n"
        elif isinstance(fact, ToolEnd) and (denial := denials.find(fact)):
            yield f"\n{spell_out(_describe_denied(fact, denial))}\n"
            continue
        if fact and (text := _render(fact, names.get(event.agent_id or "", event.agent_id or ""), names)):
            yield f"\n{spell_out(text)}\n"


def _list_changed(paths: list[str]) -> str:
    more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    return f"The command changed {', '.join(f'`{path}`' for path in paths[:_NAMED])}{more}."


_NAMED = 20


def _render(fact: View, who: str, names: dict[str, str]) -> str:
    match fact:
        case Envelope():
            receiver, sender = names.get(fact.receiver, fact.receiver), names.get(fact.sender, fact.sender)
            if fact.sender == USER and fact.origin:
                sender = fact.origin.value.capitalize()
            elif fact.origin is Origin.PLANCK and fact.outcome:
                sender = f"Planck, about {sender},"
            claims = "".join(f"\n\n> **{one.verdict}**: {one.text}" for one in fact.claims or ())
            return f"## {sender} to {receiver} ({fact.kind})\n\n{fact.text}{claims}"
        case Checked():
            how = f"exit code {fact.exit_code}" if fact.exit_code is not None else "no exit code"
            return f"**Check** `{fact.command}`: {how}\n\n{_fence(fact.output)}"
        case AssistantSaid():
            return f"### {who}\n\n{fact.message.text}" if fact.message.text.strip() else ""
        case ToolStart():
            return f"**{who} called `{fact.name}`**\n\n{_fence(codec.encode_str(fact.args), 'json')}"
        case ToolEnd():
            return f"`{fact.name}` {'returned' if fact.ok else 'failed'}:\n\n{_fence(fact.output)}"
        case ErrorEvent():
            return f"> **{fact.kind}**: {fact.message}"
        case Rewound():
            return f"*{who}: rewound to event {fact.to}; what came after it is no longer in its history*"
        case TurnEnd() if fact.status is not TurnStatus.COMPLETED:
            return f"*{who}: turn {fact.status.replace('_', ' ')}*"
        case _:
            return ""


def _describe_denied(fact: ToolEnd, denial: PermissionDecision) -> str:
    tried = fact.error.details.get("output") if fact.error else None
    printed = f"\n\n{_fence(tried)}" if isinstance(tried, str) and tried else ""
    return f"`{fact.name}` was {describe_denial(denial)}{printed}"


def _fence(text: str, language: str = "") -> str:
    """Puts a fence longer than any in the text around it: output can't end its own block."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
