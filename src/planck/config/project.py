"""Where Planck runs: built once by whoever opens a door, and handed to everything behind it."""

import os
import stat
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from planck.config.load import ConfigError, find_home, read_environment
from planck.config.reload import Resources
from planck.config.schema import Config
from planck.config.trust import Trust
from planck.records.outcome import ErrorKind


class Project:
    """A home, a workspace and an environment, with the trust and the configuration that follow from them."""

    def __init__(
        self,
        home: Path | str | None = None,
        workspace: Path | str | None = None,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, Any] | None = None,
        *,
        trust: bool = False,
    ) -> None:
        """What is left out comes from the process: its environment, and the project that it runs in."""
        self.environ = read_environment() if environ is None else environ
        self.home = Path(home).absolute() if home else find_home(self.environ)
        self.here = _make_absolute(workspace or ".")
        """The folder that the user stands in: the workspace, or one below it."""
        self.workspace = self.here if workspace else find_workspace(self.here, _find_user_home(self.environ))
        self.flags = flags or {}
        self.trust = Trust(self.home, self.workspace, this_run=trust)

    @cached_property
    def resources(self) -> Resources:
        """Read at first use, so that a broken configuration can still be reported on; raises ConfigError."""
        return Resources(self.home, self.workspace, self.here, self.environ, self.flags, self.trust)

    @property
    def config(self) -> Config:
        """The configuration in force; what changes on disk is seen at an agent's next turn."""
        return self.resources.config

    @property
    def place_notice(self) -> str:
        """Says where the work is done, where that is not the folder that the user stands in."""
        if self.here == self.workspace:
            return ""
        return f"works in {str(self.workspace)!r}, the git root above this folder; --here: in this folder"

    def check_store(self) -> None:
        """Raises where the configuration names a store for sessions that there is no code for yet."""
        if self.config.store:
            raise ConfigError(
                ErrorKind.INVALID_ARGS,
                "`store` is not built yet: sessions are files; leave it out, or choose a sessions_dir",
            )


def find_workspace(here: Path, user_home: Path) -> Path:
    """Returns the git root of a folder, else the folder: never the user's home or one above it.

    A folder that can't be looked into ends the search, and so does a `.git` that somebody else put there:
    nobody makes others work in a place of his by putting one above them.
    """
    home = os.path.realpath(user_home)
    too_high = {home, *map(str, Path(home).parents)}
    for folder in (here, *here.parents):
        if os.path.realpath(folder) in too_high:
            break
        try:
            found = os.stat(folder / ".git")
            owners = {os.geteuid(), 0, os.stat(here).st_uid}
        except FileNotFoundError:  # also a link to nowhere
            continue
        except OSError:
            break
        if stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode):
            usable = found.st_uid in owners and os.access(folder, os.R_OK | os.X_OK)
            return folder if usable else here
    return here


def _find_user_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home())


def _make_absolute(folder: Path | str) -> Path:
    try:
        return Path(folder).absolute()
    except FileNotFoundError:
        raise ConfigError(
            ErrorKind.NOT_FOUND,
            "the current folder is gone; go to another one, or name the workspace: -C /ITS/PATH",
        ) from None
