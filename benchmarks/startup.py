"""Process start to end: against an interpreter that does nothing, and beside peers where they are installed.

Peers are looked for in the repository's own folder, and left out where they are not:
`python3 -m venv .venv-peers && .venv-peers/bin/pip install aider-chat`,
`npm install --prefix .npm-peers @mariozechner/pi-coding-agent @google/gemini-cli`.
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

ROUNDS = 7
ROOT = Path(__file__).parent.parent
PEERS = (
    ROOT / ".venv-peers/bin/aider",
    ROOT / ".npm-peers/node_modules/.bin/pi",
    ROOT / ".npm-peers/node_modules/.bin/gemini",
)
AIMS = {
    "planck --version": "aim <= 2 x",
    "planck --help": "aim <= 2 x",
    "planck run --help": "aim <= 5 x",
    "planck run, one answer": "aim <= 0.17 s CPU",
    "planck acp, initialize": "aim <= 0.3 s, its end included",
}
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'
INPUTS = {"planck acp, initialize": INITIALIZE}
"""What a command is sent; the others get nothing."""


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
            "planck acp, initialize": [planck, "acp"],
            **{f"{path.name} --version": [str(path), "--version"] for path in _peers()},
            **{f"{path.name} --help": [str(path), "--help"] for path in _peers()},
        }
        figures = _measure(commands, home)
    base = statistics.median(wall for wall, _ in figures["python -c pass"])
    for name, rows in figures.items():
        wall, cpu = statistics.median(w for w, _ in rows), statistics.median(c for _, c in rows)
        print(
            f"{name:<24} {wall * 1000:7.1f} ms {wall / base:6.2f} x  CPU {cpu:5.2f} s  {AIMS.get(name, '')}"
        )
    if not _peers():
        print("no peers are installed; the head of this file says how")


def _peers() -> list[Path]:
    return [path for path in PEERS if path.exists()]


def _home(folder: Path, port: int) -> Path:
    home = folder / "home"
    home.mkdir()
    providers = {"local": {"type": "openai", "base_url": f"http://127.0.0.1:{port}/d20/v1"}}
    (home / "config.json").write_text(json.dumps({"default_model": "local/m", "providers": providers}))
    return home


def _measure(commands: dict[str, list[str]], home: Path) -> dict[str, list[tuple[float, float]]]:
    """Returns (wall, CPU of the process) of each round, interleaved, so that a busy moment hits all alike."""
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    warm_up = 1  # writes the byte code
    environment = {**os.environ, "PLANCK_HOME": str(home), "NO_COLOR": "1"}
    for number in range(warm_up + ROUNDS):
        for name, command in commands.items():
            before, began = os.times(), time.perf_counter()
            subprocess.run(
                command,
                input=INPUTS.get(name, b""),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                check=True,
            )
            wall, after = time.perf_counter() - began, os.times()
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            if number >= warm_up:
                figures[name].append((wall, cpu))
    return figures
