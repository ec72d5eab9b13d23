import asyncio
import re
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

from msgspec.structs import replace

from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit import schema
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext, describe_plan
from planck.tools.builtin.files import Shared, prose
from planck.tools.command_recording import RecordedCall, prepare, recorded
from planck.tools.results import Ran, command_outcome, describe_partial
from planck.workspace.process.environment import allowed, find_withheld
from planck.workspace.process.jobs import Jobs
from planck.workspace.process.output import KEEP_BYTES, drop_controls
from planck.workspace.process.process import Command, Completed, begin, run, shell
from planck.workspace.sandbox.sandbox import look_ahead

TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000
_PROGRESS_EVERY = 0.1
_PROGRESS_BYTES = 2_000
_PARAMETERS = schema.arguments(
    {"command": {"type": "string", "minLength": 1}},
    {
        "cwd": schema.text("Folder; default: where you start"),
        "timeout": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS},
        "background": {"type": "boolean"},
        "escalate": schema.text("Why it needs more permissions than the mode gives"),
    },
)
_KILL = r"\s*kill\s+(?:-\w+\s+)?(bg_[\w.-]+)\s*"


def bash_tool(shared: Shared) -> Tool:
    views, spills, jobs = shared.views, shared.spills, shared.jobs
    env, withheld = allowed(shared.environment), find_withheld(shared.environment)

    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        if handle := re.fullmatch(_KILL, args["command"]):
            return await _kill(jobs, handle[1])
        timeout_ms = int(args.get("timeout", TIMEOUT_MS))
        background, spill = bool(args.get("background")), spills.file(ctx.call_id)
        root, script = views.of(ctx).root, args["command"]
        with root.folder(args.get("cwd", ctx.cwd)) as cwd:
            argv, view = shell(script), root.view
            command = Command(argv, cwd, env, ctx.confinement, spill, background, keys=ctx.keys, view=view)
            if background:
                call = await prepare(shared.recording, ctx, root, script)
                return await _in_background(jobs, ctx, script, command, call)
            note = partial(jobs.note, call_id=ctx.call_id, agent_id=ctx.agent_id, text=script)
            with jobs.watch(ctx.call_id), closing(_Progress(ctx.progress)) as progress:
                leave = partial(_leave, ctx)
                async with recorded(shared.recording, ctx, root, script) as call:
                    command = replace(command, record=call.record)
                    done = await run(command, timeout_ms / 1000, progress.hear, note, leave)
        advice = "set a longer timeout, or pass background for a server"
        ran = Ran(
            ctx.call_id,
            timeout_ms,
            args["command"],
            advice,
            ctx.confinement,
            escalates=True,
            withheld=withheld,
            undo=call.note,
        )
        return command_outcome(done, ran)

    # On the loop, as `execute` looks for the same folder: a thread would cost ten times as much.
    async def dry_run(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        owner, start = views.of(ctx).root.find_reader(args.get("cwd", ctx.cwd))
        cwd = views.root.name(owner, owner.where(start, folder=True))
        asked = "ask for more permissions, then " if args.get("escalate") else ""
        plan = f"Would {asked}run in {cwd!r}: {args['command']}"
        return describe_plan("bash", args, plan)

    return Tool(
        "bash",
        prose("bash", timeout=TIMEOUT_MS, maximum=MAX_TIMEOUT_MS, bytes=KEEP_BYTES),
        _PARAMETERS,
        execute,
        dry_run,
        effect=Effect.COMMAND,
        timeout=MAX_TIMEOUT_MS / 1000 + 10,
        confinable=True,
        probe_in_sandbox=True,
    )


def _leave(ctx: ToolContext, done: Completed) -> None:
    ctx.keep_partial(describe_partial(done, ctx.call_id))


async def _in_background(
    jobs: Jobs, ctx: ToolContext, text: str, command: Command, call: RecordedCall
) -> Outcome:
    handle = f"bg_{ctx.call_id}"
    # Before the checks: nothing else runs between and the start.
    looks = await look_ahead(command.confinement, command.view)
    if jobs.is_full:
        return Err(
            ErrorKind.LIMIT_EXCEEDED,
            f"{jobs.limit} background commands are already running, which is the limit; "
            f"stop one with `kill`: {', '.join(sorted(jobs.running))}",
        )
    if jobs.get(handle) is not None:
        return Err(ErrorKind.NOT_UNIQUE, f"{handle!r} is already running; use that one")
    with jobs.starting():
        job = await begin(replace(command, record=call.record), looks=looks)
    await jobs.add(handle, job, call.commit)
    jobs.note(job, ctx.call_id, ctx.agent_id, text, background=True)
    output = (
        f"Started in the background as {handle}. To see its output, read path output:"
        f"{handle.removeprefix('bg_')}. To stop it, run the command `kill {handle}`."
    )
    output += f"\n{call.note}" if call.note else ""
    return Ok({"output": output, "handle": handle, "ok": True})


class _Progress:
    """Passes output on a few times a second, and the end of each burst only: `yes` writes gigabytes."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.time()
        self._waiting = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        """For the end of a burst, behind which a command may be silent for minutes."""

    def hear(self, chunk: bytes) -> None:
        waiting = self._waiting
        waiting.extend(chunk[-_PROGRESS_BYTES:])
        del waiting[:-_PROGRESS_BYTES]
        if self._loop.time() >= self._next:
            self._pass_on()
        elif self._timer is None:
            self._timer = self._loop.call_at(self._next, self._pass_on)

    def close(self) -> None:
        """The rest is in the result."""
        if self._timer:
            self._timer.cancel()

    def _pass_on(self) -> None:
        self.close()
        self._timer = None
        self._next = self._loop.time() + _PROGRESS_EVERY
        self._progress(drop_controls(self._waiting.decode(errors="replace")))
        self._waiting.clear()


async def _kill(jobs: Jobs, handle: str) -> Outcome:
    job = await jobs.kill(handle)
    if job is None:
        running = (
            f"use one of {', '.join(sorted(jobs.running))}"
            if jobs.running
            else "none is running, so there is nothing to stop"
        )
        return Err(ErrorKind.NOT_FOUND, f"there is no background command {handle!r}; {running}")
    done = job.completed()
    shown = f"{done.output}\n" if done.output else ""
    ended = {"output": f"{shown}[{handle} ended]", "exit_code": 0, "ok": True}
    return Ok({**ended, "containment": str(done.containment)})
