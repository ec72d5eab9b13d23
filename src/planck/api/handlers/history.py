"""The handlers of what a session did: agents, outputs, changes to files and taking them back, copies."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from planck.api import shapes
from planck.api.errors import ApiError
from planck.api.exchange import NDJSON, Call, Reply, Streamed
from planck.api.handlers.requests import Requests
from planck.api.handlers.sessions import SessionHandlers
from planck.api.operations import PREFIX
from planck.api.rights import find_ceiling
from planck.api.session_cache import SessionCache
from planck.headless import Selection, UndoPlan, is_spilled
from planck.records import codec
from planck.records.events import ToolEnd, view
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.rows import AgentRow

_PART = 256 << 10
"""Characters of an output that are answered at a time."""
_PLANS = 100
"""Undos that were planned and not done; beyond that the oldest are forgotten."""
_KINDS = {"ndjson": NDJSON, "md": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8"}


class HistoryHandlers:
    def __init__(self, cache: SessionCache, sessions: SessionHandlers, requests: Requests) -> None:
        self._cache = cache
        self._sessions = sessions
        self._requests = requests
        self._plans: dict[str, tuple[str, UndoPlan]] = {}

    async def list_agents(self, call: Call) -> shapes.AgentPage:
        return shapes.AgentPage(items=(await self._sessions.find_board(call.id)).agents)

    async def read_agent(self, call: Call) -> AgentRow:
        board = await self._sessions.find_board(call.id)
        wanted = call.path["agent"]
        for row in board.agents:
            if wanted in (row.id, row.name):
                return row
        raise ApiError(
            404,
            ErrorKind.NOT_FOUND,
            "No agent in this session has this id or name. List the session's agents.",
        )

    async def change_agent(self, call: Call) -> AgentRow:
        body: shapes.ChangeAgent = call.body
        async with self._cache.using(call.id, call.role) as live:
            await live.session.change_model(body.model, agent=call.path["agent"])
        return await self.read_agent(call)

    async def read_output(self, call: Call) -> shapes.Output:
        query: shapes.ReadOutput = call.query
        await self._sessions.check_own(call.id)
        wanted, done = call.path["call"], True
        end = await asyncio.to_thread(self._find_end, call.id, wanted)
        output = end.output if end else None
        if output is None and (live := self._cache.find(call.id)):
            said = (text.output.get(wanted) for text in live.session.live().values())
            output, done = next((text for text in said if text is not None), None), False
        if output is None:
            raise ApiError(404, ErrorKind.NOT_FOUND, "No output found for this call. Check its id.")
        missing, whole = None, None
        if end and is_spilled(end):  # what the model was shown of it is its beginning and its end
            try:
                whole = await asyncio.to_thread(self._read_whole, call.id, wanted, query.offset)
            except PlanckError as failure:  # what the log has of it is better than nothing
                await self._sessions.check_own(call.id)  # unless it was deleted meanwhile
                missing = shapes.Problem(
                    kind=failure.err.kind, message=failure.err.message, details=failure.err.details
                )
        part, size = whole or (output[query.offset : query.offset + _PART], len(output))
        stop = query.offset + len(part)
        return shapes.Output(
            call_id=wanted,
            output=part,
            offset=query.offset,
            size=size,
            next=stop if stop < size else None,
            done=done,
            missing=missing,
        )

    async def compact(self, call: Call) -> shapes.Compact:
        async with self._cache.using(call.id, call.role) as live:
            made = await live.session.compact()
        if made is None:
            return shapes.Compact(compacted=False)
        return shapes.Compact(
            compacted=True, tokens_before=made.tokens_before, tokens_after=made.tokens_after
        )

    async def rewind(self, call: Call) -> shapes.SessionRow:
        body: shapes.Rewind = call.body
        async with self._cache.using(call.id, call.role) as live:
            refused = await live.session.rewind(body.to)
            if refused:
                raise PlanckError(refused.kind, refused.message, refused.details)
        return await self._sessions.describe(call.id)

    async def fork(self, call: Call) -> Reply:
        body: shapes.Fork = call.body
        await self._sessions.check_own(call.id)
        await self._cache.check(call.id, call.role)
        async with self._requests.once(call, call.id) as request:
            id = request.id
            if request.done:
                await self._cache.check(id, call.role)
            else:
                made = await self._cache.archive.fork(
                    call.id,
                    at=body.at,
                    name=body.name,
                    id=id,
                    request=request.recorded,
                    ceiling=find_ceiling(call.role),
                )
                id = made.id
            row = await self._sessions.describe(id)
        return Reply(201, codec.encode(row), headers={"location": f"{PREFIX}/sessions/{row.id}"})

    async def export(self, call: Call) -> Streamed:
        query: shapes.Export = call.query
        await self._sessions.check_own(call.id)
        if query.format == "html":
            pieces = iter([await asyncio.to_thread(self._cache.planck.export_page, call.id)])
        else:
            pieces = self._list_lines(call.id) if query.format == "ndjson" else self._write_markdown(call.id)
        headers = {
            "content-disposition": f'attachment; filename="{call.id}.{query.format}"',
            "content-security-policy": "default-src 'none'; sandbox",
        }
        # What can't be read is said with its status, as far as that shows in the beginning.
        first = await asyncio.to_thread(_take_some, pieces)
        return Streamed(_in_turns(first, pieces), _KINDS[query.format], patience=60.0, headers=headers)

    async def list_changes(self, call: Call) -> shapes.ChangePage:
        query: shapes.SelectChanges = call.query
        await self._sessions.check_own(call.id)
        selection = _select(query)
        return shapes.ChangePage(
            items=await asyncio.to_thread(self._cache.planck.changes, call.id, selection)
        )

    async def plan_undo(self, call: Call) -> shapes.UndoPlan:
        body: shapes.PlanUndo = call.body
        async with self._cache.using(call.id, call.role) as live:
            plan = live.session.undo_plan(_select(body.selection), confined=True)
        plan_id = self._requests.new_id()
        self._plans[plan_id] = (call.id, plan)
        while len(self._plans) > _PLANS:
            del self._plans[next(iter(self._plans))]
        return shapes.UndoPlan(
            plan_id=plan_id,
            diff="\n".join(step.diff for step in plan.steps if step.wanted),
            conflicts=tuple(
                shapes.Conflict(path=step.path, reason=step.conflict) for step in plan.steps if step.conflict
            ),
            commands=plan.commands,
        )

    async def undo(self, call: Call) -> shapes.Undone:
        """A key is known from the log: after a restart the plan is gone, and the answer is still there."""
        body: shapes.Undo = call.body
        request = self._requests.read_key(call, call.id)
        async with self._requests.alone(call.id, request), self._cache.using(call.id, call.role) as live:
            if request and (id := await asyncio.to_thread(self._requests.find_undo, call.id, request)):
                # Less than was planned, if it was interrupted.
                done = live.session.changes(Selection(call=id))
                return shapes.Undone(call_id=id, files=tuple(change.path for change in done))
            owner, plan = self._plans.get(body.plan_id, ("", None))
            if plan is None or owner != call.id:
                raise ApiError(404, ErrorKind.NOT_FOUND, "Undo plan not found. Plan the undo again.")
            if not any(not step.conflict for step in plan.steps):
                why = "; ".join(dict.fromkeys(step.conflict for step in plan.steps))
                raise ApiError(
                    409,
                    ErrorKind.EDIT_CONFLICT,
                    f"Nothing was undone: {why.rstrip('.')}. Choose other changes.",
                )
            del self._plans[body.plan_id]
            id = await live.session.undo(msgspec.structs.replace(plan, request=request), confined=True)
        files = tuple(step.path for step in plan.steps if step.wanted)
        return shapes.Undone(call_id=id, files=files)

    def _find_end(self, id: str, call: str) -> ToolEnd | None:
        with closing(self._cache.archive.recorded(id)) as events:
            for event in events:
                if event.type == ToolEnd.type and isinstance(end := view(event), ToolEnd) and end.id == call:
                    return end
        return None

    def _read_whole(self, id: str, call: str, offset: int) -> tuple[str, int] | None:
        file = self._cache.planck.find_output(id, call)
        try:
            return _read_part(file, offset) if file else None
        except OSError as failure:
            reason = f"The full output could not be read: {failure.strerror}. Check the server's disk."
            raise PlanckError(ErrorKind.READ_FAILED, reason, {"call_id": call}) from failure

    def _list_lines(self, id: str) -> Iterator[bytes]:
        return self._cache.archive.events(id)

    def _write_markdown(self, id: str) -> Iterator[bytes]:
        return (piece.encode(errors="replace") for piece in self._cache.archive.render_markdown(id))


def _read_part(file: Path, offset: int) -> tuple[str, int]:
    """Returns what stands from that character on, as much as is answered at a time, and the size of all."""
    part, size = "", 0
    with file.open(encoding="utf-8", errors="replace", newline="") as text:
        while block := text.read(_PART):
            start = max(offset - size, 0)
            part += block[start : start + _PART - len(part)]
            size += len(block)
    return part, size


async def _in_turns(some: list[bytes], pieces: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Made beside the loop: a log may have to come from a database, and so may what it refers to."""
    making: asyncio.Future[list[bytes]] | None = None
    try:
        while some:
            for piece in some:
                yield piece
            making = asyncio.ensure_future(asyncio.to_thread(_take_some, pieces))
            some = await asyncio.shield(making)
    finally:
        if making and not making.done():
            await asyncio.wait({making})
        close = getattr(pieces, "close", None)
        if close:
            close()


def _take_some(pieces: Iterator[bytes]) -> list[bytes]:
    some, size = list[bytes](), 0
    for piece in pieces:
        some.append(piece)
        size += len(piece)
        if size >= _PART:
            break
    return some


def _select(given: shapes.SelectChanges | shapes.Chosen) -> Selection:
    files = given.files if isinstance(given, shapes.Chosen) else ()
    whole = isinstance(given, shapes.Chosen) and given.all
    if sum(map(bool, (given.agent, given.turn, given.call, files, whole))) > 1:
        raise ApiError(400, ErrorKind.INVALID_ARGS, "Choose only one of agent, turn, call, files and all.")
    chosen = frozenset((one.call, one.path) for one in files)
    return Selection(given.agent, given.turn, given.call, chosen, whole)
