"""What could stand where the cursor is: choices, who knows them, and the list that is shown of them."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

from planck.cli.screen.styled import Line, cut
from planck.records.visible import count_columns

_SHOWN = 6
_MAX_FILES = 200_000
_MAX_CHOICES = 50
_QUOTES = "\"'"


class Choice(NamedTuple):
    start: int
    """Where in the text the word begins that it takes the place of."""
    text: str
    about: str = ""


class Completer(Protocol):
    """Knows what a word may become; asked at each stroke, so what takes long is kept."""

    async def complete(self, before: str) -> Sequence[Choice]:
        """`before`: the text up to the cursor; nothing where the word there is none of its."""


class Words:
    """Words behind a mark: commands behind a `/` that begins the text, or models behind `/model `."""

    def __init__(self, mark: str, words: Callable[[], Iterable[tuple[str, str]]]) -> None:
        self._mark = mark
        self._words = words

    async def complete(self, before: str) -> Sequence[Choice]:
        if not before.startswith(self._mark) or " " in before[len(self._mark) :] or "\n" in before:
            return ()
        typed = before[len(self._mark) :].lower()
        found = [(word, about) for word, about in self._words() if word.lower().startswith(typed)]
        return [Choice(len(self._mark), f"{word} ", about) for word, about in found]


class Files:
    """Files of a workspace behind an `@`, as often as one stands in the text; agents come first.

    The tree is walked in a thread, at most so far, and again when the last walk is older than a few seconds.
    """

    def __init__(
        self,
        root: Path,
        walk: Callable[[str], Iterable[str]],
        agents: Callable[[], Iterable[tuple[str, str]]] = tuple,
    ) -> None:
        self._root = root
        self._walk = walk
        self._agents = agents
        self._known: list[str] = []
        self._until = 0.0
        self._walking: asyncio.Future[list[str]] | None = None

    async def complete(self, before: str) -> Sequence[Choice]:
        at = before.rfind("@")
        while at > 0 and not before[at - 1].isspace():  # part of a path, as in `@node_modules/@types`
            at = before.rfind("@", 0, at)
        word = before[at + 1 :]
        quote = word[:1] if word[:1] in _QUOTES else ""
        ends = quote in word[1:] if quote else any(one.isspace() for one in word)
        if at < 0 or ends or "\n" in word:
            return ()
        word = word.removeprefix(quote)
        agents = [pair for pair in self._agents() if at == 0 and pair[0].lower().startswith(word.lower())]
        files = _rank(await self._files(), word)
        return [
            *(Choice(at + 1, f"{name} ", about) for name, about in agents),
            *(Choice(at + 1, f"{_quote(path)} ", "") for path in files),
        ]

    async def _files(self) -> list[str]:
        loop = asyncio.get_running_loop()
        if self._walking is None and loop.time() >= self._until:
            self._walking = loop.run_in_executor(None, self._list)
        if self._walking is not None:
            self._known = await asyncio.shield(self._walking)
            self._walking, self._until = None, loop.time() + 5.0
        return self._known

    def _list(self) -> list[str]:
        prefix = f"{self._root}/"
        found = islice(self._walk(str(self._root)), _MAX_FILES)
        return [path.removeprefix(prefix).removeprefix("./") for path in found]


def _quote(path: str) -> str:
    """Returns a path as a message names it: one with blanks stands in quotes."""
    if path[:1] not in _QUOTES and not any(one.isspace() for one in path):
        return path
    quote = _QUOTES[0] if _QUOTES[0] not in path else _QUOTES[1]
    return f"{quote}{path}{quote}"


def _rank(paths: list[str], word: str) -> list[str]:
    """Those whose name begins so, then whose path does, then which have it somewhere; each group in order."""
    wanted = word.lower()
    groups: tuple[list[str], list[str], list[str]] = ([], [], [])
    for path in paths:
        low = path.lower()
        if wanted in low:
            name = low.rpartition("/")[2]
            group = 0 if name.startswith(wanted) else 1 if low.startswith(wanted) else 2
            groups[group].append(path)
            if len(groups[0]) == _MAX_CHOICES:
                break
    return [path for group in groups for path in group][:_MAX_CHOICES]


class Menu:
    """The list above the input; nothing is chosen until somebody moves in it, and Tab takes the first."""

    def __init__(self) -> None:
        self.choices: Sequence[Choice] = ()
        self._at: int | None = None

    @property
    def open(self) -> bool:
        return bool(self.choices)

    @property
    def chosen(self) -> Choice | None:
        return self.choices[self._at] if self._at is not None else None

    @property
    def first(self) -> Choice:
        return self.chosen or self.choices[0]

    def offer(self, choices: Sequence[Choice]) -> None:
        self.choices, self._at = choices, None

    def close(self) -> None:
        self.offer(())

    def move(self, step: int) -> None:
        at = self._at if self._at is not None else (-1 if step > 0 else 0)
        self._at = (at + step) % len(self.choices)

    def lines(self, width: int) -> list[Line]:
        first = max(0, min((self._at or 0) - _SHOWN // 2, len(self.choices) - _SHOWN))
        shown = self.choices[first : first + _SHOWN]
        widest = min(max(count_columns(choice.text) for choice in shown) + 2, max(12, width // 2))
        lines: list[Line] = []
        for number, choice in enumerate(shown, first):
            text = cut(choice.text.rstrip(), widest - 1)
            mark = "→" if number == self._at else " "
            pad = " " * (widest - count_columns(text))
            lines.append(
                (
                    (f"  {mark} ", ""),
                    (text + pad, "bold" if number == self._at else ""),
                    (choice.about, "dim"),
                )
            )
        if len(self.choices) > _SHOWN:
            count = len(self.choices)
            words = f"first {count} matches" if count >= _MAX_CHOICES else f"{count} matches"
            lines[-1] += ((f"  {words}", "dim"),)
        return lines
