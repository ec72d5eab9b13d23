"""The handlers of the inbox: questions of all sessions, answered by whoever is first."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from planck.api import shapes
from planck.api.exchange import EVENTS, Call, Streamed
from planck.api.handlers.requests import Requests
from planck.api.handlers.streams import PING, Streams
from planck.api.rights import check_role
from planck.api.session_cache import SessionCache
from planck.headless import Inbox
from planck.records import codec
from planck.records.approval import Settled
from planck.records.events import RequestKey
from planck.records.outcome import Err, ErrorKind, PlanckError


class Refused(PlanckError):
    """An answer that does not count, and why."""

    def __init__(self, err: Err) -> None:
        super().__init__(err.kind, err.message, err.details)


class ApprovalHandlers:
    def __init__(self, inbox: Inbox, cache: SessionCache, streams: Streams, requests: Requests) -> None:
        self._inbox = inbox
        self._requests = requests
        self._cache = cache
        self._streams = streams

    async def list_approvals(self, call: Call) -> shapes.ApprovalPage:
        query: shapes.ListApprovals = call.query
        asked = self._inbox.pending(query.session or None)
        return shapes.ApprovalPage(items=tuple(map(shapes.Pending.of, asked)))

    async def answer_approval(self, call: Call) -> shapes.Acknowledged:
        body: shapes.AnswerApproval = call.body
        if body.scope == "rule":  # it is saved in the configuration of the server's user
            check_role(call.role, "admin")
        request = self._requests.read_key(call, call.id)
        refused = self._inbox.answer(
            call.id,
            body.digest,
            body.allow,
            body.scope,
            body.reason,
            rule=body.rule,
            request=request,
            content=body.content,
        )
        if refused and request and refused.kind is ErrorKind.NOT_FOUND:
            refused = await self._look_back(call.id, request, refused)
        if refused:
            raise Refused(refused)
        return shapes.Acknowledged()

    async def _look_back(self, id: str, request: RequestKey, refused: Err) -> Err | None:
        """A question of an earlier start is over; its answer is in the log, with the key it came with."""
        decision = await asyncio.to_thread(self._requests.find_decision, id)
        return Settled(True, decision.request).refuse(request) if decision else refused

    async def follow_inbox(self, call: Call) -> Streamed:
        self._streams.check_room()
        return Streamed(self._follow(), EVENTS, self._streams.limits.stuck)

    async def _follow(self) -> AsyncGenerator[bytes, None]:
        """Yields `question` and `settled` as they come and go, and `session` whenever one changes."""
        async with self._streams.counted():
            asked: set[str] = set()
            told: dict[str, Any] = {}
            yield _format("live", {})
            while not self._cache.closed:
                seen = (self._inbox.changes, self._cache.changes)
                for event in self._tell(asked, told):
                    yield event
                if not await self._wait(*seen):
                    yield PING

    def _tell(self, asked: set[str], told: dict[str, Any]) -> list[bytes]:
        pending = {question.id: question for question in self._inbox.pending()}
        events = [_format("question", shapes.Pending.of(pending[id])) for id in pending if id not in asked]
        events += [_format("settled", {"id": id}) for id in sorted(asked - pending.keys())]
        asked.clear()
        asked.update(pending)
        rows = {live.session.id: live.describe() for live in self._cache.open_sessions}
        for id, row in rows.items():
            shown = (row.state, row.name, row.mode, row.model)
            if told.get(id) != shown:
                told[id] = shown
                events.append(_format("session", row))
        for id in [id for id in told if id not in rows]:
            del told[id]
            events.append(_format("asleep", {"id": id}))
        return events

    async def _wait(self, inbox: int, cache: int) -> bool:
        """False: nothing changed for as long as a ping takes."""
        waits = [
            asyncio.ensure_future(self._inbox.wait_for_change(inbox)),
            asyncio.ensure_future(self._cache.wait_for_change(cache)),
        ]
        try:
            done, _ = await asyncio.wait(
                waits, timeout=self._streams.limits.ping, return_when=asyncio.FIRST_COMPLETED
            )
            return bool(done)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)


def _format(event: str, data: msgspec.Struct | dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.encode(), codec.encode(data))
