"""A member of a team that is another program: in the place of a model, it is prompted once a turn.

To its actor it is a provider like any other, so that mail, waits, tasks, deadlines, interrupts and resume are
the same. What it does between prompt and answer are facts that `external_turn` records.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from planck.acp.client import Client, ExternalError, Launch, open_client
from planck.acp.external_turn import ExternalCall, ExternalTurn
from planck.acp.methods import (
    Cancelled,
    McpServer,
    PermissionRequest,
    PermissionResponse,
    PromptResponse,
    Selected,
)
from planck.acp.schema import ContentBlock, ImageContent, SessionUpdate, TextContent
from planck.closing import close_all
from planck.llm.provider import Item, ProviderError, Request
from planck.records import codec
from planck.records.authority import Mode
from planck.records.events import Status, UsageSpent
from planck.records.messages import AssistantMessage, Image, Message, StopReason, UserMessage, as_text
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Clock, Ids
from planck.records.specs import FOREIGN, AgentSpec
from planck.records.usage import Usage
from planck.toolkit.scribe import Scribe
from planck.workspace.paths.paths import Root

RESTARTS = 3
RESTART_WINDOW = 60.0
_GRACE = 3.0
"""Seconds between the word that its turn is cancelled and its end."""
_SILENCE = 600.0
"""Seconds without a word, while it waits for nobody: then its turn has failed."""
_TOLD = 32_000
"""Bytes of what happened that a new process is told, the newest."""
_STOPS = {
    "end_turn": StopReason.END,
    "max_tokens": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
}


class Host(Protocol):
    """What a foreign agent needs of ours."""

    @property
    def mode(self) -> Mode:
        """What it may do at this moment; a process that was started with another is started anew."""

    async def launch(self) -> Launch:
        """Returns how to start it, with which rights; raises where it may not be."""

    def servers(self) -> tuple[McpServer, ...]:
        """Returns the team's tools, for a process that was started just now."""

    async def decide(self, call: ExternalCall) -> Err | None:
        """Decides whether it may do what it asks for; None: it may."""

    def refuse(self) -> Err | None:
        """Returns why it may not be prompted at all."""

    def begin_turn(self, turn: ExternalTurn) -> None:
        """From here on it may call others."""

    async def end_turn(self) -> None:
        """What it still asks of others is taken back."""

    @property
    def waits(self) -> bool:
        """Whether it waits for somebody: then it may be silent."""

    async def aclose(self) -> None: ...


class Reported:
    """What a turn cost, as the agent said; it names no price."""

    def __init__(self) -> None:
        self.last: float | None = None

    def cost_usd(self, usage: Usage) -> float | None:
        return self.last


class Foreign:
    """Starts its process at its first turn, and again after it died, three times in a minute at the most."""

    def __init__(
        self,
        spec: AgentSpec,
        host: Host,
        scribe: Scribe,
        *,
        ids: Ids,
        clock: Clock,
        root: Root,
        note: Path | None,
    ) -> None:
        """`note`: the file that keeps which session of its own is this one; None: nothing is kept."""
        self.tariff: Reported = Reported()
        self._spec = spec
        self._host = host
        self._scribe = scribe
        self._ids = ids
        self._clock = clock
        self._root = root
        self._note = note
        self._client: Client | None = None
        self._mode = Mode.READ_ONLY
        self._session_id = ""
        self._messages: list[Message] | None = None
        """The history that its session knows, up to `_sent`; another one is another history."""
        self._sent = 0
        self._cost = 0.0
        self._failures: deque[float] = deque()
        self._turn: ExternalTurn | None = None
        self._failed: asyncio.Future[PlanckError] | None = None
        self._asking: set[asyncio.Task[Err | None]] = set()
        self._heard = 0.0

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        """Makes one prompt one turn of its own; what passes is published as it comes."""
        if refused := self._host.refuse():
            raise self._name(refused)
        try:
            client = await self._connect(request)
            answer = await self._run(client, request)
        except ExternalError as failure:
            raise self._name(failure.err) from failure
        yield answer

    def end(self) -> None:
        """Kills the process now, without waiting."""
        if self._client is not None:
            self._client.end()

    async def aclose(self, *, politely: bool = True) -> None:
        client, self._client = self._client, None
        if client is not None:
            self._publish("exited")
            await close_all(partial(client.aclose, politely=politely), self._host.aclose)
        else:
            await self._host.aclose()

    async def hear(self, session_id: str, update: SessionUpdate) -> None:
        if self._turn is None or session_id != self._session_id:
            return  # a replay, or of a turn that is over
        self._heard = asyncio.get_running_loop().time()
        try:
            await self._turn.hear(update)
        except PlanckError as failure:
            if self._failed is not None and not self._failed.done():
                self._failed.set_result(failure)

    async def permit(self, request: PermissionRequest) -> PermissionResponse:
        """Never more than once: what would be allowed for longer is our own to remember."""
        turn = self._turn
        if turn is None or request.session_id != self._session_id:
            return PermissionResponse(outcome=Cancelled())
        task = asyncio.get_running_loop().create_task(self._decide(turn, request))
        self._asking.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._asking.discard(task)
            self._heard = asyncio.get_running_loop().time()
        if task.cancelled():
            return PermissionResponse(outcome=Cancelled())
        wanted = ("allow_once",) if task.result() is None else ("reject_once", "reject_always")
        for kind in wanted:
            for option in request.options:
                if option.kind == kind:
                    return PermissionResponse(outcome=Selected(option.option_id))
        return PermissionResponse(outcome=Cancelled())

    async def _decide(self, turn: ExternalTurn, request: PermissionRequest) -> Err | None:
        call = await turn.open_call(request.tool_call)
        return await self._host.decide(call)

    async def _connect(self, request: Request) -> Client:
        """Returns the process as it is to be now: alive, with the rights of this moment, in a session."""
        if self._client is not None and (self._client.gone or self._host.mode is not self._mode):
            await self.aclose()
        if self._client is not None:
            return self._client
        self._refuse_restart()
        self._mode = self._host.mode
        try:
            launch = await self._host.launch()
            self._publish("starting")
            self._client = await open_client(launch, self)
            await self._enter_session(self._client, request)
        except BaseException as problem:
            await self.aclose(politely=False)
            if not isinstance(problem, ExternalError) or problem.err.kind is ErrorKind.PERMISSION_DENIED:
                raise
            self._failures.append(self._clock.monotonic())
            if problem.err.kind is ErrorKind.TARGET_GONE:  # nobody was there yet
                raise ExternalError(ErrorKind.PEER_FAILED, problem.err.message) from problem
            raise
        said = self._client.greeting.agent_info
        self._publish("connected", f"{said.name} {said.version}" if said else "")
        return self._client

    async def _enter_session(self, client: Client, request: Request) -> None:
        """Goes on with the session that it had, where it can; else a new one is told what happened."""
        servers, folder = self._host.servers(), Path(self._root.paths[0])
        if self._messages is None or self._messages is request.history.messages:
            id = self._session_id or self._read_note()
            if id and await client.load(id, folder, servers):
                self._session_id = id
                self._messages, self._sent = request.history.messages, request.history.turn_at
                return
        self._session_id = await client.begin(folder, servers)
        self._messages, self._sent, self._cost = None, 0, 0.0
        if self._note is not None:
            with suppress(OSError):
                self._note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._note.write_bytes(codec.encode({"session_id": self._session_id}))

    async def _run(self, client: Client, request: Request) -> AssistantMessage:
        if self._messages is not None and self._messages is not request.history.messages:  # it was rewound
            self._session_id = await client.begin(Path(self._root.paths[0]), self._host.servers())
            self._messages = None
        blocks = self._compose(request, images=client.greeting.agent_capabilities.prompt_capabilities.image)
        turn = ExternalTurn(
            self._spec.model.label, self._scribe, self._ids, self._root, most=request.answer_bytes
        )
        loop = asyncio.get_running_loop()
        self._turn, self._failed, self._heard = turn, loop.create_future(), loop.time()
        self._host.begin_turn(turn)
        prompt = loop.create_task(client.prompt(self._session_id, blocks))
        answered = False
        try:
            response = await self._wait(prompt, self._failed)
            self._turn = None
            await self._host.end_turn()
            answer = self._make_answer(response, turn, await turn.finish())
            answered = True
            return answer
        finally:
            self._turn = None
            if not answered:
                await self._stop(client, prompt)
                with suppress(PlanckError):
                    await turn.flush()  # what it said before it was stopped was shown
                await self._record_unknown_cost()

    async def _wait(
        self, prompt: asyncio.Task[PromptResponse], failed: asyncio.Future[PlanckError]
    ) -> PromptResponse:
        loop = asyncio.get_running_loop()
        while True:
            patience = _SILENCE - (loop.time() - self._heard)
            either: set[asyncio.Future[Any]] = {prompt, failed}
            await asyncio.wait(either, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if failed.done():
                raise failed.result()
            if prompt.done():
                return prompt.result()
            if self._asking or self._host.waits:
                self._heard = loop.time()
            elif loop.time() - self._heard >= _SILENCE:
                raise ExternalError(
                    ErrorKind.TIMEOUT,
                    f"the agent sent nothing for {_SILENCE:g} s, so its turn was stopped; "
                    "send the task again",
                )

    async def _stop(self, client: Client, prompt: asyncio.Task[PromptResponse]) -> None:
        """Its turn is cancelled; if it does not end by itself then, the process does with all it started."""
        try:
            for task in self._asking:
                task.cancel()
            await self._host.end_turn()
            if not prompt.done() and not client.gone:
                await client.cancel(self._session_id)
                await asyncio.wait({prompt}, timeout=_GRACE)
        finally:
            if client.gone or not prompt.done():
                if client.gone:
                    self._failures.append(self._clock.monotonic())
                client.end()
                await self.aclose(politely=False)
            prompt.cancel()
            await asyncio.wait({prompt})
            with suppress(asyncio.CancelledError, PlanckError):
                prompt.result()

    async def _record_unknown_cost(self) -> None:
        """A turn that was cut has cost something, and nobody knows what."""
        with suppress(PlanckError):
            await self._scribe.record(
                UsageSpent(model=self._spec.model.label, usage=Usage(), cost_usd=None, outcome="cut")
            )

    def _make_answer(
        self, response: PromptResponse, turn: ExternalTurn, words: Sequence[object]
    ) -> AssistantMessage:
        if response.stop_reason == "max_turn_requests":
            raise ExternalError(
                ErrorKind.ITERATION_CAP, "the agent reached its own step limit; ask it to continue"
            )
        if response.stop_reason == "cancelled":
            raise ExternalError(
                ErrorKind.INTERRUPTED, "the agent cancelled its own turn; send it the task again"
            )
        usage, said = Usage(), response.usage
        if said is not None:
            usage = Usage(
                said.input_tokens,
                said.output_tokens,
                said.cached_read_tokens or 0,
                said.cached_write_tokens or 0,
                said.thought_tokens or 0,
            )
        self.tariff.last = None
        if turn.used is not None:
            self.tariff.last, self._cost = max(turn.used - self._cost, 0.0), turn.used
        stop = _STOPS[response.stop_reason]
        return AssistantMessage(tuple(words), FOREIGN, self._spec.model.label, stop, usage)  # type: ignore[arg-type]

    def _compose(self, request: Request, *, images: bool) -> tuple[ContentBlock, ...]:
        """Returns what it has not been told yet: of a new session all that it must know, else what is new."""
        history = request.history
        texts: list[str] = []
        if self._messages is None:
            texts += [request.system] if request.system else []
            if earlier := _tell(history.messages[: history.turn_at]):
                texts.append(earlier)
            self._messages, self._sent = history.messages, history.turn_at
        new = [one for one in history.messages[self._sent :] if isinstance(one, UserMessage)]
        self._sent = len(history.messages)
        blocks: list[ContentBlock] = [TextContent(text) for text in (*texts, *(one.text for one in new))]
        pictures = [part for one in new for part in one.parts if isinstance(part, Image)]
        if images:
            blocks += [ImageContent(part.data, part.media_type) for part in pictures]
        elif pictures:
            count = "1 image was" if len(pictures) == 1 else f"{len(pictures)} images were"
            note = f"[planck: {count} attached, but you cannot see images]"
            blocks.append(TextContent(note))
        return tuple(blocks)

    def _refuse_restart(self) -> None:
        now = self._clock.monotonic()
        while self._failures and now - self._failures[0] > RESTART_WINDOW:
            self._failures.popleft()
        if len(self._failures) > RESTARTS:
            wait = RESTART_WINDOW - (now - self._failures[0])
            raise ExternalError(
                ErrorKind.PEER_FAILED,
                f"the process was restarted {RESTARTS} times in {RESTART_WINDOW:g} s and ended each time; "
                f"try again in {wait:.0f} s, or run `planck teams check`",
            )

    def _name(self, err: Err) -> ProviderError:
        """Returns the same, with who it was."""
        command = self._spec.model.model
        return ProviderError(err.kind, f"{self._spec.name} ({command}): {err.message}", err.details)

    def _publish(self, state: str, detail: str = "") -> None:
        self._scribe.publish(Status(component=FOREIGN, name=self._spec.name, state=state, detail=detail))

    def _read_note(self) -> str:
        try:
            return codec.decode_as(self._note.read_bytes(), _Note).session_id if self._note else ""
        except (OSError, codec.DecodeError):
            return ""


class _Note(msgspec.Struct, frozen=True):
    session_id: str


def _tell(messages: Sequence[Message]) -> str:
    if not messages:
        return ""
    whole = "\n\n".join(as_text(message) for message in messages).encode(errors="replace")
    cut = "[older messages omitted]\n" if len(whole) > _TOLD else ""
    text = whole[-_TOLD:].decode(errors="replace")
    return (
        "[planck: your process was restarted and has no memory of the conversation so far. The conversation "
        "follows, oldest message first. Do not repeat work that is already done.]\n"
        f"{cut}{text}\n[planck: end of the conversation so far]"
    )
