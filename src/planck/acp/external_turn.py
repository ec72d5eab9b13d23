"""One turn of another agent: what it says and does becomes facts of ours, as its updates come in."""

import asyncio
import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from planck.acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    CallDetails,
    Content,
    Diff,
    PlanEntries,
    SessionUpdate,
    TextContent,
    ToolCallStarted,
    ToolCallUpdate,
    UsageUpdate,
)
from planck.records import codec
from planck.records.diffs import diff_texts, name_path
from planck.records.events import (
    AssistantSaid,
    ErrorData,
    FileChanged,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    ToolProgress,
    ToolStart,
)
from planck.records.messages import AssistantMessage, Part, StopReason, Text, Thinking
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Ids
from planck.records.specs import FOREIGN
from planck.records.tools import PLAN
from planck.toolkit.scribe import Scribe
from planck.toolkit.truncate import truncate
from planck.workspace.paths.paths import Root, WorkspaceError

_MAX_CALLS = 2_000
"""Of one turn: one that does more goes in circles."""
_MAX_TITLE = 1_000
_MAX_INPUT = 16_000
_MAX_THINKING = 64_000
_MAX_FILE = 8 << 20
_CHANGES = ("edit", "delete", "move")
_OVER = ("completed", "failed")

Before = tuple[bytes, int] | None
"""Content and mode of a file; None: there was none."""


class ExternalCall:
    """What is known of one call of its own so far."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.kind: str = "other"
        self.title: str = ""
        self.input: Any = None
        self.paths: tuple[str, ...] = ()
        self.text: str = ""
        self.raw_output: Any = None
        self.diffs: dict[str, Diff] = {}
        self.before: dict[str, Before] = {}
        """By path: what the disk had when we first heard that it would be changed."""
        self.began: float | None = None
        """On the loop's clock, once its start is recorded."""
        self.over = False

    @property
    def name(self) -> str:
        return f"{FOREIGN}_{self.kind}"

    @property
    def told(self) -> bool:
        """Whether it is known what it is: some tell first that there is a call, or where, and then what."""
        return self.input is not None and not (isinstance(self.input, dict) and self.input.keys() <= {"cwd"})

    @property
    def args(self) -> dict[str, Any]:
        args: dict[str, Any] = {"title": self.title}
        command = self.input.get("command") if isinstance(self.input, dict) else None
        if isinstance(command, str):
            args["command"] = truncate(command, _MAX_INPUT)
        if self.paths:
            args["path"] = self.paths[0]
        if self.input not in (None, {}, ""):
            whole = codec.encode_str(self.input)
            args["input"] = self.input if len(whole) <= _MAX_INPUT else truncate(whole, _MAX_INPUT)
        return args

    @property
    def preview(self) -> str:
        """Returns what it would change, as a unified diff."""
        return "\n".join(_diff_lines(self.diffs.values()))

    @property
    def output(self) -> str:
        if self.text or self.raw_output is None:
            return truncate(self.text or self.preview)
        raw = self.raw_output
        return truncate(raw if isinstance(raw, str) else codec.encode_str(raw))

    def learn(self, details: CallDetails | ToolCallStarted) -> str:
        """Takes in what changed; returns what it printed since."""
        self.kind = details.kind or self.kind
        self.title = (details.title or self.title or details.name or "")[:_MAX_TITLE]
        self.input = details.raw_input if details.raw_input not in (None, {}) else self.input
        self.raw_output = details.raw_output if details.raw_output is not None else self.raw_output
        if details.locations:
            self.paths = tuple(location.path for location in details.locations)
        before = self.text
        for one in details.content or ():
            if isinstance(one, Diff):
                self.diffs[one.path] = one
        texts = [
            one.content.text
            for one in details.content or ()
            if isinstance(one, Content) and isinstance(one.content, TextContent)
        ]
        self.text = "\n".join(texts) or self.text
        return self.text.removeprefix(before) if self.text.startswith(before) else self.text


class ExternalTurn:
    """Facts are recorded one after the other, whoever brings them: its updates, or a question of its."""

    def __init__(self, model: str, scribe: Scribe, ids: Ids, root: Root, *, most: int) -> None:
        """`most`: bytes that it may say."""
        self.used: float | None = None
        """What its session has cost so far, in USD, if it says so."""
        self._model = model
        self._scribe = scribe
        self._ids = ids
        self._root = root
        self._left = most
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: dict[str, ExternalCall] = {}
        self._lock = asyncio.Lock()

    async def hear(self, update: SessionUpdate) -> None:
        """Raises where it says or does too much, or where the log can't take it."""
        async with self._lock:
            match update:
                case AgentMessageChunk(content=TextContent(text=text)):
                    self._say(text)
                case AgentThoughtChunk(content=TextContent(text=text)):
                    self._thinking.append(text)
                    self._scribe.publish(ThinkingDelta(text=text))
                case ToolCallStarted() | ToolCallUpdate():
                    await self._hear_call(update)
                case PlanEntries():
                    await self._show_plan(update)
                case UsageUpdate(cost=cost) if cost is not None:
                    self.used = cost.amount if cost.currency == "USD" else None
                case _:
                    pass

    async def open_call(self, details: CallDetails) -> ExternalCall:
        """Returns the call that it asks about, whose start is recorded by now."""
        async with self._lock:
            call = self._find(details.tool_call_id)
            call.learn(details)
            await self._look(call)
            await self._start(call)
            return call

    async def flush(self) -> None:
        """Records what it said so far, before something that follows from it; not between calls that run."""
        async with self._lock:
            if not self._scribe.history.open_calls and (words := self._take_words()):
                said = AssistantMessage(words, FOREIGN, self._model, StopReason.TOOL_CALLS)
                await self._scribe.record(AssistantSaid(message=said))

    async def finish(self) -> tuple[Part, ...]:
        """Ends what it left open; returns its last words."""
        async with self._lock:
            for call in [one for one in self._calls.values() if not one.over]:
                await self._start(call)
                await self._end(call, failed="the agent ended its turn without a result for this call")
            return self._take_words()

    def _say(self, text: str) -> None:
        self._left -= len(text.encode(errors="replace"))
        if self._left < 0:
            raise PlanckError(
                ErrorKind.LIMIT_EXCEEDED,
                "the agent wrote more than limits.answer_bytes allows in one turn; raise that limit",
            )
        self._text.append(text)
        self._scribe.publish(TextDelta(text=text))

    def _take_words(self) -> tuple[Part, ...]:
        thought, text = "".join(self._thinking)[:_MAX_THINKING], "".join(self._text)
        self._thinking, self._text = [], []
        thinking: tuple[Part, ...] = (Thinking(thought),) if thought else ()
        return (*thinking, Text(text)) if text else thinking

    def _find(self, id: str) -> ExternalCall:
        if id not in self._calls:
            if len(self._calls) >= _MAX_CALLS:
                raise PlanckError(
                    ErrorKind.LIMIT_EXCEEDED,
                    f"the agent made more than {_MAX_CALLS} tool calls in one turn; give it a smaller task",
                )
            self._calls[id] = ExternalCall(self._ids.new(self._scribe.agent_id or ""))
        return self._calls[id]

    async def _hear_call(self, update: ToolCallStarted | ToolCallUpdate) -> None:
        call = self._find(update.tool_call_id)
        if call.over:
            return
        printed = call.learn(update)
        if update.status not in _OVER:
            await self._look(call)
            if update.status == "in_progress" or call.told or call.diffs:
                await self._start(call)
            if printed and call.began is not None:
                self._scribe.publish(ToolProgress(id=call.id, text=truncate(printed)))
            return
        await self._start(call)
        if update.status == "failed":
            await self._end(call, failed=call.output or "the agent reported that the call failed")
            return
        for change in await asyncio.to_thread(self._find_changes, call):
            await self._scribe.record(change)
        await self._end(call)

    async def _start(self, call: ExternalCall) -> None:
        if call.began is not None:
            return
        call.began = asyncio.get_running_loop().time()
        start = ToolStart(id=call.id, name=call.name, args=call.args, foreign=True)
        # Words between two calls that overlap stand after both.
        words = () if self._scribe.history.open_calls else self._take_words()
        said = AssistantMessage(words, FOREIGN, self._model, StopReason.TOOL_CALLS)
        await self._scribe.record(*([AssistantSaid(message=said)] if words else []), start)

    async def _end(self, call: ExternalCall, *, failed: str = "") -> None:
        call.over = True
        took = asyncio.get_running_loop().time() - (call.began or 0.0)
        first = failed.strip().splitlines()[0] if failed.strip() else ""
        await self._scribe.record(
            ToolEnd(
                id=call.id,
                name=call.name,
                ok=not failed,
                output=truncate(failed) if failed else call.output,
                error=ErrorData(ErrorKind.COMMAND_FAILED, truncate(first, _MAX_TITLE), {})
                if failed
                else None,
                duration_ms=round(took * 1000),
                foreign=True,
            )
        )

    async def _show_plan(self, plan: PlanEntries) -> None:
        call = ExternalCall(self._ids.new(self._scribe.agent_id or ""))
        steps = [{"text": truncate(one.content, 500), "status": one.status} for one in plan.entries[:100]]
        await self._scribe.record(
            ToolStart(id=call.id, name=PLAN, args={"steps": steps}, foreign=True),
            ToolEnd(id=call.id, name=PLAN, ok=True, output="", duration_ms=0, foreign=True),
        )

    async def _look(self, call: ExternalCall) -> None:
        """Keeps what the disk has of files that the call is about to change."""
        named = {*call.diffs, *(call.paths if call.kind in _CHANGES else ())}
        for path in [one for one in named if one not in call.before][:100]:
            try:
                call.before[path] = await asyncio.to_thread(self._root.peek, path, _MAX_FILE)
            except (WorkspaceError, ValueError):
                continue  # outside, protected, or no file: nothing of ours

    def _find_changes(self, call: ExternalCall) -> list[FileChanged]:
        found = []
        for path, diff in call.diffs.items():
            try:
                after, relative = self._root.peek(path, _MAX_FILE), self._root.relative(path)
            except (WorkspaceError, ValueError):
                continue
            known = path in call.before and _is_what_was(call.before[path], diff, after)
            before = call.before[path] if known else None
            if before == after or (after is None and not known):
                continue  # nothing came of it
            found.append(
                FileChanged(
                    call_id=call.id,
                    path=relative,
                    before=before[0] if before else None,
                    mode=before[1] if before else None,
                    after_sha256=hashlib.sha256(after[0]).hexdigest() if after else "",
                    undoable=msgspec.UNSET if known else False,
                )
            )
        return found


def _is_what_was(before: Before, diff: Diff, after: Before) -> bool:
    """Returns whether the disk had what the agent says; some name only the lines that they changed."""
    if before is None or diff.old_text is None:
        return before is None and not diff.old_text
    old, new = diff.old_text.encode(errors="replace"), diff.new_text.encode(errors="replace")
    if before[0] == old:
        return True
    return old in before[0] and after is not None and before[0].replace(old, new, 1) == after[0]


def _diff_lines(diffs: Any) -> Iterator[str]:
    for diff in diffs:
        old, new = ((text or "").count("\n") for text in (diff.old_text, diff.new_text))
        if old + new > 20_000:
            yield f"{name_path(diff.path)}: {old} → {new} lines, too long to show"
            continue
        yield from diff_texts(diff.old_text, diff.new_text, diff.path)
