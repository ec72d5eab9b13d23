"""What a command found before it changed it: one file per call, `<session>/recording/<call_id>`.

The recorder (`recorder`) appends one record before each change goes on, so the file survives every death:

    !IQ (bytes of the header, bytes of the content)  header: JSON  content

    {"path": P, "kind": "file", "mode": M, "local": true} + content: what P was when it was first touched
    {"inode": [dev, ino], "kind": "file", "mode": M} + content: a file with several names, before a write
    {"path": P, "as": [dev, ino]}: what P was is what that file was
    {"skipped": REASON, "count": N}: how many names have no image; the last one of a reason counts
    {"again": G, "path": P, ...} + content: see `append_baseline`
    {"ended": true}: the command is over, and nothing is missing

A record that is torn at the end belongs to a change that never happened; one that the recorder can't have
written ends the spool. Paths are absolute and raw, as the
command's own process sees them; `\\udcXX` stands for a byte that is not UTF-8. The file has mode 0600, holds
content in plain text, and goes once its facts are committed.
"""

import json
import os
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from planck.workspace.git.settings import find_excludes
from planck.workspace.paths.beneath import escape
from planck.workspace.recording.ignored import Ignored
from planck.workspace.recording.states import NOTHING, State, read_stamp, read_state

LENGTHS = struct.Struct("!IQ")
_MAX_HEADER = 1 << 20


class Image(msgspec.Struct, frozen=True):
    state: State
    local: bool = False
    """Whether git ignores the file: its content must stay on this machine."""


class Spool(msgspec.Struct, frozen=True):
    images: dict[str, Image]
    """By absolute path, in the order in which they were first touched."""
    inodes: dict[tuple[int, int], Image]
    """Files with several names: all names that were not touched themselves changed with them."""
    skipped: dict[str, int]
    """How many names were not recorded, by the reason: `large`, `many`, `unreadable`, `disk`, `mount`."""
    ended: bool
    """False: the recorder did not see the end of the command."""


class Difference(msgspec.Struct, frozen=True):
    """One name that is not what it was before the command."""

    path: str
    """As facts have it: escaped, relative to the workspace; absolute in another root."""
    place: str
    """Raw and absolute."""
    before: State
    after: State
    local: bool = False


def read_spool(path: Path, generation: int = 0) -> Spool:
    """Returns what a spool holds; nothing, if there is no file.

    `generation`: how many times facts of this call were committed; see `append_baseline`.
    """
    images: dict[str, Image] = {}
    inodes: dict[tuple[int, int], Image] = {}
    skipped: dict[str, int] = {}
    ended = False
    for header, content in _read_records(path):
        try:
            state = _read_state(header, content)
        except msgspec.ValidationError:
            break
        image = Image(state, header.get("local") is True)
        match header:
            case {"again": int(again), "path": str(place)}:
                if again <= generation:
                    images[place] = image
            case {"path": str(place), "as": [int(device), int(number)]}:
                if found := inodes.get((device, number)):
                    images.setdefault(place, Image(found.state, found.local or image.local))
            case {"path": str(place)}:
                images.setdefault(place, image)
            case {"inode": [int(device), int(number)]}:
                inodes.setdefault((device, number), image)
            case {"skipped": str(reason), "count": int(count)}:
                skipped[reason] = count
            case {"ended": True}:
                ended = True
    return Spool(images, inodes, skipped, ended)


def differences(spool: Spool, roots: Mapping[str, int]) -> list[Difference]:
    """Compares what was with what is now, in order of path.

    `roots`: absolute path of each root and an open descriptor of it, the workspace first. In a view the
    descriptor is the view's. It reads files; call it in a thread. A name that cannot be read any more is
    given as `other` with mode 0.
    """
    before = {**dict(_find_other_names(spool, roots)), **spool.images}
    found: list[Difference] = []
    top = next(iter(roots), "")
    for place in sorted(before, key=os.fsencode):
        root = next((root for root in roots if place.startswith(f"{root.rstrip('/')}/")), None)
        if root is None:
            continue
        relative = place[len(root.rstrip("/")) + 1 :]
        image = before[place]
        try:
            now = read_stamp(roots[root], relative) if image.state.stamp else NOTHING
            if not image.state.stamp or now != image.state:
                now = read_state(roots[root], relative)
        except OSError:
            now = State("other")
        if now != image.state:
            shown = escape(relative if root == top else place)
            found.append(Difference(shown, place, image.state, now, image.local))
    return found


def append_baseline(path: Path, changes: Iterable[Difference], generation: int) -> None:
    """Notes what was recorded of a command that goes on (in the background), before that is committed.

    Its next facts begin where these end. `generation` counts the commits of the call from 1; a reader that
    finds fewer commits in the log ignores the note, so that a crash between both loses nothing.
    """
    with open(path, "ab") as file:
        for change in changes:
            local = {"local": True} if change.local else {}
            after = change.after
            header = {"again": generation, "path": change.place, **describe_state(after), **local}
            # One write each: the recorder appends to the same file.
            file.write(pack(header, after.content or b""))
            file.flush()


def pack(header: Mapping[str, Any], content: bytes = b"") -> bytes:
    head = json.dumps(header).encode()
    return LENGTHS.pack(len(head), len(content)) + head + content


def describe_state(state: State) -> dict[str, Any]:
    values = {"mode": state.mode, "target": state.target, "stamp": state.stamp}
    return {"kind": state.kind} | {key: value for key, value in values.items() if value}


def _read_state(header: Mapping[str, Any], content: bytes) -> State:
    kind, stamp = header.get("kind", "nothing"), header.get("stamp", "")
    kept = content if kind == "file" and not stamp else None
    values = (kind, kept, header.get("mode", 0), header.get("target", ""), stamp)
    return msgspec.convert(dict(zip(State.__struct_fields__, values, strict=True)), State)


def _read_records(path: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        return
    with file:
        left = os.fstat(file.fileno()).st_size
        while left >= LENGTHS.size:
            size, content = LENGTHS.unpack(file.read(LENGTHS.size))
            left -= LENGTHS.size + size + content
            if left < 0 or size > _MAX_HEADER:
                return
            try:
                header = json.loads(file.read(size))
            except (ValueError, RecursionError):
                return
            if not isinstance(header, dict) or "\0" in str(header.get("path")):
                return
            yield header, file.read(content)


def _find_other_names(spool: Spool, roots: Mapping[str, int]) -> Iterator[tuple[str, Image]]:
    """Names that were not touched, of files that were written through another name."""
    if not spool.inodes:
        return
    for root, top in roots.items():
        rules = Ignored(root, f"/proc/self/fd/{top}", find_excludes(root))
        for place, key in _walk(top, root.rstrip("/")):
            image = spool.inodes.get(key)
            if image is None or place in spool.images:
                continue
            if (verdict := rules.judge(place, folder=False)) != "skipped":
                yield place, Image(image.state, image.local or verdict == "local")


def _walk(top: int, place: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yields the files below an open folder; follows no link, and skips git's own folders."""
    folders = [(os.dup(top), place)]
    try:
        while folders:
            fd, above = folders.pop()
            try:
                for name in os.listdir(fd):
                    with suppress(OSError):
                        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                        if stat.S_ISREG(found.st_mode):
                            yield f"{above}/{name}", (found.st_dev, found.st_ino)
                        elif stat.S_ISDIR(found.st_mode) and name != ".git":
                            folders.append((os.open(name, _FOLDER, dir_fd=fd), f"{above}/{name}"))
            except OSError:
                continue  # it can't be listed
            finally:
                os.close(fd)
    finally:
        for fd, _ in folders:
            os.close(fd)


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
