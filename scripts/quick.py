"""Runs the tests that a change reaches, the nearest first, for at most a minute: `make quick [BASE=REV]`.

A change is what differs from the upstream branch, or from HEAD if there is none; untracked files count. A
room is a folder of src/planck; its tests are in the folder of tests with the same name. A change reaches its
room, then the rooms that import it, and so on up the table of tests/test_layers.py.

This module is also the pytest plugin that starts no test when the time is up.
"""

import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.test_layers import ROW, list_imports

ROOT = Path(__file__).parent.parent
# No test starts after this many seconds, so that the running ones can end within the minute.
SECONDS = 44
# Reading all test files takes half a minute, so pytest gets this many at a time.
BATCH = 40
TOP = 100


def list_changes(root: Path, base: str = "") -> list[str]:
    """Returns the changed and the untracked paths."""

    def git(*arguments: str, check: bool = True) -> str:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
        if check and done.returncode:
            raise SystemExit(f"error: git {shlex.join(arguments)} failed: {done.stderr.strip()}")
        return done.stdout.strip()

    base = base or git("rev-parse", "--verify", "--quiet", "@{upstream}", check=False) or "HEAD"
    fork = git("merge-base", "HEAD", base)
    changed = git("diff", "--name-only", "--no-renames", fork)
    return sorted({*changed.splitlines(), *git("ls-files", "--others", "--exclude-standard").splitlines()})


def reach(rooms: set[str], root: Path) -> dict[str, int]:
    """Returns how many imports each room is away from the changed ones; unreached rooms are missing."""
    src = root / "src" / "planck"
    importers: dict[str, set[str]] = {}
    for path in src.rglob("*.py"):
        for name in _find_rooms(list_imports(path)):
            importers.setdefault(name, set()).add(path.relative_to(src).parts[0])
    found: dict[str, int] = {}
    distance, nearest = 0, rooms
    while nearest:
        found |= dict.fromkeys(nearest, distance)
        nearest = {one for room in nearest for one in importers.get(room, ())} & ROW.keys() - found.keys()
        distance += 1
    return found


def select(changes: Iterable[str], root: Path = ROOT) -> list[str]:
    """Returns the test files that the changes reach, the nearest first."""
    changed = [Path(one) for one in changes]
    rooms = {path.parts[2] for path in changed if path.parts[:2] == ("src", "planck")} & ROW.keys()
    helpers = [path for path in changed if path.suffix == ".py" and not path.name.startswith("test_")]
    modules = {".".join(path.with_suffix("").parts) + "." for path in helpers}
    shared = [path.parent for path in changed if path.name in ("conftest.py", "pyproject.toml")]
    distances = reach(rooms, root) if rooms else {}
    ranks: dict[str, int] = {}
    for test in (root / "tests").rglob("test_*.py"):
        path, imports = test.relative_to(root), list_imports(test)
        found = [0] if path in changed else []
        # `from tests.wire import chat` is listed as tests.wire, so a changed module reaches those as well.
        found += [1 for _, name in imports if any(module.startswith(f"{name}.") for module in modules)]
        found += [TOP for folder in shared if folder in path.parents]
        if path.parts[1] in ("scenarios", "seeds") or len(path.parts) == 2:
            found += [TOP] if rooms else []  # tests of the whole
        else:
            found += [distances[room] + 1 for room in _find_rooms(imports) if room in distances]
            found += [distances[path.parts[1]]] if path.parts[1] in distances else []
        if found:
            ranks[str(path)] = min(found)
    return sorted(ranks, key=lambda name: (ranks[name], name))


def _find_rooms(imports: Iterable[tuple[int, str]]) -> set[str]:
    return {name.split(".")[1] for _, name in imports if name.startswith("planck.")} & ROW.keys()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--until", type=float, help="start no test after this time, in seconds since 1970")


left: list[str] = []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    if time.time() < item.config.option.until:
        return None
    left.append(item.nodeid)
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = left


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    left.extend(getattr(node, "workeroutput", {}).get("left", []))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if left:
        terminalreporter.write_line(f"Time is up: {len(left)} tests of these files were not run.")


def main(base: str = "") -> int:
    until = time.time() + SECONDS
    changes = list_changes(ROOT, base)
    files = select(changes)
    if not files:
        print("The change reaches no test." if changes else "Nothing changed.")
        return 0
    print(f"The change reaches {len(files)} test files. The nearest: {', '.join(files[:3])}", flush=True)
    # `load` hands out the tests in their order; `worksteal` would start in the middle as well.
    options = ["--dist", "load", "-p", "scripts.quick", "--until", str(until), "--durations-min", "5"]
    make = ["make", "-s", "-o", f"{sys.prefix}/.ready", "parallel", f"VENV={sys.prefix}", "ORDER=off"]
    code = 0
    while files and time.time() < until:
        batch, files = files[:BATCH], files[BATCH:]
        code |= subprocess.call([*make, f"ARGS={shlex.join([*options, *batch])}"], cwd=ROOT)
    if files:
        print(f"Time is up: {len(files)} more test files were not run. `make test` runs everything.")
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
