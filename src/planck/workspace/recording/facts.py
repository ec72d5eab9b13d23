"""Between the state of a name and the event that says how it changed."""

import hashlib
from typing import Any

import msgspec

from planck.records.events import FileChanged
from planck.workspace.paths.beneath import escape, unescape
from planck.workspace.recording.states import Kind, State

NO_MODE = -1
"""Where nobody knows the permission bits: of a file that a file tool made."""


def make_fact(call_id: str, path: str, before: State, after: State, **more: Any) -> FileChanged:
    """Returns the event for a change from one state to another; `path` is escaped already.

    What has its default is left out, so that a change of a file's content looks as it always did.
    """
    optional: dict[str, Any] = {}
    if before.kind not in ("nothing", "file") or (before.kind == "file" and before.content is None):
        optional["was"] = before.kind
    if before.kind == "link":
        optional["link"] = write_path(before.target)
    if after.kind not in ("nothing", "file") or (after.kind == "file" and after.content is None):
        optional["becomes"] = after.kind
    if after.kind == "link":
        optional["after_link"] = write_path(after.target)
    mode, after_mode = _mode_of(before), _mode_of(after)
    if after_mode is not None and after_mode != mode:
        optional["after_mode"] = after_mode
    return FileChanged(
        call_id=call_id,
        path=path,
        before=before.content,
        mode=mode,
        after_sha256="" if after.content is None else digest(after.content),
        **optional,
        **more,
    )


def before_of(fact: FileChanged) -> State:
    """Returns what had the path; the content as far as the event carries it."""
    kind: Kind = _or_none(fact.was) or ("nothing" if fact.before is None else "file")
    mode = (NO_MODE if fact.mode is None else fact.mode) if kind in _WITH_MODE else 0
    return State(kind, fact.before, mode, unescape(_or_none(fact.link) or ""))


def after_of(fact: FileChanged) -> State:
    """Returns what has the path afterwards, without the content of a file."""
    kind: Kind = _or_none(fact.becomes) or ("file" if fact.after_sha256 else "nothing")
    if kind not in _WITH_MODE:
        return State(kind, target=unescape(_or_none(fact.after_link) or ""))
    mode = _or_none(fact.after_mode)
    if mode is None and kind == before_of(fact).kind:
        mode = fact.mode
    return State(kind, mode=NO_MODE if mode is None else mode)


def is_local(fact: FileChanged) -> bool:
    """Whether git ignores the file: its content stays on the machine that recorded it."""
    return isinstance(fact.image, str)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_WITH_MODE = ("file", "folder", "other")


def write_path(path: str) -> str:
    """Escapes a raw path or a link's target; `unescape` reads it back, also if it has an escape in it."""
    return escape(path.replace("\\", "\\x5c")) if "\\x" in path or not path.isprintable() else path


def _mode_of(state: State) -> int | None:
    return state.mode if state.kind in _WITH_MODE and state.mode != NO_MODE else None


def _or_none(value: Any) -> Any:
    return None if value is msgspec.UNSET else value
