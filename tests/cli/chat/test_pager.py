"""Lists of which one is chosen: keys in, lines out."""

import pytest

from planck.cli.chat.pager import Picker
from planck.cli.tell.session_rows import make_choices
from planck.cli.tell.styled import as_text, make_line, wrap_columns
from planck.headless import SessionInfo
from planck.records.visible import count_columns

NOW = "2026-11-16T10:00:00.000Z"


def _session(name: str, said: str) -> SessionInfo:
    return SessionInfo(id=name, name=name, created=NOW, updated=NOW, state="done", first_prompt=said)


@pytest.mark.parametrize("width", [38, 78, 138])
def test_a_word_that_does_not_fit_into_its_row_finds_a_session(width: int) -> None:
    about = "please look into it again, since I have the impression that something is wrong with "
    sessions = [_session("first", f"{about * 2}the lexer"), _session("second", f"{about * 2}the parser")]
    picker = Picker("which?", make_choices(sessions, NOW, width))
    for key in "parser":
        picker.press(key, 10)
    shown = picker.view(width, 20)
    assert all(count_columns(as_text(line)) <= width for line in shown)
    picker.press("enter", 10)
    assert picker.chosen == 1


@pytest.mark.parametrize(
    ("width", "rows"),
    [
        (60, ["  /undo [--call ID]    take back what was written"]),
        (46, ["  /undo [--call ID]    take back what was", "                       written"]),
        (30, ["  /undo [--call ID]", "    take back what was written"]),
    ],
)
def test_what_a_word_means_stands_beside_it_or_below_it(width: int, rows: list[str]) -> None:
    line = make_line("  /undo [--call ID]    take back what was written")
    assert [as_text(row) for row in wrap_columns([line], width)] == rows
