"""A folder beside the workspace: asked for at a path outside of it, or added by the user, for one session."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.approval import Answer, Question
from planck.records.outcome import ErrorKind, PlanckError
from planck.testing.scripted import ScriptedProvider
from planck.workspace.process.containment import sandbox_program
from tests.command import WAIT
from tests.teams import facts

needs_bubblewrap = pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed")


class Person:
    """Answers each question, and may do something while it is open."""

    def __init__(self, allow: bool = True, before: Callable[[], object] = lambda: None) -> None:
        self.asked: list[Question] = []
        self._allow = allow
        self._before = before

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        self._before()
        return Answer(question.id, question.digest, self._allow)


class Place:
    """A workspace, a folder with a file beside it, and the user's home with a private one."""

    def __init__(self, top: Path) -> None:
        self.work, self.beside, self.user = top / "work", top / "beside", top / "user"
        for folder in (self.work, self.beside, self.user / ".ssh", self.user / "notes"):
            folder.mkdir(parents=True)
        (self.beside / "a.txt").write_text("beside\n")
        (self.user / ".ssh/id").write_text("secret\n")
        (self.user / "top.txt").write_text("at home\n")

    def open(self, person: Person | None, *calls: Any) -> Planck:
        return Planck(
            self.user / ".planck",
            self.work,
            environ={"PATH": "/usr/bin:/bin", "HOME": str(self.user)},
            approver=person,
            providers={
                "double": ScriptedProvider(
                    [*([one] if isinstance(one, tuple) else one for one in calls), "done"]
                )
            },
        )

    async def run(self, person: Person | None, *calls: Any, mode: str = "ask") -> list[Any]:
        async with self.open(person, *calls) as app:
            session = await app.start(model="double/m", mode=mode)
            assert (await session.run("go")).text == "done"
            return await facts(session)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def ends(log: list[Any]) -> list[tuple[str, str]]:
    return [
        ((data.get("error") or {}).get("kind", ""), data["output"])
        for type, data in log
        if type == "tool_end"
    ]


async def test_a_yes_adds_the_folder_of_the_path_and_is_asked_for_once(place: Place) -> None:
    person = Person()
    read = ("read", {"path": str(place.beside / "a.txt")})
    log = await place.run(person, [read, read], ("list_dir", {"path": str(place.beside)}))
    (question,) = person.asked
    assert (question.folder, question.rule) == (str(place.beside), "")
    assert str(place.beside) in question.adds
    assert [kind for kind, _ in ends(log)] == ["", "", ""]
    (decision,) = [data for type, data in log if type == "permission_decision"]
    assert (decision["decision"], decision["scope"]) == ("allow", "session")


async def test_a_no_denies_the_call_and_adds_nothing(place: Place) -> None:
    person = Person(allow=False)
    read = ("read", {"path": str(place.beside / "a.txt")})
    log = await place.run(person, read, read)
    assert [kind for kind, _ in ends(log)] == [ErrorKind.PERMISSION_DENIED] * 2
    assert len(person.asked) == 2


async def test_where_nobody_can_be_asked_the_path_stays_outside(place: Place) -> None:
    log = await place.run(None, ("read", {"path": str(place.beside / "a.txt")}))
    assert [kind for kind, _ in ends(log)] == [ErrorKind.OUTSIDE_WORKSPACE]


async def test_a_write_there_asks_for_the_folder_and_then_for_the_change(place: Place) -> None:
    person = Person()
    target = place.beside / "new.txt"
    await place.run(person, ("write", {"path": str(target), "content": "x\n"}))
    assert [bool(question.folder) for question in person.asked] == [True, False]
    assert target.read_text() == "x\n"


async def test_a_mode_without_changes_gives_the_folder_for_reading_alone(place: Place) -> None:
    person = Person()
    calls = [
        ("read", {"path": str(place.beside / "a.txt")}),
        ("write", {"path": str(place.beside / "b"), "content": ""}),
    ]
    log = await place.run(person, *calls, mode="read-only")
    assert [kind for kind, _ in ends(log)] == ["", ErrorKind.PERMISSION_DENIED]
    assert len(person.asked) == 1


@pytest.mark.parametrize(
    "path",
    [
        "{user}/.ssh/id",
        "{user}/.ssh",
        "{user}/top.txt",
        "{user}",
        "{user}/.planck/config.json",
        "/",
        "/etc",
        "/proc/self/environ",
        "/proc/self/root{user}/.ssh/id",
        "/dev/null",
        "~/.ssh/id",
        "$HOME/.ssh/id",
        "{beside}/to-ssh/id",
        "{beside}/to-home",
        "{work}/../user/.ssh/id",
        "../user/.ssh/id",
        "to-ssh/id",
        "{beside}/a.txt\0",
        "{beside}/not/there",
    ],
)
async def test_nobody_is_asked_about_private_wide_and_missing_places(place: Place, path: str) -> None:
    (place.beside / "to-ssh").symlink_to(place.user / ".ssh")
    (place.beside / "to-home").symlink_to(place.user)
    (place.work / "to-ssh").symlink_to(place.user / ".ssh")
    person = Person()
    named = path.format(user=place.user, beside=place.beside, work=place.work)
    log = await place.run(person, ("read", {"path": named}))
    if path != "/etc":
        assert not person.asked
    ((kind, output),) = ends(log)
    assert kind
    assert "secret" not in output


@pytest.mark.parametrize("path", ["{top}/link/a.txt", "../beside/a.txt", "{work}/../beside/a.txt"])
async def test_a_path_with_links_is_asked_about_by_its_real_name_alone(place: Place, path: str) -> None:
    """What the question names and what is opened are one folder."""
    top = place.work.parent
    (top / "link").symlink_to(place.beside)
    person = Person()
    log = await place.run(person, ("read", {"path": path.format(top=top, work=place.work)}))
    ((kind, output),) = ends(log)
    assert kind == ErrorKind.OUTSIDE_WORKSPACE
    assert str(place.beside / "a.txt") in output
    assert not person.asked


@pytest.mark.parametrize("private", [True, False])
async def test_a_folder_that_is_replaced_while_the_question_is_open_is_not_added(
    place: Place, private: bool
) -> None:
    def replace() -> None:
        place.beside.rename(place.beside.with_name("moved"))
        if private:
            place.beside.symlink_to(place.user / ".ssh")
        else:
            place.beside.mkdir()
            (place.beside / "a.txt").write_text("another\n")

    (place.user / ".ssh/a.txt").write_text("secret\n")
    person = Person(before=replace)
    log = await place.run(person, ("read", {"path": str(place.beside / "a.txt")}))
    ((kind, output),) = ends(log)
    assert kind == ErrorKind.PERMISSION_DENIED
    assert "secret" not in output
    assert "another" not in output


async def test_an_interrupt_at_the_question_adds_nothing(place: Place) -> None:
    asked = asyncio.Event()

    class Waiting(Person):
        async def decide(self, question: Question) -> Answer:
            self.asked.append(question)
            asked.set()
            return await asyncio.Future[Answer]()

    read = ("read", {"path": str(place.beside / "a.txt")})
    async with place.open(Waiting(), read) as app:
        session = await app.start(model="double/m")
        await session.prompt("go")
        async with asyncio.timeout(WAIT):
            await asked.wait()
        session.interrupt()
        await session.settled()
        assert session.folders == (str(place.work),)


@needs_bubblewrap
async def test_a_command_may_write_there_once_it_was_added_and_not_before(place: Place) -> None:
    touch = ("bash", {"command": f"touch {place.beside}/made"})
    read = ("read", {"path": str(place.beside / "a.txt")})
    await place.run(Person(allow=False), touch, read, touch, mode="workspace")
    assert not (place.beside / "made").exists()
    await place.run(Person(), read, touch, mode="workspace")
    assert (place.beside / "made").exists()


async def test_a_folder_is_added_to_one_session_and_to_no_other(place: Place) -> None:
    read = ("read", {"path": str(place.beside / "a.txt")})
    async with place.open(None, read, "first", read) as app:
        one = await app.start(model="double/m")
        assert await one.add_folder(str(place.beside)) == str(place.beside)
        assert await one.add_folder(str(place.beside)) == ""
        await one.run("go")
        other = await app.start(model="double/m")
        await other.run("go")
        kinds = [kind for session in (one, other) for kind, _ in ends(await facts(session))]
        assert kinds == ["", ErrorKind.OUTSIDE_WORKSPACE]
        # Agents may have written there: no session starts anything that lies in it.
        assert app.project.doubt(place.beside / "TEAM.json")


@pytest.mark.parametrize(
    "name", ["{user}", "~", "~/.ssh", "/", "/proc", "{user}/.planck", "missing", "{top}/link"]
)
async def test_the_user_cannot_add_a_private_or_wide_folder(place: Place, name: str) -> None:
    os.symlink(place.user / ".ssh", place.work.parent / "link")
    (place.user / ".planck").mkdir()
    async with place.open(None) as app:
        session = await app.start(model="double/m")
        with pytest.raises(PlanckError):
            await session.add_folder(name.format(user=place.user, top=place.work.parent))
        assert session.folders == (str(place.work),)
