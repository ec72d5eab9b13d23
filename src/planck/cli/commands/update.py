"""`planck update`: which command brings this installation up to date; it runs nothing itself."""

import argparse
import json
import os
import shlex
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import planck
from planck.cli.output import print_json
from planck.cli.parser import JSON

NAME = "planck-agents"


EXAMPLE = "planck update"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=JSON)


def run(options: argparse.Namespace) -> int:
    how, command = find_way(Path(sys.prefix))
    if options.json:
        print_json({"version": planck.__version__, "installed_by": how, "command": command})
    else:
        source = "from a git checkout" if _is_checkout() else f"via {how}"
        print(f"planck {planck.__version__}, installed {source}. To update, run: {command}")
    return 0


def find_way(prefix: Path) -> tuple[str, str]:
    """Returns who installed it, and that one's command."""
    if _is_checkout():
        return "a checkout", f"git -C {Path(planck.__file__).resolve().parents[2]} pull"
    folders = prefix.resolve().parts
    if (prefix / "uv-receipt.toml").is_file() or ("uv" in folders and "tools" in folders):
        return "uv", f"uv tool upgrade {NAME}"
    if (prefix / "pipx_metadata.json").is_file() or "pipx" in folders:
        return "pipx", f"pipx upgrade {NAME}"
    if "uv" in folders or ".cache" in folders:  # uvx keeps it in its cache
        return "uvx", f"uvx --refresh --from {NAME} planck"
    if clone := _find_clone():
        return "pip", f"git -C {clone} pull && {sys.executable} -m pip install {clone}"
    return "pip", f"{sys.executable} -m pip install -U {NAME}"


def _find_clone() -> str:
    """Returns the folder that pip installed it from, quoted for a shell; empty: from a package index."""
    for file in Path(planck.__file__).resolve().parents[1].glob("planck_agents-*.dist-info/direct_url.json"):
        source = urlsplit(json.loads(file.read_text()).get("url", ""))
        if source.scheme == "file" and os.path.isdir(folder := unquote(source.path)):
            return shlex.quote(folder)
    return ""


def _is_checkout() -> bool:
    """Returns whether it runs from where its source is."""
    root = Path(planck.__file__).resolve().parents[2]
    return (root / "pyproject.toml").is_file() and (root / ".git").exists()
