import pytest

from scripts.make_page import PageError, install_esbuild


@pytest.fixture(scope="session")
def esbuild() -> None:
    """esbuild, as package-lock.json pins it."""
    try:
        install_esbuild()
    except PageError as problem:
        pytest.skip(str(problem))
