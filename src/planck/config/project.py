"""Where Planck runs: built once by whoever opens a door, and handed to everything behind it."""

import os
import stat
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from planck.config.environment import read_environment
from planck.config.load import ConfigError, find_home
from planck.config.private import Private, find_private, list_user_homes, private_places
from planck.config.resources import Resources
from planck.config.schema import Config
from planck.config.trust import OPEN_TO_AGENTS, Trust
from planck.own_code import keep_out, list_own
from planck.records.authority import Confinement, Mode
from planck.records.outcome import ErrorKind, say_option
from planck.workspace.paths.paths import Root, WorkspaceError, is_inside
from planck.workspace.process.environment import UserEnvironment

_KERNEL = ("/proc", "/sys", "/dev", "/run")
_OF_THE_SYSTEM = (*_KERNEL, "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot")
"""No folder of files: what is there belongs to processes and devices."""


class Project:
    """A home, a workspace and an environment, with the trust and the configuration that follow from them."""

    def __init__(
        self,
        home: Path | str | None = None,
        workspace: Path | str | None = None,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, Any] | None = None,
        *,
        trust: bool | Trust = False,
        add_dirs: Iterable[Path | str] = (),
    ) -> None:
        """What is left out comes from the process: its environment, and the project that it runs in.

        `add_dirs` are folders beside the workspace that agents may work in; nothing else is taken from them.
        `trust` is the user's word for this run, or the trust of the same folder from a project that has it.
        """
        self.environ: Mapping[str, str] = read_environment() if environ is None else environ
        self.home: Path = _make_absolute(home) if home else find_home(self.environ)
        self.here: Path = _make_absolute(workspace or ".")
        """The folder that the user stands in: the workspace, or one below it."""
        self._is_named, self._user_home = bool(workspace), _find_user_home(self.environ)
        self.workspace: Path = self.here if workspace else find_workspace(self.here, self._user_home)
        added = [self._check_added(folder) for folder in add_dirs]
        self.added: tuple[str, ...] = tuple(dict.fromkeys(folder for folder in added if folder))
        """The folders beside the workspace, canonical."""
        self.root: Root = Root(self.workspace, others=self.added)
        """The folders of all sessions here, as they are now: a folder that replaces one is not opened."""
        keep_out((str(self.workspace), *self.added))
        self._opened: set[str] = set()
        """What any session of this process was given beside these: agents may have written there."""
        self.flags: Mapping[str, Any] = flags or {}
        self.trust: Trust = trust if isinstance(trust, Trust) else self._open_trust(this_run=trust)

    def _open_trust(self, *, this_run: bool) -> Trust:
        return Trust(self.home, self.workspace, this_run=this_run, environ=self.environ, flags=self.flags)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Where agents may write, canonical, the workspace first; raises for a private place.

        Permissions are made of the roots, so no door gets past this check.
        """
        roots = self.root.paths
        for root in roots:
            self.check_root(root)
        return roots

    def fork(self) -> "Project":
        """Returns the same project for one session, which may be given folders that no other has."""
        own = copy(self)
        own.root = copy(self.root)
        return own

    def find_folder(self, folder: Path | str) -> Root | None:
        """Returns a folder that can be added as it is now; None: it is in the workspace, or was added.

        Raises for a private one and for one that is too wide, by where it really is.
        """
        named = str(folder)
        at_home = named == "~" or named.startswith("~/")
        real = self._check_added(self._user_home / named[2:] if at_home else self.here / named)
        if not real or is_inside(real, self.root.paths):
            return None
        if is_inside(real, _KERNEL):
            raise ConfigError(
                ErrorKind.INVALID_ARGS,
                f"Cannot add {str(folder)!r}: it shows the system's own state. Add a project folder instead.",
            )
        self.check_root(real)
        return Root(real)

    def find_outside(self, path: str) -> Root | None:
        """Returns the folder of a file or folder that an agent names outside of its own, as `add` takes it.

        None: it is inside, not there, or in a place that nobody is asked about. Raises for a path that leads
        there through a link or `..`: what is asked about and what is opened have one name.
        """
        if "\0" in path or not (path.startswith("/") or ".." in path.split("/")):
            return None
        try:
            real = os.path.realpath(self.workspace / path)
            if is_inside(real, self.root.paths):
                return None
            folder = self.find_folder(real if os.path.isdir(real) else os.path.dirname(real))
        except (ConfigError, OSError, ValueError):
            return None  # the tool refuses it
        if folder and is_inside(real, _OF_THE_SYSTEM):
            return None  # a yes would also let agents write there; commands read it in their sandbox
        if folder and path.rstrip("/") != real:
            raise WorkspaceError(
                ErrorKind.OUTSIDE_WORKSPACE,
                f"{path!r} leads to {real!r}, which is outside the workspace; "
                "if you need it, use that path, so that the user can be asked about it",
            )
        return folder

    def add(self, folder: Root) -> None:
        """Lets agents work in a folder as it was found; raises if it has been replaced since."""
        folder.check()
        found = self.find_folder(folder.path)
        if found is None:
            return
        if found.path != folder.path:
            raise ConfigError(
                ErrorKind.PERMISSION_DENIED,
                f"{str(folder.path)!r} was replaced. Look at it, and add it again.",
            )
        self.root.join(folder)
        self.added = (*self.added, str(folder.path))
        self._opened.add(str(folder.path))
        keep_out((str(folder.path),))
        self.__dict__.pop("roots", None)

    def open_root(self, writes: tuple[str, ...] | None = None) -> Root:
        """Returns the workspace with what was added to it, and no private place in it: what is looked at or
        called without rights of its own sees no more than an agent. `writes`: where alone it may write."""
        private = self.find_private_places(programs=False)
        paths = self.root.paths
        rights = Confinement(
            Mode.WORKSPACE,
            paths,
            paths if writes is None else writes,
            masked=private.masked,
            shown=private.shown,
            hidden=private.hidden,
        )
        return self.root.under(rights)

    @property
    def views_folder(self) -> Path:
        """Where agents' own workspaces are kept."""
        return Path(self.config.views.folder or self.home / "views").expanduser()

    @property
    def command_environ(self) -> UserEnvironment:
        """The user's environment, of which commands get the usual part and what the configuration names."""
        return UserEnvironment(self.environ, self.config.permissions.environment)

    def find_private_places(self, *, programs: bool = True) -> Private:
        """Returns what agents may not see, as it is now; what the user's own files name is readable."""
        named: list[str] = []
        for layer in self.resources.loaded.layers:
            if layer.source.startswith(str(self.workspace / ".planck" / "config.json")):
                continue  # a project, trusted or not, opens nothing of the user's
            sidecar = layer.values.get("sidecar") or ()
            listed = [layer.values.get(key) for key in ("skills_dirs", "teams_dirs", "tools_dirs")]
            for value in (layer.permissions.get("readable"), *listed, sidecar):
                found = [value] if isinstance(value, str) else value
                named += (found.values() if isinstance(found, dict) else found) or ()
        readable = (name for name in named if os.path.isabs(name) or name.startswith("~"))
        return private_places(
            self.home, self.environ, self.config.sessions_dir, readable, self.root.paths, programs=programs
        )

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
        """Says where the work is done, where that is not the folder that the user stands in or is wide."""
        if self.here == self.workspace:
            if self._is_named or os.path.realpath(self.here) not in _list_too_high(self._user_home):
                return ""
            where = "your home folder or a folder above it"
            option = say_option("Use -C DIR", "Pass workspace=")
            return f"Working in {str(self.here)!r}, {where}. {option} to choose a project."
        where = "the git root above this folder"
        option = say_option("Use --here", "Pass workspace=")
        return f"Working in {str(self.workspace)!r}, {where}. {option} to work in this folder."

    @property
    def own_notice(self) -> str:
        """Says what of Planck itself lies in the workspace: the reason why agents can't write there.

        Empty where a root is all of it: mode `workspace` is refused there, with what to do.
        """
        own = list_own(self.roots)
        if {*own}.intersection(self.roots):
            return ""
        names = ", ".join(repr(os.path.relpath(place, self.roots[0])) for place in own)
        how = "To let agents write there, install Planck outside the workspace (with `uv tool install`)."
        what = "which agents can only read, except in mode 'full'"
        return f"Planck runs from {names}, {what}. {how}" if own else ""

    def _check_added(self, folder: Path | str) -> str:
        """Returns where it really is; empty: in the workspace anyway. Raises for one that can't be added."""
        given, real = str(folder), os.path.realpath(_make_absolute(folder))
        workspace, own = os.path.realpath(self.workspace), os.path.realpath(self.home)
        if not given or not os.path.isdir(real):
            raise ConfigError(ErrorKind.NOT_FOUND, f"{given!r} is not a folder. Name an existing folder.")
        if real == workspace or is_inside(real, (workspace,)):
            return ""
        homes = map(os.path.realpath, list_user_homes(self.environ))
        held = [place for place in (workspace, *homes, own) if is_inside(place, (real,))]
        if held or is_inside(real, (own,)):
            why = f"it contains {held[0]!r}" if held else "it is inside Planck's home folder"
            if real in held:
                why = "it is Planck's home folder" if real == own else "it is a user's home folder"
            raise ConfigError(
                ErrorKind.INVALID_ARGS, f"Cannot add {given!r}: {why}. Add a project folder instead."
            )
        return real

    def check_root(self, folder: Path | str) -> None:
        """Raises for a folder that the sandbox hides: as a root it would be shown, and written."""
        if place := find_private(folder, self.home, self.environ, self.config.sessions_dir):
            raise ConfigError(
                ErrorKind.PERMISSION_DENIED,
                f"Agents cannot work in {str(folder)!r}: {place!r} is private (keys, settings, sessions). "
                "Choose another folder.",
            )

    def doubt(self, file: Path | str) -> str:
        """Says why nothing that a file names may be started or spoken to; empty: it is the user's word."""
        if any(
            is_inside(place, (*self.added, *self._opened))
            for place in (os.path.abspath(file), os.path.realpath(file))
        ):
            return OPEN_TO_AGENTS
        return self.trust.doubt(file)

    def check_place(self) -> None:
        """Raises where agents must not work, and where no log could say where its session worked."""
        _ = self.roots
        self.root.check()
        try:
            str(self.workspace).encode()
        except UnicodeEncodeError:
            raise ConfigError(
                ErrorKind.INVALID_ARGS,
                f"The path {str(self.workspace)!a} is not UTF-8. "
                f"Rename the folder, or choose another with {say_option('-C DIR', 'workspace=')}.",
            ) from None

    def check_store(self) -> None:
        """Raises where the configuration names a store for sessions that is none."""
        store = self.config.store
        if store and store != "dev" and not store.startswith(("postgresql://", "postgres://")):
            raise ConfigError(
                ErrorKind.INVALID_ARGS,
                "`store` must be a postgresql:// address or `dev`. Leave it out to keep sessions in files.",
            )


def find_workspace(here: Path, user_home: Path) -> Path:
    """Returns the git root of a folder, which is never the user's home or one above it, else the folder.

    A folder that can't be looked into ends the search, and so does a `.git` that somebody else put there:
    nobody makes others work in a place of his by putting one above them.
    """
    too_high = _list_too_high(user_home)
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


def _list_too_high(user_home: Path) -> set[str]:
    """The user's home and the folders above it: nobody means all of that by standing there."""
    home = os.path.realpath(user_home)
    return {home, *map(str, Path(home).parents)}


def _find_user_home(environ: Mapping[str, str]) -> Path:
    return Path(list_user_homes(environ)[0])


def _make_absolute(folder: Path | str) -> Path:
    """Returns it without `..`, by which a folder would be seen among those above itself."""
    try:
        named = Path(folder).absolute()
        return Path(os.path.realpath(named)) if ".." in named.parts else named
    except FileNotFoundError:
        raise ConfigError(
            ErrorKind.NOT_FOUND,
            "The current folder no longer exists. Change to another folder, or pass "
            f"{say_option('-C /PATH/TO/WORKSPACE', 'workspace=')}.",
        ) from None
