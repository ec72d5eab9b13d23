"""A block of Markdown is handed on once it is whole, and code line by line, wherever the pieces are cut."""

import subprocess
import sys
from collections.abc import Iterable

import pytest

from planck.cli.tell.block_splitter import BlockSplitter
from planck.cli.tell.blocks import Answer

TEXT = (
    "one\ntwo\n```py\na\n\nb\n```\n\n\n- x\n  ```\n  in\n\n  list\n  ```\n- y\n\n"
    " ~~~~\n ```\n\n  ~~~\n~~~~\n\nend"
)
BLOCKS = [
    Answer("one\ntwo"),
    *(Answer("a", "py"), Answer("", "py", True), Answer("b", "py", True)),
    Answer("- x\n  ```\n  in\n\n  list\n  ```\n- y"),
    *(Answer("```", ""), Answer("", "", True), Answer(" ~~~", "", True)),
    Answer("end"),
]
"""Each line of code is handed on alone, where they come one by one."""


def join(pieces: Iterable[Answer]) -> list[Answer]:
    """Puts lines of one code block together, which came in as many pieces as there were deltas."""
    joined: list[Answer] = []
    for piece in pieces:
        if piece.follows:
            last = joined.pop()
            piece = Answer(f"{last.markdown}\n{piece.markdown}", last.code)
        joined.append(piece)
    return joined


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_blocks_do_not_depend_on_the_pieces(size: int) -> None:
    blocks = BlockSplitter()
    found = [b for at in range(0, len(TEXT), size) for b in blocks.feed(TEXT[at : at + size])]
    assert join([*found, *blocks.rest()]) == join(BLOCKS)
    assert size > 1 or [*found, BLOCKS[-1]] == BLOCKS
    assert blocks.rest() == []


@pytest.mark.parametrize("end", ["", "c", "c\n", "```", "```\n", "c\n```"])
def test_code_goes_out_line_by_line_and_all_of_it_where_it_ends_early(end: str) -> None:
    blocks = BlockSplitter()
    assert blocks.feed("```py\na\n") == [Answer("a", "py")]
    assert blocks.feed("b") == []
    assert blocks.feed("b\n" + end)[:1] == [Answer("bb\nc" if end[:2] == "c\n" else "bb", "py", True)]
    rest = [] if end in ("", "```", "```\n", "c\n", "c\n```") else [Answer("c", "py", True)]
    assert blocks.rest() == rest
    assert blocks.feed("x\n\n") == [Answer("x")]


def test_code_within_a_line_begins_no_block() -> None:
    blocks = BlockSplitter()
    assert blocks.feed("```x``` is code\nand goes on\n\n") == [Answer("```x``` is code\nand goes on")]


def test_a_line_ends_where_markdown_ends_it() -> None:
    blocks = BlockSplitter()
    found = blocks.feed("one\u2028two\x0cthree\n\nfour\r\n\r\n")
    assert found == [Answer("one\u2028two\x0cthree"), Answer("four\r")]


def test_a_long_fence_is_read_once() -> None:
    script = (
        "from planck.cli.tell.block_splitter import BlockSplitter; b = BlockSplitter()\n"
        "b.feed('- x\\n  ```\\n')\n"
        "assert not any(b.feed('a line of code\\n') for _ in range(100_000))\n"
        "print(len(b.rest()[0].markdown))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    assert done.stdout.strip() == b"1500009"
