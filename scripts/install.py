"""Installs packages for the Python that runs it: `python scripts/install.py --compile -e ".[dev]"`.

uv is a package of the index like any other and takes a quarter of pip's time. If uv can't be installed or
fails, pip installs everything. The arguments must be valid for both.
"""

import importlib.util
import os
import re
import subprocess
import sys

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
QUIETLY = (*PIP, "install", "--quiet")


def install(arguments: list[str]) -> int:
    if importlib.util.find_spec("uv") or not subprocess.call([*QUIETLY, "--no-compile", "uv"]):
        # uv doesn't read pip's configuration. Like pip, it must trust the certificates of this machine.
        found = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True).stdout
        index = re.findall(r"\.index-url='(.+)'", found)[-1:]
        uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
        options = [part for address in index for part in ("--default-index", address)]
        # Copies, not hard links into uv's cache: the first start of Planck copies linked files (own_files),
        # so the first test of a fresh clone would see other work than the same test in a second run.
        settings = {"UV_SYSTEM_CERTS": "1", "UV_LINK_MODE": "copy"}
        if not subprocess.call([*uv, *options, *arguments], env=settings | os.environ):
            return 0
    print("uv failed; installing with pip", file=sys.stderr)
    # Compiling takes pip a minute; the tests compile what they import.
    arguments = ["--no-compile" if one == "--compile" else one for one in arguments]
    return subprocess.call([*QUIETLY, *arguments])


if __name__ == "__main__":
    sys.exit(install(sys.argv[1:]))
