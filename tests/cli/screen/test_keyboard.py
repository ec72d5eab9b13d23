"""Bytes of a terminal, read into keys and pastes, wherever a read happens to end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.cli.screen.keyboard import MAX_PASTE, Decoder, Paste, Stroke


def read(*chunks: bytes) -> list[Stroke | Paste]:
    """Everything found, with a pause behind each chunk."""
    decoder = Decoder()
    found: list[Stroke | Paste] = []
    for chunk in chunks:
        found += decoder.feed(chunk)
        found += decoder.flush()
    return found


def keys(*chunks: bytes) -> list[str]:
    return [item.key if isinstance(item, Stroke) else f"paste:{item.text}" for item in read(*chunks)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a", ["a"]),
        ("é日🙂".encode(), ["é", "日", "🙂"]),
        (b"\r", ["enter"]),
        (b"\n", ["c-j"]),
        (b"\t", ["tab"]),
        (b"\x7f", ["backspace"]),
        (b"\x03\x04\x0f\x12\x14\x17", ["c-c", "c-d", "c-o", "c-r", "c-t", "c-w"]),
        (
            b"\x1b[A\x1bOA\x1b[1;5C\x1b[Z\x1b[3~\x1b[H\x1b[4~",
            ["up", "up", "c-right", "s-tab", "delete", "home", "end"],
        ),
        (b"\x1b[13;2u\x1b[27;2;13~\x1b[97;5u", ["s-enter", "s-enter", "c-a"]),
        (b"\x1b\r", ["a-enter"]),
        (b"\x1bb\x1bf", ["a-b", "a-f"]),
        (b"\x1b[I\x1b[O\x1b[12;40R\x1b[?62;4c\x1b[<0;3;4Mx", ["x"]),
        (b"\x1b]11;rgb:0/0/0\x07x\x1b]0;a\x1b\\y", ["x", "y"]),
        (b"\x1bP1$r0m\x1b\\x", ["x"]),
        (b"\x1b", ["esc"]),
        (b"\x1b\x1b", ["esc", "esc"]),
        (b"\x1b[", ["esc", "["]),
        (b"\x00", ["c-@"]),
        (b"\xff\xfe", ["\ufffd", "\ufffd"]),
        ("\x9bA".encode(), ["ignored", "A"]),
    ],
)
def test_each_key_has_its_name(data: bytes, expected: list[str]) -> None:
    assert keys(data) == expected


@pytest.mark.parametrize("text", ["hello", "x", "new idea", "日本", "buffer"])
def test_an_esc_takes_no_key_along(text: str) -> None:
    """Also where both are read in one go; Alt and a letter come alone."""
    assert keys(b"\x1b", text.encode()) == ["esc", *text]
    if len(text) > 1:
        assert keys(b"\x1b" + text.encode()) == ["esc", *text]


@pytest.mark.parametrize(
    "sequence", ["\x1b[A", "\x1b[1;5C", "\x1b[200~a\rb\x1b[201~", "日", "\x1bOA", "\x1b[13;2u"]
)
def test_a_sequence_may_come_in_pieces(sequence: str) -> None:
    data = sequence.encode()
    whole = Decoder().feed(data)
    for at in range(1, len(data)):
        decoder = Decoder()
        assert decoder.feed(data[:at]) + decoder.feed(data[at:]) == whole
        assert not decoder.pending


@pytest.mark.parametrize("newline", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("brackets", [True, False])
def test_several_lines_in_one_go_are_one_paste(newline: str, brackets: bool) -> None:
    text = newline.join(["one", "", "\ttwo", "three"])
    data = f"\x1b[200~{text}\x1b[201~" if brackets else text
    assert keys(data.encode()) == ["paste:one\n\n\ttwo\nthree"]


def test_lines_without_brackets_are_a_paste_and_the_last_enter_is_one() -> None:
    assert keys(b"one\rtwo\r") == ["paste:one\ntwo", "enter"]
    assert keys(b"one\r") == ["o", "n", "e", "enter"]
    decoder = Decoder()
    assert decoder.feed(b"one\rtwo\r") == []  # more of it may be on its way
    assert decoder.pending
    assert decoder.feed(b"three\r") == []
    assert decoder.flush() == [Paste("one\ntwo\nthree"), Stroke("enter", alone=False)]


def test_nothing_in_a_paste_acts() -> None:
    hostile = "a\x00b\x07\x1b[2Jc\x1b]0;title\x07d\x9b31me\x03\x04\ttab\x1b[A"
    assert read(f"\x1b[200~{hostile}\x1b[201~".encode()) == [Paste("abcde\ttab")]
    assert read("\x1b[200~👩\u200d🔬 \u202eשמש\x1b[201~".encode()) == [Paste("👩\u200d🔬 \u202eשמש")]


def test_only_what_comes_by_itself_is_typed_by_hand() -> None:
    assert [item.alone for item in read(b"y") if isinstance(item, Stroke)] == [True]
    assert [item.alone for item in read(b"y\r") if isinstance(item, Stroke)] == [True, True]
    for data in (b"yy", b"yes", b"yes\r", b"\x1b[Ay", b"y\x1b[A", b"y\x1b", b"\ry"):
        found = [item for item in read(data) if isinstance(item, Stroke) and item.key == "y"]
        assert not any(item.alone for item in found), data
    assert not any(item.alone for item in read(b"y\x1b[200~x\x1b[201~") if isinstance(item, Stroke))
    assert not any(item.alone for item in read(b"\x1b[200~x\x1b[201~y") if isinstance(item, Stroke))


def test_a_paste_is_bounded_and_says_so() -> None:
    decoder = Decoder()
    decoder.feed(b"\x1b[200~")
    for _ in range(9):
        assert decoder.feed(b"x" * (1 << 20)) == []
    (paste,) = decoder.feed(b"\x1b[201~")
    assert isinstance(paste, Paste)
    assert paste.cut
    assert len(paste.text) == MAX_PASTE


def test_a_paste_whose_end_never_comes_is_not_waited_for_ever() -> None:
    decoder = Decoder()
    assert decoder.feed(b"\x1b[200~abc\x1b[20") == []
    assert decoder.pasting
    assert decoder.end_paste() == [Paste("abc")]
    assert not decoder.pasting


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_no_bytes_are_too_strange(chunks: list[bytes]) -> None:
    for item in read(*chunks):
        text = item.text
        assert not any(one < " " and one not in "\n\t" for one in text)
