"""The published programs are shared by all clones on a machine, and must outlive each of them."""

import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.heavy, pytest.mark.standards]


def test_no_installed_program_needs_the_environment_of_this_clone(pypi_bin: Path) -> None:
    scripts = [file for file in pypi_bin.iterdir() if file.is_file() and not file.is_symlink()]
    assert {"schemathesis", "openapi-python-client"} <= {file.name for file in scripts}
    assert [file.name for file in scripts if sys.prefix.encode() in file.read_bytes()] == []
    assert not (pypi_bin / "python").resolve().is_relative_to(sys.prefix)
