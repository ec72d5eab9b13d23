"""The input: what it holds, what it shows, and what is fetched back into it."""

from pathlib import Path

import pytest

from planck.cli.chat.intent import keep_from_shell, read_intent
from planck.cli.screen.editing import RichEditor
from planck.cli.screen.history import History
from planck.cli.screen.input_line import InputLine
from planck.cli.screen.keyboard import Decoder, Stroke
from planck.records.visible import count_columns


def line(*entries: str, vi: bool = False) -> InputLine:
    history = History()
    for entry in entries:
        history.add(entry)
    made = InputLine(history)
    made.use(RichEditor(vi=vi))
    return made


def press(made: InputLine, data: str) -> None:
    decoder = Decoder()
    for item in decoder.feed(data.encode()) + decoder.flush():
        assert isinstance(item, Stroke)
        made.press(item)


def test_a_long_paste_is_one_mark_and_sent_whole() -> None:
    made = line()
    log = "\n".join(f"line {n}" for n in range(5_000))
    press(made, "look: ")
    made.insert(log)
    press(made, " why?")
    assert made.lay_out(79, 8).rows == ["> look: [pasted 5,000 lines] why?"]
    assert made.take() == f"look: {log}\nwhy?"
    assert made.text == ""


def test_a_paste_that_ends_with_a_newline_has_as_many_lines_as_newlines() -> None:
    made = line()
    made.insert("a line\n" * 40)
    assert made.lay_out(79, 8).rows == ["> [pasted 40 lines]"]


def test_a_mark_is_rubbed_out_with_one_key_and_comes_back_with_an_undo() -> None:
    made = line()
    made.insert("x" * 5_000)
    assert made.lay_out(79, 8).rows == ["> [pasted 5,000 characters]"]
    press(made, "\x7f")
    assert made.text == ""
    press(made, "\x1f")
    assert made.text == "x" * 5_000


def test_short_pastes_stand_as_they_are() -> None:
    made = line()
    made.insert("a\n\tb")
    assert made.lay_out(79, 8).rows == ["> a", "      b"]
    assert made.text == "a\n\tb"


def test_private_characters_are_no_folded_pastes() -> None:
    made = line()
    made.insert("z" * 2_000)
    made.insert("\U0010f000")
    press(made, "\U0010f000")
    assert made.text == "z" * 2_000 + "\ufffd\ufffd"


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "日本語を書く" * 9,
        "🙂👩\u200d🔬 emoji " * 8,
        "שמש " * 9,
        "e\u0301" * 100,
        "a\tb\x00\x1b" * 9,
    ],
)
@pytest.mark.parametrize("width", [79, 39, 12])
def test_rows_fit_the_width_and_the_cursor_stands_in_them(text: str, width: int) -> None:
    made = line()
    made.insert(text)
    laid = made.lay_out(width, 100)
    assert all(count_columns(row) <= width for row in laid.rows)
    row, column = laid.cursor
    assert column == count_columns(laid.rows[row])
    assert not any(one < " " for row in laid.rows for one in row)


def test_of_many_rows_those_around_the_cursor_are_shown() -> None:
    made = line()
    made.insert("\n".join("abcdefg"))
    assert made.lay_out(79, 3).rows == ["  e", "  f", "  g"]
    press(made, "\x1b[A\x1b[A\x1b[A\x1b[A\x1b[A\x1b[A")
    assert made.lay_out(79, 3) == (["> a", "  b", "  c"], (0, 3))


def test_rows_end_between_words_and_the_cursor_goes_along() -> None:
    made = line()
    press(made, "hello brave new world")
    assert made.lay_out(16, 8) == (["> hello brave ", "  new world"], (1, 11))
    press(made, "\x1b[D" * 9)
    assert made.lay_out(16, 8).cursor == (1, 2)
    press(made, "\x1b[D")
    assert made.lay_out(16, 8).cursor == (0, 13)
    made.replace("x" * 14 + " y")
    assert made.lay_out(16, 8).rows == ["> " + "x" * 14, "   y"]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("one two\x17", "one "),
        ("one two\x1bb\x0b", "one "),
        ("one two\x01\x1bd", " two"),
        ("one\x15two", "two"),
        ("ab\x1b[D\x04", "a"),
        ("日本\x7f語", "日語"),
        ("ab\x1b[Dc\x05d", "acbd"),
        ("one\x17\x19\x19", "oneone"),
    ],
)
def test_emacs_keys_edit(keys: str, text: str) -> None:
    made = line()
    for part in keys.replace("\x1b", "\0\x1b").split("\0"):
        head, tail = (part[:2], part[2:]) if part[:2] == "\x1bb" or part[:2] == "\x1bd" else (part, "")
        press(made, head)
        press(made, tail)
    assert made.text == text


def test_vi_keys_edit() -> None:
    made = line(vi=True)
    press(made, "one two")
    assert made.inserting
    press(made, "\x1b")
    assert not made.inserting
    for key in "0dwi":
        press(made, key)
    press(made, "x")
    assert made.text == "xtwo"


def test_what_was_typed_before_the_editor_is_there_is_all_done_in_order() -> None:
    made = InputLine(History())
    for data in ("helo", "\x1b[D", "l", "\x05", " wrold", "\x7f"):
        press(made, data)
    made.insert("!\n")
    made.use(RichEditor())
    assert made.text == "hello wrol!\n"


def test_entries_come_back_and_what_was_being_written_too() -> None:
    made = line("first", "second\nwith two lines")
    press(made, "draft")
    assert made.older()
    assert made.text == "second\nwith two lines"
    assert not made.older()  # the cursor stands in its second line
    press(made, "\x1b[A")
    assert made.older()
    assert made.text == "first"
    assert not made.older()
    assert made.newer()
    assert made.newer()
    assert made.text == "draft"
    assert not made.newer()


def test_a_search_finds_the_newest_then_the_one_before() -> None:
    made = line("git log", "git push", "make")
    press(made, "draft")
    made.begin_search()
    for key in "git":
        assert made.press_in_search(Stroke(key, key))
    assert made.text == "git push"
    made.begin_search()
    assert made.text == "git log"
    made.begin_search()
    assert made.text == "git log"
    assert made.press_in_search(Stroke("esc"))
    assert made.text == "draft"
    assert made.search is None


def test_history_is_kept_at_once_with_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "home" / "history"
    history = History()
    history.add("early")
    history.keep_in(file)
    history.add("one\ntwo")
    history.add("one\ntwo")
    history.add("  ")
    again = History()
    again.keep_in(file)
    assert again.entries == ["early", "one\ntwo"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_long_message_that_is_fetched_back_shows_its_first_line() -> None:
    made = line()
    message = "why does this fail?\n" + "".join(f"  frame {number}\n" for number in range(40))
    made.replace(message)
    assert made.lay_out(79, 8).rows == ["> why does this fail?[pasted 40 lines]"]
    assert made.text == message
    made.replace("x" * 5_000 + "\nand more")
    assert made.lay_out(79, 8).rows == ["> [pasted 2 lines]"]


@pytest.mark.parametrize("pasted", ["![badge](http://x)\n\nrm -rf ~\n", "!" + "x" * 5_000, "\n!a\nb"])
def test_a_paste_that_nobody_saw_whole_is_said_and_not_run(pasted: str) -> None:
    made = line()
    made.insert(pasted)
    assert read_intent(made.take(), ()).what == "say"
    press(made, "!")
    made.insert(pasted)
    assert read_intent(made.take(), ()).what == "shell"
    made.insert("!git status")
    assert read_intent(made.take(), ()).what == "shell"


@pytest.mark.parametrize("first", ["![badge](http://x)\nrm -rf ~", " !a", "!git status"])
def test_a_prompt_of_the_command_line_is_said_and_not_run(first: str) -> None:
    assert read_intent(keep_from_shell(first), ()).what == "say"
    assert keep_from_shell("/review") == "/review"
