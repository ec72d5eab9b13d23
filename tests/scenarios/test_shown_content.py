"""A yes is for what its question showed: a file that is another by then is asked about again."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.approval import Answer, Question, Scope
from planck.records.outcome import PlanckError
from planck.session.undo import Selection
from planck.testing.scripted import ScriptedProvider
from tests.headless.test_inbox import of_type, recorded

MINE = "MY IMPORTANT LINE\n"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "write": ("write", {"path": "sub/notes.txt", "content": "theirs\n"}),
    "edit": ("edit", {"path": "sub/notes.txt", "old_string": "old", "new_string": "theirs"}),
    "replace_all": (
        "edit",
        {"path": "sub/notes.txt", "old_string": "old", "new_string": "theirs", "replace_all": True},
    ),
}
BEFORE = "old\n"


def rewrite(file: Path) -> None:
    file.write_text(BEFORE + MINE)


def rewrite_with_what_is_looked_for(file: Path) -> None:
    file.write_text(f"old {MINE}{BEFORE}")


def rewrite_with_as_many_bytes_and_the_same_times(file: Path) -> None:
    found = file.stat()
    file.write_text("OLD\n"[: found.st_size])
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))


def replace_by_rename(file: Path) -> None:
    new = file.with_name("new")
    new.write_text(BEFORE + MINE)
    new.rename(file)


def delete(file: Path) -> None:
    file.unlink()


def delete_its_folder(file: Path) -> None:
    file.unlink()
    file.parent.rmdir()


def put_a_link(file: Path) -> None:
    other = file.with_name("other")
    other.write_text(BEFORE)
    file.unlink()
    file.symlink_to(other.name)


def put_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def lead_its_folder_elsewhere(file: Path) -> None:
    other = file.parent.with_name("other")
    other.mkdir()
    (other / file.name).write_text(BEFORE)
    file.unlink()
    file.parent.rmdir()
    file.parent.symlink_to("other")


def write_the_same_bytes(file: Path) -> None:
    file.write_text(MINE)
    file.write_text(BEFORE)


def change_the_mode_bits(file: Path) -> None:
    file.chmod(0o750)


def bring_another_folder_with_the_same_bytes(file: Path) -> None:
    file.parent.rename(file.parent.with_name("away"))
    file.parent.mkdir()
    file.write_text(BEFORE)


AGAIN = (
    rewrite,
    rewrite_with_what_is_looked_for,
    rewrite_with_as_many_bytes_and_the_same_times,
    replace_by_rename,
    delete,
    delete_its_folder,
    put_a_link,
    put_a_folder,
    lead_its_folder_elsewhere,
)
NOT_AGAIN = (write_the_same_bytes, change_the_mode_bits, bring_another_folder_with_the_same_bytes)


class Person:
    """Does something while each question is open, then answers; after the last step: no."""

    def __init__(self, *steps: tuple[Callable[[], None], bool], scope: Scope = Scope.ONCE) -> None:
        self.asked: list[Question] = []
        self._steps = list(steps)
        self._scope = scope

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        act, allow = self._steps.pop(0) if self._steps else (nothing, False)
        act()
        return Answer(question.id, question.digest, allow, self._scope)


def nothing() -> None:
    pass


class Room:
    """A folder with one file, and a session in mode `ask` that is to change it."""

    def __init__(self, top: Path, before: str | None = BEFORE) -> None:
        self.work, self._top = top / "work", top
        self.file = self.work / "sub/notes.txt"
        self.events: list[dict[str, Any]] = []
        self.work.mkdir()
        if before is not None:
            self.file.parent.mkdir()
            self.file.write_text(before)

    async def run(self, approver: Any, *steps: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """Returns how the calls ended."""
        async with self.open(approver, *steps) as planck:
            session = await planck.start(model="double/m", mode="ask", stored=False)
            await session.run("go")
            self.events = recorded(session)
        return of_type(self.events, "tool_end")

    def open(self, approver: Any, *steps: list[tuple[str, dict[str, Any]]]) -> Planck:
        return Planck(
            self._top / "home",
            self.work,
            environ={"PATH": "/usr/bin:/bin"},
            providers={"double": ScriptedProvider([*steps, "done"])},
            approver=approver,
        )

    def tree(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path in sorted(self.work.rglob("*")):
            link = os.readlink(path) if path.is_symlink() else ""
            found[str(path.relative_to(self.work))] = link or (path.is_file() and path.read_bytes())
        return found


@pytest.mark.parametrize("change", AGAIN, ids=lambda change: change.__name__)
async def test_a_yes_changes_nothing_but_what_it_was_shown(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    for name, call in CALLS.items():
        (tmp_path / name).mkdir()
        room = Room(tmp_path / name)
        left: dict[str, Any] = {}

        def act(room: Room = room, left: dict[str, Any] = left) -> None:
            change(room.file)
            left.update(room.tree())

        person = Person((act, True))
        (end,) = await room.run(person, [call])
        assert not end["ok"], (name, end)
        assert {**room.tree(), "sub": left.get("sub")} == {"sub": None, **left}  # its folder may be made
        previews = [question.preview for question in person.asked]
        if len(previews) == 1:  # nobody could agree to it
            assert end["error"]["kind"] not in ("permission_denied", "edit_conflict"), (name, end)
        elif room.file.exists() and MINE in room.file.read_text() and name != "edit":
            assert MINE.strip() in previews[-1]
            assert "changed after you were asked" in person.asked[-1].reason
        asked = of_type(room.events, "permission_request")
        answered = of_type(room.events, "permission_decision")
        assert [one["id"] for one in asked] == [one["request_id"] for one in answered]
        assert len({one["digest"] for one in asked}) == len(asked)
        assert {one["call_id"] for one in asked} == {end["id"]}


@pytest.mark.parametrize("change", NOT_AGAIN, ids=lambda change: change.__name__)
async def test_what_is_byte_for_byte_what_was_shown_is_not_asked_about_again(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    for name, call in CALLS.items():
        (tmp_path / name).mkdir()
        room = Room(tmp_path / name)
        person = Person((lambda room=room: change(room.file), True))  # type: ignore[misc]
        (end,) = await room.run(person, [call])
        assert (end["ok"], len(person.asked)) == (True, 1), (name, end)
        assert room.file.read_text() == "theirs\n"
        assert change is not change_the_mode_bits or room.file.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("folder", [True, False], ids=["in a folder", "in no folder yet"])
async def test_a_file_that_came_while_its_creation_was_asked_about_is_not_overwritten(
    tmp_path: Path, folder: bool
) -> None:
    room = Room(tmp_path, None)
    if folder:
        (room.work / "sub").mkdir()

    def create() -> None:
        room.file.parent.mkdir(exist_ok=True)
        room.file.write_text(MINE)

    person = Person((create, True))
    await room.run(person, [CALLS["write"]])
    assert room.file.read_text() == MINE
    assert [MINE.strip() in question.preview for question in person.asked] == [False, True]


@pytest.mark.parametrize("scope", Scope)
async def test_a_yes_for_longer_is_for_later_calls_and_this_one_asks_again(
    tmp_path: Path, scope: Scope
) -> None:
    room = Room(tmp_path)
    person = Person((lambda: rewrite(room.file), True), (nothing, True), (nothing, False), scope=scope)
    later = ("write", {"path": "later", "content": "x"})
    ends = await room.run(person, [CALLS["write"]], [later])
    assert [MINE.strip() in question.preview for question in person.asked[:2]] == [False, True]
    assert room.file.read_text() == "theirs\n"
    lasting = scope is not Scope.ONCE
    assert (len(person.asked), [end["ok"] for end in ends]) == (2 if lasting else 3, [True, lasting])
    if scope is Scope.RULE:  # kept once, however often it was said
        assert (tmp_path / "home/config.json").read_text().count('"write"') == 1


class Both(Person):
    """Answers nothing before two questions are open."""

    def __init__(self) -> None:
        super().__init__(*[(nothing, True)] * 3)
        self._two = asyncio.Event()

    async def decide(self, question: Question) -> Answer:
        if len(self.asked) == 1:
            self._two.set()
        answer = await super().decide(question)
        await self._two.wait()
        return answer


async def test_two_questions_about_one_file_that_are_open_at_once_are_no_yes_to_both(tmp_path: Path) -> None:
    room, person = Room(tmp_path), Both()
    calls = [("write", {"path": "sub/notes.txt", "content": f"{text}\n"}) for text in ("one", "two")]
    ends = await room.run(person, calls)
    assert [end["ok"] for end in ends] == [True, True]
    assert len(person.asked) == len({question.digest for question in person.asked}) == 3
    changed = "\n".join(person.asked[-1].preview.splitlines()[-2:])
    assert (changed, room.file.read_text()) in [("-one\n+two", "two\n"), ("-two\n+one", "one\n")]


async def test_a_file_that_never_rests_is_not_asked_about_for_ever(tmp_path: Path) -> None:
    room = Room(tmp_path)

    def grow() -> None:
        room.file.write_text(room.file.read_text() + MINE)

    person = Person(*[(grow, True)] * 20)
    (end,) = await room.run(person, [CALLS["write"]])
    assert (end["error"]["kind"], len(person.asked)) == ("edit_conflict", 5)
    assert room.file.read_text() == BEFORE + 5 * MINE


async def test_a_file_that_the_agent_has_read_is_its_own_to_read_again(tmp_path: Path) -> None:
    """The user is not asked about a call that would be refused whatever the answer is."""
    room = Room(tmp_path)
    person = Person((lambda: rewrite(room.file), True))
    *_, end = await room.run(person, [("read", {"path": "sub/notes.txt"})], [CALLS["write"]])
    assert (end["error"]["kind"], len(person.asked)) == ("edit_conflict", 1)
    assert room.file.read_text() == BEFORE + MINE


@pytest.mark.parametrize(
    "path", ["./sub//notes.txt", "sub/../sub/notes.txt", "sub/n\\x01", "new/d\u00e9/\\x01"]
)
async def test_however_a_file_is_named_one_yes_is_enough(tmp_path: Path, path: str) -> None:
    room = Room(tmp_path)
    (room.file.parent / "n\x01").write_text(BEFORE)
    person = Person((nothing, True))
    (end,) = await room.run(person, [("write", {"path": path, "content": "theirs\n"})])
    assert (end["ok"], len(person.asked)) == (True, 1), end


async def test_an_undo_takes_back_what_its_plan_showed_and_nothing_else(tmp_path: Path) -> None:
    for number, change in enumerate((*AGAIN, *NOT_AGAIN)):
        top = tmp_path / str(number)
        top.mkdir()
        room = Room(top, "first\n")
        write = ("write", {"path": "sub/notes.txt", "content": BEFORE})
        async with room.open(None, [write]) as planck:
            session = await planck.start(model="double/m", mode="workspace", stored=False)
            await session.run("go")
            plan = session.undo_plan(Selection())
            change(room.file)
            left = room.tree()
            if change in NOT_AGAIN:
                await session.undo(plan)
                assert room.file.read_text() == "first\n", change
                continue
            with pytest.raises(PlanckError):
                await session.undo(plan)
        assert {**room.tree(), "sub": left.get("sub")} == {"sub": None, **left}, change
