"""The handlers of sessions: start, look, prompt, follow, close, delete."""

import asyncio
import base64
from collections import deque
from typing import Any
from urllib.parse import urlencode

import msgspec

from planck.api import shapes
from planck.api.errors import ApiError
from planck.api.exchange import EVENTS, NDJSON, Call, Reply, Streamed
from planck.api.handlers.requests import Requests
from planck.api.handlers.streams import Filter, Streams
from planck.api.handlers.workspace import find_team
from planck.api.live_session import LiveSession
from planck.api.operations import PREFIX
from planck.api.rights import EVERYWHERE, Role, check_role, find_ceiling
from planck.api.session_cache import SessionCache
from planck.headless import Pool, RunResult, SessionInfo
from planck.records import codec
from planck.records.authority import Mode
from planck.records.board import Board
from planck.records.events import frame
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import RunOptions

_DIGITS = 18
"""No log has a number as long as this: whatever follows, it is one from the future."""
_PAGE_BYTES = 16 << 20
"""A page of events ends here, whatever its limit: one event may be a whole file."""


class SessionHandlers:
    def __init__(self, cache: SessionCache, streams: Streams, requests: Requests) -> None:
        self._cache = cache
        self._streams = streams
        self._requests = requests

    async def list_sessions(self, call: Call) -> shapes.SessionPage:
        query: shapes.ListSessions = call.query
        if query.all:
            check_role(call.role, EVERYWHERE)
        narrowed = bool(query.cursor or query.q)
        found = await asyncio.to_thread(
            self._cache.archive.sessions,
            everywhere=query.all,
            limit=None if narrowed else query.limit + 1,
        )
        after = _read_cursor(query.cursor)
        words = query.q.casefold()
        rows = [
            info
            for info in sorted(map(self._name_as_now, found), key=_rank, reverse=True)
            if (after is None or _rank(info) < after)
            and words in f"{info.name}\n{info.first_prompt}".casefold()
        ]
        page = rows[: query.limit]
        more = len(rows) > len(page)
        return shapes.SessionPage(
            items=tuple(map(describe_info, page)), next=_make_cursor(page[-1]) if more else None
        )

    def _name_as_now(self, info: SessionInfo) -> SessionInfo:
        """The file of one that is open here gets its new name when it is closed."""
        live = self._cache.find(info.id)
        return msgspec.structs.replace(info, name=live.session.name) if live else info

    async def start_session(self, call: Call) -> Reply:
        body: shapes.StartSession = call.body
        if body.prompt:  # before anything is started for it
            self._check_prompt(body.prompt)
        if body.team:
            await find_team(self._cache.planck, body.team)
        async with self._requests.once(call) as request:
            id = request.id
            if not request.done:
                options = msgspec.convert(body, RunOptions, from_attributes=True)
                id = (await self._cache.start(call.role, options, request.recorded)).session.id
            if body.prompt:  # by the same key: what was cut between the two goes on here
                key = request.recorded.key if request.recorded else ""
                async with self._cache.using(id, call.role) as live:
                    await self._prompt(live, call.role, body.prompt, id=key)
            row = await self.describe(id)
        return Reply(201, codec.encode(row), headers={"location": f"{PREFIX}/sessions/{id}"})

    async def begin(self, name: str, prompt: str) -> str:
        """Starts a session that no client asked for; returns its id once the prompt is durable."""
        id = (await self._cache.start("admin", RunOptions(name=name))).session.id
        async with self._cache.using(id, "admin") as live:
            await self._prompt(live, "admin", prompt)
        return id

    async def read_session(self, call: Call) -> shapes.SessionDetails:
        row = await self.describe(call.id)
        detail = await asyncio.to_thread(self._cache.archive.detail, call.id)
        whole = msgspec.to_builtins(detail)
        info = whole.pop("info")
        costs = await asyncio.to_thread(self._cache.archive.costs, call.id)
        whole["costs"] = msgspec.to_builtins(costs.rows)
        return msgspec.convert({**info, **msgspec.to_builtins(row), **whole}, shapes.SessionDetails)

    async def change_session(self, call: Call) -> shapes.SessionRow:
        body: shapes.ChangeSession = call.body
        await self.check_own(call.id)
        await self._cache.check(call.id, call.role)
        if body.mode is not None and isinstance(self._cache.planck, Pool):
            self._cache.planck.check_mode(Mode(body.mode))
        if body.model is not None:
            await self._cache.planck.model(body.model)
        # All of it or nothing: a name may be taken, and after that nothing is refused any more.
        if body.name is not None and body.mode is not None:
            async with self._cache.using(call.id, call.role) as live:
                await live.check_mode_change(Mode(body.mode), call.role)
        if body.name is not None:
            await self._cache.rename(call.id, body.name, call.role)
        if body.mode is not None or body.model is not None:
            async with self._cache.using(call.id, call.role) as live:
                if body.mode is not None:
                    await live.change_mode(Mode(body.mode), call.role)
                if body.model is not None:
                    await live.session.change_model(body.model)
        return await self.describe(call.id)

    async def delete_session(self, call: Call) -> None:
        await self._cache.delete(call.id, call.role)

    async def open_session(self, call: Call) -> shapes.SessionRow:
        async with self._cache.using(call.id, call.role) as live:
            return live.describe()

    async def close_session(self, call: Call) -> shapes.SessionRow:
        await self._cache.close(call.id, call.role)
        return await self.describe(call.id)

    async def send_prompt(self, call: Call) -> shapes.Accepted:
        body: shapes.SendPrompt = call.body
        self._check_prompt(body.text)
        async with self._cache.using(call.id, call.role) as live:
            key = call.header("idempotency-key")
            return await self._prompt(live, call.role, body.text, steer=body.steer, agent=body.agent, id=key)

    def _check_prompt(self, text: str) -> None:
        if not text.strip():
            raise ApiError(400, ErrorKind.NO_PROMPT, "The prompt is empty. Describe the task.")
        size, most = len(text.encode()), self._cache.planck.resources.config.limits.envelope_bytes
        if size > most:  # no later try would help, so this is no 429
            raise ApiError(
                413,
                ErrorKind.LIMIT_EXCEEDED,
                f"The prompt has {size} bytes; the limit is {most}. Put it in a file and send the path.",
            )

    async def _prompt(self, live: LiveSession, role: Role, text: str, **options: Any) -> shapes.Accepted:
        began = asyncio.get_running_loop().time()
        taken = await live.session.prompt(text, **options)
        self._streams.metrics.count_commit(asyncio.get_running_loop().time() - began)
        live.prompted_at = max(live.prompted_at, taken.seq)
        live.take_work(for_guest=find_ceiling(role) is not None)
        return shapes.Accepted(message_id=taken.message_id, seq=taken.seq)

    async def interrupt(self, call: Call) -> shapes.Acknowledged:
        body: shapes.Interrupt = call.body
        await self._cache.check(call.id, call.role)
        if self._cache.find(call.id) is None:  # what another process does is not ours to stop
            await self._cache.check_free(call.id)
        if self._cache.find(call.id) is None and not body.agent:  # nothing is at work here
            return shapes.Acknowledged()
        async with self._cache.using(call.id, call.role) as live:
            live.session.interrupt(body.agent)
        return shapes.Acknowledged()

    async def read_result(self, call: Call) -> RunResult | Reply:
        query: shapes.AskResult = call.query
        loop = asyncio.get_running_loop()
        until = loop.time() + self._streams.limits.result
        await self.check_own(call.id)
        while (left := until - loop.time()) > 0 and not self._cache.closed:
            seen = self._cache.changes
            if live := self._cache.find(call.id):
                await live.catch_up()
                after = query.after if query.after is not None else live.prompted_at
                if live.ended_at > after and not live.at_work and not live.session.closed:
                    return live.session.result(after)
                await live.wait_for_change(left)
                continue
            result = await asyncio.to_thread(self._cache.archive.result, call.id, query.after or 0)
            if result:
                return result
            try:
                async with asyncio.timeout(min(left, 1.0)):
                    await self._cache.wait_for_change(seen)
            except TimeoutError:
                pass
        return Reply(204)

    async def read_board(self, call: Call) -> Board | Reply:
        query: shapes.ReadBoard = call.query
        live = self._cache.find(call.id)
        if live and query.at is None:
            await live.catch_up()
            return Reply(200, live.encode_board())
        await self.check_own(call.id)
        return (await asyncio.to_thread(self._cache.archive.fold, call.id, query.at)).board

    async def explain_wait(self, call: Call) -> shapes.Why:
        await self.check_own(call.id)
        return shapes.Why(lines=tuple(await asyncio.to_thread(self._cache.archive.why_blocked, call.id)))

    async def read_events(self, call: Call) -> Reply | Streamed:
        query: shapes.ReadEvents = call.query
        streamed = call.accepts(EVENTS)
        after = _read_last_id(call) if streamed and call.headers("last-event-id") else query.after
        if streamed and self._cache.has_ended(call.id) and not self._cache.find(call.id):
            head = await asyncio.to_thread(self._find_head, call.id)
            if head is None or after == head:
                return Reply(204)
        if not streamed and not query.agent:  # a page of a long log takes no fold of all of it
            await self.check_own(call.id)
            return await asyncio.to_thread(self._read_page, call.id, query, _take_types(query, ""))
        board = await self.find_board(call.id)
        wanted = _take_types(query, _find_agent(board, query.agent))
        if not streamed:
            return await asyncio.to_thread(self._read_page, call.id, query, wanted)
        self._streams.check_room()
        pieces = self._streams.follow(call.id, after, wanted, board.seq)
        return Streamed(pieces, EVENTS, self._streams.limits.stuck)

    async def find_board(self, id: str) -> Board:
        if live := self._cache.find(id):
            await live.catch_up()
            return live.board
        await asyncio.to_thread(self._cache.archive.check_own, id)
        return (await asyncio.to_thread(self._cache.archive.fold, id)).board

    async def check_own(self, id: str) -> None:
        """Raises `not_found` for what is not the id of a session of this workspace."""
        if not self._cache.find(id):
            await asyncio.to_thread(self._cache.archive.check_own, id)

    def _find_head(self, id: str) -> int | None:
        """None: it is gone."""
        try:
            return self._cache.archive.fold(id).board.seq
        except PlanckError:
            return None

    def _read_page(self, id: str, query: shapes.ReadEvents, wanted: Filter) -> Reply:
        lines: deque[bytes] = deque()
        size, last = 0, 0
        for event in self._cache.archive.recorded(id, query.after):
            seq = event.seq or 0
            if query.before is not None and seq >= query.before:
                break
            if not wanted.takes(event.agent_id, event.type):
                continue
            if query.before is None and (len(lines) >= query.limit or size >= _PAGE_BYTES):
                asked = {"after": last, "limit": query.limit, "agent": query.agent, "type": query.type}
                rest = urlencode({name: value for name, value in asked.items() if value})
                next_page = f'<{PREFIX}/sessions/{id}/events?{rest}>; rel="next"'
                return Reply(200, b"".join(lines), NDJSON, {"link": next_page})
            lines.append(frame(event, id) + b"\n")
            size, last = size + len(lines[-1]), seq
            while (
                query.before is not None
                and len(lines) > 1
                and (len(lines) > query.limit or size > _PAGE_BYTES)
            ):  # the newest before it are wanted
                size -= len(lines.popleft())
        return Reply(200, b"".join(lines), NDJSON)

    async def describe(self, id: str) -> shapes.SessionRow:
        if live := self._cache.find(id):
            await live.catch_up()
            return live.describe()
        await asyncio.to_thread(self._cache.archive.check_own, id)
        return describe_info(await asyncio.to_thread(self._cache.archive.info, id))


def describe_info(info: SessionInfo) -> shapes.SessionRow:
    row = msgspec.convert(info, shapes.SessionRow, from_attributes=True)
    # One of which nothing is there yet is not done: it is on its way, from another node perhaps.
    return row if row.head or row.state != "done" else msgspec.structs.replace(row, state="waiting")


def _rank(info: SessionInfo) -> tuple[str, str]:
    return (info.updated, info.id)


def _make_cursor(info: SessionInfo) -> str:
    return base64.urlsafe_b64encode("\n".join(_rank(info)).encode()).decode()


def _read_cursor(cursor: str) -> tuple[str, str] | None:
    if not cursor:
        return None
    try:
        updated, id = base64.urlsafe_b64decode(cursor.encode()).decode().split("\n")
    except ValueError:
        raise ApiError(400, ErrorKind.INVALID_ARGS, "Invalid cursor. Start again without a cursor.") from None
    return updated, id


def _read_last_id(call: Call) -> int:
    text = call.header("last-event-id")
    if not (text.isascii() and text.isdigit()):
        raise ApiError(
            400, ErrorKind.INVALID_ARGS, "Last-Event-ID must be an event number. Correct it or leave it out."
        )
    return int(text[:_DIGITS]) if len(text) > _DIGITS else int(text)


def _take_types(query: shapes.ReadEvents, agent_id: str) -> Filter:
    return Filter(agent_id, frozenset(filter(None, query.type.split(","))))


def _find_agent(board: Board, given: str) -> str:
    """Agents are named by id or name; a name that nobody has matches nothing."""
    return next((row.id for row in board.agents if given == row.name), given)
