"""Markdown as a terminal shows it."""

import re

import pytest

from planck.cli.tell.blocks import Said
from planck.cli.tell.markdown import render_markdown, render_said
from planck.records.visible import count_columns


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
    assert (len(rows), rows[-1], long.rest) == (8, "    … 14 more lines", long.markdown)


@pytest.mark.parametrize("width", [30, 40, 79])
@pytest.mark.parametrize("name", ["tester ", "tester → orchestrator response: "])
def test_what_a_member_says_has_the_width_of_the_terminal_below_its_name(width: int, name: str) -> None:
    text = "The task was not finished: the model is broken; check its settings, and try again. " * 2
    first, *others = render_said(Said(((name, ""),), text), name, width, color=False)
    assert " ".join([first, *map(str.strip, others)]).split() == f"{name}{text}".split()  # no word is torn
    assert max(map(len, [first, *others])) <= max(width, len(name))
    assert max(map(len, others)) > width - 12


def test_a_list_of_a_member_s_stands_below_its_name() -> None:
    said = Said((("bob ", ""),), "- one\n- two")
    assert render_said(said, "bob ", 40, color=False) == ["bob ", "     • one", "     • two"]


def test_nothing_that_a_member_says_acts_on_the_terminal() -> None:
    rows = render_said(Said((("b ", ""),), "a\x1b[2Jb `c\x1b]0;t\x07d`"), "b ", 40, color=False)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", "".join(rows))


def test_tags_are_shown_as_they_were_written() -> None:
    assert render_markdown("Use <Button> `<b>`\n\n<div>\nx\n</div>", 60, color=False) == (
        "Use <Button> <b>\n\n<div>\nx\n</div>\n"
    )


@pytest.mark.parametrize("width", [20, 40, 79])
def test_paragraphs_and_lists_look_the_same_among_themselves_and_beside_other_things(width: int) -> None:
    said = (
        f"The **discount** is `subtracted` as *an amount*,\nso ~~it~~ is wrong. {'word ' * 30}\n\n"
        f"- one {'more ' * 20}\n- two 日本語 `code`\n\n9. nine\n10. ten {'x' * 100}\n\nThe end."
    )
    bare = re.compile(r"\x1b\[[0-9;]*m")

    def list_rows(text: str) -> list[str]:
        shown = bare.sub("", render_markdown(text, width, color=True)).split("\n")
        rows = [row.rstrip() for row in shown]
        assert rows == render_markdown(text, width, color=False).split("\n")
        return rows

    alone, beside = list_rows(said), list_rows(f"{said}\n\n---\n")
    assert beside[: len(alone) - 1] == alone[:-1]
    assert all(count_columns(row) <= width for row in alone)


def test_colours_are_for_light_terminals_too() -> None:
    """No backgrounds, and none of the bright colours, which are hard to see on white."""
    shown = render_markdown(
        "`a` **b**\n\n---\n\n`c` [d](http://e.invalid)\n\n> q\n\n```python\ndef f() -> int:\n    ...\n```",
        60,
        color=True,
    )
    codes = {int(code) for found in re.findall(r"\x1b\[([0-9;]+)m", shown) for code in found.split(";")}
    assert codes
    assert max(codes) < 40


def test_a_path_that_fits_in_a_row_is_not_broken() -> None:
    path = "/a/long/path/that/fits/in/one"
    assert render_markdown(f"It is said to be in {path}", 32, color=False).split("\n")[1] == path
