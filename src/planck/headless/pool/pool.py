"""`Pool`: what a server does for sessions that any of several machines may work on."""

import asyncio
import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from planck.archive.archive import Archive
from planck.config.providers import Shares, open_shares
from planck.config.resources import Resources
from planck.config.teams import check_alias, find_alias
from planck.headless.open_session import OpenSession
from planck.headless.planck import Planck
from planck.headless.pool.database import PoolDatabase
from planck.headless.pool.places import Places, PoolError, Workplace, describe_folder, describe_source
from planck.headless.requests import name_session
from planck.headless.services.reopening import carry_over
from planck.permissions.approver import Approver
from planck.permissions.authority import stricter
from planck.records.authority import Mode
from planck.records.events import (
    Envelope,
    ErrorEvent,
    Event,
    Kind,
    Origin,
    RequestKey,
    SessionResumed,
    Snapshot,
    ToolStart,
    TurnEnd,
    TurnStart,
    TurnStatus,
    view,
)
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.specs import ModelSpec, RunOptions
from planck.store.postgres.claimed import ClaimedLibrary
from planck.store.roster import VERSION, Command, NodeRow, SessionRow
from planck.toolkit.clock import SystemClock

if TYPE_CHECKING:
    from planck.session.undo import FileDiff, Selection

_DIGESTED = ("team", "model", "name", "mode", "max_budget_usd", "max_steps")
"""Earlier versions have these in the digest of a submission, also where nothing was said of them."""

LOSSES = 3
"""A session that lost its node so often without a finished turn is given up."""

LOST_TOO_OFTEN = f"{LOSSES} nodes were lost while they ran this session, and none finished a turn"


class Pool:
    def __init__(self, planck: Planck, database: PoolDatabase, me: NodeRow, approver: Approver) -> None:
        """`planck` is the server's own: its home, its configuration, its environment."""
        self.database = database
        self.roster = database.roster
        self.me = me
        self._planck = planck
        self._approver = approver
        self._terms = planck.config.node
        self._places = Places(
            planck.home,
            self._terms,
            planck.project.environ,
            own=planck.workspace,
            sessions_dir=planck.config.sessions_dir,
        )
        self._clock = SystemClock()
        self._at: dict[str, tuple[Planck, Workplace]] = {}
        self._libraries: dict[str, ClaimedLibrary] = {}
        self.coming: set[str] = set()
        """Being opened for somebody who asked for them by name, until the session cache has them."""
        self.shares: Shares = open_shares(planck.project, self._clock, database.url)
        """How often this node asks the providers, of what all nodes may."""

    @property
    def workspace(self) -> Path:
        return self._planck.workspace

    @property
    def archive(self) -> Archive:
        """All sessions of the database, on every node."""
        return self.database.archive(self.workspace)

    @property
    def resources(self) -> Resources:
        return self._planck.resources

    async def model(self, name: str) -> ModelSpec:
        """Resolves a name by the server's own configuration."""
        return await self._planck.model(name)

    def find_output(self, session_id: str, call_id: str) -> Path | None:
        """Returns the file with the whole output of a call, wherever that was made."""
        return self.archive.find_output(session_id, call_id)

    def changes(self, id_or_name: str, selection: "Selection") -> "tuple[FileDiff, ...]":
        """Returns what agents of a session did to files, wherever it runs."""
        return self.archive.changes(id_or_name, selection, self._planck.redactor())

    def export_page(self, id_or_name: str) -> bytes:
        """Returns a session as one file that a browser opens without a server."""
        return self.archive.render_file(id_or_name, self._planck.redactor())

    async def submit(
        self,
        prompt: str,
        repo: str,
        options: RunOptions,
        *,
        key: str,
        by: str,
        ref: str = "",
        need: Sequence[str] = (),
        on_loss: Literal["continue", "stop"] = "continue",
        ceiling: Mode | None = None,
    ) -> SessionRow:
        """Enters a session and its first prompt; the same key again finds the same session.

        `ceiling`: no node opens it in a wider mode, also where nothing is said of a mode.
        """
        id = name_submission(key)
        workspace = describe_source(repo, ref)
        self._places.check_repo(repo)
        if options.team:
            check_alias(options.team)
        asked: dict[str, Any] = {"prompt": prompt, "repo": repo, "ref": ref, "need": need}
        asked |= {name: getattr(options, name) for name in _DIGESTED} | {"on_loss": on_loss}
        asked |= msgspec.to_builtins(options)
        digest = hashlib.sha256(msgspec.json.encode(asked)).hexdigest()
        row = SessionRow(
            id=id,
            name=options.name or f"work-{id[:8]}",
            project=repo,
            created=self._clock.now(),
            needs=tuple(dict.fromkeys(need)),
            workspace=workspace,
            options={**_describe(options, ceiling), "on_loss": on_loss, "digest": digest},
        )
        first = Command(id=f"submit-{id}", session=id, kind="prompt", data={"text": prompt}, by=by)
        await self.roster.submit(row, first)
        found = await self.roster.find(id)
        assert found is not None, "the submitted session exists"
        if found.options.get("digest") != digest:
            raise PoolError(
                ErrorKind.NOT_UNIQUE, f"The key {key!r} belongs to another submission. Use a new key."
            )
        return found

    async def start(
        self, options: RunOptions, request: RequestKey | None = None, ceiling: Mode | None = None
    ) -> OpenSession:
        """Starts a session in the server's own folder, which only this machine works on."""
        id = name_session(self.workspace, "", request.key) if request else os.urandom(8).hex()
        workspace, needs = describe_folder(self.workspace, self.me.name)
        kept = _describe(options, ceiling)
        if request:
            kept["request"] = msgspec.to_builtins(request)
        row = SessionRow(
            id=id,
            name=options.name or f"work-{id[:8]}",
            project=str(self.workspace),
            created=self._clock.now(),
            needs=needs,
            workspace=workspace,
            options=kept,
        )
        if not await self.roster.submit(row, None):  # the same key, and nobody has begun with it
            found = await self.find_row(id)
            if found and found.options.get("request") != kept.get("request"):
                raise PoolError(ErrorKind.NOT_UNIQUE, "The key belongs to another request. Use a new key.")
        try:
            return await self.resume(id)
        except BaseException:
            with suppress(PlanckError):  # else this node would try again what nobody waits for
                await self.roster.discard(id, self.me.name)
            raise

    async def resume(self, id: str, /) -> OpenSession:
        """Becomes the owner of a session that nobody works on, and opens it."""
        self.coming.add(id)
        try:
            return await self.open(await self._claim(id))
        except BaseException:
            self.coming.discard(id)
            raise

    async def _claim(self, id: str) -> SessionRow:
        if found := await self.find_row(id):
            self.check_place(found)
        lease = self._planck.config.cluster.lease_s
        rows = await self.roster.claim(self.me, held=(), limit=1, lease_s=lease, version=VERSION, only=id)
        if not rows:
            found = await self.roster.find(id)
            if found is None:
                raise PoolError(ErrorKind.NOT_FOUND, f"Session not found in this pool: {id!r}. Check the id.")
            if found.owner == self.me.name:
                raise PoolError(
                    ErrorKind.OVERLOADED, f"{found.name} is being opened here. Try again in a moment."
                )
            if found.owner is None:
                needed = ", ".join(found.needs) or "a newer version of Planck"
                step = (
                    'Start such a node: "planck serve --store URL --name NAME --label LABEL".'
                    if found.needs
                    else "Upgrade Planck on this node."
                )
                raise PoolError(
                    ErrorKind.NOT_FOUND,
                    f"{found.name} needs a node with {needed}, which {self.me.name} does not have. {step}",
                )
            raise PoolError(
                ErrorKind.WRITER_CONFLICT,
                f"Node {found.owner} is working on {found.name}. Send the request to that node.",
                {"node": found.owner},
            )
        return rows[0]

    async def open(self, row: SessionRow) -> OpenSession:
        """Opens a session that this node owns: begins its log, or goes on with it where it was."""
        place = await self._places.prepare(row.id, row.workspace)
        library = self.database.claimed(row, place.folder)
        options = msgspec.convert(row.options, RunOptions)
        planck = Planck(
            self._planck.home,
            place.folder,
            environ=self._planck.project.environ,
            flags=self._find_budget(options),
            trust=self._planck.trust if place.own else False,
            approver=self._approver,
            library=library,
            shared=self.shares,
        )
        self._at[row.id] = planck, place
        mode = self._find_mode(row, planck.config.permissions.mode)
        # The budget is in the flags: it is for the session, and not for each run of it.
        options = replace(options, name=row.name, mode=mode, max_budget_usd=None, max_tokens=None)
        try:
            if row.head:
                opened = await planck.reopen(
                    row.id,
                    lambda left: _narrow(options, carry_over(left, mode, ours=False, alone=False)),
                )
            else:
                if options.team:
                    find_alias(options.team, planck.resources.team_dirs())
                asked = row.options.get("request")
                request = msgspec.convert(asked, RequestKey) if asked else None
                opened = await planck.start(settings=options, id=row.id, request=request)
        except BaseException:
            await self.forget(row.id)
            raise
        library.releases = True
        self._libraries[row.id] = library
        return opened

    def check_place(self, row: SessionRow) -> None:
        """Raises where the row has no workspace: the session was not started in a pool, but imported, say."""
        if not row.workspace:
            raise PoolError(
                ErrorKind.NOT_FOUND,
                f"{row.name} was not started in a pool, so no node knows its workspace. "
                f'Resume it in its own folder: "planck --resume {row.name}".',
            )

    def keep_hold(self) -> None:
        """What is closed from now on is not at rest: it was cut short, and goes on, here or elsewhere."""
        for library in self._libraries.values():
            library.releases = False

    def check_mode(self, mode: Mode) -> None:
        """Raises for more than this node allows."""
        if self._terms.mode and stricter(mode, self._terms.mode) is not mode:
            raise PoolError(
                ErrorKind.PERMISSION_DENIED,
                f"Node {self.me.name} allows at most mode {self._terms.mode.value!r} (`node.mode`), not "
                f"{mode.value!r}. Choose another mode, or change `node.mode`.",
            )

    def _find_budget(self, options: RunOptions) -> dict[str, Any]:
        """What was handed in has it as a whole, over all nodes that open it: a run's own would begin anew
        with each of them. Never more than the user's own of this node."""
        if not options.budget:
            return {}
        own: dict[str, Any] = msgspec.to_builtins(self._planck.config.budget) or {}
        most = {unit: min(value, own.get(unit) or value) for unit, value in options.budget.items()}
        return {"budget": {**own, **most}}

    async def find_row(self, id: str) -> SessionRow | None:
        """Returns what the pool knows of a session, by its id alone."""
        row = await self.roster.find(id)
        return row if row and row.id == id else None

    def foresee_mode(self, row: SessionRow) -> Mode:
        """Returns the mode that this node would open it in, or a wider one."""
        return self._find_mode(row, self._planck.config.permissions.mode)

    def _find_mode(self, row: SessionRow, configured: Mode) -> Mode:
        """Returns the session's own mode, else the configured one; never more than this node allows, nor than
        the role that started the session."""
        asked, ceiling = row.options.get("mode"), row.options.get("ceiling")
        mode = Mode(asked) if asked else configured
        mode = stricter(mode, Mode(ceiling)) if ceiling else mode
        return stricter(mode, self._terms.mode) if self._terms.mode else mode

    async def tell_loss(self, session: OpenSession, row: SessionRow) -> bool:
        """Sends an orchestrator on whose turn a lost node cut, once an epoch; False: it is given up."""
        if row.attempts > LOSSES:
            await session.record(
                ErrorEvent(
                    kind=ErrorKind.TARGET_GONE,
                    message=f"{LOST_TOO_OFTEN}. The session will not be retried. Check the nodes' logs, "
                    "then submit the task again.",
                    details={"attempts": row.attempts - 1},
                )
            )
            await self.roster.release(row.id, row.epoch, "failed", problem=LOST_TOO_OFTEN)
            return False
        _, place = self._at[row.id]
        if _is_cut(session.recorded()) and row.options.get("on_loss", "continue") == "continue":
            told = f"{_describe_takeover(session, place)}\nContinue with the task."
            await session.prompt(told, id=f"loss-{row.epoch}", origin=Origin.PLANCK)
        elif session.asks_again:
            await session.announce(_describe_takeover(session, place))
        return True

    async def pass_on(self, row: SessionRow) -> None:
        """Lets another node go on with what was interrupted here, where it is to go on after a loss."""
        if row.options.get("on_loss", "continue") == "continue":
            await self.roster.reset_attempts(row.id, row.epoch)
            text = (
                "The machine that was working on this was stopped. You are now on another machine. "
                "Continue with the task."
            )
            await self.roster.post(
                Command(id=f"stop-{row.id}-{row.epoch}", session=row.id, kind="prompt", data={"text": text})
            )

    async def give_back(self, row: SessionRow, err: Err) -> None:
        """Leaves a session that can't be opened here to others; after some attempts it has failed."""
        lost = row.attempts >= LOSSES
        await self.roster.release(row.id, row.epoch, "failed" if lost else "queued", problem=err.full_message)

    async def put_on_record(self, session: OpenSession) -> None:
        """Sends what lies in its clone home, and says in its log what came of it."""
        _, place = self._at[session.id]
        if place.clone is None:
            return
        try:
            made = await place.clone.put_on_record()
        except PlanckError as failure:  # a reader of `done` must find the files
            where = f"on node {self.me.name} in {str(place.folder)!r}"
            why = f"The files could not be saved: {failure.err.message.rstrip('.')}. They are {where}."
            await session.record(ErrorEvent(kind=failure.err.kind, message=why, details={}))
            return
        if made:
            await session.record(Snapshot(ref=made.ref, commit=made.commit))

    async def forget(self, id: str) -> None:
        self._libraries.pop(id, None)
        if found := self._at.pop(id, None):
            await found[0].__aexit__(None, None, None)

    async def aclose(self) -> None:
        async with AsyncExitStack() as closing:
            closing.push_async_callback(asyncio.to_thread, self.shares.close)
            for id in [*self._at]:
                closing.push_async_callback(self.forget, id)


def _describe(options: RunOptions, ceiling: Mode | None) -> dict[str, Any]:
    """Returns what the row of a session keeps; its name has a column."""
    said: dict[str, Any] = msgspec.to_builtins(replace(options, name=""))
    return {**said, "ceiling": ceiling} if ceiling else said


def _narrow(row: RunOptions, log: RunOptions) -> RunOptions:
    """Returns the stricter of what a session was handed in with and of how it was left."""
    steps = [given for given in (row.max_steps, log.max_steps) if given]
    stricter_of = {"max_steps": min(steps, default=None), "dry_run": row.dry_run or log.dry_run}
    return replace(row, **{**msgspec.to_builtins(log), **stricter_of, "model": ""})  # the log has its model


def _is_cut(events: Iterable[Event]) -> bool:
    """Whether a turn was ended by a takeover, and nobody was sent on since: also where the node that took
    over was lost before it could."""
    running: set[str | None] = set()
    cut: set[str | None] = set()
    for event in events:
        match event.type:
            case Envelope.type:
                match view(event):
                    case Envelope(kind=Kind.PROMPT):
                        cut.clear()
            case TurnStart.type:
                running.add(event.agent_id)
                cut.discard(event.agent_id)
            case SessionResumed.type:
                cut |= running
            case TurnEnd.type:
                running.discard(event.agent_id)
                match view(event):
                    case TurnEnd(status=status) if status is not TurnStatus.INTERRUPTED:
                        cut.discard(event.agent_id)  # it asked the user again, and went on
    return bool(cut - running)


def name_submission(key: str) -> str:
    return hashlib.sha256(f"submission\0{key}".encode()).hexdigest()[:16]


def _describe_takeover(session: OpenSession, place: Workplace) -> str:
    """Names the calls whose outcome nobody knows: they are not run again by themselves."""
    calls: dict[str, str] = {}
    open_calls: tuple[str, ...] = ()
    for event in session.recorded():
        match view(event):
            case ToolStart() as call:
                calls[call.id] = call.name
            case SessionResumed(interrupted=ids):
                open_calls = ids
    lines = ["The machine that was working on this was lost. You are now on another machine."]
    if place.clone:
        at = (
            f"in the last saved state (commit {place.record[:12]})"
            if place.record
            else "in their original state"
        )
        lines.append(f"The files are {at}. Later changes are lost.")
    if open_calls:
        named = ", ".join(f"{calls.get(id, 'a call')} ({id})" for id in open_calls)
        these, them = ("this call", "it") if len(open_calls) == 1 else ("these calls", "them")
        lines.append(f"It is unknown whether {these} took effect: {named}. Check before you repeat {them}.")
    return "\n".join(lines)
