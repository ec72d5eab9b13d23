"""The published programs that judge Planck from outside, and the environments in which they are found."""

import os
from pathlib import Path

import pytest

from tests.published import install_npm, install_pypi
from tests.standards.judges import NPM, PYPI


@pytest.fixture(scope="session")
def npm_bin() -> Path:
    return install_npm("standards-npm", NPM) / ".bin"


@pytest.fixture(scope="session")
def pypi_bin() -> Path:
    return install_pypi("standards-pypi", PYPI) / "bin"


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
