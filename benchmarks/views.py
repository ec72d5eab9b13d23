"""Views: what opening one costs, and the layers below it; a command in one; what an idle one holds. Then what
`recording` a command costs."""

import asyncio
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import recording
from planck.records.authority import Confinement, Mode
from planck.workspace.process.process import Command, run, shell
from planck.workspace.views.layers import Layers
from planck.workspace.views.mounting import Opener
from planck.workspace.views.overlay import OverlayView

_SIZES = (100, 5_000, 50_000)
_VIEWS, _COMMANDS, _CHANGED = 20, 20, 10


def main() -> None:
    for size in _SIZES:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            _measure_layers(Path(folder), size)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        asyncio.run(_measure_views(Path(folder)))
    recording.main()


def _make(folder: Path, size: int) -> Layers:
    base = folder / "work"
    for number in range(size):
        if number % 20 == 0:
            (base / f"src/d{number // 20}").mkdir(parents=True)
        (base / f"src/d{number // 20}/f{number}.txt").write_text("x" * 2_000)
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=base, check=True)
    (folder / "views").mkdir()
    time.sleep(0.1)  # a file that was changed a moment ago is never taken for known
    return Layers(str(base), str(folder / "views"), os.environ)


def _measure_layers(folder: Path, size: int) -> None:
    layers = _make(folder, size)
    first = _time_cpu(layers.take)
    for number in range(_CHANGED):
        (folder / f"work/src/d{number % (size // 20)}/f{number}.txt").write_text("changed")
    time.sleep(0.1)
    after = _time_cpu(layers.take)
    same = min(_time_cpu(layers.take) for _ in range(5))
    print(
        f"{size:>6,} files, CPU time: first layer {first:7.1f} ms; next one, {_CHANGED} files changed, "
        f"{after:6.1f} ms; nothing changed {same:6.1f} ms (aim at 5,000: 30 ms)"
    )


async def _measure_views(folder: Path) -> None:
    layers, opener = _make(folder, 1_000), Opener()
    base, home = str(folder / "work"), str(folder / "views")
    stack = layers.take()
    views: list[OverlayView] = []
    took: list[float] = []
    for number in range(_VIEWS):
        start = time.perf_counter()
        views.append(OverlayView(f"v{number}", base, home, stack, opener))
        took.append((time.perf_counter() - start) * 1e3)
    print(
        f"open a view: median {statistics.median(took[1:]):.1f} ms, min {min(took):.1f} ms, the first, which "
        f"starts its program, {took[0]:.0f} ms (aim 5 ms)"
    )
    inside = {os.readlink(f"/proc/self/fd/{view.fds[1]}") for view in views}
    print(
        f"processes in {_VIEWS} idle views: {sum(_namespace(one) in inside for one in _processes())} (aim 0)"
    )
    plain = await _time_commands(base, None)
    first = await _time_commands(base, views[0], 1)
    within = await _time_commands(base, views[0])
    print(
        f"a sandboxed command: {plain:.1f} ms in the workspace, {within:.1f} ms in a view "
        f"(the first, which starts the program that sets up the sandbox, {first:.0f} ms)"
    )
    took = []
    for view in views:
        start = time.perf_counter()
        await view.drop()
        took.append((time.perf_counter() - start) * 1e3)
    print(f"drop a view: median {statistics.median(took):.1f} ms")
    opener.close()


async def _time_commands(base: str, view: OverlayView | None, count: int = _COMMANDS) -> float:
    rights = Confinement(Mode.WORKSPACE, (base,), (base,))
    took = []
    held = os.open(".", os.O_RDONLY, dir_fd=view.root) if view else os.open(base, os.O_RDONLY)
    try:
        for _ in range(count):
            start = time.perf_counter()
            await run(Command(shell("true"), held, {"PATH": "/usr/bin:/bin"}, rights, view=view), 30)
            took.append((time.perf_counter() - start) * 1e3)
    finally:
        os.close(held)
    return statistics.median(took)


def _time(do: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    return (time.perf_counter() - start) * 1e3


def _time_cpu(do: Callable[[], object]) -> float:
    """Of this process and of git: others may use the machine meanwhile."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    do()
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return (
        sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(usage, after, strict=True))
        * 1e3
    )


def _processes() -> list[Path]:
    return [*Path("/proc").glob("[0-9]*")]


def _namespace(process: Path) -> str:
    try:
        return os.readlink(process / "ns/mnt")
    except OSError:
        return ""
