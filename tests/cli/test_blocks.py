"""A block of Markdown is handed on once it is whole, wherever the pieces are cut."""

import pytest

from planck.cli.blocks import Blocks

TEXT = "one\ntwo\n\n```\na\n\nb\n```\n\n\n- x\n- y\n\n~~~~\n```\n\n~~~\n~~~~\n\nend"
BLOCKS = ["one\ntwo", "```\na\n\nb\n```", "- x\n- y", "~~~~\n```\n\n~~~\n~~~~", "end"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_blocks_do_not_depend_on_the_pieces(size: int) -> None:
    blocks = Blocks()
    found = [b for at in range(0, len(TEXT), size) for b in blocks.feed(TEXT[at : at + size])]
    assert [*found, blocks.rest()] == BLOCKS
    assert blocks.rest() == ""
