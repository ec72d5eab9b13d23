"""Where a command's effects can happen: the backend found here, by trying what must fail.

`wrap` turns the rights of one call into the words that go before its argv; what they forbid, the kernel
refuses. Backends, best first: bubblewrap, which enforces all of a `Confinement`, then Landlock, which says
what it can't.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from planck.records.authority import Confinement, Mode
from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.process.containment import Containment, system_program, try_script

if TYPE_CHECKING:
    from planck.workspace.sandbox.nested import Found
    from planck.workspace.views.view import View


class SandboxError(PlanckError):
    """The rights of a call can't be enforced here; it is not run."""


class Wrapped(msgspec.Struct, frozen=True):
    prefix: tuple[str, ...]
    level: Containment
    release: Callable[[], None]
    """Call it once, when the command has ended: what had to be put into the workspace goes again."""
    passed: tuple[int, ...] = ()
    """Descriptors that the prefix names; whoever starts it passes them on and closes them then."""
    check: str = ""
    """Shell for the first process in the sandbox: it ends where the sandbox is not what it should be."""
    note: str = ""
    """What the command should know of the sandbox."""
    stubs: tuple[str, ...] = ()
    """What is in the workspace for the sandbox alone, as long as the command runs."""


class OwnCode(msgspec.Struct, frozen=True):
    """What of the running Planck lies in the writable roots, as `own_code` finds it in the runtime itself."""

    own: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    early: dict[str, tuple[str, ...]] = {}


Looks = Mapping[str, "Found"]
"""By writable root; for one command, which starts at once: what a later one needs may be another's."""


class Sandbox(Protocol):
    @property
    def level(self) -> Containment: ...

    @property
    def writes(self) -> bool:
        """Whether it protects names in a folder that may be written; if not, it runs what writes nothing."""

    def takes_long(self, confinement: Confinement) -> bool:
        """Whether `look` is better done in a thread."""

    def look(self, confinement: Confinement) -> Looks:
        """Finds what `wrap` must know of the writable roots as they are at this moment, in any thread."""

    def wrap(
        self, confinement: Confinement, looks: Looks | None = None, own: OwnCode | None = None
    ) -> Wrapped:
        """Raises `SandboxError` for rights that it can't enforce; what it was not given it looks for."""


class Backend(msgspec.Struct, frozen=True):
    sandbox: Sandbox | None
    problems: tuple[str, ...]
    """Why the better ones do not work here, and what to do about it."""


async def look_ahead(confinement: Confinement | None, view: "View | None" = None) -> Looks | None:
    """Looks at large roots while others go on; None where that takes no time, or is not needed."""
    if view is not None:
        if confinement is not None and confinement.mode is not Mode.FULL:
            await asyncio.to_thread(view.prepare, confinement)
        return None
    sandbox = find().sandbox if confinement is not None and confinement.mode is not Mode.FULL else None
    if sandbox is None or confinement is None or not sandbox.takes_long(confinement):
        return None
    return await asyncio.to_thread(sandbox.look, confinement)


def wrap(confinement: Confinement, looks: Looks | None = None, own: OwnCode | None = None) -> Wrapped:
    """`own` is found here, unless another process asks for its commands."""
    found = find()
    if found.sandbox is None:
        raise SandboxError(
            ErrorKind.SANDBOX_UNAVAILABLE,
            f"no sandbox works here: {'; '.join(found.problems)}. "
            "Use tools that do not run commands, and report what you could not run",
        )
    return found.sandbox.wrap(confinement, looks, own)


def name_installed() -> str:
    """Names the backend that commands get here: as installed, or as found where it was tried already."""
    if find.cache_info().currsize:
        found = find().sandbox
        return str(found.level) if found else "none"
    if not sys.platform.startswith("linux"):
        return "none"
    return str(Containment.BUBBLEWRAP if system_program("bwrap") else Containment.LANDLOCK)


def list_confinable() -> frozenset[Mode]:
    """Returns the modes in which commands can be confined here, as far as `name_installed` knows."""
    match name_installed():
        case Containment.BUBBLEWRAP:
            return frozenset(Mode)
        case Containment.LANDLOCK:  # it runs only what writes nothing
            return frozenset(Mode) - {Mode.WORKSPACE}
    return frozenset()


@cache
def find() -> Backend:
    """The best backend that really confines, tried once per process (about 20 ms)."""
    if not sys.platform.startswith("linux"):
        return Backend(None, (f"there is no sandbox for {sys.platform} yet",))
    from planck.workspace.sandbox.bubblewrap import Bubblewrap
    from planck.workspace.sandbox.landlock import Landlock

    candidates: tuple[Callable[[], Sandbox], ...] = (Bubblewrap, Landlock)
    problems: list[str] = []
    for make in candidates:
        try:
            sandbox = make()
            problem = probe(sandbox)
        except SandboxError as failure:
            problem = failure.err.message
        if not problem:
            return Backend(sandbox, tuple(problems))
        problems.append(problem)
    return Backend(None, tuple(problems))


def probe(sandbox: Sandbox) -> str:
    """Try each forbidden thing with a real command; the empty text if all of them failed as they must."""
    import socket
    import tempfile

    with tempfile.TemporaryDirectory(prefix="planck-probe-") as folder, socket.socket() as listener:
        inside, outside = Path(os.path.realpath(folder), "in"), Path(os.path.realpath(folder), "out")
        inside.mkdir()
        outside.mkdir()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        script = "\n".join(
            f"if {action} 2>/dev/null; then echo {name!r}; fi"
            for name, action in _forbidden(inside, outside, listener.getsockname()[1])
        )
        roots = (str(inside),)
        mode = Mode.WORKSPACE if sandbox.writes else Mode.READ_ONLY
        rights = Confinement(mode, roots, roots if sandbox.writes else ())
        said = _try(sandbox, rights, f'{script}\n: > "$TMPDIR/x" && echo done; : > {inside}/ok')
        found, ran, _ = said.partition("done\n")
        wrote = (inside / "ok").exists()
        if found or not ran or wrote is not sandbox.writes:
            why = "; ".join(line.strip() for line in found.splitlines() if line.strip())
            if not why and not ran:
                why = "the test command did not run"
            elif not why and wrote:
                why = "a command can write to the workspace, which is read-only"
            elif not why:
                why = "the test command could not write to the workspace"
            return f"{sandbox.level} does not confine commands here: {why}"
    return ""


def _forbidden(inside: Path, outside: Path, port: int) -> list[tuple[str, str]]:
    return [
        ("a command can write outside the workspace", f"(echo x > {outside}/x)"),
        ("a command can create a protected folder", f"mkdir {inside}/.planck"),
        ("a command can signal Planck", f"kill -0 {os.getpid()}" if os.getpid() > 64 else "false"),
        ("a command can use the network", f"(exec 3<>/dev/tcp/127.0.0.1/{port})"),
    ]


def _try(sandbox: Sandbox, rights: Confinement, script: str) -> str:
    wrapped = sandbox.wrap(rights)
    try:
        done = try_script(wrapped.prefix, script, timeout=10, cwd=rights.roots[0], passed=wrapped.passed)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    finally:
        for fd in wrapped.passed:
            os.close(fd)
        wrapped.release()
    return done.stdout.decode(errors="replace")
