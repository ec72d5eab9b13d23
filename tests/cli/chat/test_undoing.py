"""`/undo` and `/redo` at a terminal, where a turn conflicts with what the user did since."""

from pathlib import Path

from tests.cli.chat.test_stops import enter
from tests.command import FULL, Bench
from tests.terminal import leave, talk
from tests.wire import chat
from tests.wire.server import WireServer


async def worked(bench: Bench) -> None:
    """Two turns, of which the user's own edit is in the way of the second."""
    for number, name in enumerate(("first.txt", "second.txt"), 1):
        done = await bench.run("run", f"write number {number}", *FULL, *(("-c",) if number > 1 else ()))
        assert done.code == 0, done.err
        assert (bench.work / name).read_text() == f"by {name}\n"
    (bench.work / "second.txt").write_text("of the user\n")


def script() -> list[object]:
    names = ("first.txt", "second.txt")
    calls = [chat.calls(("write", {"path": name, "content": f"by {name}\n"})) for name in names]
    return [calls[0], chat.text("one"), calls[1], chat.text("two")]


async def test_a_redo_reverses_the_last_undo_that_changed_something(tmp_path: Path) -> None:
    async with WireServer(script()) as server:  # type: ignore[arg-type]
        bench = Bench(tmp_path, server.url)
        await worked(bench)
        first = bench.work / "first.txt"
        run = await talk(bench, "-c", columns=100)
        await enter(run, "/undo 1", "Undid the changes in 1 file: first.txt. To reverse this: /redo")
        assert not first.exists()
        await enter(run, "/undo", "second.txt (written by orchestrator) is not restored", "No files changed.")
        await enter(run, "/redo", "Redid the changes in 1 file: first.txt")
        assert first.read_text() == "by first.txt\n"
        await enter(run, "/redo", "Nothing to redo: no undo is in force.")
        await enter(run, "/undo 1", "Undid the changes in 1 file: first.txt")
        await leave(run)
        run = await talk(bench, "-c", columns=100)  # the log knows it, not the process
        await enter(run, "/redo", "Redid the changes in 1 file: first.txt")
        await leave(run)


async def test_an_undo_names_the_turns_that_there_are_and_those_around_a_conflict(tmp_path: Path) -> None:
    async with WireServer(script()) as server:  # type: ignore[arg-type]
        bench = Bench(tmp_path, server.url)
        await worked(bench)
        run = await talk(bench, "-c", columns=140)
        await enter(
            run,
            "/undo",
            "No files changed.",
            "These turns can be undone around it:",
            "turn 1  write number 1  first.txt  (orchestrator)",
            "/undo 1 undoes turn 1.",
        )
        await enter(
            run,
            "/undo list",
            "turn 2  write number 2  nothing can be undone; changed since: second.txt  (orchestrator)",
            "turn 1  write number 1  first.txt  (orchestrator)",
        )
        await enter(run, "/undo 7", "Nothing to undo in turn 7. Turns with changes, newest first: 2, 1.")
        await enter(run, "/undo what", "Use a turn number", "/undo list shows the turns")
        await leave(run)
        listed = await bench.run("undo", "--list")
        assert listed.out.splitlines()[1] == "turn 1  write number 1  first.txt  (orchestrator)"
