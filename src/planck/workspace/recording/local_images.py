"""Old contents of files that git ignores: beside the log, for this user alone, and never in it."""

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path


class LocalImages:
    """Keeps them by digest in a folder of one session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, content: bytes) -> str:
        """Returns the name of the content once it survives this process."""
        name = hashlib.sha256(content).hexdigest()
        file = self._folder / name
        if not file.exists():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._folder / f".{name}-{os.getpid()}"
            with suppress(FileNotFoundError):
                temporary.unlink()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(temporary, flags, 0o600)
            with os.fdopen(fd, "wb") as new:
                new.write(content)
                new.flush()
                os.fsync(fd)
            temporary.rename(file)
        return name

    def load(self, name: str) -> bytes | None:
        """Returns the content; None where it is not here, or is not what the name says."""
        if not re.fullmatch(r"[0-9a-f]{64}", name):
            return None
        try:
            content = (self._folder / name).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == name else None
