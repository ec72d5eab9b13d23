"""`make bench [ONLY="startup turns"]`: every figure is a ratio in one run; the aims are performance.md's."""

import importlib
import sys

NAMES = ("startup", "turns", "team", "tools", "log", "peers", "models", "authority")


def main(chosen: list[str]) -> None:
    for name in chosen or NAMES:
        print(f"\n{name}\n{'-' * len(name)}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


main(sys.argv[1:])
