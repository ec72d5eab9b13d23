"""Random operations, recorded and not: the same tree, exactly the right changes, and an exact undo."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from planck.workspace.process.containment import sandbox_program
from tests.workspace.place import NOBODY
from tests.workspace.recording.operations import OPERATIONS

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="seccomp is Linux's")

SOURCE = Path(__file__).parents[3]
AS = [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]
REFUSED = {"workspace": {"socket_name"}}
"""What the sandbox does not allow."""


def consult(user: int, mode: str, seeds: int, first: int = 0) -> dict[str, Any]:
    """Runs the oracle as a user, whose own interpreter it is: root's may lie in root's home."""
    if mode == "workspace" and sandbox_program() is None:
        pytest.skip("bubblewrap is not installed")
    # Not below /tmp, which the sandbox hides, and not in a repository.
    home = next(folder for folder in ("/opt", str(Path.home()), "/tmp") if os.access(folder, os.W_OK))
    base = tempfile.mkdtemp(prefix="planck-oracle-", dir=home)
    try:
        os.chown(base, user, user)
        packages = [str(SOURCE / "src"), str(SOURCE), *(path for path in sys.path if "site-packages" in path)]
        change = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        oracle = str(Path(__file__).with_name("oracle.py"))
        python = "/usr/bin/python3" if user else sys.executable
        done = subprocess.run(
            [*change, python, "-S", oracle, base, str(first), str(seeds), "120", mode],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(packages), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found: dict[str, Any] = json.loads(done.stdout)
        return found
    finally:
        shutil.rmtree(base, ignore_errors=True)


@pytest.mark.parametrize("mode", ["full", "workspace"])
@pytest.mark.parametrize("user", AS)
def test_recorded_commands_do_the_same_and_are_undone_exactly(user: int, mode: str, seed: int) -> None:
    found = consult(user, mode, 5, seed % 1000 * 5)
    assert found["wrong"] == []
    assert found["changed"] > 50


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["full", "workspace"])
@pytest.mark.parametrize("user", AS)
def test_two_hundred_seeds_of_recorded_commands(user: int, mode: str) -> None:
    found = consult(user, mode, 200)
    assert found["wrong"] == []
    assert set(found["occurred"]) == {*OPERATIONS} - REFUSED.get(mode, set())
