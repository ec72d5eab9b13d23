"""The files of a workspace, to look at: confined as an agent's are, and nothing is written."""

import codecs
import os
import stat
from collections.abc import Iterator
from typing import Literal

import msgspec

from planck.config.project import Project
from planck.records.outcome import ErrorKind, PlanckError

_ENTRIES = 10_000
_PART = 256 << 10


class FileError(PlanckError):
    """What can't be listed or read."""


class Listed(msgspec.Struct, frozen=True):
    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int


class Part(msgspec.Struct, frozen=True):
    data: bytes
    offset: int
    size: int
    """Of the whole file."""

    @property
    def next(self) -> int | None:
        end = self.offset + len(self.data)
        return end if self.data and end < self.size else None


class WorkspaceFiles:
    def __init__(self, project: Project) -> None:
        project.check_place()
        self._root = project.open_root()

    def list(self, path: str) -> list[Listed]:
        """Returns the entries of a folder, by name; links are told as such and not followed."""
        with self._root.folder(path) as fd:
            try:
                with os.scandir(fd) as entries:
                    return sorted(_describe(entries), key=lambda entry: entry.name)
            except OSError as problem:
                raise FileError(
                    ErrorKind.READ_FAILED, f"Cannot list {path!r}: {problem.strerror}. Check its permissions."
                ) from None

    def read(self, path: str, offset: int) -> Part:
        with self._root.reading(path) as fd:
            try:
                size = os.fstat(fd).st_size
                begin = min(offset, size)
                data = os.pread(fd, _PART, begin)
                return Part(_cut_whole(data) if begin + len(data) < size else data, begin, size)
            except OSError as problem:
                raise FileError(
                    ErrorKind.READ_FAILED, f"Cannot read {path!r}: {problem.strerror}. Check its permissions."
                ) from None


def _cut_whole(data: bytes) -> bytes:
    """Leaves the beginning of a character to the next part, which has it whole."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data)
    begun, _ = decoder.getstate()
    return data[: len(data) - len(begun)]


def _describe(entries: "Iterator[os.DirEntry[str]]") -> Iterator[Listed]:
    for count, entry in enumerate(entries):
        if count >= _ENTRIES:
            return
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        name = entry.name.encode(errors="replace").decode()
        yield Listed(name, _name_kind(found.st_mode), found.st_size)


def _name_kind(mode: int) -> Literal["file", "folder", "link", "other"]:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"
