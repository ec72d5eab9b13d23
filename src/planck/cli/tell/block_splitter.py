"""Markdown while it is written: a block goes out once it is whole, so that nothing is drawn twice.

Code goes out line by line: a block of it may take a minute to be written, and its lines stand for themselves.
"""

import re

from planck.cli.tell.blocks import Answer


class BlockSplitter:
    """Takes text as it comes, and gives whole blocks, and lines of code."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        """Of the block that is not whole yet; the first is not blank."""
        self._open: list[str] = []
        """Pieces of the line that has not ended."""
        self._fence = ""
        """What ends the code block that has begun; of one within a list, which goes out with that."""
        self._code: str | None = None
        """The language of a code block whose lines go out; None: none is open."""
        self._indent = 0
        self._begun = False
        """Whether a line of that code block went out."""

    def feed(self, text: str) -> list[Answer]:
        """What this text completes; a blank line ends a block, but not inside a fence."""
        if "\n" not in text:  # as most deltas
            if text:
                self._open.append(text)
            return []
        done: list[Answer] = []
        code: list[str] = []
        *ended, rest = text.split("\n")
        for piece in ended:
            line = "".join((*self._open, piece))
            self._open.clear()
            if self._code is not None:
                if self._closes(line):
                    done += self._take_code(code)
                    self._fence, self._code, self._begun = "", None, False
                else:
                    code.append(line)
            elif not self._fence and self._begins_code(line):
                done += self._take_block()
            elif self._within_block(line):
                self._lines.append(line)
            else:
                done += self._take_block()
        if rest:
            self._open.append(rest)
        return done + self._take_code(code)

    @property
    def open(self) -> str:
        """The line that has not ended, or the last of a block that has not."""
        return "".join(self._open[-200:]) or (self._lines[-1] if self._lines else "")

    def rest(self) -> list[Answer]:
        """What is left, complete or not."""
        last = "".join(self._open)
        done: list[Answer] = []
        if self._code is not None:
            done = self._take_code([last] if last and not self._closes(last) else [])
        elif text := "\n".join((*self._lines, last)).strip("\n"):
            done = [Answer(text)]
        self._lines, self._open, self._fence, self._code, self._begun = [], [], "", None, False
        return done

    def _take_block(self) -> list[Answer]:
        lines, self._lines = self._lines, []
        return [Answer("\n".join(lines))] if lines else []

    def _take_code(self, lines: list[str]) -> list[Answer]:
        if not lines or self._code is None:
            return []
        follows, self._begun = self._begun, True
        text = "\n".join(line[min(self._indent, len(line) - len(line.lstrip(" "))) :] for line in lines)
        lines.clear()
        return [Answer(text, self._code, follows)]

    def _begins_code(self, line: str) -> bool:
        """Whether lines of code begin; a fence that is indented below other lines is a part of their list."""
        found = _FENCE.match(line)
        if not found or (self._lines and found[1]):
            return False
        self._indent, self._fence, self._code = len(found[1]), found[2], found[3]
        return True

    def _closes(self, line: str) -> bool:
        bare = line.strip()
        return bare.startswith(self._fence) and not bare.strip(self._fence[0])

    def _within_block(self, line: str) -> bool:
        bare = line.strip()
        if self._fence:
            if self._closes(line):
                self._fence = ""
            return True
        if found := _FENCE.match(bare):
            self._fence = found[2]
        return bool(bare)


_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})\s*([\w+#.-]*)")
"""The beginning of a code block, and its language."""
