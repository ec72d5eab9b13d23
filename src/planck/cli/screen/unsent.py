"""What is typed and not sent yet, in a private file: after a kill it is put into the input again."""

import fcntl
import os
from pathlib import Path

_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


class Unsent:
    """Owns one file, which it holds locked: who can lock another one knows that its process is gone."""

    def __init__(self) -> None:
        self._file: Path | None = None
        self._fd = -1
        self._kept = ""

    def begin(self, folder: Path, place: str, name: str, *, others: bool = False) -> str:
        """From now on keeps a text under that name; returns what a process that is gone has left there.

        `others`: where there is none, also what was left under another name of the same place.
        """
        from hashlib import sha256  # the first frame waits for nothing that it does not need

        self.end("")
        prefix = sha256(place.encode(errors="replace")).hexdigest()[:16]
        self._file = folder / f"{prefix}-{name}"
        left = _take(self._file)
        if left or not others:
            return left
        try:
            found = sorted(folder.glob(f"{prefix}-*"), key=lambda file: file.stat().st_mtime, reverse=True)
        except OSError:
            return ""  # another process has taken one meanwhile
        return next(filter(None, map(_take, found)), "")

    def keep(self, text: str) -> None:
        """Keeps this text, and no longer the one before; none: it was sent."""
        if self._file is None or text == self._kept:
            return
        self._kept = text
        data = text.encode(errors="replace")
        try:
            if self._fd < 0:
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._fd = os.open(self._file, _FLAGS | os.O_CREAT, 0o600)
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(self._fd, data, 0)
            os.ftruncate(self._fd, len(data))
        except OSError:
            pass  # a text that can't be kept is no reason to fail

    def end(self, text: str) -> None:
        """Leaves this text for the next process; none: removes the file."""
        self.keep(text)
        if self._fd >= 0 and self._file:
            if not text:
                self._file.unlink(missing_ok=True)
            os.close(self._fd)
        self._file, self._fd, self._kept = None, -1, ""


def _take(file: Path) -> str:
    """Returns the text of a file that no process holds, and removes it."""
    try:
        fd = os.open(file, _FLAGS)
    except OSError:
        return ""  # there is none
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with open(fd, encoding="utf-8", errors="replace", closefd=False) as opened:
            text = opened.read()
        file.unlink(missing_ok=True)
        return text
    except OSError:
        return ""  # its process is at work
    finally:
        os.close(fd)
