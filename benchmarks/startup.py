"""Process start to end: against an interpreter that does nothing, and beside peers where they are installed.

Peers are looked for in `.venv-peers/bin`: `python3 -m venv .venv-peers`, then
`.venv-peers/bin/pip install kimi-cli mistral-vibe`.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.model_server import model_server

ROUNDS = 11
PEERS = Path(__file__).parent.parent / ".venv-peers" / "bin"
AIMS = {
    "planck --version": "aim <= 2 x",
    "planck --help": "aim <= 3 x",
    "planck run, one answer": "aim <= 0.40 s CPU",
}


def main() -> None:
    planck = str(Path(sys.executable).with_name("planck"))
    with model_server() as port, tempfile.TemporaryDirectory() as folder:
        home = _home(Path(folder), port)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "planck --version": [planck, "--version"],
            "planck --help": [planck, "--help"],
            "planck run --help": [planck, "run", "--help"],
            "planck run, one answer": [planck, "run", "hello", "-C", folder],
            **{f"{name} --version": [str(PEERS / name), "--version"] for name in _peers()},
            **{f"{name} --help": [str(PEERS / name), "--help"] for name in _peers()},
        }
        figures = _measure(commands, home)
    base = statistics.median(wall for wall, _ in figures["python -c pass"])
    for name, rows in figures.items():
        wall, cpu = statistics.median(w for w, _ in rows), statistics.median(c for _, c in rows)
        print(
            f"{name:<24} {wall * 1000:7.1f} ms {wall / base:6.2f} x  CPU {cpu:5.2f} s  {AIMS.get(name, '')}"
        )
    if not _peers():
        print("no peers in .venv-peers; the head of this file says how to install them")


def _peers() -> list[str]:
    return [name for name in ("aider", "kimi", "vibe") if (PEERS / name).exists()]


def _home(folder: Path, port: int) -> Path:
    home = folder / "home"
    home.mkdir()
    providers = {"local": {"type": "openai", "base_url": f"http://127.0.0.1:{port}/d20/v1"}}
    (home / "config.json").write_text(json.dumps({"default_model": "local/m", "providers": providers}))
    return home


def _measure(commands: dict[str, list[str]], home: Path) -> dict[str, list[tuple[float, float]]]:
    """(wall, CPU of the process) of each round, interleaved, so that a busy moment hits all alike."""
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    environment = {**os.environ, "PLANCK_HOME": str(home), "NO_COLOR": "1"}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            before, began = os.times(), time.perf_counter()
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                check=True,
            )
            wall, after = time.perf_counter() - began, os.times()
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            figures[name].append((wall, cpu))
    return figures
