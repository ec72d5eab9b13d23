"""The pages under docs/reference are what the code says now."""

from pathlib import Path

import pytest

from planck.cli.reference import pages

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_current(name: str) -> None:
    assert (FOLDER / name).read_text() == pages()[name], "run: make reference"
