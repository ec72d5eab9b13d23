"""Builds the wheel, checks what is in it, and tries it in clean environments.

    python scripts/release.py [FOLDER]        default: dist

Nothing is uploaded. Python 3.11 and 3.13 are tried, each where there is one: of another it says so, and fails
with `--all`. What is tried is what a user does first: `planck --version`, `planck doctor`, `planck demo`.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.13")
WANTED = ("planck/py.typed", "planck/context/work.md", "planck/cli/main.py")
FOREIGN = ("tests/", "benchmarks/", "scripts/", ".venv/")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default="dist", type=Path)
    parser.add_argument("--all", action="store_true", help="fail where a version of Python is missing")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = build(folder)
    check(wheel)
    tried = [version for version in VERSIONS if try_wheel(wheel, version)]
    missing = [version for version in VERSIONS if version not in tried]
    for version in missing:
        print(f"release: Python {version} is not here: the wheel was not tried with it")
    print(f"release: {wheel} is good on Python {', '.join(tried) or 'none'}")
    return 1 if not tried or (missing and options.all) else 0


def build(folder: Path) -> Path:
    for old in folder.glob("planck_agents-*"):
        old.unlink()
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT))
    (wheel,) = folder.glob("planck_agents-*.whl")
    print(f"release: built {wheel.name}, {wheel.stat().st_size >> 10} KiB")
    return wheel


def check(wheel: Path) -> None:
    """What a wheel must hold, and what not; what its description says of itself."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
    problems = [
        f"{name} is missing" for name in WANTED if (ROOT / "src" / name).exists() and name not in names
    ]
    problems += [f"{name} does not belong into it" for name in names if name.startswith(FOREIGN)]
    for line in (
        "Name: planck-agents",
        "Requires-Python: >=3.11",
        "Provides-Extra: all",
        "Provides-Extra: sandbox",
    ):
        problems += [] if line in text else [f"METADATA has no line {line!r}"]
    if problems:
        sys.exit("release: " + "; ".join(problems))


def try_wheel(wheel: Path, version: str) -> bool:
    """Returns whether there is such a Python; ends the release where the wheel does not work with it."""
    python = find_python(version)
    if not python:
        return False
    with tempfile.TemporaryDirectory(prefix="planck-release-") as name:
        place = Path(name)
        run(python, "-m", "venv", str(place / "env"))
        environ = {
            "PATH": f"{place / 'env/bin'}:/usr/bin:/bin",
            "HOME": name,
            "OLLAMA_HOST": "",
            "LLAMA_CPP_HOST": "",
        }
        kept = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_", "HTTPS_"))}
        pip = str(place / "env/bin/pip")
        run(
            pip,
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"{wheel}[mcp]",
            env={**os.environ, **kept},
        )
        for args in (["--version"], ["doctor"], ["demo"], ["completion", "bash"]):
            run(str(place / "env/bin/planck"), *args, env=environ, cwd=name)
    print(f"release: tried on Python {version} ({python})")
    return True


def find_python(version: str) -> str:
    """On the PATH, as pyenv keeps it, or by uv; empty: there is none."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    pyenv = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))
    for program in (shutil.which(f"python{version}"), *map(str, pyenv)):
        if program and subprocess.run([program, "-c", ""], capture_output=True).returncode == 0:
            return program
    if uv := shutil.which("uv"):
        found = subprocess.run([uv, "python", "find", version], capture_output=True, text=True)
        return found.stdout.strip() if found.returncode == 0 else ""
    return ""


def run(*command: str, env: dict[str, str] | None = None, cwd: str = "/") -> None:
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd)
    if done.returncode:
        sys.exit(f"release: {' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
