"""Which lines of two versions of a file are the same."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

Lines = Sequence[bytes]
Blocks = list[tuple[int, int, int]]
"""Where the same lines begin in the new and in the old version, and how many they are."""
_SHORT = 7
"""Characters of a line that many files have often (`}`, `else:`, `return`): longer ones are matched first."""
_MAX_PAIRS = 4_000_000
"""Pairs of equal lines in what is compared in full; beyond it, none of them match."""


def match_lines(new: Lines, old: Lines) -> Blocks:
    """Matches the common head and tail, then lines that both have once, then what is left between them."""
    blocks: Blocks = []
    left = [(0, len(new), 0, len(old))]
    while left:
        a, z, b, y = left.pop()
        head = _count_same(new, old, a, b, min(z - a, y - b), 1)
        tail = _count_same(new, old, z - 1, y - 1, min(z - a, y - b) - head, -1)
        blocks += [(a, b, head)] * bool(head) + [(z - tail, y - tail, tail)] * bool(tail)
        a, b, z, y = a + head, b + head, z - tail, y - tail
        if a == z or b == y:
            continue
        anchors = _find_anchors(new[a:z], old[b:y], _SHORT) or _find_anchors(new[a:z], old[b:y])
        if not anchors:
            blocks += [(a + i, b + j, size) for i, j, size in _match_equal(new[a:z], old[b:y])]
            continue
        for i, j in anchors:
            blocks.append((a + i, b + j, 1))
        starts = [(a, b), *((a + i + 1, b + j + 1) for i, j in anchors)]
        ends = [*((a + i, b + j) for i, j in anchors), (z, y)]
        left += [(i, k, j, m) for (i, j), (k, m) in zip(starts, ends, strict=True)]
    return sorted(blocks)


def _count_same(new: Lines, old: Lines, a: int, b: int, most: int, step: int) -> int:
    for count in range(most):
        if new[a + step * count] != old[b + step * count]:
            return count
    return most


def _find_anchors(new: Lines, old: Lines, longer_than: int = -1) -> list[tuple[int, int]]:
    """Returns the longest run of lines, in order, that each version has exactly once."""
    counts, earlier = Counter(new), Counter(old)
    places = {
        line: at for at, line in enumerate(old) if earlier[line] == 1 and len(line.strip()) > longer_than
    }
    pairs = [(at, places[line]) for at, line in enumerate(new) if counts[line] == 1 and line in places]
    ends: list[int] = []
    """By length, the smallest place in `old` at which a run of that length ends."""
    last: list[int] = []
    back: list[int] = []
    for number, (_, there) in enumerate(pairs):
        length = bisect_left(ends, there)
        ends[length : length + 1] = [there]
        last[length : length + 1] = [number]
        back.append(last[length - 1] if length else -1)
    run = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(pairs[number])
        number = back[number]
    return run[::-1]


def _match_equal(new: Lines, old: Lines) -> Blocks:
    counts, earlier = Counter(new), Counter(old)
    if sum(count * earlier[line] for line, count in counts.items()) > _MAX_PAIRS:
        return []
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [(block.b, block.a, block.size) for block in blocks if block.size]
