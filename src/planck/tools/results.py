"""Whatever a tool returned, as an outcome that can be stored and a text that a model may read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from planck.records import codec
from planck.records.authority import Confinement, Mode
from planck.records.events import ErrorData, ToolEnd
from planck.records.messages import Image, ToolCall
from planck.records.outcome import Err, ErrorKind, Ok, name_exception
from planck.records.tools import find_row
from planck.toolkit.tool import Outcome, outcome_of
from planck.toolkit.truncate import DEFAULT_MAX, repair, truncate

if TYPE_CHECKING:
    from planck.workspace.process.process import Completed

_MARKER_ROOM = 1_024
"""A tool that bounds its own output adds a marker and a hint; that is not cut a second time."""
_MARKER = "…[truncated, showing up to "
_KEPT_END = 2_000
"""Characters at the end of a command's output: there it says why it failed."""
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
    lines: int = 0
    """Of the whole output, where that is more than what is kept of it."""
    whole: str = ""
    """The blob with all of it, in a log that other machines may go on with."""
    summary: str = ""
    """What a line shows of the output, where that is not its number of lines."""

    @property
    def ok(self) -> bool:
        """False for an error, and for a command that ran and failed."""
        return not isinstance(self.outcome, Err) and self.outcome.value.get("ok", True) is not False

    def as_fact(self, notice: str = "") -> ToolEnd:
        """Returns what the log keeps of it; a notice stands beside the output, not in it."""
        err = self.outcome if isinstance(self.outcome, Err) else None
        return ToolEnd(
            id=self.call.id,
            name=self.call.name,
            ok=self.ok,
            output=self.output,
            error=ErrorData(err.kind, err.message, err.details) if err else None,
            exit_code=self.exit_code,
            duration_ms=self.duration_ms,
            images=self.images,
            notice=notice,
            lines=self.lines,
            whole=self.whole,
            summary=self.summary,
        )


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
    code, lines = value.get("exit_code"), value.get("lines")
    code = code if type(code) is int else None
    lines = lines if type(lines) is int and _MARKER in output else 0
    summary = value.get("summary") if find_row(call.name).shown == "count" else ""
    summary = summary if isinstance(summary, str) else ""
    return Finished(call, Ok(value), output, code, images, duration_ms, lines, summary=summary)


def broken(name: str, problem: BaseException) -> Err:
    """An exception as a result; its text may be hostile too."""
    try:
        text = truncate(name_exception(problem), 2_000)
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
    if type(returned) is Ok and type(returned.value) is dict and "output" in returned.value:
        return outcome_of(returned)
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


def is_spilled(output: str, call_id: str) -> bool:
    """Whether a call's result says that the whole of its output is kept."""
    return _name_whole(call_id) in output


def _name_whole(call_id: str) -> str:
    return f"[the whole output: read path output:{call_id}]"


class Ran(msgspec.Struct, frozen=True):
    """A command as it was run: what its outcome says beside its output."""

    call_id: str
    timeout_ms: int
    advice: str = ""
    """Beside a larger timeout."""
    rights: Confinement | None = None
    escalates: bool = False
    """Whether the tool takes `escalate`."""


def command_outcome(done: "Completed", ran: Ran) -> Outcome:
    """What a command that ran is to a model: nonzero is no error, running out of time is one."""
    output, level = done.output, str(done.containment)
    spilled = [_name_whole(ran.call_id)] if done.spilled is not None else []
    if done.timed_out or done.exit_code is None:
        return Err(
            ErrorKind.TIMEOUT,
            f"the command did not finish within {ran.timeout_ms} ms and was killed with everything it "
            f"started; give a larger timeout{ran.advice and ', ' + ran.advice}",
            {"timeout_ms": ran.timeout_ms, "output": _end_with(output, spilled), "containment": level},
        )
    code = done.exit_code
    cut = {"lines": done.lines} if spilled else {}
    if code == 0:
        output = _end_with(output, spilled)
        return Ok({"output": output, "exit_code": 0, "ok": True, "containment": level, **cut})
    said = _blame_sandbox(output, ran)
    lines = [*spilled, *([said] if said else []), f"[exit code {code}]"]
    value = {"output": _end_with(output, lines), "exit_code": code, "ok": False, "containment": level, **cut}
    return Ok({**value, "sandbox": said} if said else value)


def _blame_sandbox(output: str, ran: Ran) -> str:
    if ran.rights is None or ran.rights.mode is Mode.FULL:
        return ""
    from planck.workspace.sandbox.refusal import OWN, explain_refusal  # most commands succeed

    why = explain_refusal(output, ran.rights)
    if not why:
        return ""
    # Read-only is what the user chose: no question would change it.
    asks = ran.escalates and ran.rights.mode is not Mode.READ_ONLY and not why.endswith(OWN)
    return f'[sandbox: {why}; ask for it with "escalate"]' if asks else f"[sandbox: {why}]"


def _end_with(output: str, lines: Sequence[str]) -> str:
    """Puts lines of ours below an output; where both are too long, a piece before its end is left out."""
    if not lines:
        return output
    tail = "\n".join(lines)
    output = output.rstrip()
    size = len(output.encode(errors="replace"))
    if size + len(tail) + 1 > DEFAULT_MAX and _MARKER not in output:
        rest = truncate(output[:-_KEPT_END], DEFAULT_MAX - _MARKER_ROOM - _KEPT_END)
        output = f"{rest}\n{output[-_KEPT_END:]}"
    return f"{output}\n{tail}" if output else tail
