"""A question as a box: text in, lines out."""

from typing import Any

import msgspec
import pytest

from planck.cli.ask.box import LINES, draw_box, draw_whole, list_keys
from planck.cli.tell.styled import as_text
from planck.records.approval import Question
from planck.records.visible import count_columns

DIFF = "--- a/prices.py\n+++ b/prices.py\n@@ -1,3 +1,3 @@\n def total():\n-    return 1\n+    return 2\n"


PLAIN = Question(
    id="q",
    agent_id="a",
    digest="d",
    agent="builder (for orchestrator)",
    tool="bash",
    text="make test",
    adds="runs outside the sandbox: it may change any file of yours and use the network",
    reason="mode 'ask': it was tried in the read-only sandbox without network, and failed",
    rule="bash make test",
    place="/home/me/.planck/config.json",
)


def make_question(**changes: Any) -> Question:
    return msgspec.structs.replace(PLAIN, **changes)


def rows(question: Question, width: int = 100, at: int = 1, count: int = 1) -> list[str]:
    return [as_text(line) for line in draw_box(question, width, at, count).lines]


def test_a_box_says_who_what_what_it_adds_why_and_what_would_last() -> None:
    assert rows(make_question()) == [
        "▲ builder (for orchestrator) asks: bash",
        "│ make test",
        "│ effect  runs outside the sandbox: it may change any file of yours and use the network",
        "│ reason  mode 'ask': it was tried in the read-only sandbox without network, and failed",
        "│ s       Allow bash make test for this session (this agent only)",
        "│ a       Always allow bash make test in this project (saved in /home/me/.planck/config.json)",
        "╰ y once · s session · a always · n deny · e say what to change · o show all",
    ]


@pytest.mark.parametrize("width", [40, 60])
def test_a_narrow_box_shows_what_a_key_allows_before_the_whole_reason(width: int) -> None:
    why = "a trial run in the read-only sandbox without network failed (touch: Read-only file system)"
    rule = "bash npm run build"
    facts = " ".join(
        row.removeprefix("│").strip() for row in rows(make_question(reason=why, rule=rule), width)
    )
    assert f"Allow {rule} for this session (this agent only)" in facts
    assert f"Always allow {rule} in this project (saved in" in facts


def test_an_edit_is_its_diff() -> None:
    shown = rows(
        make_question(tool="edit", text='edit {"path": "prices.py"}', preview=DIFF, rule="edit"),
        at=1,
        count=2,
    )
    assert shown[0] == "▲ [1/2] builder (for orchestrator) asks: edit prices.py +1 -1"
    assert shown[1:4] == ["│ 1  def total():", "│ 2 -    return 1", "│ 2 +    return 2"]


def test_an_edit_that_would_fail_says_so_before_anybody_answers() -> None:
    failing = "[this call would fail: not_unique: old_string occurs 2 times in a.py, at lines 1, 2]"
    shown = rows(
        make_question(
            tool="edit", text='edit {"path": "a.py"}', preview=failing, preview_failed=True, rule="edit"
        )
    )
    assert shown[1:3] == ['│ edit {"path": "a.py"}', f"│ {failing}"]
    assert not any("Would run" in row for row in rows(make_question(preview="Would run in '.': make test")))


def test_what_can_be_allowed_once_only_offers_no_more() -> None:
    question = make_question(rule="", place="")
    assert rows(question)[-1] == "╰ y once · n deny · e say what to change · o show all"
    assert list_keys(question) == "yneo"


@pytest.mark.parametrize("width", [20, 40, 80, 140, 300])
@pytest.mark.parametrize(
    "text", ["ls", "x" * 5_000, "a line\n" * 5_000, "価格" * 900, "w " * 3_000, "\t\x1b[2J\u202e"]
)
def test_a_box_is_never_higher_or_wider_than_it_may_be(width: int, text: str) -> None:
    question = make_question(text=text, adds="adds " * 60, reason="why " * 60, place="/p" * 100)
    box = draw_box(question, width, 2, 3)
    assert len(box.lines) <= LINES
    assert all(count_columns(as_text(line)) <= max(width, 20) for line in box.lines)
    told = "".join(as_text(line) for line in box.lines)
    assert not any(ord(one) < 32 or one == "\u202e" for one in told)


def test_a_command_of_which_something_is_left_out_is_not_whole_and_o_shows_all_of_it() -> None:
    question = make_question(text="echo 1\n" + "# nothing\n" * 40 + "rm -rf everything")
    box = draw_box(question, 100)
    assert not box.whole
    assert "press o to show all" in as_text(box.lines[-6])
    assert "│ rm -rf everything" in [as_text(line) for line in draw_whole(question, 100)]
    assert draw_box(make_question(), 100).whole


def test_a_long_diff_can_be_answered_folded_because_it_can_be_undone() -> None:
    diff = DIFF + "\n".join(f"+line {n}" for n in range(500))
    box = draw_box(make_question(tool="edit", preview=diff), 80)
    assert box.whole
    assert len(box.lines) == LINES
    assert len(draw_whole(make_question(tool="edit", preview=diff), 80)) > 500


def test_the_whole_of_a_huge_command_is_drawn_in_one_pass() -> None:
    question = make_question(text="価格 " * 20_000)
    assert len(draw_box(question, 80).lines) <= LINES
    assert "".join(as_text(line).strip("│ ") for line in draw_whole(question, 80)[1:-6]).count("価") == 20_000
