"""Lines out of a byte stream, however it is cut."""

from hypothesis import given
from hypothesis import strategies as st

from planck.workspace.process.framing import LineBuffer

TEXT = st.binary(max_size=200).map(lambda data: data.replace(b"\n", b"").rstrip(b"\r"))


@given(st.lists(TEXT, max_size=20), st.data())
def test_lines_come_out_as_they_went_in_however_the_stream_is_cut(
    lines: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    framing, found = LineBuffer(), list[bytes | None]()
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += framing.take(stream[:size])
        stream = stream[size:]
    assert found == lines


@given(st.integers(0, 20), st.integers(1, 40))
def test_a_line_up_to_the_limit_passes_and_a_longer_one_is_refused(size: int, limit: int) -> None:
    framing = LineBuffer(limit)
    assert framing.take(b"x" * size + b"\n") == [b"x" * size if size <= limit else None]


def test_an_endless_line_is_refused_as_soon_as_it_is_too_long_and_nothing_is_kept() -> None:
    framing = LineBuffer(1000)
    for _ in range(10):
        assert framing.take(b"x" * 100) == []
    assert framing.take(b"x") == [None]
    assert framing.take(b"xx\nok\n") == [b"ok"]


def test_a_long_line_is_searched_once() -> None:
    """Work, not time: each byte is looked at by one search only."""

    class Counted(bytearray):
        searched = 0

        def find(self, piece: bytes, start: int = 0) -> int:  # type: ignore[override]
            Counted.searched += len(self) - start
            return super().find(piece, start)

    framing = LineBuffer()
    framing._buffer = Counted()  # the only way to count without a clock
    for _ in range(1000):
        framing.take(b"x" * 1000)
    assert Counted.searched <= 1_000_000


@given(st.lists(st.one_of(TEXT, st.just(b"z" * 500)), max_size=12), st.data())
def test_lines_that_are_too_long_are_told_of_once_and_skipped(
    lines: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    framing, found = LineBuffer(300), list[bytes | None]()
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += framing.take(stream[:size])
        stream = stream[size:]
    assert found == [line if len(line) <= 300 else None for line in lines]
