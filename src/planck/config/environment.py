"""The environment of the process: read here, and nowhere else."""

import os
from collections.abc import Mapping


def read_environment() -> Mapping[str, str]:
    return dict(os.environ)  # noqa: TID251 - the one owner of the environment
