from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.http.sse import JsonLines, Sse
from planck.llm.provider import ProviderError
from planck.records.outcome import ErrorKind


def events(*chunks: bytes) -> list[bytes]:
    parser = Sse()
    return [event for chunk in chunks for event in parser.feed(chunk)]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data: a\r\ndata: b\r\n\r\n", [b"a\nb"]),
        (b"data\n\n", [b""]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\r\ndata: d\r\n\n", [b"a", b"b", b"c", b"d"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b": comment\n\ndata: a\n: more\n\n", [b"a"]),
        (b"event: x\nid: 7\nretry: 1\ndata: a\nunknown: y\n\n", [b"a"]),
        (b"\n\n\n\ndata: a\n\n\n\n\ndata: b\n\n", [b"a", b"b"]),
        (b"event: ping\n\n", []),
        (b"data: a\n\ndata: b", [b"a"]),
        (b"data: a\n", []),
        (b"database: a\n\n", []),
        (b"", []),
    ],
)
def test_each_form_of_a_stream_gives_its_events(stream: bytes, expected: list[bytes]) -> None:
    assert events(stream) == expected
    assert events(*(stream[at : at + 1] for at in range(len(stream)))) == expected


PIECES = st.sampled_from(
    [
        b"data: a",
        b"data:b",
        b"data",
        b": c",
        b"event: x",
        b"",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        b"z",
    ]
)


@given(st.lists(PIECES, max_size=30), st.lists(st.integers(0, 100), max_size=6))
def test_the_cuts_between_chunks_change_nothing(pieces: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(pieces)
    at = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in pairwise(at)]
    assert events(*chunks) == events(stream)


@pytest.mark.parametrize("parser", [Sse, JsonLines])
def test_an_event_without_an_end_is_bounded(parser: type[Sse] | type[JsonLines]) -> None:
    reading = parser(limit=1_000_000)
    for _ in range(19):
        assert reading.feed(b"data: " + b"x" * 50_000) == []
    with pytest.raises(ProviderError) as caught:
        reading.feed(b"x" * 100_000)
    assert caught.value.err.kind is ErrorKind.LIMIT_EXCEEDED


def test_a_large_event_in_small_chunks_is_searched_once() -> None:
    parser = Sse()
    parser.feed(b"data: ")
    for _ in range(100_000):  # quadratic work would take minutes here
        parser.feed(b"x" * 90)
    (event,) = parser.feed(b"\n\n")
    assert len(event) == 9_000_000


def test_lines_are_split_anywhere_and_the_rest_is_kept() -> None:
    stream = b'{"a":1}\n\n{"b":2}\r\n{"c":'
    assert JsonLines().feed(stream) == [b'{"a":1}', b'{"b":2}\r']
    byte_by_byte = JsonLines()
    chunks = (stream[at : at + 1] for at in range(len(stream)))
    assert [line for chunk in chunks for line in byte_by_byte.feed(chunk)] == [b'{"a":1}', b'{"b":2}\r']
