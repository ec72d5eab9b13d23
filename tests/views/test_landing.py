"""Work in views comes back: merged, or with the conflict to the worker; recorded, and undone as a whole."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planck import Member, Planck, Team
from planck.cli.tell.blocks import Told
from planck.cli.tell.styled import as_text
from planck.cli.tell.teller import Teller
from planck.headless import Selection, SessionEvent
from planck.records.events import (
    Envelope,
    LandingFinished,
    LandingProposed,
    LandingRefused,
    ToolEnd,
    view,
)
from planck.testing import ScriptedProvider
from tests.command import FULL, Bench, Done
from tests.views.place import TOOLS, git, make_repository, read_tree
from tests.wire import chat
from tests.wire.server import WireServer

LINES = [f"line {number}\n" for number in range(30)]


class Workers:
    """A repository, and a team of a lead and workers with views of their own, each with its script."""

    def __init__(self, folder: Path, *, made: bool = False) -> None:
        """`made`: the repository is there already."""
        self.home = folder / "home"
        self.work = folder / "work"
        if made:
            return
        make_repository(self.work)
        (self.work / "shared.txt").write_text("".join(LINES))
        git(self.work, "add", "-A")
        git(self.work, "commit", "-qm", "lines")

    def open(self, **scripts: Sequence[Any]) -> Planck:
        """`scripts`: by name; a worker's next answer may be a function of the request."""
        left = {name: iter(script) for name, script in scripts.items()}

        async def answer(request: Any) -> Any:
            found = re.search(r"[Yy]ou(?:r name is| are) (\w+)", request.system)
            said = next(left[found[1] if found and found[1] in left else "lead"])
            while callable(said):
                said = said(request)
                said = await said if asyncio.iscoroutine(said) else said
            return said

        return Planck(
            self.home,
            self.work,
            environ={"PATH": "/usr/bin:/bin"},
            flags={"providers": {"double": {"type": "ollama"}}, "default_model": "double/m"},
            providers={"double": ScriptedProvider(answer)},
        )

    async def leave_changes(self) -> str:
        """Returns a session whose worker `ben` changed two files and did not report."""
        ask = [("ask_agent", {"identifier": "ben", "identifier_type": "name", "question": "?"})]
        script = [edit("line 3\n", "ben's\n"), [("bash", {"command": "rm src/file1.txt"})], "done"]
        async with self.open(lead=[ask, "over"], ben=script) as planck:
            session = await planck.start(make_team("ben"), mode="full")
            await session.run("go")
            return session.id

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "planck", *words],
            cwd=self.work,
            env={"PATH": "/usr/bin:/bin", "PLANCK_HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=False,
        )

    def changed(self) -> set[str]:
        """What git says that differs from the last commit."""
        return {line[3:] for line in git(self.work, "status", "--porcelain", "-uall").splitlines()}


def make_team(*names: str) -> Team:
    workers = [Member(type=f"w-{name}", name=name, workspace="own", tools=TOOLS) for name in names]
    return Team(members=[Member(type="orchestrator", name="lead", tools=TOOLS), *workers])


def delegate(*names: str) -> list[Any]:
    return [
        ("delegate_task", {"identifier": name, "identifier_type": "name", "task": f"{name}: do it"})
        for name in names
    ]


def edit(old: str, new: str, path: str = "shared.txt") -> list[Any]:
    return [("edit", {"path": path, "old_string": old, "new_string": new})]


def facts(session: Any, *types: Any) -> list[Any]:
    return [fact for event in session.recorded() if isinstance(fact := view(event), types)]


async def test_a_worker_s_changes_are_in_the_workspace_before_its_report(tmp_path: Path) -> None:
    place = Workers(tmp_path)
    seen = []

    def look(request: Any) -> str:
        seen.append((place.work / "shared.txt").read_text().splitlines()[3])
        return "over"

    script = [
        edit("line 3\n", "ben's\n"),
        [("bash", {"command": "rm src/file1.txt; mkdir d; echo x > d/y"})],
        "did it",
    ]
    async with place.open(lead=[delegate("ben"), "wait", look], ben=script) as planck:
        session = await planck.start(make_team("ben"), mode="full")
        result = await session.run("go")
        assert (result.text, seen) == ("over", ["ben's"])
        assert place.changed() == {"shared.txt", "src/file1.txt", "d/y"}
        [report] = [fact for fact in facts(session, Envelope) if fact.kind == "response"]
        assert report.text == "did it"
        [proposed] = facts(session, LandingProposed)
        assert set(proposed.paths) == {"shared.txt", "src/file1.txt", "d", "d/y"}
        [finished] = facts(session, LandingFinished)
        assert (finished.landing, finished.paths) == (proposed.landing, 4)


async def test_three_workers_edit_one_file_and_the_one_that_conflicts_resolves_it(tmp_path: Path) -> None:
    place = Workers(tmp_path)
    (place.work / "test.sh").write_text(
        "cat node_modules/pack/index.js .env; sed -n 4p shared.txt; touch ran.log\n"
    )
    git(place.work, "add", "-A")
    git(place.work, "commit", "-qm", "tests")
    run = [("bash", {"command": "sh test.sh"})]
    landed = asyncio.Event()
    told = []

    async def after_the_others(request: Any) -> Any:
        await landed.wait()
        return "cy reports"

    def lead(request: Any) -> Any:
        """Two reports may come in one request, or in two."""
        read = str(request.history.messages)
        if "ada reports" in read and "ben reports" in read:
            landed.set()
        return "over" if "cy reports again" in read else "waiting"

    def resolve(request: Any) -> Any:
        told.append(request.history.messages[-1])
        return [("bash", {"command": "cat shared.txt"})]

    marked = "<<<<<<< workspace\nada's\n=======\ncy's\n>>>>>>> cy\n"
    scripts: dict[str, Sequence[Any]] = {
        "lead": [delegate("ada", "ben", "cy"), *[lead] * 8],
        "ada": [edit("line 3\n", "ada's\n"), run, "ada reports"],
        "ben": [
            edit("line 20\n", "ben's\n"),
            [("bash", {"command": "echo b > by-ben; rm src/file2.txt"})],
            run,
            "ben reports",
        ],
        "cy": [
            edit("line 3\n", "cy's\n"),
            run,
            after_the_others,
            resolve,
            [("read", {"path": "shared.txt"})],
            edit(marked, "ada's and cy's\n"),
            run,
            "cy reports again",
        ],
    }
    async with place.open(**scripts) as planck:
        session = await planck.start(make_team("ada", "ben", "cy"), mode="full")
        result = await session.run("go")
        assert result.text == "over", result
        text = (place.work / "shared.txt").read_text()
        wanted = [*LINES]
        wanted[3], wanted[20] = "ada's and cy's\n", "ben's\n"
        assert text == "".join(wanted)
        outputs = [
            fact.output for fact in facts(session, ToolEnd) if fact.name == "bash" and "KEY" in fact.output
        ]
        assert [out.split("\n")[2] for out in sorted(outputs)] == [
            "ada's",
            "ada's and cy's",
            "cy's",
            "line 3",
        ]
        assert not (place.work / "ran.log").exists()
        [refused] = facts(session, LandingRefused)
        assert [(one.path, one.why) for one in refused.conflicts] == [
            ("shared.txt", "both changed the same lines")
        ]
        assert "both changed the same lines" in str(told[0])
        assert len(facts(session, LandingFinished)) == 3
        assert place.changed() == {"shared.txt", "by-ben", "src/file2.txt"}
        reports = [
            fact.text
            for fact in facts(session, Envelope)
            if fact.kind == "response" and fact.sender != "user"
        ]
        assert (sorted(reports), reports[-1]) == (
            ["ada reports", "ben reports", "cy reports again"],
            "cy reports again",
        )
        id = session.id
    async with place.open() as planck, planck.hold(id) as held:
        await held.undo(held.undo_plan(Selection(agent="ben")))
    wanted[20] = LINES[20]
    assert (place.work / "shared.txt").read_text() == "".join(wanted)
    assert place.changed() == {"shared.txt"}


async def test_what_is_left_in_a_view_lands_by_command(tmp_path: Path) -> None:
    place = Workers(tmp_path)
    id = await place.leave_changes()
    before = read_tree(place.work)
    done = place.run("land", id, "--dry-run")
    assert (done.returncode, read_tree(place.work)) == (0, before)
    assert "-line 3\n+ben's\n" in done.stdout
    done = place.run("land", id)
    assert done.returncode == 0, done
    assert place.changed() == {"shared.txt", "src/file1.txt"}
    assert place.run("land", id).returncode == 2
    landing = re.search(r"planck undo -r [\w-]+ --call ([\w-]+)", done.stdout)[1]  # type: ignore[index]
    assert place.run("undo", "-r", id, "--call", landing, "--yes").returncode == 0
    assert read_tree(place.work) == before


async def test_a_landing_on_a_branch_touches_neither_the_working_tree_nor_the_index(tmp_path: Path) -> None:
    place = Workers(tmp_path)
    id = await place.leave_changes()
    (place.work / "staged").write_text("mine\n")
    git(place.work, "add", "staged")
    before, status = read_tree(place.work), git(place.work, "status", "--porcelain=v2", "--branch")
    index = (place.work / ".git/index").read_bytes()
    assert place.run("land", id, "--branch", "master").returncode == 2
    done = place.run("land", id, "--branch", "work")
    assert done.returncode == 0, done
    assert (read_tree(place.work), git(place.work, "status", "--porcelain=v2", "--branch")) == (
        before,
        status,
    )
    assert (place.work / ".git/index").read_bytes() == index
    assert git(place.work, "diff", "--name-status", "master", "work").splitlines() == [
        "M\tshared.txt",
        "D\tsrc/file1.txt",
    ]
    assert (
        git(place.work, "log", "-1", "--format=%(trailers:key=Planck-Session,valueonly)", "work").strip()
        == id
    )
    assert place.run("land", id, "--branch", "work").returncode == 2


async def test_a_view_that_conflicts_is_kept_and_one_that_is_dropped_is_gone(tmp_path: Path) -> None:
    place = Workers(tmp_path)
    id = await place.leave_changes()
    text = (place.work / "shared.txt").read_text().replace("line 3\n", "mine\n")
    (place.work / "shared.txt").write_text(text)
    before = read_tree(place.work)
    done = place.run("land", id)
    assert (done.returncode, read_tree(place.work)) == (1, before)
    assert "shared.txt: both changed the same lines" in done.stderr
    assert place.run("land", id, "--drop").returncode == 0
    assert place.run("land", id).returncode == 2
    assert not (place.home / "views" / id).exists()


async def run_isolated(tmp_path: Path, *words: str, command: str = "") -> tuple[Bench, Done]:
    """Runs one agent that edits a file, or runs a command; `words` are added to the command line."""
    call = ("bash", {"command": command}) if command else edit("line 3\n", "its\n")[0]
    server = WireServer([chat.calls(call), chat.text("changed it")])
    async with server:
        bench = Bench(tmp_path, server.url)
        bench.work.rmdir()
        make_repository(bench.work)
        (bench.work / "shared.txt").write_text("".join(LINES))
        git(bench.work, "add", "-A")
        git(bench.work, "commit", "-qm", "lines")
        done = await bench.run("run", "go", "--isolated", *FULL, *words)
    return bench, done


def list_changed(work: Path) -> list[str]:
    return [line[3:] for line in git(work, "status", "--porcelain", "-uall").splitlines()]


async def test_a_session_with_work_that_did_not_land_is_not_deleted(tmp_path: Path) -> None:
    workers = Workers(tmp_path)
    session = await workers.leave_changes()
    refused = workers.run("sessions", "delete", session, "--yes")
    assert refused.returncode == 5, refused
    assert "changes that did not land" in refused.stderr
    assert re.search(r'"planck land [\w-]+ --drop"', refused.stderr)
    assert workers.run("land", session, "--drop").returncode == 0
    assert workers.run("sessions", "delete", session, "--yes").returncode == 0
    assert not [*(workers.home / "views").iterdir()]


async def test_the_undo_that_a_landing_names_works_though_another_session_was_last(tmp_path: Path) -> None:
    workers = Workers(tmp_path)
    session = await workers.leave_changes()
    await workers.leave_changes()
    doctor = workers.run("doctor").stdout
    assert (
        f'has changes that have not landed: 0.0 MiB, used today. Land them with "planck land {session}"'
        in (doctor)
    )
    landed = workers.run("land", session)
    words = re.search(r'Undo: "planck ([^"]+)"', landed.stdout)[1].split()  # type: ignore[index]
    assert list_changed(workers.work) == ["shared.txt", "src/file1.txt"]
    assert workers.run(*words, "--yes").returncode == 0
    assert list_changed(workers.work) == []


async def test_a_landing_of_what_the_workspace_has_already_says_so(tmp_path: Path) -> None:
    workers = Workers(tmp_path)
    sessions = [await workers.leave_changes() for _ in range(2)]
    assert "Landed 2 names" in workers.run("land", sessions[0]).stdout
    again = workers.run("land", sessions[1])
    assert again.returncode == 0
    assert again.stdout.endswith("Nothing to change: the workspace has these changes already.\n")


async def test_a_view_with_nothing_but_what_git_ignores_can_be_dropped(tmp_path: Path) -> None:
    bench, done = await run_isolated(tmp_path, command="echo x > made.log")
    name = re.search(r"Session ([\w-]+) saved", done.err)[1]  # type: ignore[index]
    assert "Nothing to land" in (await bench.run("land", name)).out
    dropped = await bench.run("land", name, "--drop")
    assert (dropped.code, dropped.out) == (0, "Dropped the view of orchestrator.\n"), dropped
    assert (await bench.run("sessions", "delete", name, "--yes")).code == 0


async def test_an_isolated_run_leaves_the_workspace_alone_until_it_lands(tmp_path: Path) -> None:
    bench, done = await run_isolated(tmp_path)
    assert (done.code, done.out, list_changed(bench.work)) == (0, "changed it\n", []), done
    assert "-line 3\n+its\n" in done.err
    name = re.search(r'"planck land ([\w-]+)"', done.err)[1]  # type: ignore[index]
    assert (await bench.run("land", name)).code == 0
    assert list_changed(bench.work) == ["shared.txt"]


async def test_an_isolated_run_lands_without_a_question_where_that_was_said(tmp_path: Path) -> None:
    bench, done = await run_isolated(tmp_path, "--land", "auto", "--output-format", "json")
    assert (done.code, list_changed(bench.work)) == (0, ["shared.txt"]), done
    [change] = done.result["changes"]
    assert (change["path"], change["added"], change["removed"], change["landed"]) == (
        "shared.txt",
        1,
        1,
        True,
    )
    assert not [*(bench.home / "views").iterdir()]


async def test_an_isolated_run_that_did_not_land_says_so_in_its_result(tmp_path: Path) -> None:
    _, done = await run_isolated(tmp_path, "--output-format", "json")
    [change] = done.result["changes"]
    assert (change["path"], change["added"], change["removed"], change["landed"]) == (
        "shared.txt",
        1,
        1,
        False,
    )


async def test_an_isolated_run_lands_on_a_branch(tmp_path: Path) -> None:
    bench, done = await run_isolated(tmp_path, "--land", "branch:aside")
    assert (done.code, list_changed(bench.work)) == (0, []), done
    assert git(bench.work, "diff", "--name-only", "master", "aside").split() == ["shared.txt"]


async def test_flags_of_an_isolated_run_that_do_not_fit_are_refused_before_it_begins(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    for words in (
        ("--land", "auto"),
        ("--isolated", "--land", "perhaps"),
        ("--isolated", "--land", "ask"),
        ("--isolated", "--no-session"),
        ("--isolated", "--dry-run"),
    ):
        done = await bench.run("run", "go", *words)
        assert (done.code, done.error_kind) == (2, "invalid_args"), (words, done)


async def test_a_terminal_says_what_landed_and_what_was_refused(tmp_path: Path) -> None:
    place = Workers(tmp_path)
    scripts = {
        "lead": [delegate("ada", "ben"), "wait", "wait", "over", "over"],
        "ada": [edit("line 3\n", "ada's\n"), "ada reports"],
        "ben": [
            edit("line 3\n", "ben's\n"),
            _until(place.work / "shared.txt", "ada's", "ben reports"),
            "I give up",
            "really",
        ],
    }
    async with place.open(**scripts) as planck:
        session = await planck.start(make_team("ada", "ben"), mode="full")
        await session.run("go")
        reports = [fact.text for fact in facts(session, Envelope) if fact.sender_name == "ben"]
        assert "[planck: The changes of ben did not land after 3 attempts" in reports[-1]
        teller = Teller(session.members)
        events = [SessionEvent(getattr(event, "recorded", event), session.id) for event in session.recorded()]
        told = [block for event in events for block in teller.tell(event) if isinstance(block, Told)]
        lines = [as_text(line) for block in told for line in block.lines]
    assert "ada landed 1 name in the workspace" in lines
    assert "ben did not land: it conflicts with the workspace: shared.txt" in lines


def _until(file: Path, text: str, said: str) -> Any:
    async def wait(request: Any) -> str:
        while text not in file.read_text():
            await asyncio.sleep(0.01)
        return said

    return wait
