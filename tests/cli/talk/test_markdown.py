"""Markdown as a terminal shows it."""

import re

from planck.cli.talk.blocks import Said
from planck.cli.talk.markdown import render_markdown, render_said


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


def test_what_a_member_says_is_rendered_behind_its_name_and_folded() -> None:
    bob = ((("bob "), "34"),)
    said = Said(bob, "It is **done**:\n\n- `one`\n- two\n")
    assert render_said(said, "bob ", 40, color=False) == ["bob It is done:", "     • one", "     • two"]
    assert said.rest == ""
    long = Said(bob, "\n".join(f"- line {number}" for number in range(20)))
    rows = render_said(long, "bob ", 40, color=False)
    assert (len(rows), rows[-1], long.rest) == (7, "    … 14 more lines", long.markdown)


def test_nothing_that_a_member_says_acts_on_the_terminal() -> None:
    rows = render_said(Said((("b ", ""),), "a\x1b[2Jb `c\x1b]0;t\x07d`"), "b ", 40, color=False)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", "".join(rows))
