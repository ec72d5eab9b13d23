"""What `planck run` has its session do: one prompt or many, a result on every ending, and what it tells."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

import planck
from planck.cli.errors import UsageError, exit_code
from planck.cli.place import name_place
from planck.cli.session import WAYS_TO_A_MODEL, Watch, choose_session, make_input, open_planck, open_session
from planck.cli.streams import complain, decode_input, format_sentence, report_error
from planck.headless import Exit, OpenSession, Planck, RunResult, SessionEvent, encode_frame, make_failure
from planck.records import codec
from planck.records.amounts import write_flag
from planck.records.events import TurnStatus
from planck.records.messages import UserMessage
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.visible import fit_line, make_plain

if TYPE_CHECKING:
    from planck.cli.ask.person import Person
    from planck.cli.stream_input import StreamInput
    from planck.cli.tell.peer_failures import PeerFailures
    from planck.cli.tell.reporter import Reporter
    from planck.headless import AnswerSchema, Project


def _check_output(options: argparse.Namespace) -> None:
    """Raises for an invalid schema and a file that can't be written: before anything costs something.

    The file of `-o` is resolved here, before an agent runs: what agents put at its name leads nowhere else.
    """
    options.schema = options.target = None
    if options.output_schema:
        from planck.headless import AnswerSchema

        options.schema = AnswerSchema.read(Path(options.output_schema))
    if options.output:
        from planck.headless import OutputFile

        try:
            options.target = OutputFile(options.output)
        except PlanckError as failure:
            raise UsageError(failure.err.kind, f"-o: {failure.err.message}") from None


def _check_files(options: argparse.Namespace, project: "Project") -> None:
    """Raises where `-o` names what agents in its folders may not write, or may have redirected.

    Only `--permission-mode full` on the command line allows it: a resumed session may have a stricter mode
    than the configuration.

    The schema is read again: a link in those folders must not choose what models are told.
    """
    if options.output_schema:
        from planck.headless import AnswerSchema

        options.schema = AnswerSchema.read(Path(options.output_schema), project.root.paths)
    if options.target and options.permission_mode != "full":
        try:
            options.target.check(project.open_root())
        except PlanckError as failure:
            raise UsageError(failure.err.kind, f"-o: {failure.err.message}") from None


def _write_output(options: argparse.Namespace, result: "RunResult") -> None:
    if not options.target or not result.text:
        return
    if options.schema and result.exit_code:
        return  # whoever reads it there reads what fits, or nothing
    text = result.text if result.text.endswith("\n") else f"{result.text}\n"
    try:
        options.target.write(text.encode("utf-8", "replace"))
    except PlanckError as failure:
        report_error(failure.err.kind, f"-o: {failure.err.message}")


class Work:
    """What one command has its session do: one prompt, or all that standard input brings."""

    def __init__(self, session: OpenSession, said: str | UserMessage, options: argparse.Namespace) -> None:
        self.session = session
        self._said = said
        self._schema: AnswerSchema | None = options.schema
        self._left: float | None = options.timeout
        self._input = _open_input(session) if options.input_format == "stream-json" else None

    async def run(self) -> RunResult:
        if self._input is None:
            return await self._run_one(self._said)
        after, took, result, problem = self.session.head, 0, None, None
        message: str | UserMessage | None = self._said
        try:
            while message := message or await self._input.next():
                result = await self._run_one(message)
                took += result.duration_ms
                message = None
                if result.status is TurnStatus.TIMED_OUT:
                    break
        except PlanckError as failure:
            problem = failure
        if result is None:
            raise problem or UsageError(
                ErrorKind.NO_PROMPT, "No message on standard input. Send one JSON object per line."
            )
        whole = self.session.result(after, took) if not self.session.closed else result
        done = msgspec.structs.replace(
            whole, status=result.status, text=result.text, exit_code=result.exit_code
        )
        return _add_failure(done, problem) if problem else done

    async def _run_one(self, said: str | UserMessage) -> RunResult:
        if not said:
            result = await self.session.go_on(timeout=self._left)
        elif self._schema:
            result = await self._schema.run(self.session, said, timeout=self._left)
        else:
            result = await self.session.run(said, timeout=self._left)
        if self._left is not None:
            self._left = max(self._left - result.duration_ms / 1000, 0.001)
        return result

    async def stop(self) -> None:
        if self._input:
            self._input.close()
        await self.session.stop(TurnStatus.INTERRUPTED)


def _add_failure(result: RunResult, failure: PlanckError) -> RunResult:
    said = make_failure(failure.err, exit_code(failure))
    return msgspec.structs.replace(
        result, status=said.status, errors=(*result.errors, *said.errors), exit_code=said.exit_code
    )


def _open_input(session: OpenSession) -> "StreamInput":
    from planck.cli.stream_input import StreamInput  # few runs are fed

    return StreamInput(session.interrupt)


def run_once(options: argparse.Namespace) -> int:
    """Returns the exit code; every ending has its result."""
    options.begun = False
    for number, code in _list_signals():
        signal.signal(number, partial(_stop, code))
    try:
        if options.isolated or options.land:
            from planck.cli.isolated import check_land  # few runs are

            check_land(options)
        _check_output(options)
        prompt = _prompt(options)
        return asyncio.run(_run(options, prompt))
    except PlanckError as failure:
        return _report_unbegun(options, make_failure(failure.err, exit_code(failure)))
    except _Stopped as stopped:
        err = Err(ErrorKind.INTERRUPTED, "A signal stopped the command before the run began. Run it again.")
        return _report_unbegun(options, make_failure(err, stopped.exit, TurnStatus.INTERRUPTED))


def refuse(args: Sequence[str], err: Err) -> int:
    """Reports a command line that can't be read as a result, in the format that it asks for."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
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
        text = f"Cannot read standard input: {failure}. Pass the prompt as an argument."
        raise UsageError(ErrorKind.STDIN_ERROR, text) from None
    piped = decode_input(raw)
    parts = [part for part in (options.prompt or "", piped.strip("\r\n")) if part.strip()]
    if not parts and not options.newest and not options.resume:
        raise UsageError(ErrorKind.NO_PROMPT, 'No prompt. Pass one: `planck run "..."`.')
    return "\n\n".join(parts)


async def _run(options: argparse.Namespace, prompt: str) -> int:
    stops = _Stops()
    person = None
    if sys.stderr.isatty():
        from planck.cli.ask.person import find_person

        person = find_person(options, stops.listen)
    async with open_planck(options, person.approver if person else None) as planck_:
        _check_files(options, planck_.project)
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
                return await _on_terminal(planck_, work, options, person, stops)
            watch = None
            if options.output_format == "stream-json":
                _write(encode_frame("init", _init(session, planck_), session.id))
                options.begun = True
                lines = _Lines()
                watch = Watch(session, lines.add, flush=lines.flush)
            elif options.output_format == "text" and not options.verbose:
                watch = Watch(session, _Trouble(session).tell, words=False)
            told = Watch(session, _open_reporter(session).show) if options.verbose else None
            result = await stops.run(work)
            for one in (watch, told):
                if one:
                    await one.finish()
            if session.isolated:
                from planck.cli.isolated import finish_isolated

                landed = await finish_isolated(planck_, session, options, result)
                changes = tuple(
                    msgspec.structs.replace(one, landed=one.landed or one.path in landed)
                    for one in result.changes
                )
                result = msgspec.structs.replace(result, changes=changes)
        finally:
            if asking:
                asking.cancel()
                await asyncio.wait({asking})
    return _report(options, result)


def _open_reporter(session: OpenSession) -> "Reporter":
    from planck.cli.tell.reporter import Reporter
    from planck.cli.tell.terminal import Terminal

    return Reporter(Terminal(out=sys.stderr), session, verbose=True)


class _Trouble:
    """Says on standard error why an answer takes longer, has no tools, or lacks a member that failed."""

    def __init__(self, session: OpenSession) -> None:
        self._session = session
        self._failures: PeerFailures | None = None

    def tell(self, event: SessionEvent) -> None:
        data = event.data
        if event.type == "error" and event.agent_id not in (None, self._session.orchestrator.id):
            members = self._session.members
            name = next((spec.name for spec in members if spec.id == event.agent_id), "A member")
            why = fit_line(f"{data['message']} [{data['kind']}]")
            print(f"planck: {fit_line(name)} failed: {why}", file=sys.stderr, flush=True)
        elif event.type != "status":
            return
        elif data["component"] == "model" and data["state"] in _RETRIES:
            print(f"planck: model: {fit_line(data['detail'])}", file=sys.stderr, flush=True)
        elif data["component"] != "model":
            self._tell_peer(data)

    def _tell_peer(self, status: Mapping[str, Any]) -> None:
        if self._failures is None:
            from planck.cli.tell.peer_failures import PeerFailures  # most runs have no server

            self._failures = PeerFailures()
        if failed := self._failures.describe(status):
            print(f"planck: {failed}", file=sys.stderr, flush=True)


_RETRIES = frozenset({"retrying", "discarded", "without_tools", "repeats"})


async def _on_terminal(
    planck_: Planck, work: Work, options: argparse.Namespace, person: "Person | None", stops: "_Stops"
) -> int:
    from planck.cli.tell.blocks import Answer
    from planck.cli.tell.figures import say_evidence, say_proof, summarise
    from planck.cli.tell.reporter import Reporter
    from planck.cli.tell.terminal import Terminal

    terminal = person.terminal if person else Terminal()
    screen = Reporter(terminal, work.session, seen_diffs=person.seen_diffs if person else None)
    watch = Watch(work.session, screen.show, also=screen.run if terminal.live else None)
    head = work.session.head
    result = await stops.run(work)
    await watch.finish()
    screen.done()
    if result.text and not screen.answered:
        terminal.answer(Answer(result.text))
    code = _report(options, result, answered=True)
    terminal.line(summarise(result), "dim", wrap=True)
    if evidence := work.session.evidence(head):
        terminal.line(*say_evidence(evidence), wrap=True)
    for text, style in say_proof(result):
        terminal.line(text, style, wrap=True)
    if work.session.isolated:
        from planck.cli.isolated import finish_isolated

        await finish_isolated(planck_, work.session, options, result)
    return code


def _check_interrupted(planck_: Planck, resumed: str) -> None:
    """Refuses to resume without a prompt what has ended; who has it open is told by the resume itself."""
    info = planck_.archive.info(resumed)
    if info.state in ("done", "failed"):
        raise UsageError(
            ErrorKind.NO_PROMPT,
            f"No prompt, and {info.name} has nothing to resume (state: {info.state}). "
            f'Pass a prompt: `planck run -r {info.name} "..."`.',
        )


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
        _write_output(options, result)
    match options.output_format:
        case "json":
            _write(codec.encode(result))
        case "stream-json":
            _write(encode_frame("result", result, result.session_id))
        case _ if result.text and not answered:
            text = make_plain(result.text) if sys.stdout.isatty() else result.text
            _write(text.encode("utf-8", "replace"))
    _tell_problems(result, told=answered or options.output_format != "text", saved=not options.no_session)
    if any(error["details"].get("no_model") for error in result.errors):
        print(WAYS_TO_A_MODEL, file=sys.stderr)
    if result.session_name and options.output_format == "text" and not options.no_session:
        cut_off = result.status in (TurnStatus.INTERRUPTED, TurnStatus.TIMED_OUT)
        more = "" if cut_off else ' "..."'  # nothing was interrupted: resuming takes a prompt
        name = f"{result.session_name}{_write_budget(result)}"
        complain(f"Session {result.session_name} saved. Resume with: planck run -r {name}{more}")
    return result.exit_code


def _write_budget(result: RunResult) -> str:
    """Returns the option without which the next run would stop as this one did; empty: it needs none."""
    details = result.errors[-1]["details"] if result.errors else {}
    return f" {write_flag(details['unit'], details['enough'])}" if "enough" in details else ""


def _tell_problems(result: RunResult, *, told: bool, saved: bool) -> None:
    """Prints the error that ended the run, and what was denied in it.

    `told`: what was denied in a run that went well is on the screen, or in the result.
    `saved`: the session can be resumed.
    """
    resume = 'Run "planck run -c" to resume it.'
    errors = [
        (error["kind"], Err(error["kind"], error["message"], error["details"]).full_message)
        for error in result.errors[-1:]
    ]
    denials = _list_denials(result)
    match result.exit_code:
        case Exit.DONE:
            errors, denials = [], [] if told else denials
        case Exit.TIMEOUT:
            more = resume if saved else "Run it again with a longer --timeout."
            text = f"The run timed out before the answer was complete. {more}"
            errors, denials = [(ErrorKind.TIMEOUT, text)], []
        case Exit.SIGINT | Exit.SIGTERM if result.session_id:
            text = f"A signal interrupted the turn. {resume if saved else 'Run the command again.'}"
            errors, denials = [(ErrorKind.INTERRUPTED, text)], []
        case Exit.NO_TEXT:
            again = f'Ask again with `planck run {"-c " * saved}"..."`.'
            text = f"The model finished without any text. {again}"
            errors, denials = [(ErrorKind.INVALID_RESPONSE, text)], []
        case Exit.DENIED if not errors:
            errors, denials = [(ErrorKind.PERMISSION_DENIED, reason) for reason in denials], []
    for kind, message in errors:
        report_error(kind, message)
    for reason in denials:
        complain(f"{format_sentence(reason)} [permission_denied]")


def _list_denials(result: RunResult) -> list[str]:
    """Each denial; what the user can change about it is said once."""
    advised = {""}
    lines = []
    for denial in result.denials:
        advice = denial.get("way_out", "")
        more = "" if advice in advised else f" {advice}"
        advised.add(advice)
        lines.append(f"Tool {denial['tool']} was not run: {denial['reason'].rstrip('.')}.{more}")
    return lines


class _Lines:
    """The lines of stream-json: those of what came together are written together."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def add(self, event: SessionEvent) -> None:
        self._lines.append(event.frame())

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        if lines:
            _write(b"\n".join(lines))


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
