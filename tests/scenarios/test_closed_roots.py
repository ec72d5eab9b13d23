"""A root that no sandbox may write: commands are refused there, and file tools ask; one policy for both."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck import Planck
from planck.records.approval import Answer, Question
from planck.testing.scripted import ScriptedProvider
from planck.workspace.process.containment import sandbox_program
from tests.teams import write_team

needs_bubblewrap = pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed")


COMMAND, _, EDIT = NAMES = ("-command", "", "-edit")


def read_all(place: "Place") -> list[str]:
    return [Path(f"{place.target}{name}").read_text().strip() for name in NAMES]


class Place(msgspec.Struct, kw_only=True):
    """Where agents work, and the file that they try to change in a root that is closed."""

    workspace: Path
    target: Path
    named: str = ""
    """The target as the agent names it; empty: by its absolute path."""
    user: Path | None = None
    home: Path | None = None
    added: tuple[Path, ...] = ()
    roots: tuple[str, ...] = ()
    """Of the member that works there."""
    told: str = "nobody can be asked"


def make(folder: Path, *below: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in below:
        (folder / name).mkdir(parents=True, exist_ok=True)
    return folder


def the_home(top: Path) -> Place:
    user = make(top / "user")
    return Place(workspace=user, user=user, target=user / ".bashrc", named=".bashrc")


def a_folder_deep_in_the_home(top: Path) -> Place:
    user = make(top / "user", ".config/systemd/user")
    target = user / ".config/systemd/user/x.service"
    return Place(workspace=user, user=user, target=target, named=".config/systemd/user/x.service")


def above_the_home(top: Path) -> Place:
    user = make(top / "users/me")
    return Place(workspace=top / "users", user=user, target=user / ".gitconfig", named="me/.gitconfig")


def the_whole_machine(top: Path) -> Place:
    return Place(workspace=Path("/"), user=make(top / "user"), target=top / "user/.profile")


def the_home_by_a_link(top: Path) -> Place:
    user = make(top / "user")
    (top / "short").symlink_to(user)
    return Place(workspace=top / "short", user=user, target=user / ".zshrc", named=str(top / "short/.zshrc"))


def a_home_that_is_a_link(top: Path) -> Place:
    real = make(top / "disk/me")
    (top / "user").symlink_to(real)
    return Place(workspace=top / "disk", user=top / "user", target=real / ".bashrc", named="me/.bashrc")


def the_home_of_planck(top: Path) -> Place:
    work = make(top / "work", "own")
    return Place(workspace=work, home=work / "own", target=work / "x", named="./x")


def protected_name_as(put: Callable[[Path], None], name: str) -> Callable[[Path], Place]:
    def build(top: Path) -> Place:
        work = make(top / "work")
        put(work / name)
        return Place(workspace=work, target=work / "x", named="x")

    return build


def link(path: Path) -> None:
    path.symlink_to(make(path.parent.parent / "elsewhere"))


def broken_link(path: Path) -> None:
    path.symlink_to("nowhere")


def added_beside(top: Path) -> Place:
    beside = make(top / "beside")
    link(beside / ".git")
    return Place(workspace=make(top / "work"), added=(beside,), target=beside / "x")


def root_of_a_member(top: Path) -> Place:
    work = make(top / "work", "src")
    link(work / "src/.git")
    return Place(workspace=work, roots=("src",), target=work / "src/x", named="src/x")


def root_of_a_member_by_another_spelling(top: Path) -> Place:
    """Where a path leads is seen again when the file is opened: nobody is asked, and nothing is written."""
    work = make(top / "work", "lib")
    place = msgspec.structs.replace(root_of_a_member(top), roots=("src", "lib"), named="\\x73rc/x")
    return msgspec.structs.replace(place, workspace=work, told="is read-only for this agent")


def hooks_path_that_is_a_link(top: Path) -> Place:
    work = make(top / "work", ".git")
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (work / ".git/config").write_text("[core]\n\thooksPath = ours\n")
    link(work / "ours")
    return Place(workspace=work, target=work / "x", named="x")


CLOSED: dict[str, Callable[[Path], Place]] = {
    **{
        build.__name__: build
        for build in (
            the_home,
            a_folder_deep_in_the_home,
            above_the_home,
            the_whole_machine,
            the_home_by_a_link,
            a_home_that_is_a_link,
            the_home_of_planck,
            added_beside,
            root_of_a_member,
            root_of_a_member_by_another_spelling,
            hooks_path_that_is_a_link,
        )
    },
    **{
        f"{name}_is_a_{put.__name__}": protected_name_as(put, name)
        for name, put in (
            (".git", link),
            (".agents", link),
            (".mcp.json", link),
            (".planck", broken_link),
            (".git", broken_link),
            (".agents", os.mkfifo),
        )
    },
}


async def work_there(top: Path, place: Place, approver: Any = None, **config: Any) -> list[dict[str, Any]]:
    """Runs a command, a write and an edit there, each on a file of its own; returns how each ended."""
    for name in NAMES:
        Path(f"{place.target}{name}").write_text("mine")
    file = place.named or str(place.target)
    script = ScriptedProvider(
        [
            [
                ("bash", {"command": f"echo by-command > {place.target}{COMMAND}"}),
                ("write", {"path": file, "content": "by-write"}),
                ("edit", {"path": f"{file}{EDIT}", "old_string": "mine", "new_string": "by-edit"}),
            ],
            "done",
        ]
    )
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(place.user or make(top / "someone"))}
    async with Planck(
        place.home or top / "planck",
        place.workspace,
        environ=environ,
        flags=config,
        providers={"double": script},
        approver=approver,
        add_dirs=place.added,
    ) as planck:
        member = {"type": "orchestrator", "tools": ["bash", "write", "edit"], "roots": list(place.roots)}
        model = {"provider": "double", "model_id": "m"}
        team = str(write_team(top / "team", {**member, **model})) if place.roots else None
        session = await planck.start(team=team, model="double/m", mode="workspace", stored=False)
        assert (await session.run("go")).exit_code == 0
        return [json.loads(bytes(e.data)) for e in session.recorded() if e.type == "tool_end"]


@needs_bubblewrap
@pytest.mark.parametrize("name", CLOSED)
async def test_no_tool_changes_a_root_that_no_sandbox_may_write(tmp_path: Path, name: str) -> None:
    place = CLOSED[name](tmp_path)
    try:
        command, *files = await work_there(tmp_path, place)
        assert read_all(place) == ["mine"] * 3
    finally:
        for part in NAMES:  # one of them is a folder of the system's
            Path(f"{place.target}{part}").unlink()
    assert command["error"]["kind"] in ("permission_denied", "sandbox_unavailable")
    assert [end["error"]["kind"] for end in files] == ["permission_denied"] * 2
    assert all(place.told in end["output"] for end in files), files


@needs_bubblewrap
async def test_a_yes_writes_there_and_a_rule_spares_the_question(tmp_path: Path) -> None:
    class Yes:
        asked: list[Question]

        async def decide(self, question: Question) -> Answer:
            self.asked.append(question)
            return Answer(question.id, question.digest, question.tool == "write")

    person = Yes()
    person.asked = []
    place = the_home(tmp_path)
    rules = [{"tool": "edit", "decision": "allow"}]
    await work_there(tmp_path, place, person, permissions={"rules": rules})
    assert sorted(question.tool for question in person.asked) == ["bash", "write"]
    assert read_all(place) == ["mine", "by-write", "by-edit"]
    (about,) = [question for question in person.asked if question.tool == "write"]
    assert "work in a project folder" in about.reason
    changed = [row for row in about.preview.split("\n")[4:] if not row.startswith("\\")]
    assert changed == ["-mine", "+by-write"]


@needs_bubblewrap
@pytest.mark.parametrize("place_of", ["project", "below the home", "a member's", "beside a closed root"])
async def test_an_ordinary_project_asks_nothing(tmp_path: Path, place_of: str) -> None:
    user = make(tmp_path / "user", "project")
    work = user / "project" if place_of == "below the home" else make(tmp_path / "work")
    added = added_beside(tmp_path).added if place_of == "beside a closed root" else ()
    place = Place(workspace=work, user=user, target=work / "x", named="x", added=added)
    if place_of == "a member's":  # it may write one folder of the home, and its commands that one alone
        place = Place(workspace=user, user=user, target=user / "project/x", roots=("project",))
    await work_there(tmp_path, place)  # with nobody there, a question would be a no
    command = "mine" if added else "by-command"
    assert read_all(place) == [command, "by-write", "by-edit"]


@needs_bubblewrap
async def test_a_hook_that_agents_could_replace_does_not_write_there_either(tmp_path: Path) -> None:
    place = the_home(tmp_path)
    (place.workspace / "hook.sh").write_text("echo ran > ran; echo by-hook > .bashrc\n")
    hook = {"matcher": "", "hooks": [{"type": "command", "command": "sh hook.sh"}]}
    await work_there(tmp_path, place, hooks={"PreToolUse": [hook]})
    assert (read_all(place), (place.workspace / "ran").exists()) == (["mine"] * 3, False)
