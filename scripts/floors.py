"""Prints the lowest versions that `pyproject.toml` allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path

FLOOR = re.compile(r"([A-Za-z0-9_-]+)>=([0-9.]+)")

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
wanted = [*project["dependencies"], *(line for name in extras if name != "dev" for line in extras[name])]
for line in dict.fromkeys(wanted):
    if line.startswith(f"{project['name']}["):
        continue  # an extra of extras
    found = FLOOR.match(line)
    if found is None:
        raise SystemExit(f"{line!r} has no floor: write NAME>=VERSION")
    print(f"{found[1]}=={found[2]}")
