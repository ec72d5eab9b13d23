"""A sidecar in the place of this process: `planck sidecar run` serves one to any MCP client."""

import os
from collections.abc import Callable
from pathlib import Path

from planck.config.project import Project
from planck.sidecar.build import prepare_python
from planck.sidecar.host import sidecar_argv
from planck.sidecar.project import read_project


async def prepare_sidecar(path: Path, progress: Callable[[str], None], *more: str) -> tuple[str, ...]:
    """Builds the sidecar at a path if it must be, and returns what runs it in the place of this process."""
    project = Project()
    cache = project.home / "cache" / "sidecars"
    python = await prepare_python(read_project(path), cache, project.environ, progress)
    return sidecar_argv(python, path, *more)


def pipe_secret(secret: str) -> int:
    """Opens a descriptor for the program that takes this one's place: everybody can read a command line."""
    read_end, write_end = os.pipe()
    os.set_inheritable(read_end, True)
    with open(write_end, "w") as pipe:
        pipe.write(secret)
    return read_end
