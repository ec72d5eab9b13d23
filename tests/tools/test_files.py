"""read, write and edit as contract.md §1 says, through the executor."""

import base64
import os
import resource
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.records.events import FileChanged, View
from planck.records.messages import Image
from tests.memory import growth
from tests.tools.room import Room, details, kind, tree, value

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


async def read_all(room: Room, path: str, **args: Any) -> list[str]:
    """Every line of a file, by following `next_offset`."""
    lines: list[str] = []
    offset: int | None = 1
    while offset is not None:
        page = value(await room.call("read", {"path": path, "offset": offset, **args}))
        offset = page.get("next_offset")
        shown = page["output"].splitlines()
        lines += shown[:-1] if offset is not None else shown
    return lines


# --- read ------------------------------------------------------------------------------------------------


async def test_a_small_file_is_read_as_it_is(room: Room) -> None:
    (room.ws / "a.py").write_text("def f():\n    return 'é'\n")
    assert value(await room.call("read", {"path": "a.py"})) == {"output": "def f():\n    return 'é'\n"}


async def test_an_empty_file_says_so(room: Room) -> None:
    (room.ws / "empty").touch()
    assert (await room.call("read", {"path": "empty"})).output == "[the file is empty]"


async def test_a_missing_file_is_not_found(room: Room) -> None:
    assert kind(await room.call("read", {"path": "nope/nope"})) == "not_found"


@pytest.mark.parametrize("args", [{}, {"limit": 7}, {"limit": 1_000_000}])
async def test_following_next_offset_reads_every_line_once(args: dict[str, Any], room: Room) -> None:
    lines = [f"line {number} {'x' * (number % 90)}" for number in range(1, 500)]
    (room.ws / "long.txt").write_text("\n".join(lines) + "\n")
    assert await read_all(room, "long.txt", **args) == lines


async def test_the_footer_names_where_to_go_on(room: Room) -> None:
    (room.ws / "f").write_text("a\nb\nc\n")
    page = await room.call("read", {"path": "f", "offset": 2, "limit": 1})
    assert value(page) == {
        "output": "b\n[lines 2-2 of 3; continue with offset 3]",
        "next_offset": 3,
        "summary": "lines 2-2 of 3",
    }


async def test_a_page_is_never_cut_by_the_executor(room: Room) -> None:
    (room.ws / "wide").write_text("".join("é" * 100 + "\n" for _ in range(5000)))
    page = await room.call("read", {"path": "wide"})
    assert "truncated" not in page.output
    assert len(page.output.encode()) <= 16_000


async def test_an_offset_past_the_end_is_told(room: Room) -> None:
    (room.ws / "f").write_text("a\nb\n")
    result = await room.call("read", {"path": "f", "offset": 9})
    assert (kind(result), "has 2 lines" in result.output) == ("invalid_args", True)


async def test_a_line_longer_than_a_page_is_shown_by_its_beginning(room: Room) -> None:
    (room.ws / "min.js").write_text("x" * 100_000 + "\nend\n")
    output = (await room.call("read", {"path": "min.js"})).output
    assert output == "x" * 4_000 + "…[line truncated, showing 4000 of 100000 bytes]\nend\n"


async def test_crlf_is_shown_as_newline(room: Room) -> None:
    (room.ws / "dos.txt").write_bytes(b"a\r\nb\r\n")
    assert (await room.call("read", {"path": "dos.txt"})).output == "a\nb\n"


async def test_a_binary_file_is_refused(room: Room) -> None:
    (room.ws / "prog").write_bytes(b"\x7fELF\0\0\0" * 100)
    result = await room.call("read", {"path": "prog"})
    assert (kind(result), details(result)) == ("read_failed", {"bytes": 700})


async def test_text_that_is_not_utf8_is_read_with_visible_replacements(room: Room) -> None:
    (room.ws / "latin").write_bytes("naïve\n".encode("latin-1"))
    assert (await room.call("read", {"path": "latin"})).output == "na\ufffdve\n"


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 20, "image/jpeg"),
        (b"GIF89a" + b"\0" * 20, "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 " + b"\0" * 20, "image/webp"),
    ],
)
async def test_an_image_comes_back_as_an_image(content: bytes, media_type: str, room: Room) -> None:
    (room.ws / "picture.txt").write_bytes(content)
    result = await room.call("read", {"path": "picture.txt"})
    assert result.images == (Image(media_type, base64.b64encode(content).decode()),)
    assert (result.output, "images" in value(result)) == (f"[{media_type}, {len(content)} bytes]", False)


async def test_a_huge_image_is_refused(room: Room) -> None:
    (room.ws / "big.png").write_bytes(PNG + b"\0" * (5 << 20))
    assert kind(await room.call("read", {"path": "big.png"})) == "limit_exceeded"


async def test_a_terabyte_is_not_loaded(room: Room) -> None:
    """W9: sparse, text first; only the window is read."""
    with open(room.ws / "huge", "wb") as file:
        file.write(b"".join(b"line %d\n" % number for number in range(100_000)))
        file.truncate(1 << 40)
    await room.call("read", {"path": "huge"})
    grown = growth()
    page = value(await room.call("read", {"path": "huge", "offset": 50_001, "limit": 2}))
    assert page["output"].startswith(
        "line 50000\nline 50001\n[lines 50001-50002 of a file with 1099511627776 bytes"
    )
    assert kind(await room.call("read", {"path": "huge", "offset": 10_000_000})) == "limit_exceeded"
    assert grown() < 32 << 10
    assert (
        kind(await room.call("edit", {"path": "huge", "old_string": "a", "new_string": "b"}))
        == "limit_exceeded"
    )


async def test_a_huge_text_is_paged_to_its_end(room: Room) -> None:
    lines = [f"{number:07d} {'y' * 4095}" for number in range(2_100)]
    (room.ws / "big.txt").write_text("\n".join(lines))
    last = value(await room.call("read", {"path": "big.txt", "offset": 2_099}))
    shown = [line[:7] for line in last["output"].splitlines()]
    assert (shown, "next_offset" in last) == (["0002098", "0002099"], False)
    assert kind(await room.call("read", {"path": "big.txt", "offset": 2_101})) == "invalid_args"


async def test_a_file_that_grows_while_it_is_read_ends_where_it_was(room: Room) -> None:
    """W10."""
    path = room.ws / "grows"
    path.write_text("x\n" * 100)
    stop = threading.Event()

    def append() -> None:
        with open(path, "a") as file:
            while not stop.is_set() and path.stat().st_size < 64 << 20:
                file.write("x\n" * 50_000)
                file.flush()

    thread = threading.Thread(target=append)
    thread.start()
    try:
        for _ in range(30):
            result = await room.call("read", {"path": "grows"})
            assert (kind(result), len(result.output) <= 17_000) == ("ok", True)
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    "path", ["output:", "output:nope", "output:../../etc/passwd", "output:a/b", "output:.."]
)
async def test_an_output_that_is_not_kept_is_missing(path: str, room: Room) -> None:
    assert kind(await room.call("read", {"path": path})) == "resource_missing"


# --- write -----------------------------------------------------------------------------------------------


async def test_write_creates_folders_and_says_so(room: Room) -> None:
    result = await room.call("write", {"path": "a/b/c.txt", "content": "héllo\n"})
    assert value(result) == {"output": "Created a/b/c.txt (7 bytes)."}
    assert (room.ws / "a/b/c.txt").read_text() == "héllo\n"


async def test_a_new_file_gets_the_modes_of_the_umask(room: Room) -> None:
    old = os.umask(0o027)
    try:
        await room.call("write", {"path": "d/new", "content": "x"})
    finally:
        os.umask(old)
    assert stat.S_IMODE((room.ws / "d/new").stat().st_mode) == 0o640
    assert stat.S_IMODE((room.ws / "d").stat().st_mode) == 0o750


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o444, 0o4755, 0o664])
@pytest.mark.parametrize("name", ["write", "edit"])
async def test_the_mode_is_kept(name: str, mode: int, room: Room) -> None:
    path = room.ws / "script.sh"
    path.write_text("old\n")
    path.chmod(mode)
    args = {"write": {"content": "new\n"}, "edit": {"old_string": "old", "new_string": "new"}}[name]
    assert kind(await room.call(name, {"path": "script.sh", **args})) == "ok"
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (mode, "new\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_the_owner_is_kept(room: Room) -> None:
    (room.ws / "f").write_text("old\n")
    os.chown(room.ws / "f", 65534, 65534)
    await room.call("write", {"path": "f", "content": "new\n"})
    assert (room.ws / "f").stat().st_uid == 65534


async def test_write_keeps_crlf(room: Room) -> None:
    (room.ws / "dos").write_bytes(b"a\r\nb\r\n")
    await room.call("write", {"path": "dos", "content": "c\nd\n"})
    assert (room.ws / "dos").read_bytes() == b"c\r\nd\r\n"


async def test_a_file_changed_since_this_agent_read_it_is_not_overwritten(room: Room) -> None:
    path = room.ws / "f"
    path.write_text("one\ntwo\n")
    await room.call("read", {"path": "f"})
    path.write_text("one\n2\n")
    for name, args in [("write", {"content": "x"}), ("edit", {"old_string": "one", "new_string": "x"})]:
        refused = await room.call(name, {"path": "f", **args})
        assert kind(refused) == "edit_conflict"
        assert "-two\n+2" in details(refused)["diff"]
    assert path.read_text() == "one\n2\n"
    await room.call("read", {"path": "f"})
    assert kind(await room.call("write", {"path": "f", "content": "x"})) == "ok"


async def test_a_file_never_read_may_be_written_and_so_may_ones_own(room: Room) -> None:
    (room.ws / "f").write_text("one\n")
    assert kind(await room.call("write", {"path": "f", "content": "two\n"})) == "ok"
    assert kind(await room.call("write", {"path": "f", "content": "three\n"})) == "ok"
    assert kind(await room.call("edit", {"path": "f", "old_string": "three", "new_string": "four"})) == "ok"


async def test_what_one_agent_read_is_not_what_another_read(room: Room) -> None:
    (room.ws / "f").write_text("one\n")
    await room.call("read", {"path": "f"})
    other = room.agent("agent-2")
    assert kind(await room.call("write", {"path": "f", "content": "two\n"}, by=other)) == "ok"
    assert kind(await room.call("write", {"path": "f", "content": "three\n"})) == "edit_conflict"


async def test_a_deleted_file_may_be_written_again(room: Room) -> None:
    (room.ws / "f").write_text("one\n")
    await room.call("read", {"path": "f"})
    (room.ws / "f").unlink()
    assert kind(await room.call("edit", {"path": "f", "old_string": "one", "new_string": "x"})) == "not_found"
    assert kind(await room.call("write", {"path": "f", "content": "two\n"})) == "ok"


async def test_the_before_image_is_recorded_before_anything_changes(room: Room) -> None:
    (room.ws / "f").write_text("before\n")
    (room.ws / "f").chmod(0o640)
    states: list[tuple[View, str]] = []

    async def record(fact: View) -> None:
        states.append((fact, (room.ws / "f").read_text()))

    agent = room.agent("a", record)
    await room.call("write", {"path": "./f", "content": "after\n"}, by=agent)
    await room.call("edit", {"path": "f", "old_string": "after", "new_string": "last"}, by=agent)
    await room.call("write", {"path": "new", "content": "x"}, by=agent)
    facts = [fact for fact, _ in states]
    assert all(isinstance(fact, FileChanged) for fact in facts)
    assert [
        (fact.path, fact.before, fact.mode, fact.call_id) for fact in facts if isinstance(fact, FileChanged)
    ] == [
        ("f", b"before\n", 0o640, "c1"),
        ("f", b"after\n", 0o640, "c2"),
        ("new", None, None, "c3"),
    ]
    assert [text for _, text in states] == ["before\n", "after\n", "last\n"]


@pytest.mark.parametrize("name", ["write", "edit"])
async def test_what_can_not_be_recorded_does_not_happen(name: str, room: Room) -> None:
    (room.ws / "f").write_text("before\n")
    before = tree(room.ws)

    async def refuse(fact: View) -> None:
        raise OSError("the log is full")

    args = {"write": {"content": "x"}, "edit": {"old_string": "before", "new_string": "x"}}[name]
    result = await room.call(name, {"path": "f", **args}, by=room.agent("a", refuse))
    assert kind(result) == "internal_error"
    assert tree(room.ws) == before


async def test_a_full_disk_leaves_the_old_file(room: Room) -> None:
    """/dev/full can't be a workspace; a file size limit fails the write the same way, after part of it."""
    (room.ws / "f").write_text("before\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        result = await room.call("write", {"path": "f", "content": "x" * 100_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert kind(result) == "write_failed"
    assert {name: (room.ws / name).read_text() for name in os.listdir(room.ws)} == {"f": "before\n"}


# --- edit ------------------------------------------------------------------------------------------------


async def test_edit_replaces_the_one_place(room: Room) -> None:
    (room.ws / "a.py").write_text("a = 1\nb = 2\n")
    result = await room.call("edit", {"path": "a.py", "old_string": "b = 2", "new_string": "b = 3"})
    assert value(result) == {"output": "Edited a.py (1 replacement).", "replaced": 1}
    assert (room.ws / "a.py").read_text() == "a = 1\nb = 3\n"


async def test_no_match_shows_the_nearest_lines(room: Room) -> None:
    (room.ws / "a.py").write_text("import os\n" * 11 + "def foo(x, y):\n    pass\n")
    result = await room.call("edit", {"path": "a.py", "old_string": "def foo(x)", "new_string": "z"})
    assert result.output.splitlines() == [
        "no_match: old_string is not in a.py; "
        "the closest match is at line 12, so copy the text from the lines below",
        "[lines 9-13]",
        *["import os"] * 3,
        "def foo(x, y):",
        "    pass",
        "[end of lines 9-13]",
    ]
    (place,) = details(result)["nearest"]
    assert (place["line"], place["text"]) == (12, "def foo(x, y):")


async def test_no_match_shows_where_a_long_text_differs(room: Room) -> None:
    lines = [f"value_{n} = {n}" for n in range(1, 31)]
    (room.ws / "a.py").write_text("\n".join(lines))
    wanted = "\n".join([*lines[4:14], "value_15 = 51", *lines[15:20]])
    result = await room.call("edit", {"path": "a.py", "old_string": wanted, "new_string": "z"})
    assert result.output.splitlines()[1:] == ["[lines 13-17]", *lines[12:17], "[end of lines 13-17]"]


async def test_no_match_without_anything_near(room: Room) -> None:
    (room.ws / "a.py").write_text("zzz\n")
    result = await room.call(
        "edit", {"path": "a.py", "old_string": "completely different", "new_string": "z"}
    )
    assert (kind(result), details(result)) == ("no_match", {})


async def test_not_unique_names_count_and_lines(room: Room) -> None:
    (room.ws / "a.py").write_text("x = 1\ny = 2\nx = 1\nx = 1\n")
    result = await room.call("edit", {"path": "a.py", "old_string": "x = 1", "new_string": "z"})
    assert kind(result) == "not_unique"
    assert details(result) == {"count": 3, "lines": [1, 3, 4]}
    assert "3 times" in result.output
    assert "1, 3, 4" in result.output


async def test_an_edit_that_would_make_the_file_too_large_is_refused(room: Room) -> None:
    (room.ws / "a").write_text("x" * (1 << 20))
    edit = {"path": "a", "old_string": "x", "new_string": "y" * 40, "replace_all": True}
    result = await room.call("edit", edit)
    assert (kind(result), "would have 41943040 bytes" in result.output) == ("limit_exceeded", True)
    assert (room.ws / "a").stat().st_size == 1 << 20


async def test_replace_all_replaces_every_place(room: Room) -> None:
    (room.ws / "a.py").write_text("x x x\n")
    result = await room.call(
        "edit", {"path": "a.py", "old_string": "x", "new_string": "yy", "replace_all": True}
    )
    assert (value(result)["replaced"], (room.ws / "a.py").read_text()) == (3, "yy yy yy\n")


@pytest.mark.parametrize(
    ("old", "new"), [("same", "same"), ("", "x")], ids=["nothing would change", "nothing to look for"]
)
async def test_an_edit_without_meaning_is_invalid(old: str, new: str, room: Room) -> None:
    (room.ws / "f").write_text("same\n")
    result = await room.call("edit", {"path": "f", "old_string": old, "new_string": new})
    assert kind(result) == "invalid_args"


async def test_edit_keeps_crlf_and_the_bytes_of_the_rest(room: Room) -> None:
    (room.ws / "dos").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n\xff\xfe\r\nend")
    await room.call("edit", {"path": "dos", "old_string": "a\nb\n", "new_string": "c\nd\ne\n"})
    assert (room.ws / "dos").read_bytes() == b"\xef\xbb\xbfc\r\nd\r\ne\r\n\xff\xfe\r\nend"


async def test_edit_does_not_touch_mixed_line_ends(room: Room) -> None:
    (room.ws / "mixed").write_bytes(b"a\r\nb\nc\r\n")
    await room.call("edit", {"path": "mixed", "old_string": "b", "new_string": "x\ny"})
    assert (room.ws / "mixed").read_bytes() == b"a\r\nx\ny\nc\r\n"


LINES = st.text(alphabet="ab \té\U0001f600", max_size=6)


@given(
    lines=st.lists(LINES, min_size=1, max_size=8),
    crlf=st.booleans(),
    at=st.integers(0, 7),
    new=LINES,
    data=st.data(),
)
async def test_an_edit_is_a_replacement_of_the_text_and_nothing_else(
    lines: list[str],
    crlf: bool,
    at: int,
    new: str,
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Property: over any text and line ends, what is read afterwards is the model's own replacement."""
    room = Room(tmp_path_factory.mktemp("edit"))
    text = "\n".join(lines)
    end = data.draw(st.integers(0, len(text)))
    start = data.draw(st.integers(0, end))
    old = text[start:end]
    (room.ws / "f").write_bytes(text.replace("\n", "\r\n" if crlf else "\n").encode())
    result = await room.call("edit", {"path": "f", "old_string": old, "new_string": new})
    after = (room.ws / "f").read_bytes()
    if not old or old == new:
        assert kind(result) == "invalid_args"
    elif text.count(old) > 1:
        assert kind(result) == "not_unique"
    else:
        assert kind(result) == "ok"
        assert after.decode().replace("\r\n", "\n") == text.replace(old, new)
        assert not crlf or after.count(b"\n") == after.count(b"\r\n")


async def test_two_edits_of_one_step_both_hold(room: Room) -> None:
    (room.ws / "f").write_text("a\nb\n")
    edits = [("edit", {"path": "f", "old_string": old, "new_string": old * 2}) for old in ("a", "b")]
    assert [kind(result) for result in await room.step(*edits)] == ["ok", "ok"]
    assert (room.ws / "f").read_text() == "aa\nbb\n"
