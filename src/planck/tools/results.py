"""Whatever a tool returned, as an outcome that can be stored and a text that a model may read."""

from typing import TYPE_CHECKING, Any

import msgspec

from planck.records import codec
from planck.records.messages import Image, ToolCall
from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.tool import Outcome, outcome_of
from planck.toolkit.truncate import DEFAULT_MAX, repair, truncate

if TYPE_CHECKING:
    from planck.workspace.process import Completed

_MARKER_ROOM = 1_024
"""A tool that bounds its own output adds a marker and a hint; that is not cut a second time."""
_MARKER = "…[truncated, showing up to "
_MAX_VALUE = 1 << 20
_MAX_DETAILS = 4 * DEFAULT_MAX


class Finished(msgspec.Struct, frozen=True):
    call: ToolCall
    outcome: Outcome
    output: str
    """What the model reads, bounded."""
    exit_code: int | None
    images: tuple[Image, ...]
    duration_ms: int

    @property
    def ok(self) -> bool:
        """False for an error, and for a command that ran and failed."""
        return not isinstance(self.outcome, Err) and self.outcome.value.get("ok", True) is not False


def finish(call: ToolCall, returned: Any, duration_ms: int) -> Finished:
    """May raise whatever a hostile value raises: the executor stands behind it."""
    outcome = _outcome(call.name, returned)
    if isinstance(outcome, Err):
        outcome = _storable(outcome)
        return Finished(call, outcome, _error_text(outcome), None, (), duration_ms)
    value = outcome.value
    images = tuple(image for image in value.pop("images", ()) if isinstance(image, Image))
    output = value["output"] = bound(value["output"])
    size = _measure(value)
    if size is None or size > _MAX_VALUE:
        value = {"output": output}
    code = value.get("exit_code")
    return Finished(call, Ok(value), output, code if type(code) is int else None, images, duration_ms)


def broken(name: str, problem: BaseException) -> Err:
    """An exception as a result; its text may be hostile too."""
    try:
        text = truncate(f"{type(problem).__name__}: {problem}", 2_000)
    except BaseException:
        text = type(problem).__name__
    return Err(ErrorKind.INTERNAL_ERROR, f"{name} failed: {text}")


def bound(text: str) -> str:
    if len(text) <= DEFAULT_MAX + _MARKER_ROOM and _MARKER in text:
        text = repair(text)
        if len(text.encode()) <= DEFAULT_MAX + _MARKER_ROOM:
            return text
    return truncate(text)


def _outcome(name: str, returned: Any) -> Outcome:
    match returned:
        case Ok(value={"ok": False, "error": _} | {"output": _}):
            return outcome_of(returned)
        case Ok(value=dict() as value):
            value = {key: inner for key, inner in value.items() if type(key) is str}
            shown = {key: inner for key, inner in value.items() if key != "images"}
            return Ok({**value, "output": codec.encode_str(shown)})
        case None | Ok(value=None):
            raise TypeError(f"{name} returned nothing instead of Ok or Err")
        case _:
            return outcome_of(returned)  # always a new map


def _measure(value: dict[str, Any]) -> int | None:
    """Returns its bytes as JSON; None where it can't be stored."""
    try:
        return len(codec.encode(value))
    except (TypeError, ValueError, RecursionError):
        return None


def _storable(err: Err) -> Err:
    size, details = _measure(err.details), err.details
    if size is None or size > _MAX_DETAILS:
        lost = "details that could not be stored" if size is None else f"{size} bytes of details"
        details = {"lost": lost}
    return Err(err.kind, bound(err.message), details)


def _error_text(err: Err) -> str:
    """`kind: message`, then the details: as JSON, but text of several lines (a diff, an output) as it is."""
    long = {key: text for key, text in err.details.items() if isinstance(text, str) and "\n" in text}
    short = {key: detail for key, detail in err.details.items() if key not in long}
    parts = [f"{err.kind}: {err.message}"]
    parts += [codec.encode_str(short)] if short else []
    parts += [f"{key}:\n{text}" for key, text in long.items()]
    return bound("\n".join(parts))


def command_outcome(done: "Completed", call_id: str, timeout_ms: int, advice: str = "") -> Outcome:
    """What a command that ran is to a model: nonzero is no error, running out of time is one."""
    output = done.output
    if done.spilled is not None:
        output = f"{output.rstrip()}\n[the whole output: read path output:{call_id}]"
    if done.timed_out or done.exit_code is None:
        return Err(
            ErrorKind.TIMEOUT,
            f"the command did not finish within {timeout_ms} ms and was killed with everything it started; "
            f"give a larger timeout{advice and ', ' + advice}",
            {"timeout_ms": timeout_ms, "output": output, "containment": str(done.containment)},
        )
    code = done.exit_code
    if code != 0:
        output = f"{output.rstrip()}\n[exit code {code}]" if output.strip() else f"[exit code {code}]"
    return Ok({"output": output, "exit_code": code, "ok": code == 0, "containment": str(done.containment)})
