"""A command that is forked for a test behaves as one whose interpreter starts from nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import PLAIN
from tests.fork_server import EXEC

PLANCK = (sys.executable, "-m", "planck")


def run(
    folder: Path, *args: str, stdin: bytes | None = None, **env: str
) -> subprocess.CompletedProcess[bytes]:
    variables = {**PLAIN, "PLANCK_HOME": str(folder / "home"), **env}
    return subprocess.run([*PLANCK, *args], input=stdin, cwd=folder, env=variables, capture_output=True)


@pytest.mark.parametrize(
    "args",
    [
        ("--version",),
        ("sessions", "--json"),
        ("config", "show"),
        ("no-such-thing", "é"),
        ("run",),
    ],
    ids=" ".join,
)
def test_a_forked_command_prints_and_ends_as_a_started_one(tmp_path: Path, args: tuple[str, ...]) -> None:
    forked, started = (run(tmp_path, *args, stdin=b"\xff", **env) for env in ({}, {EXEC: "1"}))
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        started.returncode,
        started.stdout,
        started.stderr,
    )


def test_a_forked_command_is_a_child_of_the_test_and_ends_by_its_signal(tmp_path: Path) -> None:
    variables = {**PLAIN, "PLANCK_HOME": str(tmp_path), "ONLY": "here"}
    with subprocess.Popen(
        [*PLANCK, "run"], cwd=tmp_path, env=variables, stdin=-1, stdout=-1, stderr=-1, start_new_session=True
    ) as process:
        about = Path(f"/proc/{process.pid}")
        fields = (about / "stat").read_text().rpartition(")")[2].split()
        parent, session = int(fields[1]), int(fields[3])
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert (parent, session) == (os.getpid(), process.pid)


def test_a_forked_command_holds_no_descriptor_of_the_test(tmp_path: Path) -> None:
    with (tmp_path / "open").open("w"), (tmp_path / "fifo").open("w"):
        process = subprocess.Popen(
            [*PLANCK, "run"],
            cwd=tmp_path,
            env={**PLAIN, "PLANCK_HOME": str(tmp_path)},
            stdin=-1,
            stdout=-1,
            stderr=-1,
        )
        # It runs: what it closes between the listing and the look (`readlink` would fail) it does not hold.
        held = [os.path.realpath(entry) for entry in Path(f"/proc/{process.pid}/fd").iterdir()]
        process.communicate(b"")
    assert not [path for path in held if path.startswith(str(tmp_path))]
