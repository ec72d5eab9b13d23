"""`planck` as pip installs it from the built wheel: not this checkout, and none of its environment."""

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_PATIENCE = 170.0


def install_wheel(folder: Path, extras: str = "") -> Path:
    """Returns the program of a fresh environment; skips the test where no package can be had."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    try:
        _do(*pip, "wheel", "--no-deps", "-w", str(folder), str(_ROOT))
        _do(sys.executable, "-m", "venv", "--without-pip", str(folder / "env"))
        (wheel,) = folder.glob("planck_agents-*.whl")
        _do(*pip, "--python", str(folder / "env"), "install", "--no-compile", f"{wheel}{extras}")
    except subprocess.CalledProcessError as failed:
        if "No matching distribution" in failed.stderr or "Failed to establish" in failed.stderr:
            pytest.skip(f"the package registry can't be reached: {failed.stderr[-200:]}")
        raise AssertionError(failed.stderr) from failed
    return folder / "env/bin/planck"


def _do(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PATIENCE, cwd="/")
