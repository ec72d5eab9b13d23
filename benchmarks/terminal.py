"""The terminal: CPU a delta at 1,000 deltas a second, beside other ways to draw it; CPU until one can type.

Each way draws in a process and a pseudo-terminal of its own: an answer that grows, a line of what goes on, an
input; what handing out the deltas takes is taken off. Textual is looked for in the repository's own folder:
`python3 -m venv .venv-peers && .venv-peers/bin/pip install textual`.
"""

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from benchmarks.model_server import model_server

ROOT = Path(__file__).parent.parent
WAYS = Path(__file__).parent / "terminal_ways.py"
DELTAS = 4_000
ROUNDS = 3
STARTS = 5


def main() -> None:
    _measure_deltas()
    with model_server() as port, tempfile.TemporaryDirectory() as folder:
        _measure_start(_make_home(Path(folder), port), Path(folder))


def _measure_deltas() -> None:
    peers = ROOT / ".venv-peers/bin/python"
    ways = {
        "nothing": sys.executable,
        "planck": sys.executable,
        "prompt_toolkit": sys.executable,
        "textual": str(peers),
    }
    if not peers.exists():
        del ways["textual"]
        print("textual is not installed; the head of this file says how")
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS):  # in turn, so that a busy moment hits all alike
        for name, python in ways.items():
            figures[name].append(_draw(python, name))
    handing_out = min(figures.pop("nothing"))[0]
    for name, rows in figures.items():
        cpu, took = min(rows)
        cpu -= handing_out
        late = f"{took:.1f} s for {DELTAS / 1000:.0f} s" if took > DELTAS / 1000 * 1.1 else "keeps up"
        aim = "  (aim <= 60 us)" if name == "planck" else ""
        print(f"{name:<16} {cpu / DELTAS * 1e6:7.1f} us CPU a delta at 1,000/s, {late}{aim}")


def _draw(python: str, way: str) -> tuple[float, float]:
    """Returns CPU and wall of the process while it draws."""
    with tempfile.NamedTemporaryFile() as result:
        with _Pty([python, str(WAYS), way, str(DELTAS), result.name], dict(os.environ)) as run:
            run.read(lambda: run.process.poll() is not None)
        text = result.read()
        assert text, run.seen[-2000:].decode(errors="replace")
        cpu, took = json.loads(text)
    return cpu, took


def _measure_start(home: Path, work: Path) -> None:
    painted, header, edited = [], [], []
    environment = {**os.environ, "PLANCK_HOME": str(home), "OLLAMA_HOST": "", "LLAMA_CPP_HOST": ""}
    for number in range(STARTS + 1):
        shutil.rmtree(home / "drafts", ignore_errors=True)  # what the one before had typed is put back
        with _Pty([str(Path(sys.executable).with_name("planck")), "-C", str(work)], environment) as run:
            run.read(lambda run=run: b"> " in run.seen)
            first = run.cpu()
            run.write(b"ab\x1b[Dc")  # an arrow is the full editor's; all of it was typed ahead
            run.read(lambda run=run: b"? keys" in run.seen)
            second = run.cpu()
            run.read(lambda run=run: b"acb" in run.seen)
            third = run.cpu()
        if number:  # the first one writes the byte code
            painted.append(first)
            header.append(second)
            edited.append(third)
    for name, figures, aim in (
        ("first frame, keeps what is typed", painted, "aim <= 0.20 s"),
        ("header and input", header, "aim <= 0.25 s"),
        ("full editing", edited, "aim <= 0.40 s"),
    ):
        print(f"{name:<34} {statistics.median(figures):5.2f} s CPU  {aim}")


def _make_home(folder: Path, port: int) -> Path:
    home = folder / "home"
    home.mkdir()
    providers = {"local": {"type": "openai", "base_url": f"http://127.0.0.1:{port}/d20/v1"}}
    (home / "config.json").write_text(json.dumps({"default_model": "local/m", "providers": providers}))
    return home


class _Pty:
    """A command on a terminal of 110 columns; killed when its block ends."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 110, 0, 0))
        self.seen = b""
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**environment, "TERM": "xterm-256color", "PYTHONUTF8": "1"},
        )
        os.close(slave)

    def __enter__(self) -> "_Pty":
        return self

    def __exit__(self, *failure: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self._master)

    def write(self, data: bytes) -> None:
        os.write(self._master, data)

    def read(self, done: object) -> None:
        """Reads what is drawn until that is so."""
        assert callable(done)
        until = time.monotonic() + 120
        while not done():
            assert time.monotonic() < until, self.seen[-2000:]
            if select.select([self._master], [], [], 0.05)[0]:
                try:
                    self.seen = (self.seen + os.read(self._master, 65536))[-100_000:]
                except OSError:
                    self.process.wait()
                    return

    def cpu(self) -> float:
        """Seconds of all its threads so far, to the nanosecond."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
