"""`make bench`, or `python -m benchmarks startup`: figures are ratios in one run; aims: performance.md.

Children run with byte code, as an installed Planck does: `PYTHONDONTWRITEBYTECODE` is unset for them.
"""

import importlib
import os
import sys

NAMES = (
    "startup",
    "first_request",
    "turns",
    "team",
    "tools",
    "log",
    "store",
    "sessions",
    "peers",
    "models",
    "authority",
    "budget",
    "terminal",
    "server",
    "page",
    "takeover",
    "views",
)


def main(chosen: list[str]) -> None:
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        print("PYTHONDONTWRITEBYTECODE is unset for what is measured")
    for name in chosen or NAMES:
        print(f"\n{name}\n{'-' * len(name)}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


main(sys.argv[1:])
