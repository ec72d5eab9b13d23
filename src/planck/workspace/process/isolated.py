"""Modules of ours that run as a process of their own, with the standard library and nothing else."""

import sys
from pathlib import Path

_HOLDER = str(Path(__file__).parents[3])


def isolated(module: str) -> tuple[str, ...]:
    """Returns the words that call `run` of a module; it finds its own arguments in `sys.argv[1:]`.

    What lies beside our package is looked for last, so that nothing there can stand for a standard module.
    """
    program = f"import sys; sys.path.append({_HOLDER!r}); from {module} import run; run()"
    return (sys.executable, "-I", "-S", "-c", program)
