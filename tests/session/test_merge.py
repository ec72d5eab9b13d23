"""Merging lines: each side's own change is kept, and a collision is never guessed."""

from hypothesis import given
from hypothesis import strategies as st

from planck.session.merge import merge

line = st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d\r\n"])
files = st.lists(line, max_size=12).map(b"".join)


@given(files, files)
def test_a_side_that_changed_nothing_leaves_the_other_as_it_is(base: bytes, side: bytes) -> None:
    assert merge(base, base, side) == side
    assert merge(base, side, base) == side
    assert merge(base, side, side) == side


@given(files, files, files, files, st.integers(1, 5))
def test_changes_in_different_places_are_both_kept(
    head: bytes, tail: bytes, new_head: bytes, new_tail: bytes, between: int
) -> None:
    middle = b"".join(b"middle %d\n" % n for n in range(between + 2))
    merged = merge(head + middle + tail, new_head + middle + tail, head + middle + new_tail)
    assert merged == new_head + middle + new_tail


@given(files, files, files)
def test_it_does_not_matter_which_side_is_which(base: bytes, one: bytes, other: bytes) -> None:
    assert merge(base, one, other) == merge(base, other, one)


def test_the_same_lines_in_two_ways_is_a_collision() -> None:
    assert merge(b"x\n", b"y\n", b"z\n") is None
    assert merge(b"a\nb\n", b"a\nnew\nb\n", b"a\nother\nb\n") is None
    assert merge(b"a\nb\n", b"a\nsame\nb\n", b"a\nsame\nb\nc\n") == b"a\nsame\nb\nc\n"
