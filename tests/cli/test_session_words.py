"""What `planck sessions` does with the words that it is given, and what it leaves behind."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from planck import Planck
from planck.testing.scripted import ScriptedProvider
from tests.cli.chat.test_stops import enter
from tests.command import Bench
from tests.terminal import leave, talk
from tests.wire import chat
from tests.wire.server import WireServer


async def make(bench: Bench, *names: str) -> None:
    for name in names:
        double = ScriptedProvider([f"the answer of {name}"])
        async with Planck(bench.home, bench.work, environ={}, providers={"double": double}) as planck:
            session = await planck.start(model="double/m", name=name)
            await session.run("look around")


async def list_names(bench: Bench) -> list[str]:
    rows = json.loads((await bench.run("sessions", "list", "--json")).out)
    return sorted(row["name"] for row in rows)


async def test_every_session_that_is_named_is_deleted_or_none(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    await make(bench, "one", "two", "three")
    wrong = await bench.run("sessions", "delete", "one", "nobody", "--yes")
    assert (wrong.code, wrong.error_kind) == (2, "not_found")
    assert await list_names(bench) == ["one", "three", "two"]
    unanswered = await bench.run("sessions", "delete", "one", "two")
    assert unanswered.code == 2
    done = await bench.run("sessions", "delete", "one", "two", "one", "--yes")
    assert (done.code, done.out.count("Deleted ")) == (0, 2), done.err
    assert await list_names(bench) == ["three"]


@pytest.mark.parametrize(
    "words",
    [
        ("show", "one", "two"),
        ("export", "one", "two"),
        ("verify", "one", "two"),
        ("fork", "one", "two"),
        ("search", "the", "answer"),
        ("import", "one", "two"),
        ("rename", "one", "new", "more"),
        ("list", "one"),
        ("tree", "one"),
    ],
)
async def test_a_word_that_would_be_ignored_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    done = await bench.run("sessions", *words)
    assert (done.code, done.error_kind) == (2, "invalid_args")
    assert f"Unexpected argument: {words[-1]!r}" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("models", "list", "gpt"),
        ("auth", "status", "openai"),
        ("skills", "list", "one"),
        ("teams", "list", "one"),
        ("config", "show", "default_model"),
        ("config", "explain", "default_model", "x"),
    ],
)
async def test_a_list_takes_no_name(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = await Bench(tmp_path, "http://127.0.0.1:9").run(*words)
    assert (done.code, done.error_kind) == (2, "invalid_args")
    assert f"Unexpected argument: {words[-1]!r}" in done.err


async def test_who_wants_to_delete_an_open_session_is_offered_no_copy(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    await make(bench, "one", "two")
    async with Planck(bench.home, bench.work, environ={}, providers={"double": ScriptedProvider([])}) as p:
        await p.resume("two")
        for extra in (("--yes",), ()):
            refused = await bench.run("sessions", "delete", "one", "two", *extra)
            assert refused.error_kind == "writer_conflict"
            assert "fork" not in refused.err
            assert f"process {os.getpid()} on " in refused.err
    assert await list_names(bench) == ["one", "two"]


async def test_a_fork_names_the_next_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    await make(bench, "one")
    done = await bench.run("sessions", "fork", "one", "--name", "two")
    assert "planck -r two" in done.err


async def test_a_session_that_cannot_be_read_is_told_of_in_a_search(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    await make(bench, "one", "two")
    (file,) = bench.home.rglob("*two*.db")
    with closing(sqlite3.connect(file)) as store, store:
        store.execute("UPDATE events SET bytes = ? WHERE seq = 2", (b"{}",))
    done = await bench.run("sessions", "search", "answer of")
    assert "the answer of one" in done.out
    assert "not searched completely" in done.err


async def test_a_rewind_is_shown_in_an_export_and_to_who_looks(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    double = ScriptedProvider(["first", "second"])
    async with Planck(bench.home, bench.work, environ={}, providers={"double": double}) as planck:
        session = await planck.start(model="double/m", name="one")
        await session.run("look")
        head = session.head
        await session.run("look again")
        assert await session.rewind(head) is None
    words = f"rewound to event {head}"
    assert words in (await bench.run("sessions", "show", "one")).out
    assert words in (await bench.run("sessions", "export", "one", "--format", "md")).out
    page = (await bench.run("sessions", "export", "one", "--format", "html")).out
    assert '"type":"rewound"' in page, "the page has a note for it"


async def test_a_conversation_in_which_nothing_was_said_leaves_no_session(tmp_path: Path) -> None:
    async with WireServer([chat.text("hello back")]) as server:
        bench = Bench(tmp_path, server.url)
        await leave(await talk(bench))
        assert await list_names(bench) == []
        run = await talk(bench)
        await enter(run, "/new", "· /help ·")
        await enter(run, "hello", "hello back")
        await run.until_seen(lambda rows: any("? keys" in row for row in rows[-3:]))
        await leave(run)
        assert len(await list_names(bench)) == 1
        await leave(await talk(bench, "--name", "mine"))
        assert "mine" in await list_names(bench)


@pytest.mark.parametrize("team", ["", "crew"])
async def test_clear_keeps_what_was_chosen_for_the_conversation(tmp_path: Path, team: str) -> None:
    other = {"id": "big", "model": "large", "provider": "local"}
    bench = Bench(tmp_path, "http://127.0.0.1:9", models=[other])
    folder = bench.work / ".planck" / "teams" / "crew"
    await bench.run("teams", "new", "crew")
    assert folder.is_dir()
    lines = ["/mode workspace", "/model big", "/effort high", "/clear", "/status"]
    done = await bench.run("chat", *(("--team", team) if team else ()), stdin="\n".join(lines).encode())
    status = done.err[done.err.rindex("session   ") :]
    assert "mode      workspace" in status
    if team:
        assert "team      orchestrator, builder, tester" in status
    else:
        assert "model     big, effort high" in status
    new = await bench.run("chat", "--team", "crew", stdin=b"/new\n/status")
    assert "team      orchestrator\n" in new.err
