"""Finds unstable tests: `python -m scripts.flakes 10 [ARGUMENTS OF PYTEST]`, or `make flakes N=10 ARGS=...`.

Runs `make test` in random orders, every second time beside two busy loops, and compares each test's outcomes.
"""

import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOOPS = 2
# Ends on its own if this script is killed: the loop then has another parent.
BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"


@contextmanager
def busy(loops: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keeps this many processor cores busy."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(loops):
            started.append(subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())]))
        yield started
    finally:
        for loop in started:
            loop.kill()
            loop.wait()


def run(seed: int, arguments: list[str], folder: Path) -> tuple[int, dict[str, str]]:
    """Runs the suite once. Returns its exit code and the outcome of each test."""
    folder.mkdir()
    # -k: the second part runs even if the first one fails. -o: what runs this script needs no set-up.
    make = ["make", "-k", "-o", f"{sys.prefix}/.ready", "test", f"VENV={sys.prefix}", f"ORDER={seed}"]
    make += [f"REPORT={folder}", f"ARGS={shlex.join(arguments)}"]
    with (folder / "log").open("wb") as log:
        code = subprocess.call(make, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    return code, {name: outcome for path in folder.glob("*.xml") for name, outcome in read(path)}


def read(report: Path) -> Iterator[tuple[str, str]]:
    for case in ET.parse(report).iter("testcase"):
        found = {child.tag for child in case} & {"failure", "error", "skipped"}
        yield f"{case.get('classname')}::{case.get('name')}", min(found, default="passed")


def main(runs: int, arguments: list[str]) -> int:
    folder = Path(tempfile.mkdtemp(prefix="planck-flakes-"))
    outcomes: dict[str, list[str]] = defaultdict(list)
    red = 0
    for number in range(1, runs + 1):
        seed, loops = random.randrange(10**6), LOOPS * ((number + 1) % 2)
        began = time.monotonic()
        with busy(loops):
            code, found = run(seed, arguments, folder / str(number))
        seconds = time.monotonic() - began
        for name, outcome in found.items():
            outcomes[name].append(outcome)
        bad = [name for name, outcome in found.items() if outcome not in ("passed", "skipped")]
        red += code != 0
        load = f"beside {loops} busy loops" if loops else "idle"
        result = "green" if code == 0 else f"red, {len(bad)} failed"
        print(f"run {number} of {runs}: ORDER={seed}, {load}, {seconds:.0f} s, {len(found)} tests: {result}")
        for name in bad:
            print(f"  {name}")
        sys.stdout.flush()
    changed = {name: seen for name, seen in outcomes.items() if len(set(seen)) > 1}
    always = [name for name in outcomes.keys() - changed.keys() if outcomes[name][0] in ("failure", "error")]
    print(f"{red} of {runs} runs red; {len(changed)} tests changed, {len(always)} tests failed each time")
    for name, seen in sorted(changed.items()):
        counts = ", ".join(f"{seen.count(one)} x {one}" for one in sorted(set(seen)))
        print(f"  changed: {name} ({counts})")
    for name in sorted(always):
        print(f"  failed each time: {name}")
    print(f"logs: {folder}")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
