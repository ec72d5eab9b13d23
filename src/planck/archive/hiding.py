"""What the owner of a session does not want to show of it: taken out of each event, or not shown at all."""

import re
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

from planck.records import codec
from planck.records.events import (
    VIEWS,
    AgentStarted,
    AssistantSaid,
    Checked,
    Envelope,
    ErrorEvent,
    Event,
    PermissionDecision,
    PermissionRequest,
    SessionResumed,
    SessionStarted,
    ToolEnd,
    ToolStart,
    list_types,
)
from planck.records.tools import find_row

HIDINGS = ("outputs", "args", "diffs", "paths")
HIDDEN = "[hidden]"

_CONTENT = ("old_string", "new_string", "content")
_PLACES = ("path", "cwd", "pattern", "glob")
_NAMING = list_types("names_paths")
_ABSOLUTE = re.compile(r"(?<![\w:/.<])/(?:[\w.@+~-]+/)+[\w.@+~-]*")
_CHECKING = (AgentStarted.type, Envelope.type, SessionResumed.type, SessionStarted.type)
_SHORTEST = 4
"""Characters of a path that is looked for in other texts."""
_PLAIN = list_types("plain")
_NAMES = frozenset(
    {"id", "kind", "type", "name", "status", "state", "tool", "from", "to", "on", "call_id", "message_id"}
    | {
        "agent",
        "mode",
        "decision",
        "scope",
        "correlation_id",
        "root",
        "origin",
        "request_id",
        "target",
        "action",
    }
)
"""Fields that other events refer to, or that have few values: no path stands in them."""

_FIELDS = {type: set(fact.__struct_encode_fields__) for type, fact in VIEWS.items()}

Data = dict[str, Any]


def decode_data(data: bytes) -> Data:
    """Returns an event's data; nothing for what is no object, or too deep to be read."""
    try:
        value = codec.decode(data)
    except (codec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class Hiding:
    """Shows of an event what it knows not to be hidden; of a type that it does not know, nothing."""

    def __init__(self, what: Set[str], events: Iterable[Event]) -> None:
        """`events` are read before the rest, where paths are hidden: a text may name one that comes later."""
        self._outputs = "outputs" in what
        self._args = "args" in what
        self._diffs = "diffs" in what
        self._paths = _Paths(find_places(events)) if "paths" in what else None
        self._known: dict[str, Callable[[Data], None]] = {
            AssistantSaid.type: self._hide_said,
            ToolStart.type: self._hide_start,
            ToolEnd.type: self._hide_end,
            PermissionRequest.type: self._hide_question,
            PermissionDecision.type: self._hide_decision,
            ErrorEvent.type: self._hide_error,
            Checked.type: self._hide_check,
            **dict.fromkeys(_CHECKING, self._hide_commands),
        }

    def __call__(self, type: str, data: Data) -> Data:
        hide = self._known.get(type)
        if not hide and type not in _PLAIN:
            return {}
        # A later version's field may be just what is to be hidden.
        data = {name: value for name, value in data.items() if name in _FIELDS[type]}
        if hide:
            hide(data)
        return self._paths.hide(data) if self._paths else data

    def _hide_said(self, data: Data) -> None:
        for part in list_parts(data):
            if part.get("type") == "tool_call" and (self._args or self._is_diff(part.get("name"))):
                part["arguments"] = HIDDEN

    def _hide_start(self, data: Data) -> None:
        args = data.get("args")
        if self._args or (self._diffs and not isinstance(args, dict)):
            data["args"] = HIDDEN
        elif self._diffs and isinstance(args, dict):
            data["args"] = {name: HIDDEN if name in _CONTENT else value for name, value in args.items()}

    def _hide_end(self, data: Data) -> None:
        if not (self._outputs or self._is_diff(data.get("name"))):
            return
        data["output"] = HIDDEN
        for name in ("images", "notice", "summary"):
            data.pop(name, None)
        if isinstance(error := data.get("error"), dict):
            data["error"] = {"kind": error.get("kind", ""), "message": HIDDEN, "details": {}}

    def _hide_question(self, data: Data) -> None:
        if self._args:
            hidden: tuple[str, ...] = ("text", "rule", "preview", "reason", "adds")
        else:
            hidden = ("text", "preview") if self._is_diff(data.get("tool")) else ("preview",) * self._diffs
        for name in hidden:
            if data.get(name):
                data[name] = HIDDEN

    def _hide_decision(self, data: Data) -> None:
        for name in ("reason", "words"):
            if self._args and data.get(name):
                data[name] = HIDDEN

    def _hide_check(self, data: Data) -> None:
        data["command"] = HIDDEN if self._args else data.get("command")
        data["output"] = HIDDEN if self._outputs else data.get("output")

    def _hide_commands(self, data: Data) -> None:
        """Checks and claims name commands, as arguments do."""
        inner = (data.get("options"), data.get("agent"))
        for holder in (data, *(one for one in inner if isinstance(one, dict))):
            for name in ("checks", "done_when", "claims", "facts"):
                if self._args and holder.get(name):
                    holder[name] = []

    def _hide_error(self, data: Data) -> None:
        if self._args or self._outputs or self._diffs:
            data["details"] = {}

    def _is_diff(self, tool: Any) -> bool:
        return self._diffs and isinstance(tool, str) and find_row(tool).changes == "files"


def list_parts(data: Data) -> list[Data]:
    """Returns the parts of an assistant's message."""
    message = data.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def find_places(events: Iterable[Event]) -> tuple[str, ...]:
    """Returns every path that the log names as one, and the names of the files; the longest first."""
    found: set[str] = set()
    for event in events:
        if event.type in _NAMING:
            data = decode_data(bytes(event.data))
            given = [data, data.get("args"), data.get("options")]
            given += [decode_data(str(part.get("arguments", "")).encode()) for part in list_parts(data)]
            for one in (value for value in given if isinstance(value, dict)):
                found.update(v for name in (*_PLACES, "workspace") if isinstance(v := one.get(name), str))
                added = one.get("added")
                found.update(filter(_is_text, added if isinstance(added, list) else ()))
    found |= {name for path in found if "." in (name := path.rpartition("/")[2]).strip(".")}
    long = (path for path in found if len(path.strip("/.*")) >= _SHORTEST)
    return tuple(sorted(long, key=lambda path: (-len(path), path)))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


class _Paths:
    """Puts a number in the place of each path, the same wherever it stands."""

    def __init__(self, places: Sequence[str]) -> None:
        self._numbers = {place: f"[path {number}]" for number, place in enumerate(places, 1)}
        # A word that is also a folder's name is one only where it stands alone.
        forms = (
            re.escape(p) if "/" in p or "." in p else rf"(?<![\w-]){re.escape(p)}(?![\w-])" for p in places
        )
        self._known = re.compile("|".join(forms)) if places else None

    def hide(self, value: Any, name: str = "") -> Any:
        match value:
            case str() if name not in _NAMES:
                if self._known:
                    value = self._known.sub(lambda found: self._numbers[found[0]], value)
                return _ABSOLUTE.sub("[path]", value)
            case dict():
                return {key: self.hide(one, key) for key, one in value.items()}
            case list():
                return [self.hide(one, name) for one in value]
        return value
