"""A call that is known to fail is answered at once: nobody is asked about it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.approval import Answer, Question
from planck.testing.scripted import ScriptedProvider
from tests.teams import facts

READ = ("read", {"path": "a.txt"})
TWICE = "old\nold\n"


class Person:
    """Says yes, and changes a file when first asked."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(question.id, question.digest, True)


def edit(path: str, old: str, new: str = "new") -> tuple[str, Any]:
    return ("edit", {"path": path, "old_string": old, "new_string": new})


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (edit("a.txt", "old"), "not_unique"),
        (edit("a.txt", "nowhere"), "no_match"),
        (edit("a.txt", "old", "old"), "invalid_args"),
        (edit("absent.txt", "old"), "not_found"),
        (edit(".git/config", "old"), "protected_path"),
        (("write", {"path": "folder", "content": "x"}), "write_failed"),
        (("write", {"path": "a.txt/b", "content": "x"}), "write_failed"),
        (("bash", {"command": "touch x", "cwd": "absent", "escalate": "why not"}), "not_found"),
    ],
)
async def test_what_would_fail_is_not_asked_about(tmp_path: Path, call: tuple[str, Any], kind: str) -> None:
    person = Person()
    ends = await run(tmp_path, person, [call])
    assert (person.asked, [end["error"]["kind"] for end in ends]) == ([], [kind])


async def test_an_edit_of_a_file_that_changed_since_it_was_read_is_not_asked_about(tmp_path: Path) -> None:
    person = Person()
    changing = ("bash", {"command": "echo changed > a.txt", "escalate": "to change it"})
    calls = [READ, changing, edit("a.txt", "changed"), ("write", {"path": "a.txt", "content": "mine"}), READ]
    ends = await run(tmp_path, person, [*calls, edit("a.txt", "changed")])
    assert [end.get("error", {}).get("kind") for end in ends] == [
        *(None, None),
        *("edit_conflict", "edit_conflict"),
        *(None, None),
    ]
    assert [question.tool for question in person.asked] == ["bash", "edit"]
    assert (tmp_path / "work/a.txt").read_text() == "new\n"


async def test_a_path_outside_names_what_helps(tmp_path: Path) -> None:
    (end,) = await run(tmp_path, Person(), [("read", {"path": "/usr/include/x.h"})])
    assert end["error"]["kind"] == "outside_workspace"
    assert "/add-dir" in end["error"]["message"]
    assert "with a command" in end["error"]["message"]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("mode", ["read-only", "ask"])
async def test_a_command_that_only_reads_runs_in_the_root_folder(tmp_path: Path, mode: str) -> None:
    person = Person()
    command = "cd /etc && ls hosts 2>/dev/null; echo x > /dev/null; cat /proc/self/comm; ls -A /run"
    (end,) = await run(tmp_path, person, [("bash", {"command": command})], work=Path("/"), mode=mode)
    assert (end["output"], person.asked) == ("hosts\ncat\n", [])


async def run(
    folder: Path, person: Person, calls: list[tuple[str, Any]], *, work: Path | None = None, mode: str = "ask"
) -> list[dict[str, Any]]:
    (folder / "work" / "folder").mkdir(parents=True)
    (folder / "work" / "a.txt").write_text(TWICE)
    model = ScriptedProvider([*([call] for call in calls), "done"])
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    async with Planck(
        folder / "home",
        work or folder / "work",
        environ=environ,
        providers={"double": model},
        approver=person,
    ) as planck:
        session = await planck.start(model="double/m", mode=mode)
        await session.run("go")
        return [data for type, data in await facts(session) if type == "tool_end"]
