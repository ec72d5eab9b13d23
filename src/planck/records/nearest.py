"""What was probably meant: the known words nearest to one that is not known."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, count: int = 1, cutoff: float = 0.6) -> list[str]:
    """Returns at most `count` of the known words, the nearest first; `cutoff` is how alike they must be."""
    from difflib import get_close_matches  # only where something was mistyped

    return get_close_matches(word, list(known), n=count, cutoff=cutoff)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns `. Did you mean 'x'?` to end a sentence with, or nothing."""
    return _ask(nearest(word, known))


def did_you_mean_one_of(word: str, known: Iterable[str]) -> str:
    """Returns `. Did you mean 'x' or 'y'?`, or nothing; upper and lower case are the same."""
    folded = {name.casefold(): name for name in known}
    return _ask([folded[found] for found in nearest(word.casefold().strip()[:100], folded, count=3)])


def _ask(found: list[str]) -> str:
    return f". Did you mean {' or '.join(map(repr, found))}?" if found else ""
