"""JSON-RPC 2.0 with one peer: requests and notifications in both directions, one message a line.

Everything that comes is foreign until parsed. One task, `Peer.run`, takes the lines in their order; each
request of the peer has a task of its own below it. Failures are values, on the wire too.
"""

import asyncio
import json
import logging
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from planck.records import codec
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.workspace.process.duplex import Duplex
from planck.workspace.process.framing import MAX_LINE

log: logging.Logger = logging.getLogger(__name__)
T = TypeVar("T")

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800

MAX_BAD_LINES = 20
"""In a row, that are no JSON-RPC: then it is something else that talks."""
MAX_REQUESTS = 128
"""Of the peer, that are not answered yet."""
_MAX_MESSAGE = 4_000


class Handler(Protocol):
    """What a peer's messages do; a request may take as long as it needs, a notification holds up the next."""

    async def answer(self, method: str, params: Raw) -> Any:
        """Returns what is sent back: a record, an `Err` or an `RpcError`.

        Raises `UnknownMethod`, or any `PlanckError`.
        """

    async def hear(self, method: str, params: Raw) -> None:
        """Takes a notification; it must not wait for an answer of the same peer."""


class UnknownMethod(Exception):
    """A handler has no such method."""


class RpcError(msgspec.Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: Any = None


class _Incoming(msgspec.Struct, frozen=True):
    jsonrpc: str = ""
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: RpcError | UnsetType = UNSET


class _Call(msgspec.Struct, frozen=True):
    id: int
    method: str
    params: Any
    jsonrpc: str = "2.0"


class _Notification(msgspec.Struct, frozen=True):
    method: str
    params: Any
    jsonrpc: str = "2.0"


class _Result(msgspec.Struct, frozen=True):
    id: int | str | None
    result: Any
    jsonrpc: str = "2.0"


class _Failure(msgspec.Struct, frozen=True):
    id: int | str | None
    error: RpcError
    jsonrpc: str = "2.0"


class Peer:
    """One connection, for a protocol to derive from. `run` must be running for anything to be answered."""

    protocol: ClassVar[str] = "JSON-RPC"
    cancel_method: ClassVar[str] = "$/cancel_request"
    """The notification that withdraws a request; its parameters have `requestId`."""
    answers_cancelled: ClassVar[bool] = True
    """Whether a request that was withdrawn is still answered, with an error."""
    skips_long_lines: ClassVar[bool] = True
    """Whether a line over the limit is refused like any bad one; otherwise it ends the connection."""
    codes: ClassVar[Mapping[ErrorKind, int]] = {
        ErrorKind.INVALID_ARGS: INVALID_PARAMS,
        ErrorKind.INTERRUPTED: REQUEST_CANCELLED,
    }
    """How a kind is sent; others are internal errors."""
    kinds: ClassVar[Mapping[int, ErrorKind]] = {}
    """How a code is read: what a peer says never becomes another kind of ours."""

    def __init__(
        self,
        stream: Duplex,
        handler: Handler,
        *,
        bad_lines: int = MAX_BAD_LINES,
        requests: int = MAX_REQUESTS,
    ) -> None:
        """`bad_lines` in a row that are no JSON-RPC end the connection; so many `requests` may be open."""
        self.stream = stream
        self._most_requests = requests
        self._handler = handler
        self._asked: dict[int, asyncio.Future[Raw | Err]] = {}
        self._last_id = 0
        self._answering: dict[int | str | None, asyncio.Task[None]] = {}
        self._afterwards: dict[asyncio.Task[Any] | None, list[Coroutine[Any, Any, None]]] = {}
        self._bad_lines = 0
        self._most_bad_lines = bad_lines
        self._over = False

    async def run(self) -> None:
        """Takes what the peer says until the stream ends; then cancels what it asked for and is not done."""
        try:
            async with asyncio.TaskGroup() as tasks:
                try:
                    while True:
                        await self._take(await self.stream.next(), tasks)
                except EOFError:
                    for task in self._answering.values():
                        task.cancel()
        finally:
            self._over = True
            gone = self._explain_end()
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_result(gone)

    async def ask(self, method: str, params: Any, answer: type[T]) -> T | Err:
        """Sends a request and waits for its answer; whoever cancels this tells the peer so."""
        if self._over:
            return self._explain_end()
        self._last_id += 1
        id, waiting = self._last_id, asyncio.get_running_loop().create_future()
        self._asked[id] = waiting
        try:
            await self._send(_Call(id, method, params))
            came: Raw | Err = await waiting
        except asyncio.CancelledError:
            if not self._over and (waiting.cancelled() or not waiting.done()):
                self.stream.push(_encode(_Notification(self.cancel_method, {"requestId": id})))
            raise
        finally:
            del self._asked[id]
        if isinstance(came, Err):
            return came
        try:
            return codec.decode_as(bytes(came), answer)
        except codec.DecodeError as problem:
            why = f"the response to {method} is invalid: {problem}; update the program that sent it"
            return Err(ErrorKind.PEER_PROTOCOL, why)

    def after_answer(self, work: Coroutine[Any, Any, None]) -> None:
        """Called while a request is answered: this is done once its answer was sent."""
        task = asyncio.current_task()
        self._afterwards.setdefault(task, []).append(work)

    async def tell(self, method: str, params: Any) -> bool:
        """Sends a notification; False where nobody reads any more. A peer that reads slowly is waited for."""
        return await self._send(_Notification(method, params))

    async def _send(self, message: Any) -> bool:
        return await self.stream.send(_encode(message))

    def _explain_end(self) -> Err:
        kind, reason = self.stream.why
        return Err(kind, f"the connection is closed: {reason or 'Planck ended it'}")

    async def _take(self, line: bytes | None, tasks: asyncio.TaskGroup) -> None:
        if line is not None and not line.strip():
            return
        if line is None and not self.skips_long_lines:
            self.stream.end(f"it sent a line longer than {MAX_LINE} bytes", ErrorKind.PEER_PROTOCOL)
            raise EOFError  # which answer it was can't be known: whoever waits for one is told now
        if line is None:
            await self._refuse_line("The message is too long. Send less at a time, or a file's path.")
            return
        try:
            message = codec.decode_as(line, _Incoming)
        except codec.DecodeError as problem:
            said = _read_json(line)
            self._settle_answer(said, problem)
            code = PARSE_ERROR if said is UNSET else INVALID_REQUEST
            why = f"Not a JSON-RPC message: {problem}. Send one JSON-RPC 2.0 message per line."
            await self._refuse_line(why, code, line)
            return
        if message.jsonrpc != "2.0":
            await self._refuse_line('The message must contain "jsonrpc": "2.0".', INVALID_REQUEST, line)
            return
        self._bad_lines = 0
        if message.method is UNSET:
            self._match(message)
        elif message.id is not UNSET:
            await self._begin(message.id, message.method, message.params, tasks)
        elif message.method == self.cancel_method:
            self._cancel(message.params)
        else:
            await self._hear(message.method, message.params)

    async def _refuse_line(self, why: str, code: int = PARSE_ERROR, line: bytes = b"") -> None:
        self._bad_lines += 1
        kind = ErrorKind.LIMIT_EXCEEDED if not line else ErrorKind.PEER_PROTOCOL
        failure = RpcError(code, why, _describe(Err(kind, why)))
        await self._send(_Failure(_find_request(line), failure))
        if self._bad_lines >= self._most_bad_lines:
            last = repr(line[:80].decode(errors="replace")) if line else "too long"
            said = f"it sent {self._bad_lines} lines that are not JSON-RPC (the last is {last})"
            if self._bad_lines == 1:
                said = f"it sent a line that is not JSON-RPC ({last})"
            self.stream.end(said, ErrorKind.PEER_PROTOCOL)
            raise EOFError  # what came after it is of no interest

    def _settle_answer(self, said: Any, problem: Exception) -> None:
        """An answer that can't be read is one all the same: nobody waits for a better one."""
        id = said.get("id") if isinstance(said, dict) and "method" not in said else None
        waiting = self._asked.get(id) if type(id) is int else None
        if waiting and not waiting.done():
            why = f"the response is not JSON-RPC: {problem}; update the program that sent it"
            waiting.set_result(Err(ErrorKind.PEER_PROTOCOL, why))

    def _match(self, message: _Incoming) -> None:
        """Strictly: what nobody asked for has a wrong, late or doubled id, and is of no interest."""
        waiting = self._asked.get(message.id) if type(message.id) is int else None
        if waiting is None or waiting.done():
            return
        if message.error is not UNSET:
            waiting.set_result(self._read_error(message.error))
        elif message.result is not UNSET:
            waiting.set_result(message.result)
        else:
            why = "the response has neither a result nor an error; update the program that sent it"
            waiting.set_result(Err(ErrorKind.PEER_PROTOCOL, why))

    async def _begin(self, id: int | str | None, method: str, params: Raw, tasks: asyncio.TaskGroup) -> None:
        if id in self._answering:
            why = f"A request with the id {id!r} is already open. Use another id."
            await self._fail(id, INVALID_REQUEST, Err(ErrorKind.NOT_UNIQUE, why))
        elif len(self._answering) >= self._most_requests:
            why = (
                f"{self._most_requests} requests are open, which is the limit. Wait for some of them to end."
            )
            await self._fail(id, INTERNAL_ERROR, Err(ErrorKind.LIMIT_EXCEEDED, why))
        else:
            task = tasks.create_task(self._answer(id, method, params))
            self._answering[id] = task
            task.add_done_callback(partial(self._close, id))

    def _close(self, id: int | str | None, task: asyncio.Task[None]) -> None:
        """Also of a request that was cancelled before its task took a step: that too is answered."""
        del self._answering[id]
        for work in self._afterwards.pop(task, []):
            work.close()
        if task.cancelled() and self.answers_cancelled:
            why = Err(ErrorKind.INTERRUPTED, "The request was cancelled.")
            failure = _Failure(id, RpcError(REQUEST_CANCELLED, why.message, _describe(why)))
            self.stream.push(_encode(failure))

    async def _answer(self, id: int | str | None, method: str, params: Raw) -> None:
        try:
            result = await self._handler.answer(method, params)
            if isinstance(result, Err):
                await self._fail(id, self._code_of(result), result)
            elif isinstance(result, RpcError):
                await self._send(_Failure(id, result))
            else:
                await self._send(_Result(id, result))
                for work in self._afterwards.pop(asyncio.current_task(), []):
                    await work
        except UnknownMethod:
            why = Err(
                ErrorKind.NOT_FOUND, f"Method not found: {method!r}. Use a method from {self.protocol}."
            )
            await self._fail(id, METHOD_NOT_FOUND, why)
        except PlanckError as failure:
            await self._fail(id, self._code_of(failure.err), failure.err)
        except Exception:
            log.exception("Request failed: %s", method)
            why = Err(
                ErrorKind.INTERNAL_ERROR,
                f"Internal error in {method}. See Planck's error output, and report the problem.",
            )
            await self._fail(id, INTERNAL_ERROR, why)

    async def _fail(self, id: int | str | None, code: int, why: Err) -> None:
        await self._send(_Failure(id, RpcError(code, why.full_message, _describe(why))))

    def _code_of(self, err: Err) -> int:
        return self.codes.get(err.kind, INTERNAL_ERROR)

    def _read_error(self, error: RpcError) -> Err:
        kind = self.kinds.get(error.code, ErrorKind.PEER_FAILED)
        return Err(kind, error.message[:_MAX_MESSAGE], {"code": error.code, "data": error.data})

    def _cancel(self, params: Raw) -> None:
        try:
            id = codec.decode_as(bytes(params), _CancelParams).request_id
        except codec.DecodeError:
            return  # a notification has no answer
        if task := self._answering.get(id):
            task.cancel()

    async def _hear(self, method: str, params: Raw) -> None:
        try:
            await self._handler.hear(method, params)
        except UnknownMethod:
            log.debug("Unknown notification: %s", method)
        except PlanckError as failure:
            log.warning("Notification failed: %s: %s", method, failure)
        except Exception:
            log.exception("Notification failed: %s", method)


class _CancelParams(msgspec.Struct, rename="camel", frozen=True):
    request_id: int | str | None


def read_params(params: Raw, type_: type[T]) -> T:
    """Raises `invalid_args`, which is answered as wrong parameters, where they are out of form."""
    try:
        return codec.decode_as(bytes(params) if bytes(params) != b"null" else b"{}", type_)
    except codec.DecodeError as problem:
        raise PlanckError(ErrorKind.INVALID_ARGS, f"Invalid parameters: {problem}. Correct them.") from None


def _encode(message: Any) -> bytes:
    try:
        return codec.encode(message)
    except UnicodeEncodeError:  # half a surrogate pair, from a file name or an exception of somebody's code
        plain = msgspec.to_builtins(message)
        return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")


def _describe(err: Err) -> dict[str, Any]:
    described: dict[str, Any] = err.envelope()["error"]
    return described


def _find_request(line: bytes) -> int | str | None:
    """Returns the id of a request that is out of form: whoever sent it waits for its answer."""
    said = _read_json(line)
    id = said.get("id") if isinstance(said, dict) and "method" in said else None
    return id if type(id) in (int, str) else None


def _read_json(line: bytes) -> Any:
    """Returns what a line holds that is JSON, but no message; UNSET where it is none."""
    try:
        return codec.decode(line)
    except codec.DecodeError:
        return UNSET
