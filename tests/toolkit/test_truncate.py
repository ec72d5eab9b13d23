import random

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from planck import truncate

FAMILY = "👨\u200d👩\u200d👧"
FLAGS = "🇩🇪🇫🇷🇯🇵"
ACCENTED = "e\u0301\u0323"
HANGUL = "\u1112\u1161\u11ab"
DIFFICULT = [
    FAMILY,
    FLAGS,
    ACCENTED,
    HANGUL,
    "\r\n",
    "\r",
    "\n",
    "a",
    "é",
    "€",
    "👍🏽",
    "\u0600",
    "क्षि",
    "\u200d",
]


def marker(max: int, total: int) -> str:
    return f"\n…[truncated, showing up to {max} of {total} bytes]"


def oracle(text: str, max: int) -> str:
    """The contract, word for word, without any shortcut."""
    total = len(text.encode())
    if total <= max:
        return text
    kept = ""
    for cluster in regex.findall(r"\X", text):
        if len((kept + cluster).encode()) > max:
            break
        kept += cluster
    return kept + marker(max, total)


@pytest.mark.parametrize("size", [0, 1, 15_999, 16_000])
def test_text_within_the_default_bound_is_unchanged(size: int) -> None:
    assert truncate("x" * size) == "x" * size


def test_one_byte_more_is_cut_with_the_exact_marker() -> None:
    assert truncate("x" * 16_001) == "x" * 16_000 + "\n…[truncated, showing up to 16000 of 16001 bytes]"


def test_the_bound_counts_bytes_not_characters() -> None:
    assert truncate("é" * 10, 20) == "é" * 10
    assert truncate("é" * 11, 21) == "é" * 10 + marker(21, 22)


@pytest.mark.parametrize("cluster", [FAMILY, "🇩🇪", ACCENTED, HANGUL, "\r\n", "👍🏽"])
def test_no_grapheme_is_cut_in_two(cluster: str) -> None:
    size = len(cluster.encode())
    for max in range(size, 2 * size):
        assert truncate(cluster * 2, max) == cluster + marker(max, 2 * size)


def test_a_single_grapheme_beyond_the_bound_leaves_the_marker_alone() -> None:
    zalgo = "a" + "\u0301" * 50_000
    assert truncate(zalgo) == marker(16_000, len(zalgo.encode()))


def test_invalid_utf8_is_repaired_before_it_is_counted() -> None:
    assert truncate(b"ok \xff\xc3") == "ok \ufffd\ufffd"
    assert truncate(b"\xff" * 4, 6) == "\ufffd\ufffd" + marker(6, 12)
    assert truncate("a\ud800b") == "a\ufffdb"
    assert truncate("\ud83d\ude00") == "😀"


@given(st.lists(st.sampled_from(DIFFICULT), max_size=40).map("".join), st.integers(0, 120))
def test_difficult_text_is_cut_as_the_contract_says(text: str, max: int) -> None:
    assert truncate(text, max) == oracle(text, max)


@given(st.text(max_size=60), st.integers(0, 100))
def test_any_text_is_cut_as_the_contract_says(text: str, max: int) -> None:
    assert truncate(text, max) == oracle(text, max)


@given(st.binary(max_size=80), st.integers(0, 60))
def test_any_bytes_give_valid_text_within_the_bound(data: bytes, max: int) -> None:
    cut = truncate(data, max)
    repaired = data.decode("utf-8", "replace")
    assert cut == oracle(repaired, max)
    cut.encode()


def test_a_long_text_is_cut_as_the_contract_says_wherever_the_bound_falls() -> None:
    source = random.Random(7)
    text = "".join(source.choices([*DIFFICULT, "plain ascii words "], k=3_000))
    for _ in range(40):
        max = source.randrange(len(text.encode()))
        assert truncate(text, max) == oracle(text, max), f"seed 7, max {max}"


def test_a_negative_bound_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="max must be 0 or more, not -1"):
        truncate("x", -1)
