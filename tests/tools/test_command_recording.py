"""Commands of the tools are recorded; where that can't be, they run as before and the result says so."""

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from planck.records.authority import Confinement, Mode
from planck.records.events import CommandRecorded, FileChanged
from planck.toolkit.toolset import ToolSet
from planck.tools.builtin.files import Spills
from planck.tools.command_recording import CommandRecording, find_other_user
from planck.workspace.recording.client import SeccompRecording, explain
from planck.workspace.recording.recording import Recording, Started
from tests.tools.room import ENVIRONMENT, Room, until

PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


class Refusing:
    """A recorder for a machine where nothing can be recorded."""

    def __init__(self, number: int) -> None:
        self._number = number

    async def prepare(self) -> str:
        return explain(self._number)

    async def start(
        self,
        words: Sequence[str],
        fds: Mapping[int, int],
        cwd: int,
        env: Mapping[str, str],
        roots: Sequence[str],
        spool: Path,
        at: int | None,
        apart: Sequence[str] = (),
    ) -> Started:
        raise AssertionError("nothing is started by a recorder that can't record")

    async def aclose(self) -> None:
        pass


def make_room(
    folder: Path, recording: Recording | None = None, **options: Any
) -> tuple[Room, CommandRecording]:
    room = Room(folder, **options)
    made = recording or SeccompRecording()
    commands = CommandRecording(lambda: made, Spills(room.spill), ENVIRONMENT)
    room.tools = ToolSet(room.builtin(recording=commands))
    room.executor = room.agent("agent-1")
    return room, commands


async def test_the_facts_of_a_command_stand_before_its_result(tmp_path: Path) -> None:
    room, commands = make_room(tmp_path)
    (room.ws / "a").write_text("old")
    done = await room.call("bash", {"command": "echo new > a; mkdir d; echo x > d/f"})
    assert "undo" not in done.output
    changed = [(fact.path, fact.before) for fact in room.facts if isinstance(fact, FileChanged)]
    assert changed == [("a", b"old"), ("d", None), ("d/f", None)]
    assert isinstance(room.facts[-1], CommandRecorded)
    assert (room.facts[-1].changed, room.facts[-1].partial) == (3, False)
    assert not (room.spill / "recording" / "c1").exists()
    await commands.aclose()


async def test_a_command_that_fails_or_runs_out_of_time_is_recorded(tmp_path: Path) -> None:
    room, commands = make_room(tmp_path)
    await room.call("bash", {"command": "echo 1 > a; exit 4"})
    await room.call("bash", {"command": "echo 2 > b; sleep 60", "timeout": 1000})
    assert [fact.path for fact in room.facts if isinstance(fact, FileChanged)] == ["a", "b"]
    await commands.aclose()


async def test_a_background_command_is_recorded_when_it_is_killed_and_while_it_runs(tmp_path: Path) -> None:
    room, commands = make_room(tmp_path)
    script = "echo 1 > a; while [ ! -e go ]; do sleep 0.02; done; echo 2 > a; echo 3 > b; sleep 600"
    done = await room.call("bash", {"command": script, "background": True})
    await until((room.ws / "a").exists)
    await until(lambda: (room.ws / "a").read_text() == "1\n")
    await room.jobs.record_running()
    assert [fact.path for fact in room.facts if isinstance(fact, FileChanged)] == ["a"]
    (room.ws / "go").touch()
    await until((room.ws / "b").exists)
    await until(lambda: (room.ws / "b").read_text() == "3\n")
    await room.call("bash", {"command": f"kill {done.outcome.value['handle']}"})  # type: ignore[union-attr]
    later = [(fact.path, fact.before) for fact in room.facts if isinstance(fact, FileChanged)][1:]
    assert later == [("a", b"1\n"), ("b", None)]
    await room.jobs.aclose()
    await commands.aclose()


@pytest.mark.parametrize("number", [errno.EBUSY, errno.ENOSYS, errno.EPERM])
async def test_where_nothing_can_be_recorded_commands_run_and_one_result_says_why(
    tmp_path: Path, number: int
) -> None:
    room, _ = make_room(tmp_path, Refusing(number))
    first = await room.call("bash", {"command": "echo 1 > a; echo done"})
    second = await room.call("bash", {"command": "echo 2 > b; echo done"})
    assert first.output == f"done\n\n[undo: not recorded: {explain(number)}]".replace("\n\n", "\n")
    assert second.output.strip() == "done"
    assert (room.ws / "a").exists()
    assert (room.ws / "b").exists()
    assert room.facts == []


async def test_a_command_that_becomes_another_user_is_not_recorded(tmp_path: Path) -> None:
    room, commands = make_room(tmp_path)
    done = await room.call("bash", {"command": "sudo -n true || true; : > a"})
    assert done.output.endswith("[undo: not recorded, it runs sudo]")
    assert room.facts == []
    await commands.aclose()


@pytest.mark.parametrize(
    ("script", "program"),
    [
        ("sudo make install", "sudo"),
        ("env X=1 sh -c 'cd x && sudo make'", "sudo"),
        ("true; doas rm x", "doas"),
        ("echo sudo", ""),
        ("make -j2 && ./run", ""),
        ("nonsense (", ""),
    ],
)
def test_programs_that_run_as_another_user_are_found(script: str, program: str) -> None:
    assert find_other_user(script, PATH) == program


def test_a_set_user_id_program_is_found_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("#!/bin/sh\n")
    os.chmod(tmp_path / "mine", 0o4755)
    assert find_other_user("mine --all", str(tmp_path)) == "mine"


async def test_what_can_change_nothing_needs_no_recorder(tmp_path: Path) -> None:
    asked: list[str] = []

    class Asked(Refusing):
        async def prepare(self) -> str:
            asked.append("")
            return ""

    rights = Confinement(Mode.READ_ONLY, (str(tmp_path / "ws"),), ())

    async def decide(*_: Any) -> Confinement:
        return rights

    room, _ = make_room(tmp_path, Asked(0), permit=decide)
    await room.call("bash", {"command": "true"})
    assert asked == []
