import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspace.place import NOBODY, Place

AS = [pytest.param(NOBODY, id="nobody"), pytest.param(0, id="root")] if os.geteuid() == 0 else [os.geteuid()]


@pytest.fixture(params=AS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    # Not below /tmp: there everything is hidden, and a write would be denied for the wrong reason.
    home = next(folder for folder in ("/opt", str(Path.home()), "/tmp") if os.access(folder, os.W_OK))
    base = Path(tempfile.mkdtemp(prefix="planck-sandbox-", dir=home)).resolve()
    base.chmod(0o755)
    try:
        yield Place(base, request.param)
    finally:
        shutil.rmtree(base)
