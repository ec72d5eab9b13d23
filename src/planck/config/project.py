"""Where Planck runs: built once by whoever opens a door, and handed to everything behind it."""

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
        """What is left out comes from the process: its environment, and the folder that it runs in."""
        self.environ = read_environment() if environ is None else environ
        self.home = Path(home).absolute() if home else find_home(self.environ)
        self.workspace = Path(workspace or Path.cwd()).absolute()
        self.flags = flags or {}
        self.trust = Trust(self.home, self.workspace, this_run=trust)

    @cached_property
    def resources(self) -> Resources:
        """Read at first use, so that a broken configuration can still be reported on; raises ConfigError."""
        return Resources(self.home, self.workspace, self.environ, self.flags, self.trust)

    @property
    def config(self) -> Config:
        """The configuration in force; what changes on disk is seen at an agent's next turn."""
        return self.resources.config

    def check_store(self) -> None:
        """Raises where the configuration names a store for sessions that there is no code for yet."""
        if self.config.store:
            raise ConfigError(
                ErrorKind.INVALID_ARGS,
                "`store` is not built yet: sessions are files; leave it out, or choose a sessions_dir",
            )
