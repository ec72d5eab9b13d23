"""A blamed file in lines of text: the file with the agents beside it, and below it what each of them did."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from planck.records.events import USER
from planck.records.visible import count_columns, fit_line, make_plain

if TYPE_CHECKING:
    from planck.headless import Blame, Call

_NAME = 12


def tell(blame: "Blame", width: int) -> Iterator[str]:
    """Yields every line with a mark, and then what each mark stands for."""
    if not blame.lines:
        yield f"{fit_line(blame.path, width - 12)} is empty."
        return
    names = {line.change: _name_change(blame, line.change) for line in blame.lines}
    broad = max(map(count_columns, names.values()))
    last = len(str(blame.lines[-1].line))
    doubtful = {line.change for line in blame.lines if line.by == "unknown"}
    for line in blame.lines:
        name = names[line.change]
        mark = "?" if line.by == "unknown" else " "
        pad = " " * (broad - count_columns(name))
        row = f"{name}{pad}{mark} {line.line:>{last}}  "
        text = make_plain(line.text.expandtabs(4)).replace("\n", " ")
        yield f"{row}{_cut(text, width - count_columns(row))}".rstrip()
    for number, call in enumerate(blame.changes):
        yield ""
        for row in _describe(call, names[number], number in doubtful):
            yield fit_line(row, width) if not row.startswith("  ") else f"  {fit_line(row, width - 2)}"
    if None in names:
        yield ""
        yield fit_line(f"{_NOBODY}  no session of this workspace wrote these lines", width)


_NOBODY = "-"


def _cut(text: str, width: int) -> str:
    """Cuts a line of a file; its spaces stay."""
    if count_columns(text) <= width:
        return text
    while text and count_columns(text) >= width:
        text = text[:-1]
    return f"{text}…"


def _name_change(blame: "Blame", change: int | None) -> str:
    if change is None:
        return _NOBODY
    return f"{change + 1} {fit_line(blame.changes[change].agent, _NAME)}"


def _describe(call: "Call", name: str, doubtful: bool) -> Iterator[str]:
    when = call.time[:16].replace("T", " ")
    yield f"{name} · {call.session_name} · turn {call.turn} · {when} UTC"
    what = f"{call.tool} {call.command}".strip()
    if what:
        yield f"  call: {what}"
    yield f"  id: {call.call}"
    if doubtful:
        yield "  ?: this call or a later change wrote them; what it left was not kept"
    for one in call.instructions:
        sender = "you" if one.sender == USER else one.sender
        yield f"  {sender} → {one.receiver} {one.kind}: {one.text}"
    match call.approved_by:
        case "user":
            yield "  approved by: you"
        case "rule":
            yield f"  approved by: {call.approval or 'a rule'}"
        case "mode":
            yield f"  approved by: permission mode {call.approval}"
        case _:
            pass
    if call.check:
        end = "passed" if call.check.ok else f"failed, exit code {call.check.exit_code}"
        yield f"  first check: {call.check.command} → {end} ({call.check.agent})"
    elif call.tool != "undo":
        yield "  first check: none since this change"
