"""The sources of the page as modules that node runs, without a browser."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from planck.records import codec
from scripts.make_page import SOURCES, list_known

NODE = shutil.which("node")


def copy_sources(folder: Path) -> Path:
    """Copies them with what the page knows of tools and events; returns the folder."""
    page = folder / "page"
    shutil.copytree(SOURCES, page)
    for name, text in {"package.json": '{"type": "module"}', **list_known()}.items():
        (page / name).write_text(text)
    return page


def run_on_page(page: Path, script: str, given: object) -> Any:
    """Runs a module there, with JSON on its input; returns the JSON that it prints."""
    assert NODE
    run = [NODE, "--input-type=module", "-e", script]
    done = subprocess.run(run, cwd=page, input=codec.encode(given), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)
