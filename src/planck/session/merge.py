"""Three-way merge of a file's lines: what two sides made of one base, or nothing where they collide."""

from collections.abc import Sequence
from difflib import SequenceMatcher

MAX_LINES = 20_000
"""Of what is left after the common head and tail: matching more would take minutes."""

Hunk = tuple[int, int, tuple[bytes, ...]]
"""Lines [start, end) of the base become these."""


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Returns both sides' changes; None where they touch the same lines in different ways."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    lines = base.splitlines(keepends=True)
    mine, others = _find_hunks(lines, ours), _find_hunks(lines, theirs)
    if mine is None or others is None:
        return None
    merged: list[bytes] = []
    at = 0
    for start, end, text in _interleave(mine, others) or ((-1, -1, ()),):
        if start < at:
            return None
        merged += lines[at:start]
        merged += text
        at = end
    return b"".join([*merged, *lines[at:]])


def _interleave(mine: Sequence[Hunk], others: Sequence[Hunk]) -> list[Hunk]:
    """Puts all hunks in order, one where both sides say the same; empty where two collide."""
    for one in mine:
        for other in others:
            if one != other and _collide(one, other):
                return []
    return sorted({*mine, *others})


def _collide(one: Hunk, other: Hunk) -> bool:
    if one[0] == other[0] and (one[0] == one[1] or other[0] == other[1]):
        return True
    return max(one[0], other[0]) < min(one[1], other[1])


def _find_hunks(base: Sequence[bytes], side: bytes) -> list[Hunk] | None:
    lines = side.splitlines(keepends=True)
    head = _count_common(base, lines)
    tail = _count_common(base[head:][::-1], lines[head:][::-1])
    old, new = base[head : len(base) - tail], lines[head : len(lines) - tail]
    if len(old) + len(new) > MAX_LINES:
        return None
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        (head + i, head + j, tuple(new[k:m])) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"
    ]


def _count_common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


OURS_MARK, MIDDLE_MARK, THEIRS_MARK = b"<<<<<<< ", b"=======\n", b">>>>>>> "


def merge_marked(base: bytes, ours: bytes, theirs: bytes, ours_name: str, theirs_name: str) -> bytes | None:
    """Returns both sides' changes, and both versions between markers where they collide.

    None where the files are too long to be compared.
    """
    lines = base.splitlines(keepends=True)
    mine, others = _find_hunks(lines, ours), _find_hunks(lines, theirs)
    if mine is None or others is None:
        return None
    marks = OURS_MARK + ours_name.encode() + b"\n", THEIRS_MARK + theirs_name.encode() + b"\n"
    merged: list[bytes] = []
    at = 0
    for start, end, one, other in _find_regions(mine, others):
        merged += lines[at:start]
        left, right = _rewrite(lines, start, end, one), _rewrite(lines, start, end, other)
        if not one or left == right:
            merged += right
        elif not other:
            merged += left
        else:
            merged += [marks[0], *_whole(left), MIDDLE_MARK, *_whole(right), marks[1]]
        at = end
    return b"".join([*merged, *lines[at:]])


def has_markers(content: bytes, ours_name: str) -> bool:
    """Whether a conflict of `merge_marked` is still in it."""
    return any(line.rstrip(b"\r\n") == OURS_MARK + ours_name.encode() for line in content.splitlines())


Region = tuple[int, int, list[Hunk], list[Hunk]]


def _find_regions(mine: Sequence[Hunk], others: Sequence[Hunk]) -> list[Region]:
    """Puts hunks that collide, directly or through others, into one region of the base, in order."""
    regions: list[Region] = []
    sides = sorted([(hunk, 0) for hunk in mine] + [(hunk, 1) for hunk in others])
    for hunk, side in sides:
        if regions and any(hunk == one or _collide(hunk, one) for one in (*regions[-1][2], *regions[-1][3])):
            start, end, left, right = regions.pop()
            regions.append((start, max(end, hunk[1]), left, right))
        else:
            regions.append((hunk[0], hunk[1], [], []))
        _, _, left, right = regions[-1]
        (right if side else left).append(hunk)
    return regions


def _rewrite(lines: Sequence[bytes], start: int, end: int, hunks: Sequence[Hunk]) -> list[bytes]:
    """Returns lines [start, end) of the base as one side has them."""
    written: list[bytes] = []
    for first, last, text in hunks:
        written += [*lines[start:first], *text]
        start = last
    return [*written, *lines[start:end]]


def _whole(lines: list[bytes]) -> list[bytes]:
    """Ends the last line, so that a marker stands on a line of its own."""
    if lines and not lines[-1].endswith(b"\n"):
        return [*lines[:-1], lines[-1] + b"\n"]
    return lines
