"""`planck blame`: who wrote each line of a file, on whose instructions, and what was checked since."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator

import msgspec

from planck import headless
from planck.cli.errors import UsageError
from planck.cli.parser import JSON, add_shared, given
from planck.cli.place import find_place, say_place
from planck.cli.streams import complain
from planck.records import codec
from planck.records.events import USER
from planck.records.outcome import ErrorKind
from planck.records.visible import count_columns, fit_line, make_plain

EXAMPLE = "planck blame src/prices.py:10-20"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=given, metavar="FILE[:LINE[-LINE]]", help="File, and the line or lines of it to show"
    )
    add_shared(parser, json=JSON)


def run(options: argparse.Namespace) -> int:
    place = find_place(options)
    planck = headless.Planck(workspace=place)
    say_place(planck.project)
    file, lines = _read(options.file, place or ".")
    blame = planck.blame(file, lines, _report)
    if options.json:
        print(codec.encode_str(msgspec.to_builtins(blame)))
        return 0
    from shutil import get_terminal_size

    for line in _tell(blame, get_terminal_size().columns):
        print(line)
    return 0


def _read(text: str, folder: str) -> tuple[str, tuple[int, int] | None]:
    """Returns the file and its lines; a file may have a name that ends like a line."""
    found = re.fullmatch(r"(.+):(\d{1,9})(?:-(\d{1,9}))?", text, re.DOTALL)
    if not found or os.path.lexists(os.path.join(folder, text)):
        return os.path.join(folder, text), None
    first = int(found[2])
    last = int(found[3] or first)
    if not 1 <= first <= last:
        raise UsageError(ErrorKind.INVALID_ARGS, f"Invalid lines: {text!r}. Use FILE:10 or FILE:10-20.")
    return os.path.join(folder, found[1]), (first, last)


def _report(name: str, why: str) -> None:
    complain(f"Session {fit_line(name, 60)} is left out. {fit_line(why)}")


_NAME = 12


def _tell(blame: headless.Blame, width: int) -> Iterator[str]:
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
        for at, row in enumerate(_describe(call, names[number], number in doubtful)):
            yield from _wrap(row, width, "  " if at else "")
    if None in names:
        yield ""
        yield fit_line(f"{_NOBODY}  no session of this workspace wrote these lines", width)


_NOBODY = "-"


def _wrap(text: str, width: int, indent: str) -> Iterator[str]:
    """Breaks a line between words, into three at most."""
    from textwrap import wrap

    deeper = f"{indent}  "
    rows = wrap(
        fit_line(text), width, initial_indent=indent, subsequent_indent=deeper, max_lines=3, placeholder=" …"
    )
    for row in rows:
        # Wide characters count once when a line is broken.
        yield row if count_columns(row) <= width else f"{deeper}{fit_line(row, width - len(deeper))}"


def _cut(text: str, width: int) -> str:
    """Cuts a line of a file; its spaces stay."""
    if len(text) <= width and count_columns(text) <= width:
        return text
    text = text[: width + 1]
    while text and count_columns(text) >= width:
        text = text[:-1]
    return f"{text}…"


def _name_change(blame: headless.Blame, change: int | None) -> str:
    if change is None:
        return _NOBODY
    return f"{change + 1} {fit_line(blame.changes[change].agent, _NAME)}"


def _describe(call: headless.Call, name: str, doubtful: bool) -> Iterator[str]:
    when = call.time[:16].replace("T", " ")
    yield f"{name} · {call.session_name} · turn {call.turn} · {when} UTC"
    what = f"{call.tool} {call.command}".strip()
    if what:
        yield f"call: {what}"
    yield f"id: {call.call}"
    if doubtful:
        yield "?: this call or a later change wrote them; what it left was not kept"
    for one in call.instructions:
        sender = "you" if one.sender == USER else one.sender
        yield f"{sender} → {one.receiver} {one.kind}: {one.text}"
    match call.approved_by:
        case "user":
            yield "approved by: you"
        case "rule":
            yield f"approved by: {call.approval or 'a rule'}"
        case "mode":
            yield f"approved by: permission mode {call.approval}"
        case _:
            pass
    if call.check:
        end = "passed" if call.check.ok else f"failed, exit code {call.check.exit_code}"
        yield f"first check: {call.check.command} → {end} ({call.check.agent})"
    elif call.tool != "undo":
        yield "first check: none since this change"
