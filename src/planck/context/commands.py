"""Commands of the user's own: a Markdown file each, whose text is what is said when it is called.

    .planck/commands/review.md        /review src/a.py strict
    git/commit.md                     /git:commit, or /commit where no other has that name

`$ARGUMENTS` stands for all that is written behind the name, `$1` to `$9` for a word of it (quotes hold words
together). The text is a prompt like any other: nothing in it runs, and nothing in it grants a right.
"""

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from planck.context import frontmatter
from planck.context.texts import MAX_BYTES, read_text
from planck.records.visible import fit_line
from planck.workspace.paths.regular import open_within

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_PLACE = re.compile(r"\$(ARGUMENTS\b|[1-9](?![0-9]))")
_MAX_COMMANDS = 500
_DEPTH = 3


class CommandPlace(msgspec.Struct, frozen=True):
    """A folder of commands; a project's must not lead out of it."""

    path: Path
    scope: Literal["project", "home"]
    within: Path | None = None


class CustomCommand(msgspec.Struct, frozen=True):
    name: str
    description: str
    hint: str
    """What may be written behind it."""
    text: str
    file: Path
    scope: Literal["project", "home"]

    def expand(self, arguments: str) -> str:
        """Puts the arguments where the text has a place for them, else below it, in one pass."""
        words = _split_words(arguments)

        def fill(found: "re.Match[str]") -> str:
            if found[1] == "ARGUMENTS":
                return arguments
            at = int(found[1]) - 1
            return words[at] if at < len(words) else ""

        text, places = _PLACE.subn(fill, self.text)
        return text if places or not arguments else f"{text}\n\n{arguments}"


def find_commands(places: Iterable[CommandPlace]) -> dict[str, CustomCommand]:
    """Looks through the folders in order; the first of a name wins. What can't be read is left out."""
    found: dict[str, CustomCommand] = {}
    for place in places:
        for file in list_markdown(place):
            name = ":".join(file.relative_to(place.path).with_suffix("").parts)
            if name not in found and len(found) < _MAX_COMMANDS and (one := _read(place, file, name)):
                found[name] = one
    return found


def add_short_names(found: dict[str, CustomCommand]) -> dict[str, CustomCommand]:
    """Returns them also without their folders, as others call them; of two of one name neither."""
    last = [name.rpartition(":")[2] for name in found]
    short = {end: found[name] for name, end in zip(found, last, strict=True) if last.count(end) == 1}
    return {**short, **found}


def list_markdown(place: CommandPlace) -> Iterator[Path]:
    """Returns the Markdown files of a folder and of those in it, in order."""
    for folder, folders, files in os.walk(place.path):
        deep = len(Path(folder).relative_to(place.path).parts)
        folders[:] = sorted(n for n in folders if _NAME.fullmatch(n)) if deep + 1 < _DEPTH else []
        for name in sorted(files):
            if name.endswith(".md") and _NAME.fullmatch(name.removesuffix(".md")):
                yield Path(folder) / name


def read_markdown(place: CommandPlace, file: Path) -> str | None:
    """Returns the text, capped; None where it can't be read, or leads out of the project."""
    try:
        fd = open_within(file, place.within or "/")
    except OSError:
        return None
    try:
        return read_text(fd, MAX_BYTES)
    except OSError:
        return None
    finally:
        os.close(fd)


def _read(place: CommandPlace, file: Path, name: str) -> CustomCommand | None:
    text = read_markdown(place, file)
    if text is None:
        return None
    fields, body = frontmatter.split(text) or ({}, text)
    body = body.strip()
    if not body:
        return None
    first = body.split("\n", 1)[0].lstrip("# ")
    described = fields.get("description")
    hint = fields.get("argument-hint")
    return CustomCommand(
        name,
        fit_line(described if isinstance(described, str) and described else first, 200),
        fit_line(hint if isinstance(hint, str) else " ".join(hint or ()), 60),
        body,
        file,
        place.scope,
    )


def _split_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote that nobody closed is a letter
        return text.split()
