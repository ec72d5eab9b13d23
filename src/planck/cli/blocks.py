"""Markdown while it is written: a block goes out once it is whole, so that nothing is drawn twice."""


class Blocks:
    def __init__(self) -> None:
        self._text = ""

    def feed(self, text: str) -> list[str]:
        """The blocks that this text completes; a blank line ends one, but not inside a fence."""
        self._text += text
        done: list[str] = []
        while (end := _end(self._text)) is not None:
            block, self._text = self._text[:end].strip("\n"), self._text[end:]
            if block.strip():
                done.append(block)
        return done

    def rest(self) -> str:
        """What is left, complete or not."""
        text, self._text = self._text.strip("\n"), ""
        return text


def _end(text: str) -> int | None:
    fence, at = "", 0
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            return None
        at += len(line)
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif bare.startswith(("```", "~~~")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        elif not bare and text[: at - len(line)].strip():
            return at
    return None
