"""Process start to end, against an interpreter that does nothing."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 15


def main() -> None:
    planck = str(Path(sys.executable).with_name("planck"))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "planck --version": [planck, "--version"],
        "planck --help": [planck, "--help"],
        "planck run --help": [planck, "run", "--help"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):  # interleaved, so that a busy moment hits all alike
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            times[name].append(time.perf_counter() - began)
    base = statistics.median(times["python -c pass"])
    aims = {"planck --version": "aim <= 2", "planck --help": "aim <= 3"}
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:<20} {median * 1000:7.1f} ms  {median / base:5.2f} x  {aims.get(name, '')}")
