"""One server for a home and a workspace: its lock, its record, and the file with its token."""

import fcntl
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from planck.records import codec
from planck.records.outcome import ErrorKind, PlanckError

TOKEN = "token"
RECORD = "server.json"


class Record(msgspec.Struct, frozen=True):
    """What the first line of `planck serve --json` says, for whoever comes later; no secret is in it."""

    url: str
    token_file: str
    pid: int
    workspace: str


class PresenceError(PlanckError):
    """Another server is there already, or its files can't be written."""


class Presence:
    """Held while the server runs; the kernel frees the lock whatever way it ends."""

    def __init__(self, home: Path, workspace: Path) -> None:
        place = hashlib.sha256(os.path.realpath(workspace).encode(errors="surrogateescape")).hexdigest()[:16]
        self.folder: Path = home / "servers" / place
        self._workspace = workspace
        self._fd = -1

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._release()
            raise self._describe_other() from None
        except OSError as problem:
            self._release()
            raise PresenceError(
                ErrorKind.WRITE_FAILED,
                f"Cannot write to {str(self.folder)!r}: {problem.strerror}. "
                "Fix its permissions, or set PLANCK_HOME to another folder.",
            ) from None
        return self

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in (TOKEN, RECORD):
            with suppress(OSError):
                (self.folder / name).unlink()
        self._release()

    def publish(self, url: str, token: str) -> Record:
        """Writes the token, alone and for the user only, then the record that names it."""
        record = Record(url, str(self.folder / TOKEN), os.getpid(), str(self._workspace))
        self._write(TOKEN, token.encode())
        self._write(RECORD, codec.encode(record))
        return record

    def _write(self, name: str, data: bytes) -> None:
        """A new file each time: one that somebody else had opened, or gave other rights, is not it."""
        path, new = self.folder / name, self.folder / f"{name}.new"
        with suppress(FileNotFoundError):
            new.unlink()
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        new.replace(path)

    def _describe_other(self) -> PresenceError:
        try:
            other = codec.decode_as((self.folder / RECORD).read_bytes(), Record)
        except (OSError, codec.DecodeError):
            return PresenceError(
                ErrorKind.WRITER_CONFLICT, "Another server for this workspace is starting. Try again."
            )
        return PresenceError(
            ErrorKind.WRITER_CONFLICT,
            f"Process {other.pid} already serves this workspace at {other.url}. "
            f"Use it with the token in {other.token_file}, or stop it first.",
            {"url": other.url, "pid": other.pid, "token_file": other.token_file},
        )

    def _release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
