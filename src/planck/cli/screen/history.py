"""What was entered before, oldest first; kept in the home, one entry a line."""

import os
from pathlib import Path

_KEPT = 1000
_NEWLINE = "\x1f"
"""Stands for a newline inside an entry: no entry has a control byte of its own."""


class History:
    """Each entry is in the file as soon as it is entered; what was kept before is read when asked for."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._entries: list[str] | None = None
        self._last = ""

    def keep_in(self, file: Path) -> None:
        """From now on; what was entered before that is kept too."""
        early, self._entries, self._last = self._entries or [], None, ""
        self._file = file
        for entry in early:
            self.add(entry)

    @property
    def entries(self) -> list[str]:
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def add(self, entry: str) -> None:
        entry = entry.strip("\n")
        if not entry.strip() or entry == self._last:
            return
        self._last = entry
        if self._entries is not None or self._file is None:
            self.entries.append(entry)
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            with open(os.open(self._file, flags, 0o600), "w", encoding="utf-8", errors="replace") as out:
                out.write(entry.replace("\n", _NEWLINE) + "\n")
        except OSError:
            pass  # a history that can't be kept is no reason to fail

    def find(self, words: str, before: int | None = None) -> int | None:
        """The newest entry before that number in which the words stand."""
        entries = self.entries
        for number in range(len(entries) if before is None else before, 0, -1):
            if words in entries[number - 1]:
                return number - 1
        return None

    def _read(self) -> list[str]:
        if self._file is None:
            return []
        try:
            text = self._file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []  # there is none yet
        lines = [line for line in text.split("\n") if line]
        if len(lines) > 2 * _KEPT:
            lines = lines[-_KEPT:]
            try:
                self._file.write_text(
                    "".join(f"{line}\n" for line in lines), encoding="utf-8", errors="replace"
                )
            except OSError:
                pass  # it stays long
        return [line.replace(_NEWLINE, "\n") for line in lines]
