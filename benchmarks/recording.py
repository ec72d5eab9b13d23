"""What recording costs a command, in `full` and in `workspace`, and each notified call."""

import asyncio
import resource
import statistics
import tempfile
import time
from pathlib import Path

from planck.records.authority import Confinement, Mode
from planck.workspace.process.containment import sandbox_program
from planck.workspace.process.process import Command, run, shell
from planck.workspace.recording.client import SeccompRecording
from planck.workspace.recording.recording import Record
from planck.workspace.sandbox.sandbox import find

ROUNDS = 60
CALLS = 5_000
_MAKE = f"""
import os, time
def calls(start):
    began = time.perf_counter()
    for number in range(start, start + {CALLS}):
        os.close(os.open(f"f{{number}}", os.O_CREAT | os.O_WRONLY))
    return time.perf_counter() - began
print(min(calls({CALLS} * turn) for turn in range(3)) / {CALLS} * 1e6)
"""


def main() -> None:
    # Not below /tmp, which the sandbox hides.
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> None:
    recording = SeccompRecording()
    began = time.perf_counter()
    if problem := await recording.prepare():
        print(f"not recorded here: {problem}")
        return
    print(f"start of the recorder, once a session: {(time.perf_counter() - began) * 1000:.0f} ms")
    try:
        for mode in (Mode.FULL, Mode.WORKSPACE):
            if mode is Mode.WORKSPACE and (sandbox_program() is None or find().sandbox is None):
                print("no sandbox here")
                continue
            await _compare(folder, recording, mode)
        await _count(folder, recording)
    finally:
        await recording.aclose()


async def _compare(folder: Path, recording: SeccompRecording, mode: Mode) -> None:
    """Pairs, one after the other, so that both see the same machine."""
    ws = folder / mode
    ws.mkdir()
    rights = Confinement(mode, (str(ws),), (str(ws),)) if mode is Mode.WORKSPACE else None
    times: dict[str, list[float]] = {"off": [], "again": [], "on": []}
    processor = dict.fromkeys(times, 0.0)
    for number in range(ROUNDS):
        for how in times:
            record = (
                Record(recording, folder / "spools" / f"{mode}{number}", (str(ws),)) if how == "on" else None
            )
            command = Command(shell("echo x > a"), ws, {"PATH": "/usr/bin:/bin"}, rights, record=record)
            began, spent = time.perf_counter(), _cpu(recording)
            await run(command, 60)
            times[how].append((time.perf_counter() - began) * 1000)
            processor[how] += (_cpu(recording) - spent) * 1000 / ROUNDS
    # The best of many is what the machine can do; the median shows what else runs on it.
    for name, pick in (("best", min), ("median", statistics.median)):
        off, again, on = (pick(times[how]) for how in times)
        print(
            f"{mode}, {name}: {off:.1f} ms without, {on:.1f} ms recorded: {on - off:+.1f} ms (aim: 8), "
            f"{on / off:.2f} times; without again: {again - off:+.1f} ms"
        )

    print(
        f"{mode}, processor time: {processor['off']:.1f} ms without, {processor['on']:.1f} ms recorded: "
        f"{processor['on'] - processor['off']:+.1f} ms (aim: 8)"
    )


async def _count(folder: Path, recording: SeccompRecording) -> None:
    """New files: each is a notified call with its own record."""
    found: dict[str, float] = {}
    for how in ("off", "on"):
        ws = folder / f"calls-{how}"
        ws.mkdir()
        record = Record(recording, folder / "spools" / "calls", (str(ws),)) if how == "on" else None
        argv = ["/usr/bin/python3", "-I", "-S", "-c", _MAKE]
        before = _cpu(recording)
        done = await run(Command(argv, ws, {"PATH": "/usr/bin:/bin"}, record=record), 120)
        found[how], found[f"{how} cpu"] = float(done.output), (_cpu(recording) - before) / (3 * CALLS) * 1e6
    print(
        f"a notified call: {found['on'] - found['off']:.0f} µs more than {found['off']:.0f} µs (aim: 120), "
        f"{found['on cpu'] - found['off cpu']:.0f} µs more processor time; "
        f"peak of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB, "
        f"of the recorder {_memory(recording)} MB"
    )


def _cpu(recording: SeccompRecording) -> float:
    """Seconds of processor time of this process, the recorder and all commands: without others' load."""
    ours = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    process = recording._process
    text = Path(f"/proc/{process.pid}/stat").read_text() if process else ""
    theirs = text.rpartition(")")[2].split()[11:15]
    return sum(one.ru_utime + one.ru_stime for one in ours) + sum(map(int, theirs)) / 100


def _memory(recording: SeccompRecording) -> int:
    process = recording._process
    text = Path(f"/proc/{process.pid}/status").read_text() if process else ""
    return int(text.partition("VmRSS:")[2].split()[0]) // 1024 if "VmRSS:" in text else 0
