"""The published programs that judge Planck from outside, pinned, and installed once on a machine."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mcp.test_third_party import installing

NPM = (
    "node@24.21.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "acpx@0.19.1",
    "@redocly/cli@2.77.0",
    "openapi-typescript@7.13.0",
    "typescript@5.9.3",
)
PYPI = (
    "openapi-python-client==0.29.1",
    "openapi-spec-validator==0.9.0",
    "schemathesis==4.32.5",
    "skills-ref==0.1.1",
)


@pytest.fixture(scope="session")
def npm_bin() -> Path:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    quiet = ("--no-audit", "--no-fund", "--loglevel=error")
    return _install("standards-npm", NPM, [npm, "install", *quiet, "--prefix", "."]) / "node_modules/.bin"


@pytest.fixture(scope="session")
def pypi_bin() -> Path:
    # A virtual environment next to the packages: an installed script names its interpreter, and the one of
    # this clone can be deleted while other clones still use the folder.
    pip = ("env/bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    return _install("standards-pypi", PYPI, pip, before=(sys.executable, "-m", "venv", "env")) / "env/bin"


def _install(name: str, packages: Sequence[str], argv: Sequence[str], before: Sequence[str] = ()) -> Path:
    """Returns the folder. It is installed again if the versions or the install commands have changed."""
    with installing() as cache:
        folder = cache / name
        stamp = folder / "installed.txt"
        # `before` begins with the interpreter of one clone, which is not what was installed.
        wanted = "\n".join([sys.version, *before[1:], *argv[1:], *packages])
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for command in filter(None, (before, [*argv, *packages])):
                done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300)
                if done.returncode != 0:
                    pytest.skip("the package registry can't be reached")
            stamp.write_text(wanted)
    return folder


@pytest.fixture(scope="session")
def npm_env(npm_bin: Path) -> dict[str, str]:
    """An environment in which the pinned programs and their own Node are found first."""
    return {
        **os.environ,
        "PATH": f"{npm_bin}:{os.environ['PATH']}",
        "NODE_DISABLE_COMPILE_CACHE": "1",
        "REDOCLY_TELEMETRY": "off",
        "CI": "true",
    }


@pytest.fixture(scope="session")
def pypi_env(pypi_bin: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{pypi_bin}:{os.environ['PATH']}"}
