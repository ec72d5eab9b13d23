"""The application: refuse, route, read, hand over, answer. Every failure leaves as the same envelope."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from functools import lru_cache
from typing import Any

from planck.api.access import Caller
from planck.api.access_log import AccessLog
from planck.api.errors import RETRY_AFTER, ApiError, find_status, hide_store
from planck.api.exchange import (
    PIECE,
    Call,
    ClientGone,
    Connection,
    FellBehind,
    Receive,
    Reply,
    Scope,
    Send,
    Streamed,
    encode_reply,
    read_body,
    send_reply,
)
from planck.api.guard import Guard
from planck.api.metrics import Metrics
from planck.api.operations import BELOW_SESSION, OPERATIONS, PREFIX, Operation
from planck.api.page import choose_answer, list_files
from planck.api.rights import check_mode, check_role
from planck.api.router import (
    Found,
    Router,
    check_content_type,
    check_key,
    check_text,
    choose,
    decode_body,
    decode_query,
)
from planck.api.throttle import Throttle
from planck.records import codec
from planck.records.outcome import Err, ErrorKind, PlanckError

log: logging.Logger = logging.getLogger(__name__)

_PREFIX = PREFIX.encode()
_LONGEST_ID = 31
"""A one-time code has 32 characters, a token 64: neither is logged, wherever a client writes it."""
Handler = Callable[[Call], Awaitable[Any]]


class App:
    def __init__(
        self,
        guard: Guard,
        handlers: Mapping[str, Handler],
        throttle: Throttle,
        metrics: Metrics,
        access_log: AccessLog,
        find_session: Callable[[str], Awaitable[str]],
        learn: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """`find_session` returns the id of a session that a path names by its id or its name.

        `learn` asks the pool for its tokens; False: there is nothing new.
        """
        self._guard = guard
        self._handlers = handlers
        self._throttle = throttle
        self._metrics = metrics
        self._access_log = access_log
        self._find_session = find_session
        self._router = Router(OPERATIONS)
        self._files = list_files()
        self._learn = learn
        self.closing = False
        """No new work: what is asked from now on is told to come again."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "the server supports only HTTP: no WebSocket, no lifespan"
        found = self._router.find(scope["raw_path"])
        sent = _Sent(send)
        try:
            answer = await self._answer(scope, receive, found)
            if isinstance(answer, Streamed):
                await self._stream(answer, scope, choose(found, scope["method"]), receive, sent)
            else:
                await send_reply(sent, answer)
        except ClientGone:
            sent.status = sent.status or 499
        finally:
            self._metrics.count_request(sent.status)
            self._access_log.note(_name(found, scope["method"]), sent.status)

    async def _answer(self, scope: Scope, receive: Receive, found: Found | None) -> Reply | Streamed:
        try:
            answer = await self._admit_and_run(scope, receive, found)
        except PlanckError as failure:
            return _refuse(failure, found)
        except (ClientGone, asyncio.CancelledError):
            raise
        except Exception as failure:
            log.exception("Request failed")
            kind = type(failure).__name__
            return _encode_failure(
                500,
                Err(ErrorKind.INTERNAL_ERROR, f"Internal server error ({kind}). See the server log."),
                {},
            )
        return answer

    async def _admit_and_run(self, scope: Scope, receive: Receive, found: Found | None) -> Reply | Streamed:
        method = scope["method"]
        if found is None and (file := self._files.get(scope["raw_path"])):
            self._guard.admit_visitor(scope["headers"], scope["target"])
            return choose_answer(file, scope)
        known = found.methods.get(method) if found else None
        below = scope["raw_path"].startswith(_PREFIX)
        open_to_all = known.open if known else not below
        caller = await self._admit(scope, open_to_all=open_to_all)
        if caller:
            self._throttle.spend()
        operation = choose(found, method)
        _check(caller, operation)
        if self.closing:
            raise ApiError(
                503,
                ErrorKind.INTERRUPTED,
                "The server is shutting down. Start it again, then repeat the request.",
            )
        check_content_type(scope)
        query = decode_query(operation, scope["query_string"])
        raw = await read_body(scope, receive) if operation.body or method != "GET" else b""
        body = decode_body(operation, raw)
        check_text(query, body)
        # A body takes its time to arrive: a token that was taken back meanwhile is good for nothing.
        caller = self._guard.admit(scope["headers"], scope["target"], open_to_all=open_to_all)
        _check(caller, operation)
        assert found is not None
        path = found.path
        if operation.path.startswith(BELOW_SESSION):
            path = {**path, "id": await self._find_session(path["id"])}
        call = Call(scope, path, query, body, raw=raw, caller=caller)
        if mode := getattr(body, "mode", None):
            check_mode(call.role, mode)
        if operation.keyed and call.headers("idempotency-key"):
            check_key(call.header("idempotency-key"))
        answer = await self._handlers[operation.name](call)
        if isinstance(answer, Streamed):
            return answer
        return _tag(call, operation, encode_reply(answer, operation.status))

    async def _admit(self, scope: Scope, *, open_to_all: bool) -> Caller | None:
        headers, target = scope["headers"], scope["target"]
        try:
            return self._guard.admit(headers, target, open_to_all=open_to_all)
        except ApiError as refused:  # a token that was given out a moment ago, by another machine
            if refused.status != 401 or self._learn is None or not await self._learn():
                raise
        return self._guard.admit(headers, target, open_to_all=open_to_all)

    async def _stream(
        self, answer: Streamed, scope: Scope, operation: Operation, receive: Receive, send: "_Sent"
    ) -> None:
        """Ends with the pieces, with the client, or with what let the client in, whichever is first."""
        assert operation.role != "anyone", "a stream requires a token or a cookie"
        connection: Connection = scope["connection"]
        writing = asyncio.ensure_future(self._write(answer, connection, send))
        leaving = asyncio.ensure_future(_wait_until_gone(receive))
        refusing = asyncio.ensure_future(
            self._guard.wait_until_refused(scope["headers"], scope["target"], operation.role)
        )
        tasks = (writing, leaving, refusing)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            refused = refusing.done() and not writing.done()
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        if refused:  # it may come again, and is told why then
            connection.cut()
        elif isinstance(results[0], Exception):
            log.error("Stream failed", exc_info=results[0])
            connection.cut()

    async def _write(self, answer: Streamed, connection: Connection, send: "_Sent") -> None:
        headers = [(b"content-type", answer.content_type.encode()), (b"cache-control", b"no-store")]
        headers += [(b"x-content-type-options", b"nosniff"), (b"x-accel-buffering", b"no")]
        headers += [(name.encode(), value.encode()) for name, value in answer.headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            async with aclosing(answer.pieces) as pieces:
                async for piece in _cut_up(pieces):
                    async with asyncio.timeout(answer.patience or None):
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
        except (
            FellBehind,
            TimeoutError,
        ):  # it takes too little, or nothing: what it holds is given back, and it may come again
            self._metrics.stream_drops += 1
            connection.cut()
            return
        await send({"type": "http.response.body", "body": b""})


def _check(caller: Caller | None, operation: Operation) -> None:
    if operation.role != "anyone":
        assert caller, "only public operations are admitted without a token"
        check_role(caller.role, operation.role)


class _Sent:
    """Passes messages on, and remembers what was answered."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: dict[str, Any]) -> None:
        if "status" in message:
            self.status = message["status"]
        await self._send(message)


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cut_up(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async for piece in pieces:
        if len(piece) <= PIECE:
            yield piece
        else:
            view = memoryview(piece)
            for at in range(0, len(piece), PIECE):
                yield bytes(view[at : at + PIECE])


def _refuse(failure: PlanckError, found: Found | None) -> Reply:
    status = find_status(failure)
    headers = {}
    if status in (429, 503):
        headers["retry-after"] = str(RETRY_AFTER)
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status == 405 and found:
        headers["allow"] = ", ".join(sorted(found.methods))
    shown = hide_store(failure.err.message)
    if shown == failure.err.message:
        return _encode_failure(status, failure.err, headers)
    log.warning("Request failed: %s", failure.err)
    return _encode_failure(status, Err(failure.err.kind, shown), headers)


def _encode_failure(status: int, err: Err, headers: Mapping[str, str]) -> Reply:
    body = b""
    with suppress(TypeError, ValueError):
        body = codec.encode(err.envelope())
    return Reply(status, body or codec.encode(Err(err.kind, err.message).envelope()), headers=headers)


def _tag(call: Call, operation: Operation, reply: Reply) -> Reply:
    """A client that has this answer already is told so."""
    if operation.method != "GET" or reply.status != 200 or operation.stream:
        return reply
    tag = _recall_tag(reply.body) if len(reply.body) <= PIECE else _make_tag(reply.body)
    headers = {**reply.headers, "etag": tag}
    if said := call.headers("if-none-match"):  # a list, which may come in several lines
        known = [one.strip().removeprefix("W/") for one in b",".join(said).decode("latin-1").split(",")]
        if tag in known or "*" in known:
            return Reply(304, headers=headers)
    return Reply(reply.status, reply.body, reply.content_type, headers)


def _make_tag(body: bytes) -> str:
    return f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'


_recall_tag = lru_cache(64)(_make_tag)
"""The same answer is often given again, and bytes remember their hash."""


def _name(found: Found | None, method: str) -> str:
    """What the log says of a request: nothing that the client wrote, but for the id of a session."""
    operation = found.methods.get(method) if found else None
    if found is None or operation is None:
        return "-"
    id = found.path.get("id", "")
    known = f" {id}" if id.isascii() and id.isalnum() and len(id) <= _LONGEST_ID else ""
    return f"{method} {operation.name}{known}"
