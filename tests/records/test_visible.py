"""Whatever a tool or a model writes, no byte of it acts on the terminal."""

import subprocess
import sys
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.records.visible import escape_json, fit_line, make_plain, spell_out

SEQUENCES = [
    "\x1b[2J",
    "\x1b[31;1m",
    "\x1b[?1049h",
    "\x1b]0;title\x07",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]8;;http://evil.invalid\x1b\\",
    "\x1bP1$r\x1b\\",
    "\x1b_apc\x1b\\",
    "\x1b^pm\x1b\\",
    "\x1bXsos\x1b\\",
    "\x1b(0",
    "\x1bc",
    "\x1b7",
    "\x1b[c",
    "\x1b[201~",
    "\x9b31m",
    "\x9d0;t\x9c",
    "\x90q\x9c",
]


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_whole_sequence_is_dropped_and_the_text_around_it_stays(sequence: str) -> None:
    assert make_plain(f"before{sequence}after") == "beforeafter"


@pytest.mark.parametrize(
    "sequence", ["\x1b[2", "\x1b]0;no end", "\x1b", "\x9b", "\x07", "\x08", "\x7f", "\x85"]
)
def test_what_is_not_whole_is_spelled_out(sequence: str) -> None:
    assert make_plain(f"a{sequence}\n").startswith("a\\x")


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\x1b\x9b[]0;mJ\x07\\\r\n")), max_size=40))
def test_nothing_that_acts_is_left(text: str) -> None:
    for shown in (make_plain(text), spell_out(text)):
        assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
        shown.encode()


def test_a_carriage_return_overwrites_nothing() -> None:
    assert make_plain("safe\r\x1b[2Kevil\r\n") == "safe\nevil\n"
    assert spell_out("safe\revil") == "safe\\x0devil"


def test_ordinary_text_stays_as_it_is() -> None:
    text = "Grüße, 你好\n\tπ ≈ 3 👍 𒀀 𓀀 𝄞"
    assert (make_plain(text), spell_out(text)) == (text, text)


def test_one_line_is_one_line_within_the_width() -> None:
    assert fit_line("a\n  b\x1b[0m c", 40) == "a b c"
    assert fit_line("x" * 50, 10) == "x" * 9 + "…"


def test_beginnings_without_an_end_are_read_once() -> None:
    """Read again for each of them, the first alone takes minutes here; in a child, which can be ended."""
    script = (
        "from planck.records.visible import make_plain\n"
        "for opening in '\\x9d \\x90 \\x9f \\x9b \\x1b] \\x1b['.split(' '):\n"
        "    assert len(make_plain(opening * (1 << 18))) >= 1 << 20"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)


def test_a_beginning_inside_a_sequence_begins_another() -> None:
    assert make_plain("a\x9dlost\x9d0;title\x07b") == "a\\x9dlostb"


def test_joined_pictures_stand_side_by_side_and_no_other_joiner_is_hidden() -> None:
    assert make_plain("👩\u200d💻 👨🏽\u200d👧 🏳\ufe0f\u200d🌈") == "👩💻 👨🏽👧 🏳\ufe0f🌈"
    assert make_plain("rm\u200d -rf 👩\u200d x\u200d👩") == "rm\\u200d -rf 👩\\u200d x\\u200d👩"


IGNORABLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F)),
    *((0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A)),
    (0xE0000, 0xE0FFF),
)
"""Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt, of which Python has no table."""


def test_every_character_that_unicode_shows_nobody_is_spelled_out() -> None:
    unseen = {chr(code) for first, last in IGNORABLE for code in range(first, last + 1)}
    unseen |= {one for one in map(chr, range(0x110000)) if category(one) in ("Cc", "Cf", "Zl", "Zp", "Cs")}
    unseen -= {"\n", "\t"}
    assert not unseen & {*spell_out("a".join(unseen))}
    wide = "a".join(one for one in unseen if one > "\x9f")  # what begins no sequence
    assert not unseen & {*make_plain(wide), *escape_json(wide)}


def test_the_selector_of_a_picture_stays_behind_a_picture_and_nowhere_else() -> None:
    for text in ("❤\ufe0f", "☀\ufe0f!", "🏳\ufe0f🌈", "©\ufe0f", "1\ufe0f\u20e3", "➡\ufe0f x", "⚠\ufe0f"):
        assert (spell_out(text), make_plain(text)) == (text, text)
        assert escape_json(text) == text
    for text in (
        "a\ufe0f",
        "\ufe0f",
        "❤\ufe0f\ufe0f",
        "1\ufe0f",
        "❤\ufe0e",
        "1\ufe0fx",
        "你\ufe00",
        "rm\ufe0f -rf",
    ):
        assert spell_out(text) == make_plain(text) != text
        assert spell_out(text).count("\\ufe") == 1


def test_what_unicode_calls_printable_and_nobody_sees_is_spelled_out() -> None:
    shown = {one for one in map(chr, range(0x11000)) if one.isprintable() and spell_out(one) != one}
    assert {"\u034f", "\u1160", "\u3164"} <= shown
    assert [one for one in shown if make_plain(one) == one] == []
