from pathlib import Path

import pytest

from scripts.make_page import PageError, install_esbuild
from tests.web.sources import copy_sources


@pytest.fixture(scope="session")
def esbuild() -> None:
    """esbuild, as package-lock.json pins it."""
    try:
        install_esbuild()
    except PageError as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the page, which node can run."""
    return copy_sources(tmp_path_factory.mktemp("page"))
