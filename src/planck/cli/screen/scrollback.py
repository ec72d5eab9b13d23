"""Standard output and error while a screen is open: whatever is printed goes above the live rows, whole."""

import io
from collections.abc import Callable


class Scrollback(io.TextIOBase):
    """Hands on lines; what has no newline yet waits for it."""

    encoding = "utf-8"

    def __init__(self, print_: Callable[[str], None]) -> None:
        self._print = print_
        self._begun = ""

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._print(line)
        return len(text)

    def finish(self) -> None:
        if self._begun:
            self.write("\n")
