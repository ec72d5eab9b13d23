"""The scripts of a `package.json` that npm, yarn and pnpm start: they are command lines, like any other."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from glob import glob
from typing import NamedTuple

from planck.permissions.matching import list_operands
from planck.shell.launch import basename
from planck.shell.plain import Segment
from planck.shell.programs import PROGRAMS, find_program
from planck.workspace.paths.paths import stamp_file
from planck.workspace.paths.regular import read_regular

FILE = "package.json"
PACKAGED = frozenset(name for name, row in PROGRAMS.items() if FILE in row.files and row.prefix is None)
"""Programs that start such scripts."""
_MAX_FILE = 1 << 20
_MAX_WORKSPACES = 64
_ON_INSTALL = (
    *("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"),
    "dependencies",
)
_ON_PACK = ("prepack", "prepare", "postpack")
_STARTED: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ("install", "ci", "add", "update", "dedupe", "link", "rebuild", "uninstall"), _ON_INSTALL
    ),
    "pack": _ON_PACK,
    "publish": ("prepublishOnly", *_ON_PACK, "publish", "postpublish"),
    "restart": ("stop", "start"),
    **dict.fromkeys(("test", "start", "stop", "version"), ()),
}
"""By what npm is told to do: scripts that it starts besides the one of that name."""
_FOLDERS = ("--prefix", "-C", "--cwd", "--dir")
_WORKSPACES = ("-w", "--workspace", "--workspaces", "-ws", "--filter", "-F", "-r", "--recursive", "workspace")


class PackageScript(NamedTuple):
    folder: str
    text: str
    sure: bool
    """Whether the words say that it is this one."""


def find_package_scripts(words: Segment, folder: str) -> Iterator[PackageScript]:
    """Yields what a command starts of the package in a folder, or in those that its options name."""
    folders = [os.path.join(folder, name) for name in _list_values(words)] or [folder]
    if any(word.text.partition("=")[0] in _WORKSPACES for word in words[1:]):
        folders = [place for one in folders for place in _list_workspaces(one)] or folders
    names = _list_names(words)
    sure = all(word.known for word in words)
    for place in dict.fromkeys(map(os.path.normpath, folders)):
        file = f"{place}/{FILE}"
        scripts = _read(file, stamp_file(file))[0] if os.path.isfile(file) else {}
        for name, text in scripts.items():
            if not sure or name in names:
                yield PackageScript(place, text, sure)


def _list_names(words: Segment) -> set[str]:
    """Returns the names of scripts that are meant, with those that are started before and after them."""
    program = find_program(basename(words[0]))
    given = list_operands(words)
    meant = [program.synonyms.get(word, word) for word in given]
    runs = next((i for i, word in enumerate(meant) if word == "run"), None)
    if runs is not None:
        named = {*given[runs + 1 :]}
    else:
        # The first word, or the second if the first may be the value of an option.
        count = 2 if len(words) > 1 and words[1].text[:1] == "-" else 1
        first = meant[: len(meant) if meant[:1] == ["workspace"] else count]
        if program.synonyms:  # npm starts no other script without `run`
            first = [word for word in first if word in _STARTED]
        elif not given:  # `yarn` alone installs
            first = ["install"]
        named = {name for word in first for name in (word, *_STARTED.get(word, ()))}
    return {f"{before}{name}" for name in named for before in ("", "pre", "post")}


def _list_values(words: Segment) -> Iterator[str]:
    for i, word in enumerate(words[1:], 1):
        name, equals, value = word.text.partition("=")
        if name in _FOLDERS and (equals or i + 1 < len(words)):
            yield os.path.expanduser(value if equals else words[i + 1].text)


def _list_workspaces(folder: str) -> list[str]:
    file = f"{folder}/{FILE}"
    patterns = _read(file, stamp_file(file))[1] if os.path.isfile(file) else ()
    found = [place for pattern in patterns for place in sorted(glob(f"{pattern}/", root_dir=folder))]
    return [os.path.join(folder, place) for place in found[:_MAX_WORKSPACES]]


@lru_cache(maxsize=64)
def _read(file: str, stamp: object) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Scripts, and where other packages lie; `stamp` is that of the file, so that a change is read."""
    try:
        found = json.loads(read_regular(file, _MAX_FILE))
    except (OSError, ValueError, RecursionError):
        return {}, ()
    scripts = found.get("scripts") if isinstance(found, dict) else None
    places = found.get("workspaces") if isinstance(found, dict) else None
    places = places.get("packages") if isinstance(places, dict) else places
    texts = (
        {name: text for name, text in scripts.items() if isinstance(text, str)}
        if isinstance(scripts, dict)
        else {}
    )
    return texts, tuple(one for one in places if isinstance(one, str)) if isinstance(places, list) else ()
