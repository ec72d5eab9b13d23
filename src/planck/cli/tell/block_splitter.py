"""Markdown while it is written: a block goes out once it is whole, so that nothing is drawn twice."""


class BlockSplitter:
    """Takes text as it comes, and gives whole blocks."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        """Of the block that is not whole yet; the first is not blank."""
        self._open: list[str] = []
        """Pieces of the line that has not ended."""
        self._fence = ""

    def feed(self, text: str) -> list[str]:
        """The blocks that this text completes; a blank line ends one, but not inside a fence."""
        done: list[str] = []
        *ended, rest = text.split("\n")
        for piece in ended:
            line = "".join((*self._open, piece))
            self._open.clear()
            if self._within_block(line):
                self._lines.append(line)
            elif self._lines:
                done.append("\n".join(self._lines))
                self._lines.clear()
        if rest:
            self._open.append(rest)
        return done

    @property
    def open(self) -> str:
        """The line that has not ended, or the last of a block that has not."""
        return "".join(self._open[-200:]) or (self._lines[-1] if self._lines else "")

    def rest(self) -> str:
        """What is left, complete or not."""
        text = "\n".join((*self._lines, "".join(self._open))).strip("\n")
        self._lines, self._open, self._fence = [], [], ""
        return text

    def _within_block(self, line: str) -> bool:
        bare = line.strip()
        if self._fence:
            if bare.startswith(self._fence) and not bare.strip(self._fence[0]):
                self._fence = ""
            return True
        if bare.startswith(("```", "~~~")):
            self._fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        return bool(bare)
