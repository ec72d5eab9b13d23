"""What `planck run` has its session do, and what it tells of it where nobody looks at a terminal."""

import argparse
import sys
from typing import TYPE_CHECKING

import msgspec

from planck.cli.errors import UsageError, exit_code
from planck.headless import OpenSession, RunResult, SessionEvent, make_failure
from planck.records import codec
from planck.records.events import TurnStatus
from planck.records.messages import UserMessage
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.visible import fit_line

if TYPE_CHECKING:
    from planck.cli.stream_input import StreamInput
    from planck.headless import AnswerSchema


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
            raise problem or UsageError(ErrorKind.NO_PROMPT, "no message on standard input; send one a line")
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


class Verbose:
    """Says on standard error what agents do, a line each, where no terminal shows it."""

    def __init__(self, session: OpenSession) -> None:
        self._names = {spec.id: spec.name for spec in session.members}

    def tell(self, event: SessionEvent) -> None:
        data = event.data
        who = self._names.get(event.agent_id or "", "")
        match event.type:
            case "agent_started":
                self._names[data["agent"]["id"]] = data["agent"]["name"]
            case "tool_start":
                self._say(f"{who}: {data['name']} {codec.encode_str(data['args'])}")
            case "tool_end" if not data["ok"]:
                self._say(f"{who}: {data['name']} failed: {data['output'].strip()}")
            case "message" if data["from"] != "user":
                self._say(f"{self._names.get(data['from'], data['from'])} to {self._names.get(data['to'])}")
            case "turn_end":
                self._say(f"{who}: turn {data['status']}")
            case "status" if data["component"] != "model":
                self._say(
                    f"{data['component']} {data.get('name', '')} {data['state']} {data.get('detail', '')}"
                )

    def _say(self, text: str) -> None:
        print(f"planck: {fit_line(' '.join(text.split()), 200)}", file=sys.stderr, flush=True)
