"""A sidecar runs in this Python, or, where it declares dependencies, in an environment kept by their hash."""

import asyncio
import fcntl
import hashlib
import importlib.util
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from planck.own_code import import_paths, safe_path
from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.sidecar.discovery import SidecarError
from planck.sidecar.project import SidecarProject
from planck.workspace.process.environment import allowed
from planck.workspace.process.process import Command, run

_TIMEOUT = 600.0
_READY = "ready"
_INSTALLERS = ("PIP_", "UV_")
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"})


async def prepare_python(
    project: SidecarProject, cache: Path, environment: Mapping[str, str], progress: Callable[[str], None]
) -> str:
    """Returns its interpreter; a failed build raises `SidecarError` with the installer's last words."""
    if not project.requirements:
        return sys.executable
    folder = cache / _digest(project)
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _lock_file(folder) as lock:
        await _take_lock(lock.fileno())
        if not (folder / _READY).exists():
            shutil.rmtree(folder, ignore_errors=True)
            await _build(folder, project, environment, progress)
            (folder / _READY).touch()
    return str(folder / "bin" / "python")


def runtime_paths() -> list[str]:
    """Returns where this Planck and its needs come from: a sidecar gets these, never a download by name."""
    found = []
    for name in ("planck", "msgspec", "jsonschema_rs", "mcp", "mcp_types", "pydantic"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            found.append(str(Path(spec.submodule_search_locations[0]).parent))
    return list(dict.fromkeys(found))


def _digest(project: SidecarProject) -> str:
    parts = [sys.version, sys.executable, runtime_paths(), sorted(project.requirements)]
    return hashlib.sha256(codec.encode(parts)).hexdigest()[:24]


def _lock_file(folder: Path) -> IO[str]:
    return Path(f"{folder}.lock").open("a")


async def _take_lock(descriptor: int) -> None:
    """Waits for another process that builds the same thing; its lock ends with it."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(0.1)
        else:
            return


async def _build(
    folder: Path, project: SidecarProject, environment: Mapping[str, str], progress: Callable[[str], None]
) -> None:
    kept = {
        key: value for key, value in environment.items() if key.startswith(_INSTALLERS) or key in _PROXIES
    }
    env = safe_path({**allowed(environment), **kept})  # to build a package, compilers are started
    progress(f"creating an environment with {', '.join(project.requirements)}")
    await _run_step([*_run_module("venv"), "--without-pip", str(folder)], env, progress)
    python = folder / "bin" / "python"
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (site / "planck.pth").write_text("\n".join(runtime_paths()) + "\n")
    await _run_step([*_installer(env, python), *project.requirements], env, progress)


def _installer(environment: Mapping[str, str], python: Path) -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        quiet = ["--no-input", "--disable-pip-version-check", "--quiet"]
        return [*_run_module("pip"), "--python", str(python), "install", *quiet]
    uv = shutil.which("uv", path=environment["PATH"])
    if uv is None:
        raise SidecarError(
            ErrorKind.PEER_FAILED,
            "a sidecar with dependencies needs `pip` or `uv`; install one of them",
        )
    return [uv, "pip", "install", "--python", str(python)]


def _run_module(name: str) -> list[str]:
    """Returns what runs a module as `-m` does, with our own search path: a `.pth` may add the workspace."""
    boot = (
        f"import sys; sys.path[:] = {import_paths()!r}; "
        f"import runpy; runpy.run_module({name!r}, run_name='__main__', alter_sys=True)"
    )
    return [sys.executable, "-S", "-c", boot]


async def _run_step(argv: list[str], environment: Mapping[str, str], progress: Callable[[str], None]) -> None:
    def heard(chunk: bytes) -> None:
        if text := chunk.decode(errors="replace").strip():
            progress(text.splitlines()[-1][:200])

    done = await run(Command(argv, Path("/"), environment), timeout=_TIMEOUT, on_output=heard)
    if done.exit_code != 0:
        state = "timed out" if done.timed_out else f"failed with exit code {done.exit_code}"
        raise SidecarError(
            ErrorKind.PEER_FAILED,
            f"cannot build the sidecar: {Path(argv[0]).name} {state}; "
            f"check the sidecar's dependencies. Last output:\n{done.output[-2000:]}",
        )
