"""`planck blame` after real work: who, on whose instructions, with whose approval, and what was checked."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.blame.histories import make_change, store_log
from tests.cli.test_undo import again, edit, worked
from tests.command import FULL, Bench, Done
from tests.wire import chat
from tests.wire.server import WireServer


def read(done: Done) -> list[tuple[str, str, str]]:
    """Returns the text of each line, who wrote it, and with which tool."""
    assert (done.code, done.err) == (0, "")
    blame = json.loads(done.out)
    calls = blame["changes"]
    return [
        (line["text"], line["by"], calls[line["change"]]["tool"] if line["change"] is not None else "")
        for line in blame["lines"]
    ]


async def test_lines_are_followed_through_edits_commands_renames_undo_and_the_user(tmp_path: Path) -> None:
    bench = await worked(
        tmp_path,
        edit("line 2\n", "LINE TWO\n"),
        ("bash", {"command": "sed -i 's/line 4/LINE FOUR/' a.txt && mv a.txt b.txt"}),
        edit("line 6\n", "", "b.txt"),
    )
    b = bench.work / "b.txt"
    b.write_text("mine\n" + b.read_text())
    wanted = {"mine": ("nobody", ""), "LINE TWO": ("session", "edit"), "LINE FOUR": ("session", "bash")}
    found = {text: (by, tool) for text, by, tool in read(await bench.run("blame", "b.txt", "--json"))}
    assert {text: found[text] for text in wanted} == wanted
    assert found["line 3"] == ("nobody", "")
    undone = await bench.run("undo", "-y")
    assert undone.code == 1, undone  # the user edited the renamed file
    assert (await bench.run("blame", "b.txt:1-2", "--json")).code == 0


async def test_an_undo_gives_a_line_back_to_its_author_and_a_redo_too(tmp_path: Path) -> None:
    bench = await worked(tmp_path, edit("line 2\n", "LINE TWO\n"))
    async with WireServer([chat.calls(edit("LINE TWO\n", "gone\n")), chat.text("done")]) as server:
        config = json.loads((bench.home / "config.json").read_text())
        config["providers"]["local"]["base_url"] = server.url
        (bench.home / "config.json").write_text(json.dumps(config))
        await bench.run("run", "-c", "again", *FULL)
    newer = json.loads((await bench.run("blame", "a.txt:3", "--json")).out)["changes"][0]
    undone = await bench.run("undo", "-y")
    assert undone.code == 0
    first = json.loads((await bench.run("blame", "a.txt:3", "--json")).out)["changes"][0]
    assert (first["turn"], newer["turn"], first["instructions"][0]["text"]) == (1, 2, "go")
    await bench.run("undo", "-y", "--call", again(undone))
    back = json.loads((await bench.run("blame", "a.txt:3", "--json")).out)["changes"][0]
    assert (back["call"], back["agent"]) == (newer["call"], "orchestrator")


async def test_a_check_and_an_approval_are_named(tmp_path: Path) -> None:
    bench = await worked(
        tmp_path, edit("line 2\n", "LINE TWO\n"), ("bash", {"command": "python3 -m unittest -q"})
    )
    (call,) = json.loads((await bench.run("blame", "a.txt:3", "--json")).out)["changes"]
    assert (call["approved_by"], call["approval"]) == ("mode", "full")
    assert call["check"]["command"] == "python3 -m unittest -q"
    told = await bench.run("blame", "a.txt")
    assert "approved by: permission mode full" in told.out
    assert "  you → orchestrator prompt: go\n" in told.out
    assert "- no session of this workspace wrote these lines" in told.out
    assert max(map(len, told.out.splitlines())) <= 80


@pytest.mark.parametrize("columns", ["40", "80", "140"])
async def test_the_output_fits_the_terminal(tmp_path: Path, columns: str) -> None:
    bench = await worked(tmp_path, edit("line 2\n", "x" * 200 + "\n"))
    told = await bench.run("blame", "a.txt", env={"COLUMNS": columns})
    assert max(map(len, told.out.splitlines())) <= int(columns)


async def test_an_imported_or_a_damaged_log_is_left_out_and_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.work / "a.txt").write_text("theirs\n")
    sessions = bench.home / "sessions"
    sessions.mkdir()
    fact = (1, make_change("c1", "a.txt", None, b"theirs\n"))
    store_log(sessions, bench.work, f"{1:016}", [fact], imported="true")
    damaged = store_log(sessions, bench.work, f"{2:016}", [fact, fact]).path
    with closing(sqlite3.connect(damaged)) as db:
        db.execute("UPDATE events SET bytes = CAST(replace(bytes, 'c1', 'c9') AS BLOB) WHERE seq = 1")
        db.commit()
    done = await bench.run("blame", "a.txt", "--json")
    assert (done.code, json.loads(done.out)["lines"][0]["by"]) == (0, "nobody")
    assert "Session session1 is left out. It was imported" in done.err
    assert "Session session2 is left out." in done.err


async def test_what_cannot_be_blamed_is_an_error_with_a_kind(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.work / "blob.bin").write_bytes(b"\0\1")
    (bench.work / "huge").write_bytes(b"x\n" * (5 << 20))
    (bench.work / "a.txt").write_text("one\n")
    (bench.work / "out").symlink_to(tmp_path / "home" / "config.json")
    (bench.work / "folder").mkdir()
    kinds = {
        "blob.bin": "invalid_args",
        "huge": "limit_exceeded",
        "gone": "not_found",
        "../home/config.json": "outside_workspace",
        "out": "outside_workspace",
        "folder": "read_failed",
        "a.txt:2": "invalid_args",
        "a.txt:0": "invalid_args",
    }
    assert {name: (await bench.run("blame", name)).error_kind for name in kinds} == kinds
    (bench.work / "empty").touch()
    assert (await bench.run("blame", "empty")).out == "empty is empty.\n"
    (bench.work / "a.txt:7").write_text("a name that ends like a line\n")
    assert (await bench.run("blame", "a.txt:7")).code == 0
