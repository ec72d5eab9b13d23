"""Git in workspaces that are not a plain clone: submodules, checked out or not, and linked worktrees."""

import subprocess
from pathlib import Path

import pytest

from planck import Planck
from planck.testing.scripted import ScriptedProvider
from planck.workspace.process.containment import sandbox_program
from tests.teams import facts

pytestmark = [
    pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed"),
]
_AS = ("-c", "user.name=u", "-c", "user.email=u@localhost", "-c", "protocol.file.allow=always")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *_AS, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def clone(folder: Path) -> Path:
    """Returns a clone in which `lib/subm` is a submodule that nobody checked out."""
    for name in ("subm", "origin"):
        (folder / name).mkdir()
        _git(folder / name, "init", "-q")
        _git(folder / name, "commit", "-q", "--allow-empty", "-m", "one")
    _git(folder / "origin", "submodule", "--quiet", "add", str(folder / "subm"), "lib/subm")
    _git(folder / "origin", "commit", "-q", "-m", "two")
    _git(folder, "clone", "-q", "origin", "work")
    return folder / "work"


async def _run(folder: Path, work: Path, *commands: str) -> list[str]:
    """Returns what each command put out."""
    model = ScriptedProvider([*([("bash", {"command": command})] for command in commands), "done"])
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    async with Planck(folder / "home", work, environ=environ, providers={"double": model}) as planck:
        session = await planck.start(model="double/m", mode="workspace")
        await session.run("go")
        return [str(data["output"]) for type, data in await facts(session) if type == "tool_end"]


@pytest.mark.parametrize("there", ["empty", "with files", "absent"])
async def test_git_works_in_a_clone_whose_submodule_is_not_checked_out(tmp_path: Path, there: str) -> None:
    work = clone(tmp_path)
    module = work / "lib/subm"
    if there == "with files":
        (module / "mine").touch()
    elif there == "absent":
        module.rmdir()
    status, other = "git status --porcelain; git diff --stat; git submodule status", "ls -A lib/subm"
    before = _git(work, "submodule", "status")
    ran = await _run(tmp_path, work, status, other, "git init -q lib/subm", "echo > lib/subm/made")
    if there == "empty":
        assert ran[:2] == [before, "[no output]"], "nothing of ours is seen there"
        assert "lib/subm" in ran[2], "no command makes a repository that the user's git would obey"
        assert [*module.iterdir()] == []
    else:
        assert "fatal" not in ran[0], ran[0]
        assert not (module / ".git").exists()
    if there == "with files":
        assert sorted(path.name for path in module.iterdir()) == ["made", "mine"]


async def test_a_checked_out_submodule_can_be_worked_in(tmp_path: Path) -> None:
    work = clone(tmp_path)
    _git(work, "submodule", "--quiet", "update", "--init")
    status, made = await _run(tmp_path, work, "git status --porcelain", "echo > lib/subm/made; git status -s")
    assert (status, made) == ("[no output]", " ? lib/subm\n")


@pytest.mark.parametrize("place", ["worktree", "submodule"])
async def test_git_works_where_the_repository_lies_outside_the_workspace(tmp_path: Path, place: str) -> None:
    """The home is hidden from commands, and the repository's own folder is in it."""
    work = clone(tmp_path)
    if place == "worktree":
        linked = tmp_path / "linked"
        _git(work, "worktree", "add", "-q", str(linked))
    else:
        _git(work, "submodule", "--quiet", "update", "--init")
        linked = work / "lib/subm"
    log, around, made = await _run(
        tmp_path,
        linked,
        "git log -1 --format=%h",
        f"cat {work}/.gitmodules",
        "touch $(git rev-parse --git-common-dir)/made",
    )
    assert log == _git(linked, "log", "-1", "--format=%h")
    assert "No such file" in around, "the repository's other files stay hidden"
    assert "Read-only" in made, made


@pytest.mark.parametrize("known", ["by nothing", "by another folder", "by itself", "by a link in it"])
async def test_a_git_file_shows_no_repository_that_does_not_know_the_folder(
    tmp_path: Path, known: str
) -> None:
    work, linked = clone(tmp_path), tmp_path / "linked"
    linked.mkdir()
    git = work / ".git"
    if known == "by itself":
        made = linked / "worktrees/linked"
        made.mkdir(parents=True)
        (made / "gitdir").write_text(f"{linked}/.git\n")
        (made / "commondir").write_text(f"{git}\n")
        (linked / ".git").write_text(f"gitdir: {made}\n")
    elif known == "by a link in it":
        (linked / "git").symlink_to(git)
        (linked / ".git").write_text("gitdir: git\n")
    elif known == "by another folder":
        _git(work, "worktree", "add", "-q", str(tmp_path / "other"))
        (linked / ".git").write_bytes((tmp_path / "other/.git").read_bytes())
    else:
        (linked / ".git").write_text(f"gitdir: {git}\n")
    (seen,) = await _run(tmp_path, linked, f"cat {git}/config")
    assert "No such file" in seen
