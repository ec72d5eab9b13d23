"""`planck blame`: which agent wrote each line of a file, on whose instructions, and what was checked since."""

from __future__ import annotations

import argparse
import os
import re

import msgspec

from planck import headless
from planck.cli.errors import UsageError
from planck.cli.parser import JSON, add_shared, given
from planck.cli.place import find_place, say_place
from planck.cli.streams import complain
from planck.cli.tell.blame import tell
from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.records.visible import fit_line

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

    for line in tell(blame, get_terminal_size().columns):
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
