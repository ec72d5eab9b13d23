"""A block of Markdown is handed on once it is whole, wherever the pieces are cut."""

import subprocess
import sys

import pytest

from planck.cli.tell.block_splitter import BlockSplitter

TEXT = "one\ntwo\n\n```\na\n\nb\n```\n\n\n- x\n- y\n\n~~~~\n```\n\n~~~\n~~~~\n\nend"
BLOCKS = ["one\ntwo", "```\na\n\nb\n```", "- x\n- y", "~~~~\n```\n\n~~~\n~~~~", "end"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_blocks_do_not_depend_on_the_pieces(size: int) -> None:
    blocks = BlockSplitter()
    found = [b for at in range(0, len(TEXT), size) for b in blocks.feed(TEXT[at : at + size])]
    assert [*found, blocks.rest()] == BLOCKS
    assert blocks.rest() == ""


def test_a_line_ends_where_markdown_ends_it() -> None:
    blocks = BlockSplitter()
    assert blocks.feed("one\u2028two\x0cthree\n\nfour\r\n\r\n") == ["one\u2028two\x0cthree", "four\r"]


def test_a_long_fence_is_read_once() -> None:
    script = (
        "from planck.cli.tell.block_splitter import BlockSplitter; b = BlockSplitter(); b.feed('```\\n')\n"
    )
    script += "assert not any(b.feed('a line of code\\n') for _ in range(100_000)); print(len(b.rest()))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    assert done.stdout.strip() == b"1500003"
