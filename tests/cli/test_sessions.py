"""`planck sessions` as a user runs it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from planck import Planck
from planck.testing.scripted import ScriptedProvider
from tests.command import Bench


async def _session(bench: Bench, name: str) -> str:
    double = ScriptedProvider([[("list_dir", {})], f"the answer of {name}"])
    async with Planck(bench.home, bench.work, environ={}, providers={"double": double}) as p:
        session = await p.start(model="double/m", mode="full", name=name)
        await session.run("look around")
        return session.id


async def test_a_session_is_listed_shown_searched_forked_and_deleted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    id = await _session(bench, "first-one")
    (row,) = json.loads((await bench.run("sessions", "list", "--json")).out)
    assert (row["id"], row["name"], row["workspace"]) == (id, "first-one", str(bench.work))
    shown = await bench.run("sessions", "show", "first-one")
    assert shown.code == 0
    assert "the answer of first-one" in shown.out
    detail = json.loads((await bench.run("sessions", "show", id, "--json")).out)
    assert [(agent["type"], agent["turns"], agent["state"]) for agent in detail["agents"]] == [
        ("orchestrator", 1, "idle")
    ]
    hits = json.loads((await bench.run("sessions", "search", "ANSWER of", "--json")).out)
    assert [hit["session_id"] for hit in hits] == [id] * len(hits)
    assert [hit["seq"] for hit in hits] == sorted((hit["seq"] for hit in hits), reverse=True)
    forked = json.loads(
        (await bench.run("sessions", "fork", id, "--at", "5", "--name", "second", "--json")).out
    )
    assert (forked["parent"], forked["forked_at"]) == (id, 5)
    (top,) = json.loads((await bench.run("sessions", "tree", "--json")).out)
    assert [fork["session"]["name"] for fork in top["forks"]] == ["second"]
    assert "  second " in (await bench.run("sessions", "tree")).out
    assert (await bench.run("sessions", "delete", "first-one", "--yes")).code == 0
    assert [row["name"] for row in json.loads((await bench.run("sessions", "list", "--json")).out)] == [
        "second"
    ]


async def test_export_and_import_through_files_and_pipes(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    id = await _session(bench, "first-one")
    exported = (await bench.run("sessions", "export", "first-one")).out
    assert (await bench.run("sessions", "import", "-", stdin=exported.encode())).code == 2
    await bench.run("sessions", "delete", id, "--yes")
    done = await bench.run("sessions", "import", "-", stdin=exported.encode())
    assert (done.code, done.err) == (0, "")
    assert (await bench.run("sessions", "export", id)).out == exported
    page = (await bench.run("sessions", "export", id, "--format", "markdown")).out
    assert "## User to orchestrator (prompt)\n\nlook around" in page


async def test_a_page_is_exported_and_proven_and_a_changed_one_is_not(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    id = await _session(bench, "first-one")
    made = await bench.run("sessions", "export", "first-one", "--format", "html")
    assert (made.code, made.err, made.out[:15]) == (0, "", "<!doctype html>")
    assert (await bench.run("sessions", "export", id, "--format", "html")).out == made.out
    file = tmp_path / "page.html"
    file.write_text(made.out)
    proven = await bench.run("sessions", "verify", str(file))
    assert (proven.code, proven.out.startswith("first-one: verified, "), proven.err) == (0, True, "")
    assert ", matches the stored session, hash " in proven.out
    file.write_text(made.out.replace("look around", "look aside!"))
    changed = await bench.run("sessions", "verify", str(file), "--json")
    assert (changed.code, changed.out) == (1, "")
    said = "This file is not verified: its events do not match the log, starting with event"
    assert (changed.error_kind, said in changed.err) == ("corrupt_log_line", True)
    for wrong in (
        ("export", id, "--redact", "words", "--format", "html"),
        ("export", id, "--redact", "paths", "--with-log", "--format", "html"),
        ("export", id, "--redact", "paths"),
        ("export", id, "--max-mb", "0", "--format", "html"),
        ("verify", str(tmp_path / "nothing.html")),
    ):
        assert (await bench.run("sessions", *wrong)).code == 2, wrong
    hidden = await bench.run("sessions", "export", id, "--format", "html", "--redact", "args, outputs")
    assert (hidden.code, "Hidden by the owner: outputs, args." in hidden.out) == (0, True)
    packed = await bench.run("sessions", "export", id, "--format", "html", "--with-log")
    file.write_text(packed.out)
    await bench.run("sessions", "delete", id, "--yes")
    alone = json.loads((await bench.run("sessions", "verify", str(file), "--json")).out)
    assert (alone["id"], alone["by"]) == (id, ["log"])


async def test_a_stored_session_is_proven_by_its_chain_and_a_changed_one_is_not(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    id = await _session(bench, "first-one")
    proven = await bench.run("sessions", "verify", "first-one", "--json")
    assert (proven.code, proven.result["id"], proven.result["by"]) == (0, id, ["chain"])
    with closing(sqlite3.connect(bench.home / "sessions" / f"{id}_first-one.db")) as log, log:
        log.execute("UPDATE events SET bytes = replace(bytes, 'look around', 'look aside!') WHERE seq = 3")
    changed = await bench.run("sessions", "verify", id)
    assert (changed.code, changed.out) == (1, "")
    assert (changed.error_kind, changed.err[:18]) == ("corrupt_log_line", "error: Event 3 of ")


def files(folder: Path) -> set[Path]:
    """All but the lock that is held while a name is chosen."""
    return {path for path in folder.rglob("*") if path.name != ".naming"}


@pytest.mark.parametrize("id", ["../home", "../../etc/passwd", "*", "x" * 5000, "a\x1b[2J"])
async def test_an_id_is_never_a_path(tmp_path: Path, id: str) -> None:
    """H13, by the doors that there are: nothing outside the folder of sessions is read or removed."""
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (tmp_path / "home" / "sessions").mkdir(mode=0o700)
    (tmp_path / "home" / "x_y.db").write_text("no session")
    before = files(tmp_path)
    for command in (("show",), ("export",), ("delete",), ("fork",)):
        done = await bench.run("sessions", *command, "--", id)
        assert done.code in (1, 2), (command, done)
        assert "\x1b" not in done.err
        assert "internal_error" not in done.err
    assert (await bench.run("run", "hi", "-r", id)).code == 2
    assert (await bench.run("run", "hi", "--name", f"../{id}/x")).code == 2
    assert files(tmp_path) == before


async def test_what_is_not_there_is_said_with_a_way_out(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    missing = await bench.run("sessions", "show", "nobody")
    assert (missing.code, missing.out) == (2, "")
    assert (missing.error_kind, "Session not found: 'nobody'. Run" in missing.err) == ("not_found", True)
    assert (await bench.run("sessions", "export")).code == 2
    assert (await bench.run("sessions", "import", "nowhere.ndjson")).code == 2
    assert (await bench.run("sessions", "list")).code == 0
