import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.views.place import NOBODY, make_template

AS = [pytest.param(NOBODY, id="nobody"), pytest.param(0, id="root")] if os.geteuid() == 0 else [os.geteuid()]


@pytest.fixture(scope="session", autouse=True)
def template(tmp_path_factory: pytest.TempPathFactory) -> None:
    make_template(tmp_path_factory.mktemp("repository") / "work")


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that another user can reach, and that the sandbox does not hide as it hides what is below /tmp."""
    home = next(folder for folder in ("/opt", str(Path.home()), "/tmp") if os.access(folder, os.W_OK))
    base = Path(tempfile.mkdtemp(prefix="planck-views-", dir=home)).resolve()
    base.chmod(0o755)
    try:
        yield base
    finally:
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(params=AS)
def owner(request: pytest.FixtureRequest) -> int:
    """The user whose workspace it is."""
    return int(request.param)
