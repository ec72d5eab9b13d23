"""A script beside a test that forks: it runs in a process of its own, and says what it counted as JSON."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def run_script(
    script: Path, what: str, count: int, folder: Path, seed: int, before: tuple[str, ...] = ()
) -> dict[str, int]:
    print("seed", seed)
    done = subprocess.run(
        [*before, sys.executable, str(script), what, str(count), str(seed), str(folder)],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, int] = json.loads(done.stdout)
    print(result)
    return result


@contextmanager
def make_folder() -> Iterator[Path]:
    """In memory if there is any: the disk is not what these tests are about, and 20 times slower."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made)
