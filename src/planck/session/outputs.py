"""Outputs that were too long for the model: one file a call beside the log, fetched where another machine
made it."""

import os
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planck.records.events import ToolEnd, view
from planck.records.outcome import ErrorKind
from planck.store.sqlite.directory import make_private
from planck.store.sqlite.library import use_log
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import SessionError, StoreError
from planck.tools.builtin.files import SHARED_BYTES, Spills
from planck.tools.results import is_spilled

if TYPE_CHECKING:
    from planck.store.library import LocalLibrary


RECORDING = "recording"
"""Below it: what running commands found before they changed it, one file a call."""
IMAGES = "images"
"""Below it: old contents of files that git ignores."""


def name_outputs(folder: Path, session_id: str) -> Path:
    """Returns the folder of a session's outputs, beside its log."""
    return folder / f"{session_id}.output"


def find_output(library: "LocalLibrary", session_id: str, call_id: str) -> Path | None:
    """Returns the file with the whole output of a call; None where there is none beside what the log shows.

    `resource_missing` where the rest of it is on no machine that can be asked.
    """
    file = Spills(name_outputs(library.folder, session_id)).file(call_id)
    if file is None or (file.is_file() and not file.is_symlink()):
        return file
    try:
        opened = use_log(partial(library.path_of, session_id), SqliteReader.open)
    except SessionError:  # one without a log
        return None
    with closing(opened) as log:
        end = _find_end(log, call_id)
        if end is None or not is_spilled(end):
            return None
        if end.whole and (content := _fetch(library, session_id, log, end.whole)) is not None:
            _write(file, content)
            return file
    raise StoreError(
        ErrorKind.RESOURCE_MISSING,
        f"the full output of call {call_id!r} is not available here: output over {SHARED_BYTES >> 20} MiB "
        "stays on the machine where the command ran. Its beginning and end were shown. If you need the rest, "
        "and it is safe to run the command again, redirect its output to a file in the workspace",
        {"call_id": call_id},
    )


def _fetch(library: "LocalLibrary", session_id: str, log: SqliteReader, name: str) -> bytes | None:
    for blob in library.list_detached(session_id, name):
        return blob
    with suppress(StoreError):  # in the file itself: of a fork, or imported
        return log.blob(name)
    return None


def _find_end(log: SqliteReader, call_id: str) -> ToolEnd | None:
    for event in log.read():
        if event.type == ToolEnd.type and isinstance(end := view(event), ToolEnd) and end.id == call_id:
            return end
    return None


def _write(file: Path, content: bytes) -> None:
    """Whole, or not there; two who fetch it at once write the same."""
    make_private(file.parent)
    part = file.with_name(f".{file.name}.{os.urandom(4).hex()}")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as stream:
            stream.write(content)
        part.replace(file)
    except OSError as failure:
        part.unlink(missing_ok=True)
        raise StoreError(
            ErrorKind.WRITE_FAILED,
            f"the output from another machine cannot be stored here: {failure}; "
            "check the free disk space and the permissions",
        ) from failure
