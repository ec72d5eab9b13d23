"""Whatever a tool returned, as an outcome that can be stored and a text that a model may read."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from planck.records import codec
from planck.records.authority import Confinement, Mode
from planck.records.events import ErrorData, ToolEnd
from planck.records.messages import Image, ToolCall
from planck.records.outcome import Err, ErrorKind, Ok, name_exception
from planck.records.tools import TOOLS, find_row
from planck.toolkit.tool import Outcome, outcome_of
from planck.toolkit.truncate import DEFAULT_MAX, repair, truncate

if TYPE_CHECKING:
    from planck.workspace.process.process import Completed

_MARKER_ROOM = 1_024
"""A tool that bounds its own output adds a marker and a hint; that is not cut a second time."""
_MARKER = "…[truncated, showing up to "
_KEPT_END = 2_000
"""Characters at the end of a command's output: there it says why it failed."""
_NO_OUTPUT = "[no output]"
_SPILLED = "spilled"
"""Key in a result, and in the details of an error: all of the output is kept."""
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
    spilled: bool = False
    """Whether all of it is kept, for `read` to page."""

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
            spilled=self.spilled,
        )


def finish(call: ToolCall, returned: Any, duration_ms: int) -> Finished:
    """May raise whatever a hostile value raises: the executor stands behind it."""
    outcome = _outcome(call.name, returned)
    if isinstance(outcome, Err):
        outcome = _storable(outcome)
        spilled = outcome.details.get(_SPILLED) is True
        return Finished(
            call, outcome, _error_text(outcome, call.name), None, (), duration_ms, spilled=spilled
        )
    value = outcome.value
    images = tuple(image for image in value.pop("images", ()) if isinstance(image, Image))
    # Not every vendor takes an empty result.
    output = value["output"] = bound(value["output"]) or ("" if images else _NO_OUTPUT)
    spilled, size = value.get(_SPILLED) is True, _measure(value)
    if size is None or size > _MAX_VALUE:
        value = {"output": output}
    code, lines = value.get("exit_code"), value.get("lines")
    code = code if type(code) is int else None
    lines = lines if type(lines) is int and _MARKER in output else 0
    summary = value.get("summary") if find_row(call.name).shown == "count" else ""
    summary = summary if isinstance(summary, str) else ""
    return Finished(
        call, Ok(value), output, code, images, duration_ms, lines, summary=summary, spilled=spilled
    )


def broken(name: str, problem: BaseException) -> Err:
    """An exception as a result; its text may be hostile too."""
    try:
        text = truncate(name_exception(problem), 2_000)
    except BaseException:
        text = type(problem).__name__
    return Err(
        ErrorKind.INTERNAL_ERROR,
        f"{name} failed: {text}; try other arguments or another tool, and report the error",
    )


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


def _error_text(err: Err, tool: str) -> str:
    """`kind: message`, then the details that say more than the message; all of them are recorded.

    Our own messages repeat their other details. Those of a tool that is not ours are shown in any case.
    """
    parts = [str(err)]  # with the hint
    if shown := _show_nearest(err.details.get("nearest")):
        parts.append(shown)
    others = {} if tool in TOOLS else {key: err.details[key] for key in err.details if key not in _REPEATED}
    long = {key: text for key, text in others.items() if isinstance(text, str) and "\n" in text}
    if short := {key: detail for key, detail in others.items() if key not in long}:
        parts.append(codec.encode_str(short))
    for key, text in ({key: err.details.get(key) for key in ("diff", "output")} | long).items():
        if isinstance(text, str) and text.strip():
            parts.append(f"{key}:\n{text}")
    return bound("\n".join(parts))


_REPEATED = frozenset(
    (
        "hint",
        "nearest",
        "diff",
        "output",
        "errors",
        "tools",
        "bytes",
        "limit",
        "timeout_ms",
        "containment",
        _SPILLED,
    )
)
"""Details that are shown in another way, or that the runtime adds to an error of any tool."""


def _show_nearest(places: Any) -> str:
    """The lines of a file that a text was looked for in, between two marks: nothing there is ours."""
    match places:
        case [{"first": int(first), "lines": [*lines]}, *_]:
            last = first + len(lines) - 1
            return "\n".join((f"[lines {first}-{last}]", *map(str, lines), f"[end of lines {first}-{last}]"))
    return ""


def is_spilled(end: ToolEnd) -> bool:
    """Whether all of a call's output is kept. Before there was a field, the text alone said so."""
    return end.spilled or f"[the whole output: read path output:{end.id}]" in end.output


def carry_spilled(tried: Any, refused: Err) -> Err:
    """A refusal shows the output of the trial before it, whose rest is kept too."""
    if isinstance(tried, Ok) and tried.value.get(_SPILLED):
        return Err(refused.kind, refused.message, {**refused.details, _SPILLED: True})
    return refused


class Ran(msgspec.Struct, frozen=True):
    """A command as it was run: what its outcome says beside its output."""

    call_id: str
    timeout_ms: int
    command: str = ""
    advice: str = "or set a longer timeout"
    """What else to do if the time was not enough."""
    rights: Confinement | None = None
    escalates: bool = False
    """Whether the tool takes `escalate`."""
    withheld: Collection[str] = ()
    """Names of the user's variables that it did not get."""
    undo: str = ""
    """What an undo can't take back of it."""


def describe_partial(done: "Completed", call_id: str) -> dict[str, Any]:
    """Returns the details of a command that was stopped: its output so far."""
    ours, kept = _name_whole(done, call_id)
    return {"output": _end_with(done.output, ours), "containment": str(done.containment), **kept}


def _name_whole(done: "Completed", call_id: str) -> tuple[list[str], dict[str, Any]]:
    """Returns the line that says where all of a long output is, and the detail that it is kept."""
    if done.spilled is None:
        return [], {}
    count = "1 line" if done.lines == 1 else f"{done.lines} lines"
    return [f"[full output ({count}): read path output:{call_id}]"], {_SPILLED: True}


def command_outcome(done: "Completed", ran: Ran) -> Outcome:
    """What a command that ran is to a model: nonzero is no error, running out of time is one."""
    output, level = done.output, str(done.containment)
    ours, kept = _name_whole(done, ran.call_id)
    ours += [ran.undo] if ran.undo else []
    if done.timed_out or done.exit_code is None:
        below = "; its output so far is below" if output.strip() else ""
        return Err(
            ErrorKind.TIMEOUT,
            f"the command was killed after {ran.timeout_ms} ms, with everything it started{below}. "
            f"Run less of it, {ran.advice}",
            {"timeout_ms": ran.timeout_ms, "output": _end_with(output, ours), "containment": level, **kept},
        )
    code, cut = done.exit_code, {"lines": done.lines, **kept} if kept else {}
    said = _blame_sandbox(output, ran) if code else ""
    if not output.strip():
        output = _NO_OUTPUT
    ours += [said] if said else []
    if code and (name := _find_missing(output, ran)):
        ours.append(
            f"[environment: commands do not get {name} (the user can add it to "
            '"permissions.environment" in their config.json)]'
        )
    ours += [f"[exit code {code}]"] if code else []
    value = {"output": _end_with(output, ours), "exit_code": code, "ok": code == 0, "containment": level}
    return Ok({**value, **cut, **({"sandbox": said} if said else {})})


def _find_missing(output: str, ran: Ran) -> str:
    from planck.workspace.process.environment import explain_missing  # most commands succeed

    return explain_missing(output, ran.withheld) if ran.withheld else ""


def _blame_sandbox(output: str, ran: Ran) -> str:
    if ran.rights is None or ran.rights.mode is Mode.FULL:
        return ""
    from planck.workspace.sandbox.refusal import explain_refusal  # most commands succeed

    why = explain_refusal(output, ran.rights, ran.command)
    if why is None:
        return ""
    # Read-only is what the user chose: no question would change it.
    asks = ran.escalates and ran.rights.mode is not Mode.READ_ONLY and not why.final
    return (
        f'[sandbox: {why.text}; to ask for permission, pass "escalate"]' if asks else f"[sandbox: {why.text}]"
    )


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
