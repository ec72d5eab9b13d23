"""`make bench`, or `python -m benchmarks startup`: figures are ratios in one run; aims: performance.md."""

import importlib
import sys

NAMES = ("startup", "turns", "team", "tools", "log", "peers", "models", "authority")


def main(chosen: list[str]) -> None:
    for name in chosen or NAMES:
        print(f"\n{name}\n{'-' * len(name)}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


main(sys.argv[1:])
