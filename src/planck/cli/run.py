"""`planck run`: one prompt, one answer, and a result on every ending."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

import planck
from planck.cli.errors import UsageError, exit_code
from planck.cli.manner import check_output, check_target, make_input, read_flags, read_options, write_output
from planck.cli.options import PICK
from planck.cli.place import find_place, name_place
from planck.cli.streams import complain, decode_input
from planck.cli.work import Verbose, Work
from planck.headless import Exit, OpenSession, Planck, RunResult, SessionEvent, encode_frame, make_failure
from planck.records import codec
from planck.records.events import TurnStatus
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.visible import fit_line, make_plain

if TYPE_CHECKING:
    from planck.cli.approver import TerminalApprover
    from planck.cli.person import Person
    from planck.headless import Inbox


def run(options: argparse.Namespace) -> int:
    options.begun = False
    for number, code in _list_signals():
        signal.signal(number, partial(_stop, code))
    try:
        check_output(options)
        prompt = _prompt(options)
        return asyncio.run(_run(options, prompt))
    except PlanckError as failure:
        return _report_unbegun(options, make_failure(failure.err, exit_code(failure)))
    except _Stopped as stopped:
        err = Err(ErrorKind.INTERRUPTED, "stopped by a signal before the run began; start it again")
        return _report_unbegun(options, make_failure(err, stopped.exit, TurnStatus.INTERRUPTED))


def refuse(args: Sequence[str], err: Err) -> int:
    """Reports a command line that can't be read as a result, in the format that it asks for."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--output-format", default="text")
    parser.add_argument("-C", dest="directory", default=None)
    parser.add_argument("--here", action="store_true")
    try:
        options = parser.parse_known_args(args)[0]
    except argparse.ArgumentError:
        options = argparse.Namespace(output_format="text", directory=None, here=False)
    options.begun = options.no_session = False
    return _report_unbegun(options, make_failure(err, Exit.USAGE))


class _Stopped(KeyboardInterrupt):
    """A signal while there is no turn to end; the event loop lets a `KeyboardInterrupt` through."""

    def __init__(self, exit: Exit) -> None:
        self.exit = exit


def _list_signals() -> list[tuple[signal.Signals, Exit]]:
    """Those that end a run; a terminal that goes is a request to end, unless somebody said `nohup`."""
    gone = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [(signal.SIGHUP, Exit.SIGTERM)]
    return [(signal.SIGINT, Exit.SIGINT), (signal.SIGTERM, Exit.SIGTERM), *gone]


def _stop(code: Exit, number: int, frame: object) -> NoReturn:
    raise _Stopped(code)


def _report_unbegun(options: argparse.Namespace, result: RunResult) -> int:
    if options.output_format == "stream-json" and not options.begun:
        workspace = name_place(options)
        nothing = {"model": "", "tools": [], "agents": [], "version": planck.__version__}
        _write(
            encode_frame(
                "init", {"session_id": "", "session_name": "", "workspace": workspace, **nothing}, ""
            )
        )
    return _report(options, result)


def _prompt(options: argparse.Namespace) -> str:
    """Returns what to say; nothing where a session is resumed, which may have something to go on with."""
    if options.input_format == "stream-json":
        return options.prompt or ""
    try:
        raw = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
    except (OSError, ValueError) as failure:
        text = f"standard input can't be read: {failure}; pass the prompt as an argument"
        raise UsageError(ErrorKind.STDIN_ERROR, text) from None
    piped = decode_input(raw)
    parts = [part for part in (options.prompt or "", piped.strip("\r\n")) if part.strip()]
    if not parts and not options.newest and not options.resume:
        raise UsageError(ErrorKind.NO_PROMPT, 'no prompt; say what to do: planck run "..."')
    return "\n\n".join(parts)


async def _run(options: argparse.Namespace, prompt: str) -> int:
    stops = _Stops()
    person = None
    if sys.stderr.isatty():
        from planck.cli.person import find_person

        person = find_person(options, stops.listen)
    async with open_planck(options, person.approver if person else None) as planck_:
        check_target(options, planck_.project)
        choose_session(planck_, options)
        streamed = options.input_format == "stream-json"
        if not prompt and not streamed:
            _check_interrupted(planck_, options.resume)
        said = await make_input(planck_, options, prompt)
        asking = person.begin() if person else None
        try:
            session = await open_session(planck_, options)
            work = Work(session, said, options)
            if options.output_format == "text" and sys.stderr.isatty():
                return await _on_terminal(work, options, person, stops)
            watch = None
            if options.output_format == "stream-json":
                _write(encode_frame("init", _init(session, planck_), session.id))
                options.begun = True
                watch = Watch(session, lambda event: _write(event.frame()))
            elif options.output_format == "text":
                watch = Watch(session, _tell_retry)
            told = Watch(session, Verbose(session).tell) if options.verbose else None
            result = await stops.run(work)
            for one in (watch, told):
                if one:
                    await one.finish()
        finally:
            if asking:
                asking.cancel()
                await asyncio.wait({asking})
    return _report(options, result)


def _tell_retry(event: SessionEvent) -> None:
    """Says on standard error why an answer takes longer, where nothing else would tell."""
    if event.type == "status" and (data := event.data)["component"] == "model" and data["state"] in _RETRIES:
        print(f"planck: model {data['state']}: {fit_line(data['detail'])}", file=sys.stderr, flush=True)


_RETRIES = frozenset({"retrying", "discarded", "without_tools", "repeats"})


async def _on_terminal(
    work: Work, options: argparse.Namespace, person: "Person | None", stops: "_Stops"
) -> int:
    from planck.cli.talk.figures import say_evidence, summarise
    from planck.cli.talk.reporter import Reporter
    from planck.cli.terminal import Terminal

    terminal = person.terminal if person else Terminal()
    screen = Reporter(terminal, work.session)
    watch = Watch(work.session, screen.show, also=screen.run if terminal.live else None)
    head = work.session.head
    result = await stops.run(work)
    await watch.finish()
    screen.done()
    if result.text and not screen.answered:
        terminal.answer(result.text)
    code = _report(options, result, answered=True)
    terminal.line(summarise(result), "dim", wrap=True)
    if evidence := work.session.evidence(head):
        terminal.line(*say_evidence(evidence), wrap=True)
    return code


def open_planck(options: argparse.Namespace, approver: "TerminalApprover | Inbox | None" = None) -> Planck:
    planck_ = Planck(
        workspace=find_place(options),
        trust=options.trust,
        approver=approver,
        add_dirs=options.add_dir,
        flags=read_flags(options),
    )
    for notice in (*planck_.list_notices(options.permission_mode), *planck_.find_unkept(options.team)):
        complain(make_plain(notice))
    return planck_


def choose_session(planck_: Planck, options: argparse.Namespace) -> None:
    """Makes `-c`, and `-r` without a name, the id of the session that is meant."""
    if options.newest:
        options.resume = planck_.archive.newest_id()
    elif options.resume == PICK:
        from planck.cli.listing import pick_session

        options.resume = pick_session(planck_.archive)


def _check_interrupted(planck_: Planck, resumed: str) -> None:
    """Refuses to resume without a prompt what has ended; who has it open is told by the resume itself."""
    info = planck_.archive.info(resumed)
    if info.state in ("done", "failed"):
        raise UsageError(
            ErrorKind.NO_PROMPT,
            f"no prompt, and nothing of {info.name} was interrupted (it is {info.state}); "
            f'say what to do: planck run -r {info.name} "..."',
        )


async def open_session(planck_: Planck, options: argparse.Namespace) -> OpenSession:
    resumed = options.resume
    if resumed and getattr(options, "no_session", False):
        raise UsageError(
            ErrorKind.INVALID_ARGS, "--no-session keeps nothing, and a resumed session is kept; leave out one"
        )
    if options.fork and not resumed:
        raise UsageError(ErrorKind.INVALID_ARGS, "--fork needs a session to copy; add -c or -r ID|NAME")
    if resumed and (options.team or options.agent or (options.name and not options.fork)):
        raise UsageError(
            ErrorKind.INVALID_ARGS, "--team, --agent and --name are for a new session, without -c and -r"
        )
    if options.team and options.agent:
        raise UsageError(ErrorKind.INVALID_ARGS, "--team has an orchestrator of its own; leave out --agent")
    if options.fork:
        if options.model:
            await planck_.model(options.model)  # a mistake is told before there is a copy
        resumed = (await planck_.archive.fork(resumed, name=options.name or "")).id
    if resumed:
        session = await planck_.resume(resumed, settings=read_options(options))
        for folder in session.left_out:
            text = f"the session was last run with --add-dir {folder}, which it has not now; say it again"
            complain(make_plain(text))
        return session
    stored = not getattr(options, "no_session", False)
    return await planck_.start(settings=read_options(options), stored=stored)


class _Stops:
    """Ends the run's turn at a signal, which decides the exit code; the third leaves at once."""

    def __init__(self) -> None:
        self._work: Work | None = None
        self._caught: list[Exit] = []
        self._stopping: set[asyncio.Task[None]] = set()
        self._ended = False

    async def run(self, work: Work) -> RunResult:
        self._work = work
        self.listen()
        try:
            result = await work.run()
        finally:
            self._ended = True
            if self._stopping:
                await asyncio.wait(self._stopping)
        if self._caught and result.status is TurnStatus.INTERRUPTED:
            return msgspec.structs.replace(result, exit_code=int(self._caught[0]))
        return result

    def listen(self) -> None:
        """Hears the signals, also after somebody else did; it stays so until the loop is closed.

        A signal while it cleans up must not take the result along.
        """
        for number, code in _list_signals():
            if self._work is None:
                signal.signal(number, partial(_stop, code))
            else:
                asyncio.get_running_loop().add_signal_handler(number, self._catch, code)

    def _catch(self, code: Exit) -> None:
        self._caught.append(code)
        if len(self._caught) > 2:
            os._exit(code)  # whatever hangs in the cleaning up must not hold the user
        if self._work and not self._ended:
            self._stopping.add(asyncio.get_running_loop().create_task(self._work.stop()))


class Watch:
    """Hands a session's events on while it runs, up to the last recorded one; owns its tasks."""

    def __init__(
        self,
        session: OpenSession,
        show: Callable[[SessionEvent], None],
        *,
        also: Callable[[], Any] | None = None,
    ) -> None:
        self._session = session
        self._show = show
        self._seen = session.opened_at
        self._progress = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] = loop.create_task(self._run())
        self._tasks = {self._task} | ({loop.create_task(also())} if also else set())

    async def catch_up(self) -> None:
        """Returns once everything that is recorded by now was shown."""
        head = self._session.head
        while self._seen < head and not self._task.done():
            self._progress.clear()
            await self._progress.wait()

    async def finish(self) -> None:
        await self.catch_up()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        for task in self._tasks:
            if not task.cancelled() and (failure := task.exception()):
                raise failure

    async def _run(self) -> None:
        try:
            async with aclosing(self._session.events(after=self._seen)) as events:
                async for event in events:
                    self._show(event)
                    if event.seq is not None:
                        self._seen = event.seq
                        self._progress.set()
        finally:
            self._progress.set()


def _init(session: OpenSession, planck_: Planck) -> dict[str, Any]:
    return {
        "session_id": session.id,
        "session_name": session.name,
        "workspace": str(planck_.workspace),
        "model": session.orchestrator.model.label,
        "tools": session.tools,
        "agents": [{"id": spec.id, "type": spec.type, "name": spec.name} for spec in session.members],
        "version": planck.__version__,
        "mcp_servers": [
            {"name": one.name, "state": one.state, "detail": one.detail, "tools": len(one.tools)}
            for one in planck_.report_peers()
            if one.component == "mcp"
        ],
        "errors": list(planck_.notices),
    }


def _report(options: argparse.Namespace, result: RunResult, *, answered: bool = False) -> int:
    """Print the answer or the result in the chosen format, and every error as one line."""
    if getattr(options, "target", None):
        write_output(options, result)
    match options.output_format:
        case "json":
            _write(codec.encode(result))
        case "stream-json":
            _write(encode_frame("result", result, result.session_id))
        case _ if result.text and not answered:
            text = make_plain(result.text) if sys.stdout.isatty() else result.text
            _write(text.encode("utf-8", "replace"))
    for line in _list_complaints(result, told=answered or options.output_format != "text"):
        complain(line)
    if any(error["details"].get("no_model") for error in result.errors):
        print(WAYS_TO_A_MODEL, file=sys.stderr)
    if result.session_name and options.output_format == "text" and not options.no_session:
        cut_off = result.status in (TurnStatus.INTERRUPTED, TurnStatus.TIMED_OUT)
        more = "" if cut_off else ' "..."'  # there is nothing to go on with but what the user says next
        name = result.session_name
        complain(f"session {name}; go on with: planck run -r {name}{more}")
    return result.exit_code


def _list_complaints(result: RunResult, *, told: bool = False) -> list[str]:
    """Returns what went wrong, each with its kind and what to do next.

    `told`: what was denied in a run that went well is on the screen, or in the result.
    """
    last = [
        fit_line(str(Err(error["kind"], error["message"], error["details"]))) for error in result.errors[-1:]
    ]
    denials = [f"permission_denied: {fit_line(denial['reason'])}" for denial in result.denials]
    match result.exit_code:
        case Exit.DONE:
            return [] if told else denials
        case Exit.TIMEOUT:
            return ["timeout: the time was up before the answer; `planck run -c` goes on with it"]
        case Exit.SIGINT | Exit.SIGTERM if result.session_id:
            return ["interrupted: a signal ended the turn; go on with `planck run -c`"]
        case Exit.NO_TEXT:
            return ['invalid_response: the model ended without a text; ask again: planck run -c "..."']
    return last + denials


WAYS_TO_A_MODEL = """\
Ways to get a model:
  local  start Ollama or llama.cpp: at its usual port it is found
         another server goes into ~/.planck/config.json:
           {"providers": {"local": {"type": "openai",
             "base_url": "http://localhost:8080"}}}
         then: planck run -m local/NAME "..."
  cloud  export ANTHROPIC_API_KEY=...  or OPENAI_API_KEY, GEMINI_API_KEY
         is enough; `planck models list` names the models
  ask    planck setup: a few questions, tried before they are kept
  none   planck demo: a team at work, offline, in a few seconds"""


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
