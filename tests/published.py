"""Programs that others published: installed once on a machine, for the tests of every clone on it."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
"""Not the one of this clone's environment, which can be deleted while other clones still use what it made."""
NPM = ("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", ".")
PIP = ("env/bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
WAIT = 180
"""Seconds for one command of an installation, which takes half a minute where nothing else is busy."""


def install_npm(name: str, packages: Sequence[str]) -> Path:
    """Returns the folder `node_modules`."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    return install(name, [(*NPM, *packages)]) / "node_modules"


def install_pypi(name: str, packages: Sequence[str]) -> Path:
    """Returns the folder of a virtual environment."""
    return install(name, [(PYTHON, "-m", "venv", "env"), (*PIP, *packages)]) / "env"


def install(name: str, commands: Sequence[Sequence[str]]) -> Path:
    """Returns the folder in which the commands were run, now or by an earlier run of any clone.

    Other commands make another folder, so nothing is replaced while somebody uses it. A folder counts once a
    link names it, after the last command: one whose installation was killed is never used, even if a command
    that outlived it still writes there.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "planck-tests"
    cache.mkdir(parents=True, exist_ok=True)
    what = hashlib.sha256(repr((sys.version, commands)).encode()).hexdigest()
    link = cache / f"{name}-{what[:12]}"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not link.is_dir():
            link.unlink(missing_ok=True)
            for left in cache.glob(f"{link.name}.*"):
                shutil.rmtree(left, ignore_errors=True)
            folder = Path(tempfile.mkdtemp(prefix=f"{link.name}.", dir=cache))
            for command in commands:
                _run(command, folder)
            link.symlink_to(folder.name)
    return link.resolve()


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=WAIT)
    except subprocess.TimeoutExpired:
        pytest.skip(f"the package registry can't be reached within {WAIT} s")
    except subprocess.CalledProcessError as failure:
        said = (failure.stderr or failure.stdout).strip().splitlines()
        pytest.skip(f"the package registry can't be reached: {said[-1] if said else failure}")
