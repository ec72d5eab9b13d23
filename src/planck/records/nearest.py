"""What was probably meant: the known words nearest to one that is not known."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, count: int = 1, cutoff: float = 0.6) -> list[str]:
    """Returns at most `count` of the known words, the nearest first; `cutoff` is how alike they must be."""
    from difflib import get_close_matches  # only where something was mistyped

    words = list(dict.fromkeys(known))
    alike = get_close_matches(word, words, n=len(words) or 1, cutoff=cutoff)
    # difflib looks for common runs: `modle` would be nearer to `mode` than to `model`. Typing errors decide.
    errors = {one: _count_errors(word, one) for one in words if one in alike or len(one) == len(word)}
    close = [one for one in errors if one in alike or (errors[one] == 1 and len(word) > 2)]
    rank = {one: at for at, one in enumerate(alike)}
    letters = sorted(word)  # of two words as near, the one with the same letters was meant
    order = sorted(close, key=lambda one: (errors[one], sorted(one) != letters, rank.get(one, len(rank))))
    return order[:count]


def _count_errors(word: str, meant: str) -> int:
    """Counts the letters that were added, left out, replaced or swapped with their neighbor."""
    before: list[int] = []
    last = list(range(len(meant) + 1))
    for row, letter in enumerate(word, 1):
        now = [row]
        for column, other in enumerate(meant, 1):
            least = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != other))
            if row > 1 < column and letter == meant[column - 2] and other == word[row - 2]:
                least = min(least, before[column - 2] + 1)
            now.append(least)
        before, last = last, now
    return last[-1]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Returns `. Did you mean 'x'?` to end a sentence with, or nothing."""
    return _ask(nearest(word, known))


def did_you_mean_one_of(word: str, known: Iterable[str]) -> str:
    """Returns `. Did you mean 'x' or 'y'?`, or nothing; upper and lower case are the same."""
    folded = {name.casefold(): name for name in known}
    return _ask([folded[found] for found in nearest(word.casefold().strip()[:100], folded, count=3)])


def _ask(found: list[str]) -> str:
    return f". Did you mean {' or '.join(map(repr, found))}?" if found else ""
