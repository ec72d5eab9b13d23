"""A server as one of several: the nodes, what is handed in, and requests for sessions that run elsewhere."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing, suppress
from functools import partial
from itertools import chain
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import msgspec

from planck.api import shapes
from planck.api.app import Handler
from planck.api.errors import ApiError, hide_store
from planck.api.exchange import EVENTS, NDJSON, Call, Reply, Streamed
from planck.api.guard import AS_ROLE
from planck.api.handlers.streams import PING, PING_SECONDS
from planck.api.operations import Operation
from planck.api.rights import find_ceiling
from planck.api.session_cache import SessionCache
from planck.closing import close_all
from planck.headless import Client, NodeRow, Pool, RunResult, fail_result
from planck.headless import Command as PoolCommand
from planck.headless import SessionRow as QueuedSession
from planck.records import codec
from planck.records.board import Board
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.specs import RunOptions

T = TypeVar("T")

_FORWARDED = "planck-forwarded"
"""A request that another node sent on: it is answered here or refused, never sent on again."""
_PATIENCE = 35.0
"""Seconds: `result` waits for 30 of them."""
_RESULT_SECONDS = 30.0
_GLANCE = 5.0
"""Seconds for another node to say what it is asked at once."""
_BROKEN = (ErrorKind.NETWORK, ErrorKind.STREAM_CUT, ErrorKind.TIMEOUT)


_STATES: dict[str, Literal["waiting", "running", "done", "failed"]] = {
    "queued": "waiting",
    "running": "running",
    "idle": "done",
    "failed": "failed",
}


class NodeHandlers:
    """Of a server without a pool too, where there are no nodes."""

    def __init__(self, pool: Pool | None) -> None:
        self._pool = pool

    async def list_nodes(self, call: Call) -> shapes.NodePage:
        rows = await self._pool.roster.nodes() if self._pool else []
        return shapes.NodePage(
            items=tuple(msgspec.convert(_show(row), shapes.Node, from_attributes=True) for row in rows)
        )

    async def drain_node(self, call: Call) -> shapes.Acknowledged:
        if not await self._need().roster.drain(call.path["name"]):
            raise _unknown_node(call.path["name"])
        return shapes.Acknowledged()

    async def forget_node(self, call: Call) -> shapes.Acknowledged:
        roster, name = self._need().roster, call.path["name"]
        if not await roster.forget(name):
            raise _unknown_node(name)
        for row in await roster.tokens():
            if row.who == f"node {name}":  # nobody else may be it with what lies on its disk
                await roster.revoke_token(row.digest)
        return shapes.Acknowledged()

    async def submit_work(self, call: Call) -> Reply:
        pool = self._need()
        body: shapes.SubmitWork = call.body
        if not body.prompt.strip():
            raise ApiError(400, ErrorKind.NO_PROMPT, "The prompt is empty. Describe the task.")
        key = call.header("idempotency-key") or os.urandom(16).hex()
        row = await pool.submit(
            body.prompt,
            body.repo,
            msgspec.convert(body, RunOptions, from_attributes=True),
            key=key,
            by=call.role,
            ref=body.ref,
            need=body.need,
            on_loss=body.on_loss,
            ceiling=find_ceiling(call.role),
        )
        return Reply(
            201, codec.encode(describe_details(row)), headers={"location": f"/api/v1/sessions/{row.id}"}
        )

    def _need(self) -> Pool:
        if self._pool is None:
            raise ApiError(
                400,
                ErrorKind.INVALID_ARGS,
                'This server is not part of a pool. Start it with a database: "planck serve --store URL".',
            )
        return self._pool


def _unknown_node(name: str) -> ApiError:
    return ApiError(404, ErrorKind.NOT_FOUND, f'Node not found: {name!r}. Run "planck nodes list".')


def _show(row: NodeRow) -> NodeRow:
    """Leaves out the label that only says the node's name."""
    labels = tuple(label for label in row.labels if label != f"node:{row.name}")
    return msgspec.structs.replace(row, labels=labels)


def describe_details(row: QueuedSession) -> shapes.SessionDetails:
    nothing = {"agents": (), "usage": {}, "spent": (), "costs": (), "last_text": ""}
    whole = {**msgspec.to_builtins(describe_row(row)), **nothing, "problem": hide_store(row.problem)}
    return msgspec.convert(whole, shapes.SessionDetails)


def describe_row(row: QueuedSession) -> shapes.SessionRow:
    """Returns what is known of a session before there is a log."""
    return shapes.SessionRow(
        id=row.id,
        name=row.name,
        state=_STATES[row.state] if row.head or row.state != "idle" else "waiting",
        first_prompt="",
        team=row.options.get("team") or "",
        model=row.options.get("model") or "",
        mode=row.options.get("mode") or "",
        cost_usd=None if row.head else 0.0,  # its log, which says more, is not at hand
        head=row.head,
        created=row.created,
        updated=row.updated,
        node=row.owner,
        holder=None,
        parent="",
        forked_at=0,
    )


def _mark_failed(answer: Any, row: QueuedSession) -> Any:
    """Adds to what a log says that no node continues the session, and why."""
    match answer:
        case shapes.SessionDetails():
            return msgspec.structs.replace(answer, state="failed", problem=_describe_failed(row))
        case shapes.Why():
            return shapes.Why(lines=(_describe_failed(row),))
        case RunResult():
            return fail_result(answer, Err(ErrorKind.TARGET_GONE, _describe_failed(row)))
    return answer


def _describe_queued(row: QueuedSession) -> str:
    needed = f" with {', '.join(row.needs)}" if row.needs else ""
    why = f" It was not opened before: {hide_store(row.problem).removesuffix('.')}." if row.problem else ""
    return f'{row.name} waits for a node{needed} that has room. Run "planck nodes list".{why}'


def _describe_failed(row: QueuedSession) -> str:
    step = "Fix the problem" if row.problem else "Check the nodes' logs"
    why = (hide_store(row.problem) or "every node failed to open it").removesuffix(".")
    return f"No node can run session {row.name}: {why}. {step}, then submit it again."


class Forwarder:
    """Requests for sessions that another node works on: sent on to it, or left for it in the database."""

    def __init__(self, pool: Pool, cache: SessionCache, token: str) -> None:
        self._pool = pool
        self._cache = cache
        self._token = token
        self._clients: dict[str, Client] = {}
        self._silent: dict[str, float] = {}

    def wrap(self, operation: Operation, handler: Handler) -> Handler:
        """Returns the handler as it is where the operation is about no single session."""
        if operation.path.startswith("/sessions/{id}"):
            return _Forwarding(self, operation, handler)
        if operation.name == "list_approvals":
            return _AllQuestions(self, operation, handler)
        if operation.name == "answer_approval":
            return _AnyQuestion(self, operation, handler)
        return handler

    async def list_others(self) -> list[NodeRow]:
        return [node for node in await self._pool.roster.nodes() if node.name != self._pool.me.name]

    async def list_questions(self, node: NodeRow, operation: Operation, call: Call) -> list[dict[str, Any]]:
        """Returns what waits for an answer on another node; nothing where it can't be reached."""
        try:
            async with asyncio.timeout(_GLANCE):
                reply = await self.send_on(node, operation, call)
        except (PlanckError, TimeoutError, OSError):
            return []
        if not isinstance(reply, Reply) or reply.status != 200:
            return []
        items: list[dict[str, Any]] = codec.decode(reply.body)["items"]
        return items

    @property
    def closed(self) -> bool:
        """Whether this server stops: it waits for nothing more."""
        return self._cache.closed

    def has(self, id: str) -> bool:
        return self._cache.find(id) is not None

    async def drop_lost(self, id: str) -> None:
        await self._cache.drop_lost(id)

    def answers(self, node: NodeRow) -> bool:
        """False for a while after it did not: nobody waits for it again and again."""
        return self._silent.get(node.instance, 0.0) < asyncio.get_running_loop().time()

    def note_silence(self, node: NodeRow) -> None:
        self._silent[node.instance] = asyncio.get_running_loop().time() + _GLANCE

    async def find_row(self, id: str) -> QueuedSession | None:
        return await self._pool.find_row(id)

    async def find_result(self, id: str, after: int) -> RunResult | None:
        """Returns what the log says of the work after that event, if a turn has ended since."""
        return await asyncio.to_thread(self._cache.archive.result, id, after)

    async def find_unbegun(self, name: str) -> QueuedSession | None:
        """Returns what nobody has begun with, by its name: of the others the archive knows the names."""
        with suppress(PlanckError):  # several have the name
            row = await self._pool.roster.find(name)
            return row if row and not row.head else None
        return None

    async def find_owner(self, row: QueuedSession | None) -> NodeRow | None:
        """Returns the node that has it, unless that is this one."""
        if row is None or row.owner in (None, self._pool.me.name):
            return None
        return next((node for node in await self._pool.roster.nodes() if node.name == row.owner), None)

    def is_own(self, row: QueuedSession) -> bool:
        return row.owner == self._pool.me.name

    async def wait_until_open(self, id: str) -> None:
        """Returns once it is open here, is no longer this node's, or takes too long."""
        until = asyncio.get_running_loop().time() + _GLANCE
        while not self.has(id) and asyncio.get_running_loop().time() < until:
            row = await self.find_row(id)
            if row is None or not self.is_own(row):
                return
            await asyncio.sleep(0.05)

    async def wait_for_beginning(self, id: str, seconds: float) -> bool:
        """Returns whether a node has begun with it by then; False at once where this server stops."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while loop.time() < until and not self._cache.closed:
            row = await self.find_row(id)
            if row is None or row.head or row.state == "failed":
                return row is not None and bool(row.head)
            await self._pool.roster.wait(min(0.5, until - loop.time()))
        return False

    async def send_on(self, node: NodeRow, operation: Operation, call: Call) -> Reply | Streamed:
        client = self._reach(node)
        path = operation.path
        for name, value in call.path.items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        headers = {_FORWARDED: self._pool.me.name, AS_ROLE: call.role}
        for name in ("accept", "content-type", "idempotency-key", "last-event-id", "if-none-match"):
            if said := call.headers(name):
                headers[name] = b", ".join(said).decode("latin-1")
        sending = client.send(operation.method, path, headers, call.raw, call.query_string)
        if operation.name == "read_result":
            async with asyncio.timeout(_PATIENCE):
                response = await self._wait_unless_closed(sending)
            if response is None:
                return Reply(204)
        else:
            async with asyncio.timeout(_GLANCE):
                response = await sending
        kind = response.headers.get("content-type", "")
        if kind.startswith(EVENTS) and response.status == 200:
            return Streamed(self._pass_on(response), EVENTS)
        async with asyncio.timeout(_PATIENCE):
            body = await client.read(response)
        kept = {
            name: value
            for name, value in response.headers.items()
            if name in ("location", "link", "retry-after")
        }
        return Reply(response.status, body, kind, kept)

    async def _pass_on(self, response: Any) -> AsyncGenerator[bytes, None]:
        """Ends with the other node's stream, or once this server stops: it would never stop otherwise."""
        chunks = response.chunks()
        try:
            while (chunk := await self._wait_unless_closed(anext(chunks, None))) is not None:
                yield chunk
        finally:
            await response.aclose()

    async def _wait_unless_closed(self, work: Awaitable[T]) -> T | None:
        """Returns what comes of it, or None once this server stops."""
        working, closed = asyncio.ensure_future(work), asyncio.ensure_future(self._cache.wait_until_closed())
        tasks: tuple[asyncio.Future[Any], ...] = (working, closed)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _reach(self, node: NodeRow) -> Client:
        if node.url not in self._clients:
            self._clients[node.url] = Client(node.url, self._token)
        return self._clients[node.url]

    async def leave(self, operation: Operation, call: Call) -> shapes.Accepted | shapes.Acknowledged | None:
        """Leaves a prompt or an interrupt for whoever has, or takes, the session; None: it is neither."""
        if operation.name not in ("send_prompt", "interrupt"):
            return None
        await self._cache.check(call.id, call.role)
        roster = self._pool.roster
        if operation.name == "send_prompt":
            body: shapes.SendPrompt = call.body
            row = await self.find_row(call.id)
            if row is None:
                raise ApiError(
                    404,
                    ErrorKind.NOT_FOUND,
                    f'Session not found in this pool: {call.id!r}. Run "planck sessions list".',
                )
            self._pool.check_place(row)  # no node would ever take it
            id = call.header("idempotency-key") or os.urandom(8).hex()
            data = {"text": body.text, "agent": body.agent}
            kind: Literal["steer", "prompt"] = "steer" if body.steer else "prompt"
            command = PoolCommand(id=id, session=call.id, kind=kind, data=data, by=call.role)
            if not await roster.post(command):
                await self._check_same(command)
            return shapes.Accepted(message_id=id, seq=row.head)
        id, data = os.urandom(8).hex(), {"agent": call.body.agent}
        await roster.post(PoolCommand(id=id, session=call.id, kind="interrupt", data=data, by=call.role))
        return shapes.Acknowledged()

    async def _check_same(self, command: PoolCommand) -> None:
        """Raises where what waits under this id is another request."""
        for other in await self._pool.roster.commands([command.session]):
            # Of another role it is another request: what it may use is not the same.
            if other.id == command.id and _show_request(other) != _show_request(command):
                raise ApiError(
                    409,
                    ErrorKind.NOT_UNIQUE,
                    f"The key {command.id!r} was already used for a different request. Use a new key.",
                )

    async def aclose(self) -> None:
        await close_all(*(partial(client.__aexit__, None, None, None) for client in self._clients.values()))


def _show_request(command: PoolCommand) -> tuple[str, dict[str, Any], str]:
    return command.kind, command.data, command.by


class _Forwarding:
    """One operation on a session: here, at its owner, or left for whoever will be."""

    def __init__(self, elsewhere: Forwarder, operation: Operation, handler: Handler) -> None:
        self._elsewhere = elsewhere
        self._operation = operation
        self._handler = handler

    async def __call__(self, call: Call) -> Any:
        try:
            return await self._route(call)
        except PlanckError as refused:
            if refused.err.kind is not ErrorKind.WRITER_CONFLICT or not self._elsewhere.has(call.id):
                raise
            await self._elsewhere.drop_lost(call.id)
            # Nothing of it is in the log, or it is there under this key: whoever has the session may get it.
            if self._operation.name != "send_prompt" or not call.header("idempotency-key"):
                raise
            return await self._elsewhere.leave(self._operation, call)

    async def _route(self, call: Call) -> Any:
        row = None if self._elsewhere.has(call.id) else await self._elsewhere.find_row(call.id)
        if row is not None and self._operation.method != "GET" and self._elsewhere.is_own(row):
            return await self._answer_opening(call)
        if row is None and self._operation.name == "read_session" and not self._elsewhere.has(call.id):
            row = await self._elsewhere.find_unbegun(call.id)
        if call.headers(_FORWARDED):
            return await (self._handler(call) if row is None else self._answer_here(call))
        if row is not None and not row.head and self._operation.method == "GET":
            return await self._answer_unbegun(call, row)
        if row is not None and row.state == "failed" and self._operation.method == "GET":
            return await self._answer_failed(call, row)
        if row is not None and row.state == "queued" and self._operation.name == "explain_wait":
            return shapes.Why(lines=(_describe_queued(row),))
        owner = await self._elsewhere.find_owner(row)
        if owner is None:
            return await self._answer_here(call)
        try:
            if self._elsewhere.answers(owner):
                return await self._elsewhere.send_on(owner, self._operation, call)
        except (PlanckError, TimeoutError, OSError) as failure:
            if isinstance(failure, PlanckError) and failure.err.kind not in _BROKEN:
                raise
            self._elsewhere.note_silence(owner)
        if self._operation.method == "GET":
            return await self._handler(call)  # as far as it is in the database
        if (left := await self._elsewhere.leave(self._operation, call)) is not None:
            return left
        raise ApiError(
            503,
            ErrorKind.OVERLOADED,
            f"Node {owner.name} runs this session and cannot be reached. Another node will take it over "
            "soon. Try again in a minute.",
        )

    async def _answer_unbegun(self, call: Call, row: QueuedSession) -> Any:
        """Answers for a session that no node has begun; waits for its log, unless no node will take it."""
        match self._operation.name:
            case "read_session":
                return describe_details(row)
            case "read_board":
                return Board()
            case "explain_wait":
                failed = row.state == "failed"
                return shapes.Why(lines=(_describe_failed(row) if failed else _describe_queued(row),))
            case "read_result" | "read_events" if row.state == "failed":
                raise ApiError(410, ErrorKind.TARGET_GONE, _describe_failed(row))
            case "read_result":
                begun = await self._elsewhere.wait_for_beginning(call.id, _RESULT_SECONDS)
                row = await self._elsewhere.find_row(call.id) or row
                return await self(call) if begun or row.state == "failed" else Reply(204)
            case "read_events" if EVENTS in call.header("accept"):
                return Streamed(self._wait_for_events(call), EVENTS)
            case "read_events":
                return Reply(200, b"", NDJSON)
        return await self._handler(call)

    async def _answer_failed(self, call: Call, row: QueuedSession) -> Any:
        """Answers for a session that no node continues: there is nothing to wait for."""
        if self._operation.name != "read_result":
            return _mark_failed(await self._handler(call), row)
        result = await self._elsewhere.find_result(call.id, call.query.after or 0)
        if result is None:
            raise ApiError(410, ErrorKind.TARGET_GONE, _describe_failed(row))
        return _mark_failed(result, row)

    async def _wait_for_events(self, call: Call) -> AsyncGenerator[bytes, None]:
        """Waits for a node to begin, then goes on with the stream of that node; ends if no node ever will."""
        yield b"event: live\ndata: {}\n\n"
        while not await self._elsewhere.wait_for_beginning(call.id, PING_SECONDS):
            row = await self._elsewhere.find_row(call.id)
            if row is None or row.state == "failed" or self._elsewhere.closed:
                return
            yield PING
        try:
            found = await self(call)
        except PlanckError:  # it was lost again: the client comes again, and is told so
            return
        if isinstance(found, Streamed):
            async with aclosing(found.pieces) as pieces:
                async for piece in pieces:
                    yield piece

    async def _answer_opening(self, call: Call) -> Any:
        """This node has taken it and is about to open it: nobody else opens it meanwhile."""
        if (left := await self._elsewhere.leave(self._operation, call)) is not None:
            return left
        await self._elsewhere.wait_until_open(call.id)
        return await self._handler(call)

    async def _answer_here(self, call: Call) -> Any:
        """A prompt for a session at rest waits for a node with room, which may be this one."""
        if self._operation.name == "send_prompt" and not self._elsewhere.has(call.id):
            return await self._elsewhere.leave(self._operation, call)
        return await self._handler(call)


class _AllQuestions:
    """The questions of this node and of all others."""

    def __init__(self, elsewhere: Forwarder, operation: Operation, handler: Handler) -> None:
        self._elsewhere = elsewhere
        self._operation = operation
        self._handler = handler

    async def __call__(self, call: Call) -> Any:
        own: shapes.ApprovalPage = await self._handler(call)
        if call.headers(_FORWARDED):
            return own
        others = await self._elsewhere.list_others()
        asked = (self._elsewhere.list_questions(node, self._operation, call) for node in others)
        items = [*msgspec.to_builtins(own.items), *chain.from_iterable(await asyncio.gather(*asked))]
        return Reply(200, codec.encode({"items": items, "next": None}))


class _AnyQuestion:
    """An answer goes to whichever node asks: one that does not know the question says so."""

    def __init__(self, elsewhere: Forwarder, operation: Operation, handler: Handler) -> None:
        self._elsewhere = elsewhere
        self._operation = operation
        self._handler = handler

    async def __call__(self, call: Call) -> Any:
        try:
            return await self._handler(call)
        except PlanckError as refused:
            if refused.err.kind is not ErrorKind.NOT_FOUND or call.headers(_FORWARDED):
                raise
            unknown = refused
        for node in await self._elsewhere.list_others():
            try:
                async with asyncio.timeout(_GLANCE):
                    reply = await self._elsewhere.send_on(node, self._operation, call)
            except (PlanckError, TimeoutError, OSError):
                continue
            if isinstance(reply, Reply) and reply.status != 404:
                return reply
        raise unknown
