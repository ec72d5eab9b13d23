"""A session that this server has open: followed, so that whoever asks finds it folded already."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager

from planck.api.errors import ApiError
from planck.api.rights import Role, check_mode, check_widening, find_ceiling
from planck.api.shapes import Holder, SessionRow
from planck.api.tally import Tally
from planck.headless import Archive, OpenSession, Summary
from planck.records import codec
from planck.records.authority import Mode
from planck.records.board import Board
from planck.records.events import Event, ModeChanged, ModelChanged, Renamed, TurnEnd
from planck.records.outcome import ErrorKind

_TOLD = (Renamed.type, ModeChanged.type, ModelChanged.type)
_MOMENT = 0.2
"""Seconds in which work that is ending may end, before it counts as under way."""


class LiveSession:
    """One open session, the fold of its log, and the task that sees its work to the end."""

    def __init__(
        self,
        session: OpenSession,
        holder: Holder,
        tally: Tally,
        on_state: Callable[[], None],
        node: str | None = None,
    ) -> None:
        """`on_state` hears of every change of what a list of sessions would say."""
        self.session = session
        self.used: float = asyncio.get_running_loop().time()
        """When somebody last had it in use, by the loop's clock."""
        self.users = 0
        self.prompted_at = 0
        """The newest prompt that came by this server."""
        self.ended_at: int = 0
        """The event that ended the orchestrator's newest turn."""
        self._holder = holder
        self._node = node
        self._tally = tally
        self._on_state = on_state
        self._guests = 0
        """Uses at this moment by callers who may not use every mode."""
        self._works = 0
        """How often there was something new to do."""
        self._for_guest = False
        """Whether such a caller may have asked for what is under way."""
        self._fold = Summary()
        self._encoded: tuple[Board | None, bytes] = (None, b"")
        self._followed: asyncio.Future[None] | None = None
        self._settling: asyncio.Future[None] | None = None
        self._changed = asyncio.Event()

    @property
    def board(self) -> Board:
        return self._fold.board

    @property
    def at_work(self) -> bool:
        busy = self._settling is not None and not self._settling.done()
        return busy or self.board.state in ("running", "waiting")

    async def follow(self, archive: Archive) -> None:
        """Folds what is there, and goes on with what comes until the session is closed."""
        id, opened_at = self.session.id, self.session.opened_at
        if opened_at:
            await asyncio.to_thread(self._read, archive, id, opened_at)
        self._followed = asyncio.ensure_future(self._follow())
        await self.catch_up()
        # Work that another node of the pool had begun goes on, and its log does not say who asked for it.
        self.take_work(for_guest=self._node is not None and opened_at > 0)

    @contextmanager
    def lent(self, role: Role) -> Iterator[None]:
        """Holds the mode within what the role may use, from the check to the end of the block."""
        check_mode(role, self.session.mode)
        guest = find_ceiling(role) is not None
        self._guests += guest
        try:
            yield
        finally:
            self._guests -= guest

    def take_work(self, *, for_guest: bool) -> None:
        """Sees work to its end: a Stop hook may send it on. `for_guest`: nobody gives it `full` till then."""
        self._works += 1
        self._for_guest = self._for_guest or for_guest
        if self._settling is None or self._settling.done():
            self._settling = asyncio.ensure_future(self._settle())

    async def change_mode(self, mode: Mode, role: Role) -> None:
        """Gives it another mode; raises as `check_mode_change` does."""
        await self.check_mode_change(mode, role)
        await self.session.change_mode(mode)  # which holds before anything is awaited

    async def check_mode_change(self, mode: Mode, role: Role) -> None:
        """Raises for a mode wider than the session's own, unless the role may answer questions.

        Also for `full` while somebody who may not use it has work under way: it would run in it.
        """
        # Nothing is awaited from here to the change, but for `full`, which such a role never gives.
        check_widening(role, Mode(self.session.mode), mode)
        if mode is not Mode.FULL:
            return
        if self._for_guest and self._settling:
            await asyncio.wait({self._settling}, timeout=_MOMENT)
        if self._guests or (self._for_guest and self.at_work):
            raise ApiError(
                403,
                ErrorKind.PERMISSION_DENIED,
                "A caller without permission for mode 'full' has work in progress in this session. Wait "
                "until it ends or interrupt it, then change the mode.",
            )

    async def catch_up(self) -> None:
        """Returns once all that is recorded by now is folded."""
        head = self.session.head
        while self.board.seq < head and not self.session.closed:
            await self.wait_for_change()

    async def wait_for_change(self, timeout: float | None = None) -> None:
        """Returns after the next recorded event, at the end of the work, or when the time is up."""
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({changed}, timeout=timeout)
        finally:
            changed.cancel()

    def encode_board(self) -> bytes:
        """The board's JSON; made once for each that there is."""
        board = self.board
        if board is not self._encoded[0]:
            self._encoded = (board, codec.encode(board))
        return self._encoded[1]

    def describe(self) -> SessionRow:
        board, session = self.board, self.session
        return SessionRow(
            id=session.id,
            name=session.name,
            state=board.state,
            first_prompt=self._fold.first_prompt,
            team=self._fold.team,
            model=board.agents[0].model if board.agents else "",
            mode=board.mode,
            cost_usd=None if board.unpriced else board.cost_usd,
            estimated=board.estimated or 0,
            head=board.seq,
            created=session.created,
            updated=board.updated,
            node=self._node,
            holder=self._holder,
            parent=board.parent,
            forked_at=board.forked_at,
        )

    async def aclose(self) -> None:
        tasks = [task for task in (self._settling, self._followed) if task]
        try:
            await self.session.aclose()
        finally:
            if self._settling:
                self._settling.cancel()
            if tasks:
                await asyncio.wait(tasks)
            self._tell()

    def _read(self, archive: Archive, id: str, until: int) -> None:
        for event in archive.recorded(id):
            if (event.seq or 0) > until:
                break
            self._add(event)
        self._fold.adopt(id, self.session.name)

    def _add(self, event: Event) -> None:
        self._fold.add(event)
        if event.type == TurnEnd.type and event.agent_id == self.board.agents[0].id:
            self.ended_at = event.seq or 0

    async def _follow(self) -> None:
        async with aclosing(self.session.follow(self.board.seq, words=False)) as batches:
            async for events in batches:
                for event in events:
                    if event.seq is not None:
                        self._take(event.recorded)

    def _take(self, event: Event) -> None:
        before = self.board.state
        self._add(event)
        if self.board.state != before or event.type in _TOLD:
            self._on_state()
        self._tally.add(event)
        self._tell()

    async def _settle(self) -> None:
        seen = 0
        while seen != self._works:  # more may come while the last event is folded
            seen = self._works
            await self.session.settled()
            await self.catch_up()
        self._for_guest = False
        self._tell()

    def _tell(self) -> None:
        told, self._changed = self._changed, asyncio.Event()
        told.set()
