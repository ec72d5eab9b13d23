"""A log whose end is gone: a chain of hashes can't show that, and every command says it all the same."""

import asyncio
import json
import os
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.cli.main import main
from planck.headless import Selection, UndoError
from planck.llm.provider import Request
from planck.records.outcome import PlanckError
from planck.store.sqlite import lock_file, witness
from planck.store.sqlite.database import Disk, companion
from planck.store.sqlite.reader import SqliteReader
from planck.store.sqlite.witness import write_witness
from planck.testing import ScriptedProvider

WRITES = [[("write", {"path": f"{number}.txt", "content": "x"})] for number in range(7)]


def app(folder: Path, home: Path, script: Any = None, **flags: Any) -> Planck:
    double = ScriptedProvider(script or [*WRITES, *["done"] * 9])
    return Planck(home, folder / "work", environ={}, flags=flags, providers={"double": double})


async def kill(folder: Path) -> tuple[Path, int, str]:
    """Returns a home as a process leaves it that is killed within a turn, where nothing was synced since its
    prompt; how many events the log had; and the id of the session."""
    (folder / "work").mkdir()
    heads: list[int] = []

    def answer(request: Request) -> Any:
        if len(heads) == len(WRITES):
            subprocess.run(["cp", "-a", folder / "home", folder / "killed"], check=True)
        heads.append(session.head)
        return [*WRITES, "done"][len(heads) - 1]

    async with app(folder, folder / "home", answer) as planck:
        session = await planck.start(model="double/m", name="s", mode="full")
        await session.run("go")
        await session.aclose()
    for shared in (folder / "killed").rglob("*-shm"):
        shared.unlink()
    return folder / "killed", heads[-1], session.id


async def check_cuts(folder: Path, count: int) -> None:
    killed, head, id = await kill(folder)
    (wal,) = killed.rglob("*-wal")
    size = wal.stat().st_size
    sizes = sorted({size * part // count for part in range(count)} | {size})
    lost = [await check_cut(folder, killed, head, id, size) for size in sizes]
    assert lost[-1] == 0, "nothing is lost by a kill alone, and nothing is said"
    assert len(set(lost)) > 4, "the places differ"


async def check_cut(folder: Path, killed: Path, head: int, id: str, size: int) -> int:
    home = cut(folder, killed, size)
    async with app(folder, home) as planck:
        archive = planck.archive
        left = archive.info(id).head
        if left == head:
            assert archive.verify_session(id).events == head
            assert archive.find_loss(id) is None
            return 0
        await check_told(planck, id, left, head - left)
    return head - left


def cut(folder: Path, killed: Path, size: int) -> Path:
    home = folder / "cut"
    subprocess.run(["rm", "-rf", home], check=True)
    subprocess.run(["cp", "-a", killed, home], check=True)
    (wal,) = home.rglob("*-wal")
    with wal.open("r+b") as file:
        file.truncate(size)
    return home


async def check_told(planck: Planck, id: str, left: int, lost: int | None) -> None:
    """Each reader says so before anybody opens the log, who opens it says so once, and it stays known."""
    archive = planck.archive
    details = {"sound": left, "lost": lost}
    assert loss_of(planck, id) == details
    if left < 3:  # nobody could go on: no agent had started
        return
    assert archive.info(id).problem
    if left % 2:  # who opens it first, and whether that is a resume
        async with planck.hold(id) as held:
            with suppress(UndoError):
                await held.undo(held.undo_plan(Selection()))
    else:
        session = await planck.resume(id)
        await session.run("go on")
        await session.aclose()
    errors = [event for event in archive.recorded(id) if event.type == "error"]
    assert [json.loads(bytes(event.data))["details"] for event in errors] == [details]
    gaps = {"gaps": [{"after": left, "lost": lost}]}
    assert loss_of(planck, id) == gaps, "told once, and then forgotten"
    forked = await archive.fork(id, name="whole", at=left)
    assert archive.verify_session(forked.id).events > left
    assert loss_of(planck, (await archive.fork(id, name="gap")).id) == gaps


def say_what_is_left(log: Path) -> None:
    """The lock file of a power failure that took the same from both."""
    with closing(SqliteReader.open(log)) as reader:
        head, digest = reader.head, reader.head_hash
    lock = companion(log, "lock")
    with lock.open("r+b") as file:
        write_witness(file.fileno(), head, digest)
        os.pwrite(file.fileno(), bytes(lock_file.RECORDS[1]), lock_file.RECORDS[0])


LOCK_FILES: tuple[Callable[[Path], None], ...] = (
    say_what_is_left,
    lambda log: os.truncate(companion(log, "lock"), 0),
    lambda log: companion(log, "lock").unlink(),
)
"""What a power failure leaves of a file that nobody synced."""


async def check_power_cuts(folder: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def sync(disk: Disk, fd: int) -> None:
        os.fdatasync(fd)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            synced.append(os.fstat(fd).st_size)

    with monkeypatch.context() as yesterday:
        yesterday.setattr(Disk, "sync", sync)
        yesterday.setattr(witness, "read_boot", lambda: "yesterday")
        killed, _, id = await kill(folder)
    (wal,) = killed.rglob("*-wal")
    least, size = min(synced), wal.stat().st_size
    heads = set()
    for part in range(count):
        home = cut(folder, killed, least + (size - least) * part // max(count - 1, 1))
        (log,) = home.rglob("*.db")
        LOCK_FILES[part % len(LOCK_FILES)](log)
        async with app(folder, home) as planck:
            left = planck.archive.info(id).head
            await check_told(planck, id, left, None)
        heads.add(left)
    assert len(heads) > 4, "the places differ"


def loss_of(planck: Planck, id: str) -> dict[str, Any]:
    loss = planck.archive.find_loss(id)
    with pytest.raises(PlanckError) as refused:
        planck.archive.verify_session(id)
    assert loss is not None
    assert loss == refused.value.err
    return dict(loss.details)


async def test_a_wal_that_was_cut_is_told_by_every_reader(tmp_path: Path) -> None:
    await check_cuts(tmp_path, 8)


@pytest.mark.soak
async def test_a_wal_that_was_cut_at_a_hundred_places_is_told_by_every_reader(tmp_path: Path) -> None:
    await check_cuts(tmp_path, 100)


async def test_a_power_failure_that_takes_the_witness_too_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await check_power_cuts(tmp_path, 9, monkeypatch)


@pytest.mark.soak
async def test_a_hundred_power_failures_that_take_the_witness_too_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await check_power_cuts(tmp_path, 100, monkeypatch)


@pytest.mark.parametrize("durability", ["process", "power"])
@pytest.mark.parametrize("closed", [True, False])
async def test_nothing_is_said_of_a_log_that_a_restart_took_nothing_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str, closed: bool
) -> None:
    """It was closed, or each of its commits was synced."""
    (tmp_path / "work").mkdir()
    with monkeypatch.context() as yesterday:
        yesterday.setattr(witness, "read_boot", lambda: "yesterday")
        async with app(tmp_path, tmp_path / "home", durability=durability) as planck:
            session = await planck.start(model="double/m", name="s", mode="full")
            await session.run("go")
            if closed:
                await session.aclose()
            subprocess.run(["cp", "-a", tmp_path / "home", tmp_path / "cut"], check=True)
            await session.aclose()
    for shared in (tmp_path / "cut").rglob("*-shm"):
        shared.unlink()
    async with app(tmp_path, tmp_path / "cut") as planck:
        archive = planck.archive
        told = not closed and durability == "process"
        assert (archive.find_loss("s") is not None) == told
        await (await planck.resume("s")).aclose()
        assert (archive.find_loss("s") is not None) == told


@pytest.mark.parametrize("damage", ["DELETE FROM blobs", "UPDATE blobs SET bytes = x'00'"])
def test_an_export_without_its_blobs_says_so_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    async def work() -> str:
        (tmp_path / "work").mkdir()
        async with app(tmp_path, tmp_path / "home") as planck:
            session = await planck.start(model="double/m", name="s", mode="full")
            await session.run("go")
            await session.aclose()
        return session.id

    id = asyncio.run(work())
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PLANCK_HOME", str(tmp_path / "home"))
    for what in ("export", "verify"):
        assert main(["sessions", what, id]) == 0
    capfd.readouterr()
    (file,) = (tmp_path / "home").rglob("*.db")
    database = sqlite3.connect(file)
    with database:
        database.execute(damage)
    database.close()
    for what in ("export", "verify"):
        assert main(["sessions", what, id]) != 0
        shown = capfd.readouterr()
        assert "[resource_missing]" in shown.err
        assert "verified" not in shown.out
        assert shown.out.count("\n") > 10 or what == "verify"


@pytest.mark.parametrize("opened", [False, True])
async def test_no_export_of_a_cut_log_is_proven_wherever_it_is(tmp_path: Path, opened: bool) -> None:
    """A page, with its log in it or not, and an export that somebody else imports."""
    killed, head, id = await kill(tmp_path)
    (wal,) = killed.rglob("*-wal")
    with wal.open("r+b") as file:
        file.truncate(wal.stat().st_size * 6 // 10)
    async with app(tmp_path, killed) as planck, app(tmp_path, tmp_path / "elsewhere") as other:
        left = planck.archive.info(id).head
        assert 3 < left < head
        if opened:
            await (await planck.resume(id)).aclose()
        pages = [tmp_path / "page.html", tmp_path / "with_log.html"]
        for page, with_log in zip(pages, (False, True), strict=True):
            page.write_bytes(planck.export_page(id, with_log=with_log))
        (tmp_path / "export").write_bytes(b"".join(planck.archive.events(id)))
        gaps = {"gaps": [{"after": left, "lost": head - left}]}
        for place, page in ((planck, pages[0]), (planck, pages[1]), (other, pages[1])):
            with pytest.raises(PlanckError) as refused:
                place.verify_page(page)
            assert refused.value.err.details == gaps
        await other.archive.import_session(tmp_path / "export")
        assert loss_of(other, id) == (gaps if opened else {"sound": left, "lost": head - left})
        again = b"".join(other.archive.events(id))
        assert again == (tmp_path / "export").read_bytes(), "it says so as often as it is passed on"


@pytest.mark.parametrize("options", [[], ["-o", "out"]])
def test_an_export_reads_its_log_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], options: list[str]
) -> None:
    async def work() -> tuple[str, int]:
        (tmp_path / "work").mkdir()
        async with app(tmp_path, tmp_path / "home") as planck:
            session = await planck.start(model="double/m", name="s", mode="full")
            await session.run("go")
            return session.id, session.head

    id, head = asyncio.run(work())
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PLANCK_HOME", str(tmp_path / "home"))
    read: list[int] = []
    real = SqliteReader._rows

    def count(reader: SqliteReader, *args: int) -> Any:
        rows = real(reader, *args)
        read.extend(row[0] for row in rows)
        return rows

    monkeypatch.setattr(SqliteReader, "_rows", count)
    assert main(["sessions", "export", id, *options]) == 0
    assert read == [*range(1, len(read) + 1)], "each event once"
    assert len(read) >= head
