"""A conversation that was held elsewhere, as the beginning of a session: `start(history=[...])`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planck.headless.embedding.arguments import refuse
from planck.records.events import (
    USER,
    AssistantSaid,
    Delivery,
    Envelope,
    Kind,
    Origin,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStart,
    TurnStatus,
    View,
)
from planck.records.messages import AssistantMessage, Part, StopReason, Text, ToolCall
from planck.records.ports import Ids
from planck.records.usage import Usage
from planck.toolkit.truncate import truncate

IMPORTED = "imported"
"""Stands for the model's name: nobody knows which one wrote it."""


def read_history(messages: Any, agent_id: str, ids: Ids) -> list[list[View]]:
    """Returns the facts of each turn of a conversation in the shape that OpenAI's chat API has.

    Roles are `user`, `assistant` (with `tool_calls`) and `tool`. It begins with a user and ends with the
    assistant. Raises for anything else: a history that is half understood misleads the model.
    """
    if isinstance(messages, str | Mapping) or not isinstance(messages, Sequence):
        raise refuse(f"history must be a list of messages, not {messages!r}.")
    turns: list[_Turn] = []
    for number, message in enumerate(messages):
        where = f"history[{number}]"
        if not isinstance(message, Mapping) or "role" not in message:
            raise refuse(f"{where} must be a map with role and content, not {message!r}.")
        match message["role"]:
            case "user":
                if turns:
                    turns[-1].close(where)
                turns.append(_Turn(_read_text(message, where), agent_id, ids))
            case "assistant" | "tool" if not turns:
                raise refuse(f"{where}: a history begins with a message of the role user.")
            case "assistant":
                turns[-1].answer(message, where)
            case "tool":
                turns[-1].finish_call(message, where)
            case "system" | "developer":
                raise refuse(f"{where}: pass the system prompt as settings=RunOptions(system_prompt=...).")
            case role:
                raise refuse(f"{where}: {role!r} is not a role. Use user, assistant or tool.")
    if turns:
        turns[-1].close("the end of history")
    return [turn.facts for turn in turns]


class _Turn:
    def __init__(self, text: str, agent_id: str, ids: Ids) -> None:
        self._ids = ids
        self._calls: dict[str, ToolCall] = {}
        """By the id in the history: those without a result yet."""
        self._text = ""
        self._answered = False
        id = ids.new()
        said = Envelope(
            id=id, kind=Kind.PROMPT, sender=USER, receiver=agent_id, text=text, root=id, origin=Origin.USER
        )
        start = TurnStart(kind=Kind.PROMPT, message_id=id)
        self.facts: list[View] = [said, start, Delivery(ids=(id,), state="delivered")]

    def answer(self, message: Mapping[str, Any], where: str) -> None:
        self._check_calls(where)
        calls = message.get("tool_calls") or ()
        if not isinstance(calls, Sequence):
            raise refuse(f"{where}: tool_calls must be a list.")
        self._text = _read_text(message, where, needed=not calls)
        parts: list[Part] = [Text(self._text)] if self._text else []
        for call in calls:
            made = _read_call(call, self._ids.new(), where)
            self._calls[made.provider_id] = made
            parts.append(made)
        stop = StopReason.TOOL_CALLS if calls else StopReason.END
        self.facts.append(AssistantSaid(message=AssistantMessage(tuple(parts), "", IMPORTED, stop)))
        for made in self._calls.values():
            self.facts.append(ToolStart(id=made.id, name=made.name, args=json.loads(made.arguments)))
        self._answered = not calls

    def finish_call(self, message: Mapping[str, Any], where: str) -> None:
        made = self._calls.pop(str(message.get("tool_call_id")), None)
        if made is None:
            raise refuse(f"{where}: no call of the assistant has the id {message.get('tool_call_id')!r}.")
        output = truncate(_read_text(message, where, needed=False))
        self.facts.append(ToolEnd(id=made.id, name=made.name, ok=True, output=output, duration_ms=0))

    def close(self, where: str) -> None:
        self._check_calls(where)
        if not self._answered:
            raise refuse(f"{where}: the user's message before it has no answer. Pass that message to run().")
        self.facts.append(TurnEnd(status=TurnStatus.COMPLETED, text=self._text, usage=Usage()))

    def _check_calls(self, where: str) -> None:
        if self._calls:
            raise refuse(f"{where}: the call {next(iter(self._calls))!r} before it has no result.")


def _read_call(call: Any, id: str, where: str) -> ToolCall:
    match call:
        case {"id": str(given), "function": {"name": str(name), "arguments": str(text)}} if _is_object(text):
            return ToolCall(id, given, name, text)
    raise refuse(f"{where}: a call needs id, function.name and function.arguments (a JSON object as text).")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _read_text(message: Mapping[str, Any], where: str, *, needed: bool = True) -> str:
    content = message.get("content")
    text = content if isinstance(content, str) else "".join(_read_parts(content or (), where))
    if needed and not text.strip():
        raise refuse(f"{where} has no text.")
    return text


def _read_parts(content: Any, where: str) -> Iterator[str]:
    for part in content if isinstance(content, Sequence) else (content,):
        match part:
            case {"type": "text", "text": str(text)}:
                yield text
            case _:
                raise refuse(f"{where}: only text can be imported, not {part!r}.")
