"""`planck run`: one prompt, one answer, and a result on every ending."""

import argparse
import asyncio
import signal
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import planck
from planck.cli.errors import UsageError, exit_code
from planck.headless.headless import Planck, SessionHandle, frame_of
from planck.headless.result import Exit, RunResult, failed
from planck.headless.sessions import newest
from planck.records import codec
from planck.records.events import TurnStatus
from planck.records.outcome import ErrorKind, PlanckError

EXAMPLE = 'planck run "fix the failing test" -m local/qwen3 --permission-mode full'


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", help="the task; text on standard input follows it")
    parser.add_argument("-m", "--model", default="", help="an alias of the config, or PROVIDER/MODEL")
    parser.add_argument("-C", dest="directory", default=".", metavar="DIR", help="the workspace")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-c", "--continue", dest="newest", action="store_true", help="resume the newest session"
    )
    which.add_argument("-r", "--resume", default="", metavar="ID|NAME", help="resume this session")
    parser.add_argument("--name", default="", help="a name for the new session")
    parser.add_argument("--output-format", choices=("text", "json", "stream-json"), default="text")
    parser.add_argument("--permission-mode", choices=("read-only", "ask", "workspace", "full"), default=None)
    parser.add_argument("--dry-run", action="store_true", help="plan every tool call, run none")
    parser.add_argument("--max-steps", type=_positive, default=None, metavar="N")
    parser.add_argument("--timeout", type=float, default=None, metavar="SECONDS")
    parser.add_argument("--no-session", action="store_true", help="keep nothing on disk")
    parser.add_argument("--trust", action="store_true", help="trust this folder's own files in this run")


def run(options: argparse.Namespace) -> int:
    try:
        prompt = _prompt(options.prompt)
        return asyncio.run(_run(options, prompt))
    except PlanckError as failure:
        return _report(options, failed(failure.err, exit_code(failure)))


def _prompt(argument: str | None) -> str:
    try:
        piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as failure:
        raise UsageError(
            ErrorKind.STDIN_ERROR, f"standard input can't be read as UTF-8 text: {failure}"
        ) from None
    parts = [part for part in (argument or "", piped.strip("\n")) if part.strip()]
    if not parts:
        raise UsageError(ErrorKind.NO_PROMPT, 'no prompt; say what to do: planck run "..."')
    return "\n\n".join(parts)


async def _run(options: argparse.Namespace, prompt: str) -> int:
    workspace = Path(options.directory).absolute()
    if not workspace.is_dir():
        raise UsageError(ErrorKind.NOT_FOUND, f"{str(workspace)!r} is no directory; -C takes the workspace")
    async with Planck(workspace=workspace, trust=options.trust) as planck_:
        for notice in planck_.notices:
            print(f"planck: {notice}", file=sys.stderr)
        session = await _open(planck_, options)
        printer = _Printer(session, options)
        printer.start()
        result = await _until_signal(session, prompt, options.timeout)
        await printer.finish()
    return _report(options, result)


async def _open(planck_: Planck, options: argparse.Namespace) -> SessionHandle:
    settings: dict[str, Any] = {
        "mode": options.permission_mode,
        "max_steps": options.max_steps,
        "dry_run": options.dry_run,
    }
    if options.newest:
        path = newest(planck_.sessions_dir, planck_.workspace)
        return await planck_.resume(path.name.partition("_")[0], **settings)
    if options.resume:
        return await planck_.resume(options.resume, **settings)
    return await planck_.start(
        model=options.model, name=options.name, stored=not options.no_session, **settings
    )


async def _until_signal(session: SessionHandle, prompt: str, timeout: float | None) -> RunResult:
    """The run's result; a signal ends its turn first, and then decides the exit code."""
    loop = asyncio.get_running_loop()
    caught: list[Exit] = []
    stops: set[asyncio.Task[None]] = set()

    def stop(code: Exit) -> None:
        caught.append(code)
        stops.add(loop.create_task(session.stop(TurnStatus.INTERRUPTED)))

    loop.add_signal_handler(signal.SIGINT, stop, Exit.SIGINT)
    loop.add_signal_handler(signal.SIGTERM, stop, Exit.SIGTERM)
    try:
        result = await session.run(prompt, timeout=timeout)
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
        if stops:
            await asyncio.wait(stops)
    if caught and result.status is TurnStatus.INTERRUPTED:
        return _with_exit(result, caught[0])
    return result


def _with_exit(result: RunResult, code: Exit) -> RunResult:
    import msgspec

    return msgspec.structs.replace(result, exit_code=code)


class _Printer:
    """Prints events while the run goes on (stream-json), up to the last recorded one."""

    def __init__(self, session: SessionHandle, options: argparse.Namespace) -> None:
        self._session = session
        self._options = options
        self._from = session.head
        self._seen = self._from
        self._progress = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._options.output_format == "stream-json":
            session = self._session
            init = {
                "session_id": session.id,
                "session_name": session.name,
                "workspace": str(Path(self._options.directory).absolute()),
                "model": session.orchestrator.model.label,
                "tools": session.tools,
                "version": planck.__version__,
            }
            _write(frame_of("init", init, session.id))
            self._task = asyncio.get_running_loop().create_task(self._print())

    async def finish(self) -> None:
        if self._task is None:
            return
        while self._seen < self._session.head and not self._task.done():
            self._progress.clear()
            await self._progress.wait()
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _print(self) -> None:
        try:
            async with aclosing(self._session.events(after=self._from)) as events:
                async for event in events:
                    _write(event.frame())
                    if event.seq is not None:
                        self._seen = event.seq
                        self._progress.set()
        finally:
            self._progress.set()


def _report(options: argparse.Namespace, result: RunResult) -> int:
    """Print the answer or the result in the chosen format, and every error as one line."""
    match options.output_format:
        case "json":
            _write(codec.encode(result))
        case "stream-json":
            _write(frame_of("result", result, result.session_id))
        case _ if result.text:
            _write(result.text.encode("utf-8", "replace"))
    if result.exit_code != Exit.DONE:
        for error in result.errors[-1:]:
            print(f"planck: {error['kind']}: {error['message']}", file=sys.stderr)
        for denial in result.denials:
            print(f"planck: permission_denied: {denial['reason']}", file=sys.stderr)
    if result.session_name and options.output_format == "text" and not options.no_session:
        print(
            f"planck: session {result.session_name}; go on with: planck run -r {result.session_name}",
            file=sys.stderr,
        )
    return result.exit_code


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value
