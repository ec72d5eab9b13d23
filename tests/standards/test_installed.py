"""The published programs are shared by all clones on a machine, and must outlive each of them."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.published import install

ROOT = Path(__file__).parents[2]
INSTALL = "import sys; from tests.published import install; install('it', [('sh', '-c', sys.argv[1])])"


@pytest.mark.heavy
@pytest.mark.standards
def test_no_installed_program_needs_the_environment_of_this_clone(pypi_bin: Path) -> None:
    scripts = [file for file in pypi_bin.iterdir() if file.is_file() and not file.is_symlink()]
    assert {"schemathesis", "openapi-python-client"} <= {file.name for file in scripts}
    assert [file.name for file in scripts if sys.prefix.encode() in file.read_bytes()] == []
    assert not (pypi_bin / "python").resolve().is_relative_to(sys.prefix)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "planck-tests"


def sh(*lines: str) -> list[Sequence[str]]:
    return [("sh", "-c", line) for line in lines]


def test_an_installation_is_done_once_and_another_one_beside_it(cache: Path) -> None:
    commands = sh("echo >> ../runs", "touch whole")
    first = install("it", commands)
    assert install("it", commands) == first
    other = install("it", sh("echo >> ../runs", "touch newer"))
    assert [file.name for place in (first, other) for file in place.iterdir()] == ["whole", "newer"]
    assert (cache / "runs").read_text() == "\n\n"


def test_an_installation_that_was_killed_or_removed_is_done_again(cache: Path) -> None:
    command = "echo >> ../runs; touch half; test -e ../again || kill -9 $PPID; touch whole"
    killed = subprocess.run([sys.executable, "-c", INSTALL, command], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    (cache / "again").touch()
    place = install("it", sh(command))
    assert sorted(file.name for file in place.iterdir()) == ["half", "whole"]
    for file in place.iterdir():
        file.unlink()
    place.rmdir()
    assert (install("it", sh(command)) / "whole").exists()
    assert (cache / "runs").read_text() == "\n\n\n"


def test_what_a_killed_installation_left_running_does_not_write_into_the_next(cache: Path) -> None:
    command = (
        'test -e "$0/go" && exit; mkfifo "$0/go" "$0/done"; here=$PWD; '
        '{ read line < "$0/go"; touch "$here/late"; echo > "$0/done"; } & kill -9 $PPID'
    ).replace("$0", str(cache))
    subprocess.run([sys.executable, "-c", INSTALL, command], cwd=ROOT, check=False)
    place = install("it", sh(command))
    (cache / "go").write_text("\n")
    assert (cache / "done").read_text() == "\n"
    assert [*place.iterdir()] == []


def test_an_installation_that_fails_skips_with_its_reason_and_is_tried_again(cache: Path) -> None:
    command = "test -e ../again || { touch ../again; echo no route >&2; false; }"
    with pytest.raises(pytest.skip.Exception, match="the package registry can't be reached: no route"):
        install("it", sh(command))
    assert install("it", sh(command)).is_dir()
