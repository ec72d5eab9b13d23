"""Landlock, where bubblewrap can't run: commands that change nothing.

Its rules only add rights, so a protected name inside a writable root can't be taken out again: what needs to
write is refused here, and asked instead. The PID namespace is that of the ladder.
"""

import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from planck.records.authority import Confinement
from planck.records.outcome import ErrorKind
from planck.workspace.git.settings import read_settings
from planck.workspace.paths.paths import is_inside
from planck.workspace.process.containment import Containment, containment, wrapper
from planck.workspace.process.pipes import Pipes
from planck.workspace.sandbox.root_only import list_root_only
from planck.workspace.sandbox.sandbox import Looks, OwnCode, SandboxError, Wrapped
from planck.workspace.sandbox.system_calls import landlock_filter

_HIDDEN = ("/tmp", "/var/tmp", "/run", "/dev", "/boot", "/lost+found")
_EXEC = Path(__file__).with_name("landlock_exec.py")


class Landlock:
    level = Containment.LANDLOCK
    writes = False

    def __init__(self) -> None:
        calls = landlock_filter()
        if calls is None:
            raise _unavailable(f"Landlock is not supported on {platform.machine()}")
        self._calls = calls
        self._pipes = Pipes()
        if containment() is not Containment.PID_NAMESPACE:
            raise _unavailable("Landlock also needs a PID namespace, and none is available here")

    def takes_long(self, confinement: Confinement) -> bool:
        return False

    def look(self, confinement: Confinement) -> Looks:
        return {}

    def wrap(
        self, confinement: Confinement, looks: Looks | None = None, own: OwnCode | None = None
    ) -> Wrapped:
        if confinement.writable:
            raise _unavailable(
                "Landlock cannot protect .git and .planck in a writable folder; install bubblewrap"
            )
        if confinement.network:
            raise _unavailable(
                "Landlock is used only for commands without network access; install bubblewrap"
            )
        if confinement.seen:
            raise _unavailable(
                "Landlock is used only for commands, not for servers or external agents; install bubblewrap"
            )
        private = tempfile.mkdtemp(prefix="planck-private-")
        starts = (*confinement.roots, *map(os.path.dirname, confinement.roots), os.path.expanduser("~"))
        masked = (*confinement.masked, *self._pipes.look(starts))
        if os.geteuid() == 0:
            masked += tuple(place for place in list_root_only() if not is_inside(place, confinement.roots))
        homes = tuple(home for home in confinement.hidden if home not in confinement.roots)
        readable = [*_readable("/", (*_HIDDEN, *masked, *homes))]
        for place in (*confinement.shown, *confinement.roots):
            around = (one for one in (*masked, *homes) if one != place and not is_inside(place, (one,)))
            if os.path.realpath(place) == place:  # a link needs no right
                readable += _readable(place, tuple(around))
        settings = Path(private, "gitconfig")
        settings.write_bytes(read_settings(confinement.roots[0] if confinement.roots else "/"))
        plan = Path(private, "plan")  # a home with many entries is too much for one argument
        calls = self._calls.hex()
        plan.write_text(json.dumps({"read": readable, "write": [private], "calls": calls}))
        prefix = (
            *wrapper(Containment.PID_NAMESPACE),
            *("/usr/bin/env", f"TMPDIR={private}", *([f"GIT_CONFIG_GLOBAL={settings}"] if homes else ())),
            *(sys.executable, "-I", "-S", str(_EXEC), str(plan)),
        )
        return Wrapped(prefix, self.level, partial(shutil.rmtree, private, ignore_errors=True))


def _readable(path: str, hidden: Sequence[str]) -> Iterator[str]:
    """The largest subtrees without anything hidden in them; a right can't be taken away again below."""
    if is_inside(path, hidden):
        return
    if not any(is_inside(place, (path,)) for place in hidden):
        yield path
        return
    try:
        entries = list(os.scandir(path))
    except OSError:
        return
    for entry in entries:
        if not entry.is_symlink():
            yield from _readable(entry.path, hidden)


def _unavailable(why: str) -> SandboxError:
    return SandboxError(ErrorKind.SANDBOX_UNAVAILABLE, why)
