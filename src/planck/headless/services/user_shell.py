"""`!command`: what the user runs in a shell of their own, beside the agents."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from planck.config.environment import read_environment
from planck.workspace.process.containment import Containment
from planck.workspace.process.jobs import ShellCommand
from planck.workspace.process.process import Command, Completed, run

_SHOWN = 16_000
"""Bytes of the output that join the conversation."""
_TIMEOUT = 600.0


class ShellRun(msgspec.Struct, frozen=True):
    command: str
    output: str
    exit_code: int | None
    """None: it was ended, because its time was up or the user stopped it."""
    stopped: bool = False

    def as_message(self) -> str:
        """What the agents are told, in the user's words."""
        how = "stopped after 10 minutes" if self.exit_code is None else f"exit code {self.exit_code}"
        how = "I stopped it before it ended" if self.stopped else how
        return f"I ran this in my own shell:\n\n$ {self.command}\n{self.output.rstrip()}\n[{how}]"


async def run_in_shell(
    command: str,
    folder: Path,
    on_cut: Callable[[ShellRun], None],
    on_start: Callable[[ShellCommand], None],
) -> ShellRun:
    """Runs with the user's own rights and environment; cancelling it ends what it started.

    `on_cut` is then told of what it had put out; `on_start` gets what can be looked at while it runs.
    """
    environment = read_environment()
    argv = [environment.get("SHELL") or "/bin/sh", "-c", command]
    wanted = Command(argv, folder, environment, keep=_SHOWN, level=Containment.PROCESS_GROUP)
    began = asyncio.get_running_loop().time()
    done: Completed = await run(
        wanted,
        _TIMEOUT,
        on_start=lambda job: on_start(ShellCommand("", "", command, False, began, job)),
        on_cut=lambda cut: on_cut(ShellRun(command, cut.output, None, stopped=True)),
    )
    return ShellRun(command, done.output, done.exit_code)
