"""Which session has a name or an id, without a look at every file of the folder.

Links in `<sessions>/index` lead to the log's file name: `i.<id>`, and `n.<workspace>.<name>` with a digest of
the workspace. `n..<name>` says that there may be more of that name than its link knows of. A link is a hint:
a session is what its log says, while the log is there.

A link to what was there before the index, or may be of any workspace, is a symbolic one. The others are
second names of the file beside the log, which says what the log is called: a tenth of what a new file costs.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from planck.store.names import id_in, name_in
from planck.store.sqlite import lock_file
from planck.store.sqlite.database import companion

_COMPLETE = "complete"


class NameIndex:
    """What is noted and forgotten here is so for every process at once; whoever does holds the names."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self._folder = folder
        self._index = str(folder / "index")
        self._place = _digest_place(workspace)

    @property
    def complete(self) -> bool:
        """Whether every log of the folder was looked at once: each that was made since is in it."""
        return os.path.exists(f"{self._index}/{_COMPLETE}")

    def build(self) -> None:
        """Takes in the logs that are there, without opening one; cut off at any point it is begun again."""
        with suppress(FileExistsError):
            os.mkdir(self._index, 0o700)
        with os.scandir(self._folder) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(".db") and "_" in entry.name]
        for name in names:
            path = self._folder / name
            self._link(f"i.{id_in(path)}", name)
            self._link(f"n..{name_in(path)}", name)
        os.close(os.open(f"{self._index}/{_COMPLETE}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))

    def find_id(self, id: str) -> Path | None:
        return self._follow(f"i.{id}")

    def find_name(self, name: str) -> Path | None:
        """Returns the one of this workspace that was noted last, whether or not its log is there."""
        return self._follow(f"n.{self._place}.{name}")

    def is_doubtful(self, name: str) -> bool:
        """Whether only the logs themselves tell which sessions have that name."""
        return os.path.lexists(f"{self._index}/n..{name}")

    def note(self, path: Path, name: str) -> None:
        """Enters a session of this workspace under a name, which its file need not have yet."""
        before = self.find_name(name)
        if before and before != path and before.exists():
            self._link(f"n..{name}", path.name)
        self.note_new(path, name)

    def note_new(self, path: Path, name: str) -> None:
        """The same for a name that is known to be nobody else's."""
        self._name(f"i.{id_in(path)}", path)
        self._name(f"n.{self._place}.{name}", path)

    def note_stranger(self, path: Path) -> None:
        """Enters one that may be of any workspace."""
        if self.find_name(name_in(path)) == path:
            os.unlink(f"{self._index}/n.{self._place}.{name_in(path)}")
        self._link(f"i.{id_in(path)}", path.name)
        self._link(f"n..{name_in(path)}", path.name)

    def forget(self, path: Path, name: str) -> None:
        """Takes away what leads to this log by a name, and by its id once it is gone."""
        links = (
            [f"n.{self._place}.{name}"] if path.exists() else [f"n.{self._place}.{name}", f"i.{id_in(path)}"]
        )
        for link in links:
            if self._follow(link) == path:
                with suppress(OSError):
                    os.unlink(f"{self._index}/{link}")

    def _follow(self, link: str) -> Path | None:
        try:
            target = _read(f"{self._index}/{link}")
        except OSError:
            return None
        return self._folder / os.path.basename(target) if target else None

    def _name(self, link: str, path: Path) -> None:
        """Gives the file beside the log a second name; where that can't be, it is a link like the others."""
        beside_it, new = companion(path, "lock"), f"{self._index}/{link}"
        try:
            os.link(beside_it, new)
        except FileExistsError:
            if self._follow(link) != path:
                os.unlink(new)
                self._name(link, path)
        except OSError:
            self._link(link, path.name)

    def _link(self, link: str, target: str) -> None:
        path = f"{self._index}/{link}"
        try:
            os.symlink(target, path)
        except FileExistsError:
            if _read(path) != target:
                os.unlink(path)
                os.symlink(target, path)


def _read(link: str) -> str:
    try:
        return os.fsdecode(lock_file.get(link, lock_file.NAME))
    except FileNotFoundError:
        raise
    except OSError:  # each system has its own word for a symbolic one
        return os.readlink(link)


def _digest_place(workspace: Path) -> str:
    return hashlib.sha256(os.path.realpath(workspace).encode(errors="surrogateescape")).hexdigest()[:16]
