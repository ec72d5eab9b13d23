"""The look at a large workspace before a command: beside the loop, and anew for each command."""

import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from planck.records.authority import Confinement, Mode
from planck.workspace.process import pipes
from planck.workspace.process.containment import sandbox_program
from planck.workspace.sandbox.view import find_view
from tests.workspace.place import Place

pytestmark = [
    pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed"),
]

_FOLDERS = 300
_listed: list[tuple[str, bool]] = []
"""Each folder that is listed, and whether by the thread of the loop."""


def _hear(event: str, args: tuple[Any, ...]) -> None:
    if event == "os.scandir":
        _listed.append((str(args[0]), threading.current_thread() is threading.main_thread()))


sys.addaudithook(_hear)


def _count(place: Place) -> tuple[int, int]:
    """How many folders of the workspace were listed by the loop's thread, and by others."""
    mine = [on_loop for folder, on_loop in _listed if folder.startswith(f"{place.ws}/many/")]
    return sum(mine), len(mine) - sum(mine)


async def test_a_workspace_is_listed_beside_the_loop_and_what_came_since_is_protected(place: Place) -> None:
    owner = place.ws.stat()
    for number in range(_FOLDERS):
        (folder := place.ws / "many" / f"{number}").mkdir(parents=True)
        shutil.chown(folder, owner.st_uid, owner.st_gid)
    _listed.clear()
    assert (await place.run(Mode.WORKSPACE, "echo ok > many/7/file")).exit_code == 0
    on_loop, beside = _count(place)
    assert (on_loop <= pipes.MAX_FOLDERS, beside) == (True, _FOLDERS), "the few are searched for pipes"

    hooks = place.ws / "many" / "7" / ".git" / "hooks"
    hooks.mkdir(parents=True)
    for folder in (hooks, hooks.parent):
        shutil.chown(folder, owner.st_uid, owner.st_gid)
    done = await place.run(Mode.WORKSPACE, "mv many/7 many/x; echo evil > many/7/.git/hooks/pre-commit")
    assert (done.exit_code != 0, hooks.is_dir()) == (True, True)
    assert [*hooks.iterdir()] == []


def test_pipes_are_looked_for_in_what_a_command_sees_of_a_hidden_home(tmp_path: Path) -> None:
    home, work = tmp_path / "ann", tmp_path / "work"
    work.mkdir()
    found = [home / name / "pipe" for name in ("tools/bin", "secret")]
    for pipe in found:
        pipe.parent.mkdir(parents=True)
        os.mkfifo(pipe)
    rights = Confinement(Mode.READ_ONLY, (str(work),), shown=(str(home / "tools"),), hidden=(str(home),))
    looks = pipes.Pipes()
    hides = find_view(rights, None, ()).hides
    assert looks.look([str(home)], hides=hides) == [str(found[0])]
    assert {*looks.look([str(home)])} == {*map(str, found)}, "a folder is listed once it is seen"
