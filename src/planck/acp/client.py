"""The client's side of ACP: another agent's process is started, greeted, prompted, and ended."""

import asyncio
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Raw

import planck
from planck.acp.methods import (
    AuthenticateRequest,
    ClientCapabilities,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    McpServer,
    NewSessionRequest,
    NewSessionResponse,
    OpenSessionRequest,
    PermissionRequest,
    PermissionResponse,
    PromptRequest,
    PromptResponse,
    SessionRequest,
    SessionSettings,
)
from planck.acp.rpc import AUTH_REQUIRED, Peer, UnknownMethod, read_params
from planck.acp.schema import (
    PROTOCOL_VERSION,
    ContentBlock,
    SessionUpdate,
    UnreadNotification,
    read_update,
)
from planck.records.authority import Confinement
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import KnownKeys
from planck.workspace.process.duplex import Duplex
from planck.workspace.process.process import Command, Job, start
from planck.workspace.sandbox.sandbox import look_ahead

T = TypeVar("T")

_START_TIMEOUT = 60.0
"""Seconds for the greeting, and for a session to begin: some load a whole runtime first."""
_DRAIN = 0.5
"""Seconds for the last words, once the process has ended or closed its output."""
_GRACE = 1.0
"""Seconds that it may take to leave after its input ended."""
_LAST_WORDS = 2_000
_BY_KEY = re.compile(r"api.?key", re.IGNORECASE)


class ExternalError(PlanckError):
    """Another agent that can't be started, does not answer, or says what nobody can understand."""


class Launch(msgspec.Struct, frozen=True):
    """What is started where, with which rights."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    confinement: Confinement | None
    """None: with the user's own rights."""
    keys: KnownKeys | None = None
    """What is never kept of what it says on its error output."""


class Listener(Protocol):
    async def hear(self, session_id: str, update: SessionUpdate) -> None:
        """Takes one update; the next one waits for it."""

    async def permit(self, request: PermissionRequest) -> PermissionResponse:
        """Decides what the agent asks; it may take as long as a person takes."""


class Client:
    """One process; it offers no files and no terminal. Whatever raises is a `ExternalError`."""

    def __init__(self, job: Job, stream: Duplex, listener: Listener) -> None:
        self.greeting: InitializeResponse = InitializeResponse(protocol_version=0)
        self._job = job
        self._stream = stream
        self._listener = listener
        self._peer = Peer(stream, self, bad_lines=1)
        loop = asyncio.get_running_loop()
        self._tasks = {loop.create_task(self._peer.run()), loop.create_task(self._watch())}

    @property
    def gone(self) -> bool:
        return self._stream.ended.is_set() or not self._job.running

    async def greet(self) -> None:
        request = InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(),
            client_info=Implementation("planck", planck.__version__),
        )
        self.greeting = await self._ask("initialize", request, InitializeResponse, _START_TIMEOUT)
        if self.greeting.protocol_version != PROTOCOL_VERSION:
            raise ExternalError(
                ErrorKind.PEER_PROTOCOL,
                f"the agent uses ACP version {self.greeting.protocol_version}, but Planck needs version "
                f"{PROTOCOL_VERSION}; install a release of the agent that supports version "
                f"{PROTOCOL_VERSION}",
            )

    async def begin(self, cwd: Path, servers: tuple[McpServer, ...]) -> str:
        """Begins a session; returns its id."""
        request = NewSessionRequest(cwd=str(cwd), mcp_servers=servers)
        try:
            begun = await self._ask("session/new", request, NewSessionResponse, _START_TIMEOUT)
        except ExternalError as refused:
            if refused.err.kind is not ErrorKind.NOT_AUTHENTICATED or not await self._log_in():
                raise
            begun = await self._ask("session/new", request, NewSessionResponse, _START_TIMEOUT)
        return begun.session_id

    async def _log_in(self) -> bool:
        """By a key that it was given, where it offers that: all else would need somebody at a browser."""
        for method in self.greeting.auth_methods:
            if _BY_KEY.search(method.id):
                try:
                    await self._ask(
                        "authenticate", AuthenticateRequest(method_id=method.id), Any, _START_TIMEOUT
                    )
                except ExternalError:
                    if self.gone:
                        raise
                    continue
                return True
        return False

    async def load(self, id: str, cwd: Path, servers: tuple[McpServer, ...]) -> bool:
        """Goes on with a session of an earlier process; False where it can't."""
        if not self.greeting.agent_capabilities.load_session:
            return False
        request = OpenSessionRequest(session_id=id, cwd=str(cwd), mcp_servers=servers)
        try:
            await self._ask("session/load", request, SessionSettings, _START_TIMEOUT)
        except ExternalError:
            if self.gone:
                raise
            return False
        return True

    async def prompt(self, session_id: str, blocks: tuple[ContentBlock, ...]) -> PromptResponse:
        """Runs one turn; returns how it ended, after all updates of it were heard."""
        request = PromptRequest(session_id=session_id, prompt=blocks)
        return await self._ask("session/prompt", request, PromptResponse)

    async def cancel(self, session_id: str) -> None:
        await self._peer.tell("session/cancel", SessionRequest(session_id=session_id))

    async def aclose(self, *, politely: bool = True) -> None:
        """Ends the process with all that it started; its turn in flight, if any, fails."""
        self._stream.close_output()
        try:
            if politely and self._job.running:
                await self._job.wait(_GRACE)
        finally:
            self._stream.end("Planck ended the process")
            await self._job.kill()
            await asyncio.wait(self._tasks)

    def end(self) -> None:
        """Kills it now, without waiting; `aclose` must still follow."""
        self._job.end()

    async def answer(self, method: str, params: Raw) -> Any:
        if method != "session/request_permission":
            raise UnknownMethod
        return await self._listener.permit(read_params(params, PermissionRequest))

    async def hear(self, method: str, params: Raw) -> None:
        if method != "session/update":
            raise UnknownMethod
        note = read_params(params, UnreadNotification)
        if update := read_update(note.update):
            await self._listener.hear(note.session_id, update)

    async def _ask(self, method: str, params: Any, answer: type[T], timeout: float | None = None) -> T:
        try:
            async with asyncio.timeout(timeout):
                came = await self._peer.ask(method, params, answer)
        except TimeoutError:
            raise ExternalError(
                ErrorKind.PEER_FAILED,
                f"the agent did not respond to {method} within {timeout:g} s; check that acp.command starts "
                "it in ACP mode, and that it is signed in",
            ) from None
        if not isinstance(came, Err):
            return came
        refused = await self._explain_end() if self.gone else _read_refusal(method, came)
        raise ExternalError(refused.kind, refused.message, refused.details)

    async def _watch(self) -> None:
        """Ends the stream with the process: whoever it left behind may hold its output open."""
        await self._job.wait()
        try:
            async with asyncio.timeout(_DRAIN):
                await self._stream.ended.wait()
        except TimeoutError:
            self._stream.end("the process ended")

    async def _explain_end(self) -> Err:
        kind, reason = self._stream.why
        if kind is not ErrorKind.PEER_PROTOCOL:
            kind = ErrorKind.TARGET_GONE
            if await self._job.wait(_DRAIN):
                reason = _describe_exit(self._job.completed().exit_code)
        if not self._job.running:
            await self._job.kill()  # for what is left in the pipe, also where the sandbox did not stand yet
        words = self._job.completed().output.strip()[-_LAST_WORDS:]
        step = "try again"
        if kind is ErrorKind.PEER_PROTOCOL:
            reason, step = f"the agent did not follow ACP: {reason}", "check acp.command"
        last = f". Last output:\n{words}" if words else ""
        return Err(kind, f"{reason or 'the process ended'}; {step}{last}")


async def open_client(launch: Launch, listener: Listener) -> Client:
    """Starts the program and greets it; what it says of itself is in `greeting` then."""
    program, path = launch.argv[0], launch.environment.get("PATH")
    if shutil.which(program, path=path) is None and not (launch.cwd / program).is_file():
        raise ExternalError(
            ErrorKind.NOT_FOUND,
            f"program not found: {program!r}; install it, or set its path in acp.command",
        )
    looks = await look_ahead(launch.confinement)
    their_input, our_output = os.pipe2(os.O_CLOEXEC)
    our_input, their_output = os.pipe2(os.O_CLOEXEC)
    command = Command(
        launch.argv, launch.cwd, launch.environment, launch.confinement, keys=launch.keys, keep=16_000
    )
    try:
        job = start(command, stdin=their_input, stdout=their_output, looks=looks)
    except PlanckError as failure:
        os.close(our_input)
        os.close(our_output)
        raise ExternalError(failure.err.kind, failure.err.message) from failure
    finally:
        os.close(their_input)
        os.close(their_output)
    client = Client(job, Duplex(our_input, our_output), listener)
    try:
        await client.greet()
    except BaseException:
        await client.aclose(politely=False)
        raise
    return client


def _read_refusal(method: str, came: Err) -> Err:
    """Returns what the agent answered in the place of a result, in our words."""
    if came.kind is ErrorKind.PEER_PROTOCOL:
        return came
    if came.details.get("code") == AUTH_REQUIRED:
        return Err(
            ErrorKind.NOT_AUTHENTICATED,
            f"the agent is not signed in: {came.message.rstrip('.')}; add the environment variable with "
            "the agent's API key to acp.env, or run the agent in mode `full`, where it can read the "
            "credentials in your home folder",
        )
    data = came.details.get("data")
    said = f"{came.message}: {data}" if isinstance(data, str) and data else came.message
    if isinstance(data, dict) and data:
        said = f"{came.message}: {data.get('message') or data.get('details') or data}"
    said = said[:_LAST_WORDS].rstrip(".")
    return Err(
        ErrorKind.PEER_FAILED,
        f"the agent rejected {method}: {said}; try again, or check the agent's own settings",
    )


def _describe_exit(code: int | None) -> str:
    if code is not None and code > 128:
        return f"the process was killed by signal {code - 128}"
    return f"the process ended with exit code {code}"
