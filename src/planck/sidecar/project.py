"""A sidecar's folder is read: its module or packages, what it needs, and whether it has changed."""

import hashlib
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from planck import __version__
from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.sidecar.discovery import SidecarError

MODULE = "sidecar.py"
_SKIPPED = frozenset({"__pycache__", ".git", ".venv", "venv", "node_modules", ".mypy_cache", ".pytest_cache"})
_MAX_FILES = 5_000
_MAX_DIGESTED = 8 << 20
"""Bytes of files that are read for a digest."""
_OURS = frozenset({"planck", "planck-agents"})
"""Never downloaded by name: a sidecar gets this installation."""


class SidecarProject(msgspec.Struct, frozen=True):
    source: Path
    """Where its modules are found."""
    requirements: tuple[str, ...]
    module: Path | None = None
    """The one file, or else `packages`."""
    packages: tuple[str, ...] = ()


def read_project(path: Path) -> SidecarProject:
    """Reads a `.py` file, or a folder with a `sidecar.py` or a `pyproject.toml`; `SidecarError` if none."""
    if path.is_file() and path.suffix == ".py":
        return SidecarProject(path.parent, _script_requirements(path), path)
    if (path / MODULE).is_file():
        needed = _project_requirements(path / "pyproject.toml") or _script_requirements(path / MODULE)
        return SidecarProject(path, needed, path / MODULE)
    if (path / "pyproject.toml").is_file():
        source = path / "src" if (path / "src").is_dir() else path
        packages = tuple(sorted(_packages(source)))
        return SidecarProject(source, _project_requirements(path / "pyproject.toml"), packages=packages)
    raise SidecarError(
        ErrorKind.NOT_FOUND,
        f"no sidecar at {str(path)!r}, because there is no {MODULE} or pyproject.toml; "
        "run `planck sidecar new`",
    )


def fingerprint(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Returns what changes when a file of the sidecar does."""
    return tuple(sorted(_stamps(path)))


def digest_files(path: Path) -> str:
    """Returns what differs when the content of a file does; of large ones, when their stamp does."""
    found, left = hashlib.sha256(f"{__version__} {sys.version}".encode()), _MAX_DIGESTED
    for name, changed, size in fingerprint(path):
        content = b""
        if size <= left:
            try:
                content = Path(name).read_bytes()
            except OSError:
                continue
            left -= len(content)
        stamp = [name, hashlib.sha256(content).hexdigest() if content or not size else changed, size]
        found.update(codec.encode(stamp))
    return found.hexdigest()


def _stamps(path: Path) -> Iterator[tuple[str, int, int]]:
    if path.is_file():
        found = path.stat()
        yield str(path), found.st_mtime_ns, found.st_size
        return
    count = 0
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        for name in files:
            count += 1
            if count > _MAX_FILES:
                return
            try:
                found = os.stat(os.path.join(folder, name))
            except OSError:
                continue
            yield os.path.join(folder, name), found.st_mtime_ns, found.st_size


def _packages(source: Path) -> Iterator[str]:
    for entry in source.iterdir():
        if entry.name.startswith(("test", "_", ".")):
            continue
        if entry.suffix == ".py" and entry.name != "setup.py":
            yield entry.stem
        elif (entry / "__init__.py").is_file():
            yield entry.name


def _project_requirements(file: Path) -> tuple[str, ...]:
    if not file.is_file():
        return ()
    return _requirements(
        _toml(file.read_text("utf-8"), file).get("project", {}).get("dependencies", []), file
    )


def _script_requirements(file: Path) -> tuple[str, ...]:
    """The `# /// script` block of a module (PEP 723)."""
    text = file.read_text("utf-8", "replace")
    found = re.search(r"(?m)^# /// script\s*$\n((?:^#.*$\n)+?)^# ///\s*$", text)
    if found is None:
        return ()
    block = "".join(line[2:] if line.startswith("# ") else line[1:] for line in found[1].splitlines(True))
    return _requirements(_toml(block, file).get("dependencies", []), file)


def _toml(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SidecarError(
            ErrorKind.INVALID_ARGS, f"{str(file)!r} contains invalid TOML: {problem}; correct it"
        ) from None


def _requirements(raw: Any, file: Path) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
        raise SidecarError(ErrorKind.INVALID_ARGS, f"{str(file)!r}: dependencies must be a list of strings")
    wanted = (item.strip() for item in raw)
    return tuple(item for item in wanted if re.split(r"[^A-Za-z0-9._-]", item)[0].lower() not in _OURS)
