"""A diff that somebody decides by tells every change of bytes, and what is left out of it."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planck.records.diffs import ESCAPED, UNENDED, cut_middle, diff_bytes, name_path

SEPARATORS = ["\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r\r\n"]
PIECES = ["a", "b", "\n", "\r\n", "\\", "\\u2028", "\\x0d", "\t", " ", "-- ", "@@ -1 +1 @@", *SEPARATORS]
contents = st.lists(
    st.sampled_from([piece.encode() for piece in PIECES] + [b"\xff", b"\x85", b"\xed\xb2\x80", b"a\r\n" * 4]),
    max_size=14,
).map(b"".join)


def apply(rows: list[str], old: bytes) -> bytes:
    """Returns what the rows make of the old content, read as a person reads them."""
    # CR LF is left out where every line of both files ends so; the old rows tell which of the two it is.
    ends = ["\r\n", "\n"] if 0 < old.count(b"\n") == old.count(b"\r\n") else ["\n"]
    (made,) = [made for end in ends if (made := apply_with(end, rows, old)) is not None]
    return made


def apply_with(end: str, rows: list[str], old: bytes) -> bytes | None:
    *lines, last = old.decode(errors="surrogateescape").split(end)
    left = [line + end for line in lines] + ([last] if last else [])
    made: list[str] = []
    at = 0
    for number, row in enumerate(rows[2:], 2):
        if found := re.match(r"@@ -(\d+)(?:,(\d+))? ", row):
            start = int(found[1]) - (found[2] != "0")
            made += left[at:start]
            at = start
            continue
        if row.startswith("\\"):
            continue
        notes = rows[number + 1 : number + 3]
        escaped = notes[:1] == [ESCAPED]
        unended = UNENDED in notes[: 1 + escaped]
        text = (unescape(row[1:]) if escaped else row[1:]) + ("" if unended else end)
        if row[0] != "+":
            if left[at] != text:
                return None
            at += 1
        if row[0] != "-":
            made.append(text)
    return "".join([*made, *left[at:]]).encode(errors="surrogateescape")


def unescape(text: str) -> str:
    escape = r"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))"
    return re.sub(escape, lambda one: one[1] or chr(int(one[2] or one[3] or one[4], 16)), text)


@given(contents, contents)
@example(b"a\r\nb\r\n", b"a\nb\n")
@example(b"a\n\x85", b"a\n\xc2\x85")
@example(b"a\n# b\xe2\x80\xa8c\n", b"a\n# b\nc\n")
def test_the_rows_of_a_diff_make_the_new_bytes_of_the_old_ones(old: bytes, new: bytes) -> None:
    rows = diff_bytes(old, new, "f")
    assert bool(rows) == (old != new)
    assert all(row.replace("\t", "").isprintable() for row in rows)
    assert apply(rows, old) == new if rows else old == new


@given(contents, contents, contents)
@example(b"a\n", "\u2028\n".encode(), b"\\u2028\n")
@example(b"a\n", b"a", b"a\n\n")
@example(b"a\n", b"\xff\n", b"\xfe\n")
def test_two_changes_of_one_file_never_look_the_same(old: bytes, one: bytes, other: bytes) -> None:
    assert (diff_bytes(old, one, "f") == diff_bytes(old, other, "f")) == (one == other)


def test_ordinary_lines_are_shown_as_they_are() -> None:
    rows = diff_bytes(
        b'print("\\x1b[0m\\u2028")\r\n\tx\r\n', b'print("\\x1b[1m\\u2028")\r\n\tx\r\n', "a b/ü.py"
    )
    assert rows == [
        *("--- a/a b/ü.py", "+++ b/a b/ü.py", "@@ -1,2 +1,2 @@"),
        *('-print("\\x1b[0m\\u2028")', '+print("\\x1b[1m\\u2028")', " \tx"),
    ]


def test_a_file_that_comes_or_goes_is_told_even_if_it_is_empty() -> None:
    assert diff_bytes(None, b"", "x") == ["--- /dev/null", "+++ b/x"]
    assert diff_bytes(b"", None, "x") == ["--- a/x", "+++ /dev/null"]
    assert diff_bytes(None, b"a", "x")[2:] == ["@@ -0,0 +1 @@", "+a", UNENDED]


@given(st.text(st.sampled_from('ab\\"\n\r\t\u2028\u202e x0n'), min_size=1), st.text(min_size=1))
@example("a\n--- a/notes.md\n+++ b/notes.md", "x")
def test_a_path_is_one_visible_line_and_no_other_path_looks_the_same(one: str, other: str) -> None:
    assert name_path(one).isprintable()
    assert (name_path(one) == name_path(other)) == (one == other)
    assert name_path("src/a b\\c.py") == "src/a b\\c.py"


@given(st.text(st.sampled_from("ab\n+-\\ @"), max_size=300), st.integers(8, 100))
@example("a" * 50, 8)
@example("a\n" * 50, 9)
@example("a" * 50 + "\nb\n", 8)
def test_what_is_left_out_of_a_text_is_counted(text: str, limit: int) -> None:
    shown, hidden = cut_middle(text, limit)
    if not hidden:
        assert shown == text
        return
    first, _, last = shown.partition(f"\n[{hidden} line{' is' if hidden == 1 else 's are'} not shown]")
    assert text.startswith(first.removesuffix("…"))
    assert text.endswith(last.removeprefix("\n"))
    whole = [*first.split("\n")[: -1 if first.endswith("…") else None], *last.split("\n")[1:]]
    lines = text.split("\n")
    assert len(lines) - len(whole) - (not last and text.endswith("\n")) == hidden


@pytest.mark.parametrize("limit", range(600, 3_900, 97))
def test_both_ends_of_a_long_diff_are_shown_with_their_numbers(limit: int) -> None:
    old = [f"-- {n}" for n in range(400)]
    new = [line.upper() + "." if int(line[3:]) % 7 == 0 else line for line in old] + ["EVIL"]
    rows = diff_bytes("\n".join(old).encode(), "\n".join(new).encode(), "f")
    shown, hidden = cut_middle("\n".join(rows), limit)
    assert hidden
    assert len(shown) < limit + 100
    number = None
    for row in shown.partition(" not shown]\n")[2].split("\n"):
        if found := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)", row):
            number = int(found[2])
        elif row[:1] in (" ", "+"):
            assert number is not None
            assert new[number - 1] == row[1:]
            number += 1
    assert shown.endswith(f"+EVIL\n{UNENDED}")
