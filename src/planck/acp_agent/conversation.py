"""One session of a client: what happens in it is told in order, prompts go in, and it ends with its work."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

from planck.acp.methods import PromptResponse, SessionModes, TokenUsage
from planck.acp.rpc import Peer
from planck.acp.schema import (
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    NoticeUpdate,
    Record,
    SelectConfig,
    SelectOption,
    SessionInfoUpdate,
    SessionNotification,
)
from planck.acp_agent import settings
from planck.acp_agent.beginning import Beginning
from planck.acp_agent.blocks import PromptError, read_prompt
from planck.acp_agent.narrator import Narrator, Offers
from planck.acp_agent.questions import Asker
from planck.headless import Behind, FeedFrame, LiveText, OpenSession, Planck, RunResult
from planck.records import codec
from planck.records.events import Event, ModeChanged, ModelChanged, TurnStart, TurnStatus
from planck.records.messages import Image, Text, UserMessage
from planck.records.outcome import Err, ErrorKind
from planck.records.visible import fit_line

_LIVE = "live"
_TITLE = 80
_SETTLING = 5.0
"""Seconds that work may take to end after nobody waits for it any more."""
_STOP_REASONS = {
    TurnStatus.COMPLETED: "end_turn",
    TurnStatus.CAPPED: "max_turn_requests",
    TurnStatus.INTERRUPTED: "cancelled",
}


class Conversation:
    """Owns its `Planck`, its open session and the task that follows it; `aclose` ends all three."""

    def __init__(
        self,
        planck: Planck,
        session: OpenSession,
        peer: Peer,
        asker: Asker,
        offers: Offers,
        start: Beginning | None,
    ) -> None:
        """`start`: how it was begun; None: it was loaded."""
        self.planck = planck
        self.session: OpenSession = session
        self.start = start
        self.begun: bool = start is None
        """Whether somebody has said something in it."""
        self._peer = peer
        self._asker = asker
        self._offers = offers
        self._models: tuple[SelectOption, ...] = ()
        self._prompts = 0
        self._answered = asyncio.Event()
        self._cancelled = False
        self._seq = 0
        self._moved = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._compacting: asyncio.Task[object] | None = None
        self._narrator = self._make_narrator()

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def team(self) -> str:
        return self._narrator.team

    async def begin(self, *, replay: bool) -> None:
        """Tells what happened so far, where that is wanted, and from then on what happens; returns then."""
        self._models = await settings.list_models(self.planck)
        await self._stop_following()
        self._narrator = self._make_narrator()
        self._seq = 0
        self._following = asyncio.ensure_future(self._follow(replay))
        await self._reach(self.session.head, live=True)

    async def introduce(self) -> None:
        """Sent after the answer that names the session: a client knows nothing of it before."""
        commands = settings.list_commands(self.planck)
        await self._tell(self.id, AvailableCommandsUpdate(available_commands=commands))
        for notice in self.planck.notices if self._offers.notices else ():
            await self._tell(self.id, NoticeUpdate(severity="warning", title=notice))
        for where, update in self._narrator.announce_workers():
            await self._tell(where, update)

    @property
    def modes(self) -> SessionModes:
        return settings.list_modes(self.session)

    @property
    def options(self) -> tuple[SelectConfig, ...]:
        return settings.list_options(self.planck, self.session, self._models, self.team, begun=self.begun)

    async def prompt(self, blocks: Sequence[Record]) -> PromptResponse | Err:
        """Returns when nothing can wake the orchestrator any more; while it works, what is said steers it."""
        message = read_prompt(blocks)
        if (done := await self._obey(message.text)) is not None:
            return done
        text = settings.expand_command(self.planck, message.text)
        images = [part for part in message.parts if isinstance(part, Image)]
        busy = self._prompts > 0 and self._compacting is None
        after, began = self.session.head, self.begun
        self.begun = True
        async with self._counted():
            await self.session.prompt(UserMessage((Text(text), *images)), steer=busy)
            if not began:  # the team can't be another any more
                if message.text:
                    await self._tell(self.id, SessionInfoUpdate(title=fit_line(message.text, _TITLE)))
                await self._tell_options()
            await self._settle()
            return _conclude(self.session.result(after), self._cancelled)

    @asynccontextmanager
    async def _counted(self) -> AsyncGenerator[None, None]:
        """Around a prompt until its answer is made: whoever closes the session waits for it."""
        self._prompts += 1
        try:
            yield
        finally:
            self._prompts -= 1
            self._cancelled = self._cancelled and self._prompts > 0
            self._answered.set()

    async def _obey(self, text: str) -> PromptResponse | None:
        """Does what the commands that are ours say; None where the text is none of them."""
        word, _, rest = text.partition(" ")
        if word == f"/{settings.COMPACT}":
            return await self._compact(rest.strip())
        if word != f"/{settings.PLAN}":
            return None
        if rest.strip() != "accept":
            raise PromptError(
                ErrorKind.INVALID_ARGS,
                'Use "/plan accept" to carry out a plan. To make a plan, change the mode to "plan".',
            )
        after = self.session.head
        async with self._counted():
            await self.session.accept_plan()
            await self._settle()
            ended = _conclude(self.session.result(after), self._cancelled)
        if isinstance(ended, Err):
            raise PromptError(ended.kind, ended.message, ended.details)
        return ended

    async def _compact(self, focus: str) -> PromptResponse:
        if self._compacting is not None:
            raise PromptError(ErrorKind.INVALID_ARGS, "The history is already being compacted. Please wait.")
        async with self._counted():
            work: asyncio.Task[object] = asyncio.ensure_future(self.session.compact(focus=focus))
            self._compacting = work
            try:
                await asyncio.wait({work})
            finally:
                self._compacting = None
                work.cancel()
                await asyncio.wait({work})
            await self._reach(self.session.head)
            status = "cancelled" if work.cancelled() else "failed"
            for where, update in self._narrator.drop_compaction(self.session.orchestrator.id, status):
                await self._tell(where, update)
            if not work.cancelled():
                work.result()
            return PromptResponse(stop_reason="cancelled" if work.cancelled() else "end_turn")

    async def _settle(self) -> None:
        try:
            await self.session.settled()
            await self._reach(self.session.head)
        except asyncio.CancelledError:
            self.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(_SETTLING):
                    await self.session.settled()
            raise

    def cancel(self, agent: str = "") -> None:
        """Ends every turn, those too that queued mail would begin before the prompt is answered."""
        if agent:
            self.session.interrupt(agent)
            return
        self._cancelled = self._prompts > 0
        self._stop_compacting()
        self.session.interrupt()

    def _stop_compacting(self) -> None:
        if self._compacting is not None:
            self._compacting.cancel()

    async def change_mode(self, mode: str) -> None:
        await self.session.change_mode(mode)
        await self._reach(self.session.head)

    async def change_model(self, name: str) -> None:
        effort = str(self.session.orchestrator.model.params.get("effort") or "")
        await self.session.change_model(name, effort=effort)
        await self._reach(self.session.head)

    async def change_effort(self, effort: str) -> None:
        wanted = "" if effort == settings.DEFAULT else effort
        await self.session.change_model(self.session.orchestrator.model.label, effort=wanted)
        await self._reach(self.session.head)

    async def replace(self, session: OpenSession) -> None:
        """Goes on with another session of the same id, which has another team."""
        self.session = session
        await self.begin(replay=False)
        await self._tell_options()

    async def end_session(self) -> None:
        """Ends every turn as interrupted, answers the prompts that wait for them, and closes the log."""
        try:
            if not self.session.closed:
                self._cancelled = self._prompts > 0
                self._stop_compacting()
                await self.session.stop()
                await self._wait_for_prompts()
        finally:
            await self.session.aclose()
            await self._stop_following()

    async def _wait_for_prompts(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLING):
                while self._prompts:
                    self._answered.clear()
                    await self._answered.wait()

    async def aclose(self) -> None:
        try:
            await self.end_session()
        finally:
            await self.planck.__aexit__(None, None, None)

    def _make_narrator(self) -> Narrator:
        narrator = Narrator(self.id, str(self.planck.workspace), self._offers)
        self._asker.follow(narrator, self.planck.project)
        return narrator

    async def _stop_following(self) -> None:
        following, self._following = self._following, None
        if following is not None:
            following.cancel()
            await asyncio.wait({following})
            if not following.cancelled():
                following.result()

    async def _follow(self, replay: bool) -> None:
        told = replay
        try:
            while True:
                client = self.session.feed(self._seq, joined=True)
                try:
                    async for frame in client:
                        await self._take(frame, told)
                        told = told or frame.type == _LIVE
                        self._seq = frame.seq or self._seq
                        self._moved.set()
                    return
                except Behind:
                    self._narrator.lose_deltas()
                finally:
                    await client.aclose()
        finally:
            self._moved.set()

    async def _take(self, frame: FeedFrame, told: bool) -> None:
        if frame.type == _LIVE:
            self._narrator.replays = False
            for where, update in self._narrator.tell_live(codec.decode_as(frame.data, dict[str, LiveText])):
                await self._tell(where, update)
            return
        if frame.type == TurnStart.type and self._cancelled and not self._narrator.replays:
            self.session.interrupt()
        for where, update in self._narrator.tell(codec.decode_as(frame.data, Event)):
            if told:
                await self._tell(where, update)
        if self._narrator.replays or not told:
            return
        if frame.type == ModeChanged.type:
            await self._tell(self.id, CurrentModeUpdate(current_mode_id=self.session.mode))
        if frame.type in (ModeChanged.type, ModelChanged.type):
            await self._tell_options()

    async def _tell_options(self) -> None:
        await self._tell(self.id, ConfigOptionUpdate(config_options=self.options))

    async def _tell(self, where: str, update: Record) -> None:
        await self._peer.tell("session/update", SessionNotification(session_id=where, update=update))

    async def _reach(self, seq: int, *, live: bool = False) -> None:
        """Waits until everything up to an event was told; `live`: and what happens now is followed."""
        while self._following and not self._following.done():
            if self._seq >= seq and not (live and self._narrator.replays):
                return
            self._moved.clear()
            await self._moved.wait()


def _conclude(result: RunResult, cancelled: bool) -> PromptResponse | Err:
    reason = "cancelled" if cancelled else _STOP_REASONS.get(result.status)
    if reason is None:
        return _explain(result)
    usage = result.usage
    total = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens
    return PromptResponse(
        meta={"planck": {"evidence": result.evidence, "checks": result.checks}},
        stop_reason=reason,  # type: ignore[arg-type]  # of the table above
        usage=TokenUsage(
            total_tokens=total,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            thought_tokens=usage.reasoning_tokens or None,
            cached_read_tokens=usage.cache_read_tokens or None,
            cached_write_tokens=usage.cache_write_tokens or None,
        ),
    )


def _explain(result: RunResult) -> Err:
    """Returns why a turn failed: the last error that was recorded."""
    if result.status is TurnStatus.TIMED_OUT:
        return Err(ErrorKind.TIMEOUT, "The turn timed out. Send another prompt to continue.")
    if not result.errors:
        return Err(
            ErrorKind.INTERNAL_ERROR,
            "The turn failed, and no reason was recorded. Send the prompt again.",
        )
    last = result.errors[-1]
    return Err(ErrorKind(last["kind"]), last["message"], dict(last["details"]))
