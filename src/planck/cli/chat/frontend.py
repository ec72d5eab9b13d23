"""What a conversation is held on: a screen, or lines in and lines out."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from planck.cli.chat.pager import ChangeList
from planck.cli.tell.blocks import Shows
from planck.cli.tell.styled import Line


class Frontend(Shows, Protocol):
    live: bool
    """Whether somebody sits there: pages, lists to choose from and an input that can be filled."""

    @property
    def width(self) -> int: ...

    async def page(
        self,
        title: str,
        lines: "Sequence[Line] | Callable[[], Sequence[Line]]",
        *,
        at_end: bool = False,
        commands: bool = False,
    ) -> None:
        """Lines to look at, the last ones first if that is said; a function is asked again meanwhile.

        `commands`: `/` types one of those that are listed, instead of a search.
        """

    async def choose(self, title: str, rows: Sequence[str]) -> int | None:
        """The number of a row; None: none of them."""

    async def confirm(self, offer: str, keys: Sequence[str]) -> str:
        """One of the keys, pressed by hand for an offer that is on the screen; empty where nobody can."""

    async def read_hidden(self, prompt: str) -> str | None:
        """A secret, typed without being shown; empty where it was left out, None where nobody can type."""

    async def browse(self, changes: ChangeList, act: Callable[[ChangeList], Awaitable[ChangeList]]) -> None:
        """Until it is left; `act` does what a key of the list means, and gives the list as it is then."""

    def edit(self, text: str) -> None:
        """Puts a text into the input."""

    def give_back(self, text: str) -> None:
        """Puts what could not be sent back into the input, before what was typed since."""

    def clear(self) -> None:
        """Empties the screen; what was on it can be scrolled back to."""

    def colour(self, on: bool | None) -> None:
        """With or without colours; None: as the terminal and its environment say."""

    def copy(self, text: str) -> bool:
        """Puts a text into the clipboard; False where there is none."""
