"""Between the state of a name and the event that says how it changed."""

import hashlib
from typing import Any

import msgspec

from planck.records.events import FileChanged
from planck.workspace.paths.beneath import escape, unescape
from planck.workspace.recording.states import State


def make_fact(call_id: str, path: str, before: State, after: State, **more: Any) -> FileChanged:
    """Returns the event for a change from one state to another; `path` is escaped already.

    What has its default is left out, so that a change of a file's content looks as it always did.
    """
    optional: dict[str, Any] = {}
    if before.kind in ("link", "folder"):
        optional["was"] = before.kind
    elif before.kind == "file" and before.content is None:
        optional["was"] = "file"
    if before.kind == "link":
        optional["link"] = escape(before.target)
    if after.kind in ("link", "folder"):
        optional["becomes"] = after.kind
    elif after.kind == "file" and after.content is None:
        optional["becomes"] = "file"
    if after.kind == "link":
        optional["after_link"] = escape(after.target)
    if after.mode is not None and after.mode != before.mode:
        optional["after_mode"] = after.mode
    return FileChanged(
        call_id=call_id,
        path=path,
        before=before.content if before.kind == "file" else None,
        mode=before.mode if before.kind in ("file", "folder") else None,
        after_sha256=digest(after.content) if after.kind == "file" and after.content is not None else "",
        **optional,
        **more,
    )


def before_of(fact: FileChanged) -> State:
    """Returns what had the path; the content as far as the event carries it."""
    kind = _or_none(fact.was) or ("nothing" if fact.before is None else "file")
    return State(kind, fact.mode, fact.before, unescape(_or_none(fact.link) or ""))


def after_of(fact: FileChanged) -> State:
    """Returns what has the path afterwards, without the content of a file."""
    kind = _or_none(fact.becomes) or ("file" if fact.after_sha256 else "nothing")
    mode = _or_none(fact.after_mode)
    if mode is None and kind == before_of(fact).kind:
        mode = fact.mode
    if kind in ("nothing", "link"):
        mode = None
    return State(kind, mode, None, unescape(_or_none(fact.after_link) or ""))


def is_local(fact: FileChanged) -> bool:
    """Whether git ignores the file: its content stays on the machine that recorded it."""
    return fact.image is not msgspec.UNSET


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _or_none(value: Any) -> Any:
    return None if value is msgspec.UNSET else value
