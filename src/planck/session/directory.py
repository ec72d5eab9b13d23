"""Stored sessions on disk: their names, and how one is found."""

import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from planck.records.outcome import ErrorKind, PlanckError
from planck.store.sqlite import SqliteStore
from planck.store.store import StoreError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class SessionError(PlanckError):
    """No such session, or a name that can't be used."""


def new_path(folder: Path, id: str, name: str) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"{id}_{name}.db"


def valid_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


@contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Of all processes one at a time, from `free_name` until the file is there: a free name stays free.

    Nothing may be awaited in it: a second one of the same process would wait for ever.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as problem:
        raise StoreError(
            ErrorKind.LOG_WRITE_FAILED,
            f"sessions can't be kept in {str(folder)!r}: {problem.strerror}; "
            "choose another sessions_dir, or pass --no-session",
        ) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def free_name(folder: Path, wanted: str, workspace: Path, invent: Callable[[], str]) -> str:
    """The wanted name if it is free, or an invented one."""
    if wanted:
        if not _NAME.fullmatch(wanted):
            raise SessionError(
                ErrorKind.INVALID_ARGS,
                f"{wanted!r} can't be a session's name; use letters, digits, '.', '_' and '-', at most 64",
            )
        if _named(folder, wanted, workspace):
            raise SessionError(
                ErrorKind.NOT_UNIQUE, f"a session named {wanted!r} already exists; resume it with -r {wanted}"
            )
        return wanted
    while True:
        name = invent()
        if not _named(folder, name, workspace):
            return name


def find(folder: Path, id_or_name: str, workspace: Path) -> Path:
    if _NAME.fullmatch(id_or_name):
        by_id = sorted(folder.glob(f"{id_or_name}_*.db"))
        found = by_id or _named(folder, id_or_name, workspace)
        if found:
            return found[-1]
    raise SessionError(
        ErrorKind.NOT_FOUND, f"no session {id_or_name!r} here; `planck sessions list --all` shows them"
    )


def newest(folder: Path, workspace: Path) -> Path:
    found = _in_workspace(folder.glob("*_*.db"), workspace)
    if not found:
        raise SessionError(ErrorKind.NOT_FOUND, "no session of this workspace to continue; start one first")
    return found[-1]


def _named(folder: Path, name: str, workspace: Path) -> list[Path]:
    found = (path for path in folder.glob(f"*_{name}.db") if path.stem.partition("_")[2] == name)
    return _in_workspace(found, workspace)


def same_place(recorded: str, workspace: Path) -> bool:
    """Whatever link either was reached by."""
    return recorded == str(workspace) or os.path.realpath(recorded) == os.path.realpath(workspace)


def _in_workspace(paths: Iterable[Path], workspace: Path) -> list[Path]:
    """Those of this workspace, oldest first."""
    found = []
    for path in paths:
        try:
            store = SqliteStore.read_only(path)
        except StoreError:
            continue
        try:
            if same_place(store.meta.get("workspace", ""), workspace):
                found.append((store.meta.get("created", ""), path))
        finally:
            store.close()
    return [path for _, path in sorted(found)]
