"""The hunt for unstable tests: `make flakes`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import flakes

SUITE = """
from pathlib import Path

def test_steady(): pass
def test_broken(): assert False
def test_unstable():
    seen = Path(__file__).with_name("seen")
    assert not seen.exists()
    seen.touch()
"""


def test_an_unstable_test_is_named_and_so_is_one_that_always_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p xdist")
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "conftest.py").write_text('pytest_plugins = ["tests.order"]\n')
    (suite / "test_some.py").write_text(SUITE)
    assert flakes.main(2, [str(suite), "-n", "0"]) == 1
    lines = capsys.readouterr().out.splitlines()
    runs = [line for line in lines if line.startswith("run ")]
    assert [", idle, " in runs[0], ", beside 2 busy loops, " in runs[1]] == [True, True]
    assert [line.endswith("3 tests: red, 1 failed") for line in runs] == [True, False]
    # Before the file's name may stand folders: that depends on where this checkout is.
    (changed,) = [line for line in lines if line.startswith("  changed: ")]
    assert changed.endswith("test_some::test_unstable (1 x failure, 1 x passed)")
    (always,) = [line for line in lines if line.startswith("  failed each time: ")]
    assert always.endswith("test_some::test_broken")
    assert not [line for line in lines if "test_steady" in line]


def test_busy_loops_end_with_the_run() -> None:
    with flakes.busy(2) as loops:
        assert [loop.poll() for loop in loops] == [None, None]
    assert [loop.returncode for loop in loops] == [-signal.SIGKILL] * 2


def test_busy_loops_end_when_the_script_is_killed() -> None:
    hold = "import os, signal, scripts.flakes as f\nwith f.busy(2): print(flush=True); signal.pause()"
    script = subprocess.Popen([sys.executable, "-c", hold], cwd=flakes.ROOT, stdout=subprocess.PIPE)
    assert script.stdout is not None
    with script.stdout as pipe:
        pipe.readline()
        os.kill(script.pid, signal.SIGKILL)
        script.wait()
        # The loops inherited the pipe: it ends when the last one has ended.
        assert pipe.read() == b""
