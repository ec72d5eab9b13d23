"""A guard against creep: what six small jobs cost in calls of Python functions, and in instructions.

Neither is a time: the same code gives the same numbers on a busy machine. `python -m benchmarks.guard calls`
is a test; `instructions`, under valgrind, is a step of `.ci/run`. Both fail where a job costs 15 % more than
`guard.toml` says; with `--show` they only print.
"""

import asyncio
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.jobs import JOBS, Job
from benchmarks.model_server import model_server

FEW, MANY = 1, 21
"""How often a job is run: what is done once, imports and the start of a session, is in both and falls out."""
MOST = 1.15
ALLOWED = Path(__file__).with_suffix(".toml")
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
_CALIBRATION = "calibration"


def main(args: list[str]) -> int:
    match args:
        case ["calls", *rest]:
            found = count_calls()
        case ["instructions", *rest]:
            if problem := _find_obstacle():
                print(f"SKIPPED instructions are not counted: {problem}")
                return 0
            found = count_instructions()
        case ["jobs", port]:
            return _run_forked(int(port))
        case _:
            print(__doc__)
            return 2
    allowed = read_allowed(args[0])
    for name, cost in found.items():
        print(f"{name:<8} {cost:9.2f}   allowed {allowed.get(name, 0.0) * MOST:9.2f}")
    if "--show" in rest:
        return 0
    if not allowed:
        print(f"SKIPPED {args[0]} are not compared: {ALLOWED.name} has none for Python {VERSION}")
        return 0
    problems = compare(found, allowed, args[0])
    print("\n".join(problems) or f"no job costs more {args[0]} than {ALLOWED.name} allows")
    return 1 if problems else 0


def read_allowed(what: str) -> dict[str, float]:
    """Returns what each job may cost on this version of Python; calls are the same on all of them."""
    rows: dict[str, dict[str, Any]] = tomllib.loads(ALLOWED.read_text())
    per_version = {name: row.get(what, {}) for name, row in rows.items()}
    return {
        name: float(costs[VERSION if VERSION in costs else "any"])
        for name, costs in per_version.items()
        if VERSION in costs or "any" in costs
    }


def compare(found: Mapping[str, float], allowed: Mapping[str, float], what: str) -> list[str]:
    """Returns a line for each job that costs too much, or that nobody has allowed."""
    problems = []
    for name, cost in found.items():
        most = allowed.get(name)
        if most is None:
            problems.append(f"{name}: {ALLOWED.name} has no {what} for it. Add them.")
        elif cost > most * MOST:
            problems.append(
                f"{name}: {cost:.2f} {what}, {cost / most - 1:+.0%} beyond the {most:.2f} of {ALLOWED.name}. "
                "Make it cheaper; or raise the number there, and write there who did and why."
            )
    return problems


def count_calls() -> dict[str, float]:
    """Returns the calls of Python functions of one time of each job, those of its threads too."""
    with _own_folder(), model_server() as port:
        return {name: _count_calls_of(job, port) for name, job in JOBS.items()}


def _count_calls_of(job: Job, port: int) -> float:
    asyncio.run(job(port, FEW))  # what a process does once
    few, many = _count(job, port, FEW), _count(job, port, MANY)
    return (many - few) / (MANY - FEW)


def _count(job: Job, port: int, times: int) -> int:
    calls = 0

    def hear(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    threading.setprofile(hear)
    sys.setprofile(hear)
    try:
        asyncio.run(job(port, times))
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return calls


def count_instructions() -> dict[str, float]:
    """Returns the instructions of one time of each job, in loops of `calibrate`."""
    with _own_folder() as folder, model_server() as port:
        jobs = (os.path.realpath(sys.executable), "-m", "benchmarks.guard", "jobs", str(port))
        counting = ("setarch", "-R", "valgrind", "--tool=cachegrind", "--cache-sim=no")
        environment = _make_environment(folder)
        # Once without valgrind: what has no byte code yet gets it there, and not in the first run of a job.
        subprocess.run(jobs, env=environment, stdout=subprocess.DEVNULL, check=True)
        ran = subprocess.run(
            [*counting, f"--cachegrind-out-file={folder}/%p", *jobs],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise SystemExit(f"valgrind failed: {ran.stderr[-2_000:]}")
        counts = {
            (name, int(times)): _read_total(Path(folder, pid))
            for name, times, pid in (line.split() for line in ran.stdout.splitlines())
        }
    costs = {name: counts[name, MANY] - counts[name, FEW] for name, _ in counts}
    loop = costs.pop(_CALIBRATION)
    return {name: cost / loop for name, cost in costs.items()}


def _find_obstacle() -> str:
    for program in ("valgrind", "setarch"):
        if not shutil.which(program):
            return f"{program} is not installed"
    allowed = subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False)
    return "setarch -R is not permitted" if allowed.returncode else ""


def _make_environment(folder: str) -> dict[str, str]:
    """Returns what a job needs, and nothing else that may differ from machine to machine."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {"PATH": os.environ["PATH"], "PYTHONPATH": path, "PYTHONHASHSEED": "0", "TMPDIR": folder}


@contextmanager
def _own_folder() -> Iterator[str]:
    """Has what the jobs leave behind in one place, which goes with them."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="planck-guard-") as folder:
        tempfile.tempdir = folder
        try:
            yield folder
        finally:
            tempfile.tempdir = before


def _read_total(file: Path) -> int:
    (line,) = (line for line in file.read_text().splitlines() if line.startswith("summary:"))
    return int(line.split()[1])


def _run_forked(port: int) -> int:
    """Runs each job in a process of its own, which valgrind counts; all begin with the same imports."""
    for name, times in _list_runs():
        pid = os.fork()
        if not pid:
            gc.disable()  # one collection more or less, of all that is imported, is as much as a whole job
            if name == _CALIBRATION:
                calibrate(times)
            else:
                asyncio.run(JOBS[name](port, times))
            os._exit(0)
        if os.waitpid(pid, 0)[1]:
            print(f"{name} failed", file=sys.stderr)
            return 1
        print(name, times, pid, flush=True)
    return 0


def _list_runs() -> Iterator[tuple[str, int]]:
    for name in (_CALIBRATION, *JOBS):
        yield name, FEW
        yield name, MANY


def calibrate(times: int) -> None:
    """A fixed piece of plain Python, about what our own code is made of."""
    for _ in range(times):
        for number in range(100):
            _calibrate_one({"number": number, "text": "word"}, str)


def _calibrate_one(row: dict[str, object], show: Callable[[object], str]) -> str:
    names = [name for name in row if name]
    return ",".join(f"{name}={show(row[name])}" for name in names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
