"""Markdown as a terminal shows it."""

import re

from planck.cli.talk.markdown import render_markdown


def test_single_newlines_stay() -> None:
    assert render_markdown("one\ntwo **b**\nthree\n", 60, color=False) == "one\ntwo b\nthree\n"


def test_a_heading_stands_at_the_left() -> None:
    assert render_markdown("# Done\n\nyes", 60, color=False) == "Done\n\nyes\n"


def test_links_are_written_out() -> None:
    assert render_markdown("[here](http://e.invalid/x)", 60, color=False) == "here (http://e.invalid/x)\n"


def test_nothing_in_it_acts_on_the_terminal() -> None:
    shown = render_markdown("a\x1b[2Jb `c\x1b]0;t\x07d`\n\n```\ne\x9b2Jf\u202e\n```\n", 60, color=True)
    bare = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", bare)
