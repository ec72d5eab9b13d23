"""What a question and the plan of an undo show is what is done, in every frontend."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from planck.acp.rpc import Peer
from planck.acp.schema import Diff
from planck.acp_agent.narrator import Narrator
from planck.acp_agent.questions import Asker
from planck.api.shapes import Pending
from planck.cli.ask.approver import _call_text
from planck.cli.ask.box import draw_box, draw_whole
from planck.cli.tell.styled import as_text
from planck.cli.tell.undo import preview
from planck.headless import Selection
from planck.records.approval import Question
from tests.records.test_diffs import SEPARATORS
from tests.scenarios.test_shown_content import Person, Room, nothing

PAGE = Path(__file__).parents[2] / "page"
NODE = shutil.which("node")
OLD = [f"echo build\n# see notes{separator}echo PWNED\n" for separator in SEPARATORS]
NEW = "echo build\n# see notes\necho PWNED\necho done\n"
CALLS = {
    "write": [("write", {"path": f"{n}.sh", "content": NEW}) for n in range(len(OLD))],
    "edit": [
        ("edit", {"path": f"{n}.sh", "old_string": old[11:], "new_string": NEW[11:]})
        for n, old in enumerate(OLD)
    ],
}


class Told:
    """The part of an editor's session that a question asks."""

    def __init__(self, tool: str, args: dict[str, Any]) -> None:
        self._found = tool, args

    def find_call(self, id: str) -> tuple[str, dict[str, Any]]:
        return self._found

    def name_worker(self, id: str) -> str:
        return ""

    def describe(self, id: str) -> None:
        return None


def show_in_editor(question: Question, before: str, call: tuple[str, dict[str, Any]]) -> str:
    """Returns the texts of the question; of a diff that the editor compares, both sides in quotes."""
    asker = Asker(cast(Peer, None))
    asker.narrator = cast(Narrator, Told(*call))
    asker.__dict__["_read"] = lambda path: before
    shown = [
        f"{one.old_text!r} {one.new_text!r}" if isinstance(one, Diff) else one.content.text  # type: ignore[union-attr]
        for one in asker._describe(question).content or ()
    ]
    return "\n".join(shown)


_NUMBER = re.compile(r"^ *\d* (?=[-+ \\[])")
"""Of a line, before its sign. A terminal draws it, the diff does not have it."""


def show_everywhere(question: Question) -> Iterator[tuple[str, list[str]]]:
    """Yields a frontend, and the lines of the question there, without what is drawn around them."""
    plain = [row[4:] for row in _call_text(question).split("\n")[1:]]
    box = [as_text(line)[2:] for line in draw_whole(question, 1000)]
    for where, rows in (("plain", plain), ("box", box)):
        yield where, [_NUMBER.sub("", row) for row in rows]
    yield "HTTP", json.loads(msgspec.json.encode(Pending.of(question)))["preview"].split("\n")


async def ask(top: Path, *calls: tuple[str, dict[str, Any]]) -> tuple[Room, list[Question]]:
    room, person = Room(top, None), Person(*[(nothing, True)] * len(calls))
    for number, old in enumerate(OLD):
        (room.work / f"{number}.sh").write_bytes(old.encode())
    await room.run(person, list(calls))
    return room, person.asked


@pytest.mark.parametrize("tool", CALLS)
async def test_a_changed_separator_is_shown_as_changed_lines(tmp_path: Path, tool: str) -> None:
    room, asked = await ask(tmp_path, *CALLS[tool])
    assert len(asked) == len(OLD)
    for question, call, old, separator in zip(asked, CALLS[tool], OLD, SEPARATORS, strict=True):
        assert (room.work / call[1]["path"]).read_text() == NEW
        escape = separator.removesuffix("\n").encode("unicode_escape").decode().replace("\\r", "\\x0d")
        command = "" if separator.endswith("\n") else "echo PWNED"
        editor = show_in_editor(question, old, call)
        for where, rows in (*show_everywhere(question), ("editor", editor.split("\n"))):
            assert "+# see notes" in rows, (where, separator)
            assert f"-# see notes{escape}{command}" in rows, (where, separator)
            assert ("+echo PWNED" in rows) == bool(command), (where, separator)


async def test_the_plan_of_an_undo_shows_changed_separators(tmp_path: Path) -> None:
    room = Room(tmp_path, None)
    for number, old in enumerate(OLD):
        (room.work / f"{number}.sh").write_bytes(old.encode())
    async with room.open(None, CALLS["write"]) as planck:
        session = await planck.start(model="double/m", mode="workspace", stored=False)
        await session.run("go")
        plan = session.undo_plan(Selection())
        for step, separator in zip(sorted(plan.steps, key=lambda step: step.path), SEPARATORS, strict=True):
            assert "-# see notes" in step.diff.split("\n"), separator
        assert preview(plan).split("\n").count("-# see notes") == len(OLD)
        for change in session.changes(Selection()):
            assert "+# see notes" in change.diff.split("\n"), change.path


@pytest.mark.parametrize("size", [5_000, 62_000, 200_000, 900_000])
async def test_the_end_of_a_long_change_is_shown_and_what_is_not_is_counted(
    tmp_path: Path, size: int
) -> None:
    content = "".join(f"echo {n:08}\n" for n in range(size // 14)) + "echo EVIL\n"
    _, (question,) = await ask(tmp_path, ("write", {"path": "long.sh", "content": content}))
    hidden = question.hidden_lines
    shown = sum(row.startswith("+echo") and not row.endswith("…") for row in question.preview.split("\n"))
    assert shown + hidden == content.count("\n")
    assert bool(hidden) == (size > 50_000)
    for where, rows in show_everywhere(question):
        assert "+echo EVIL" in rows, where
        assert (f"[{hidden} lines are not shown]" in rows) == bool(hidden), where
    assert json.loads(msgspec.json.encode(Pending.of(question)))["hidden_lines"] == hidden
    said = f"{hidden:,} lines not shown in this diff"
    box = draw_box(question, 100)
    drawn = "\n".join(map(as_text, box.lines))
    assert (box.whole, said in drawn, said in _call_text(question)) == (
        not hidden,
        bool(hidden),
        bool(hidden),
    )
    if hidden:  # the whole call can be read before a yes
        assert question.text in _call_text(question)
        assert question.text in "".join(
            as_text(line)[2:].removeprefix("  ") for line in draw_whole(question, 2_000_000)
        )


@pytest.mark.skipif(NODE is None, reason="node is not installed")
async def test_the_page_shows_every_row_of_a_cut_diff(tmp_path: Path) -> None:
    old = "".join(f"-- {n:06}\n" for n in range(9_000))
    room, person = Room(tmp_path, old), Person((nothing, True))
    new = "".join(f"++ {n:06}\n" for n in range(9_000)) + "\u2028EVIL"
    await room.run(person, [("write", {"path": "sub/notes.txt", "content": new})])
    (question,) = person.asked
    script = (
        f"import {{readDiff}} from {json.dumps(str(PAGE / 'diff.js'))};"
        "let text = ''; for await (const part of process.stdin) text += part;"
        "console.log(JSON.stringify(readDiff(text.slice(text.indexOf('--- ')))));"
    )
    done = subprocess.run(
        [NODE or "", "--input-type=module", "-e", script],
        input=question.preview,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = json.loads(done.stdout)
    assert len(rows) == question.preview.count("\n") - 1  # both names of the file are one row
    assert f"[{question.hidden_lines} lines are not shown]" in [row["text"] for row in rows]
    assert [row["text"] for row in rows[-3:]] == [
        "\\u2028EVIL",
        "\\ Escaped in the line above: invisible characters, and each backslash",
        "\\ No newline at end of file",
    ]
    assert rows[-3]["new"] == 9_001
    assert "hidden_lines" in (PAGE / "views/inbox.js").read_text()


async def test_a_path_with_line_breaks_forges_nothing(tmp_path: Path) -> None:
    forged = "a\n--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-old\n+hello\n\nx/run.sh"
    _, (question,) = await ask(tmp_path, ("write", {"path": forged, "content": "EVIL\n"}))
    for where, rows in show_everywhere(question):
        assert "+EVIL" in rows, where
        assert not {"+hello", "--- a/notes.md"} & set(rows), where
