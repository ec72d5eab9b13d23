"""What stands on the terminal after each frame: finished lines once, live rows never twice."""

import re

import pytest

from planck.cli.screen.region import Frame, Region
from tests.terminal import picture


class Paper:
    """Collects what a region writes."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text.replace("\n", "\r\n")

    def seen(self) -> list[str]:
        rows = picture(self.text)
        while rows and not rows[-1]:
            rows.pop()
        return rows


def frame(*rows: str) -> Frame:
    return Frame(rows, (len(rows) - 2, 2))


def test_finished_lines_stand_above_the_live_ones_once() -> None:
    paper = Paper()
    region = Region(paper.write)
    region.paint(frame("● thinking 0 s", "> ", "footer"), 80)
    region.paint(frame("● thinking 1 s", "> ", "footer"), 80, ["first", "second"])
    region.paint(frame("● thinking 2 s", "> hel", "footer"), 80)
    region.paint(frame("● thinking 3 s", "> hello", "footer"), 80, ["third"])
    assert paper.seen() == ["first", "second", "third", "● thinking 3 s", "> hello", "footer"]


def test_nothing_is_written_for_a_frame_that_is_the_same() -> None:
    paper = Paper()
    region = Region(paper.write)
    region.paint(frame("> ", "footer"), 80)
    before = paper.text
    region.paint(frame("> ", "footer"), 80)
    assert paper.text == before


def test_the_input_stays_where_it_is_when_a_row_goes_away() -> None:
    paper = Paper()
    region = Region(paper.write)
    region.paint(frame("one", "two", "> ", "footer"), 80)
    region.paint(frame("> ", "footer"), 80)
    assert paper.seen() == ["", "", ">", "footer"]
    region.paint(frame("> ", "footer"), 80, ["done"])
    assert paper.seen() == ["done", "", ">", "footer"]
    region.paint(frame("one", "> ", "footer"), 80, ["more"])
    assert paper.seen() == ["done", "more", "one", ">", "footer"]


def test_the_real_cursor_is_left_in_the_input() -> None:
    paper = Paper()
    region = Region(paper.write)
    region.paint(Frame(("live", "> 日本", "footer"), (1, 6)), 80)
    paper.write("X")
    assert paper.seen() == ["live", "> 日本X", "footer"]


@pytest.mark.parametrize("narrow", [60, 40, 25])
def test_rows_that_the_terminal_wrapped_again_are_taken_away(narrow: int) -> None:
    """As a terminal does that wraps again: what stood on one row stands on two, the cursor with its cell."""
    rows = ["● builder " + "x" * 90, "> " + "y" * 70, "footer " + "z" * 80]
    erased: list[str] = []
    region = Region(erased.append)
    region.paint(Frame(rows, (1, 50)), 110)
    erased.clear()
    region.paint(Frame(["> "], (0, 2)), narrow)
    heights = [-(-len(row) // narrow) for row in rows]
    above = heights[0] + 50 // narrow
    begun = erased[0].removeprefix("\x1b[?2026h\x1b[?25l")
    assert begun.startswith(f"\x1b[{above}A\r\x1b[{sum(heights)}M> ")


def test_a_terminal_that_became_lower_gets_its_last_row_again() -> None:
    written: list[str] = []
    region = Region(written.append)
    region.paint(Frame(["> ", "footer"], (0, 2)), 80)
    region.resized()
    written.clear()
    region.paint(Frame(["> ", "footer"], (0, 2)), 80)
    assert "footer" in "".join(written)


def test_rows_are_deleted_from_the_first_one_down_and_nothing_above_is() -> None:
    written: list[str] = []
    region = Region(written.append)
    for width in (110, 60, 110, 60):
        region.paint(frame("x" * (width - 1), "> ", "footer"), width, ["finished"])
    region.clear(60)
    assert set(re.findall(r"\x1b\[[0-9;?]*([A-Za-z])", "".join(written))) == set("hlMAC")
    assert set(re.findall(r"\x1b\[([0-9]*)M", "".join(written))) == {"3", "4"}
