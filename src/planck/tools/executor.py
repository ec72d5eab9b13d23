"""The only door to a tool: parse, find, validate, permit, run in time, bound. One result per call, always."""

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from planck.records.authority import Confinement
from planck.records.events import ToolProgress
from planck.records.messages import ToolCall
from planck.records.nearest import did_you_mean_one_of
from planck.records.outcome import Err, ErrorKind, Ok, PlanckError
from planck.records.ports import Clock, KnownKeys
from planck.toolkit.permit import Permit, Preview
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Execute, Tool, ToolContext, is_async, unheard, unrecorded
from planck.toolkit.toolset import ToolSet
from planck.toolkit.truncate import DEFAULT_MAX, truncate
from planck.tools import arguments
from planck.tools.results import Finished, broken, carry_spilled, finish

if TYPE_CHECKING:
    from planck.tools.builtin.files import Spills

log: logging.Logger = logging.getLogger(__name__)

_GRACE = 3.0
"""Seconds a cancelled tool may take to clean up (kill its command) before it is left behind."""
_MAX_LEFT_BEHIND = 64
_KEPT_PROGRESS = 64
_STOPPED = (
    "this call was stopped before it ended; its output so far is below. "
    "Check what it did before you repeat it."
)
_REHEARSAL = 5.0
"""Seconds that a dry run may take while somebody is about to be asked."""


class Site(msgspec.Struct, frozen=True):
    """Where an executor's calls happen, and whether they do."""

    session_id: str
    workspace: Path
    dry_run: bool = False
    cwd: str = "."
    keys: KnownKeys | None = None
    shared: "Spills | None" = None
    """The long outputs, where another machine may go on with the session, which has none of these files."""
    deps: Any = None
    """What the program gives its own tools."""


class ReadCall(msgspec.Struct, frozen=True):
    """A call whose arguments were read, once: for `tool_start`, and for the tool."""

    call: ToolCall
    args: dict[str, Any] | Err
    limit: int
    """The bytes of argument text that were taken at the most; a tool that arrives later may take others."""
    refused: Err | None = None
    """Why it is not run at all, whatever it asks for."""

    @property
    def shown(self) -> Any:
        """What `tool_start` says: the arguments, or the beginning of the text where they were not read."""
        return truncate(self.call.arguments) if isinstance(self.args, Err) else self.args


def read_calls(tools: ToolSet, calls: Iterable[ToolCall]) -> list[ReadCall]:
    """Reads each call's arguments under the limit of its tool; why one can't be read is its result later."""
    return [_read(tools.get(call.name), call) for call in calls]


def _read(tool: Tool | None, call: ToolCall) -> ReadCall:
    limit = tool.max_arguments if tool else arguments.MAX_BYTES
    try:
        return ReadCall(call, arguments.parse(call.arguments, limit), limit)
    except PlanckError as unreadable:
        return ReadCall(call, unreadable.err, limit)


def refuse_calls(calls: Iterable[ToolCall], why: Err) -> list[ReadCall]:
    """Each call with the same result to come; their arguments are not read."""
    return [ReadCall(call, why, 0, refused=why) for call in calls]


class Executor:
    """Runs the calls of one agent, up to `concurrency` of a step at once."""

    def __init__(
        self,
        tools: ToolSet,
        site: Site,
        *,
        permit: Permit,
        scribe: Scribe,
        clock: Clock,
        concurrency: int = 8,
    ) -> None:
        self._tools = tools
        self._site = site
        self._permit = permit
        self._scribe = scribe
        self._clock = clock
        self._concurrency = concurrency
        self._left_behind = 0
        self._unread: list[Finished] = []
        self._stopped: list[Finished] = []
        """Calls that were cancelled while they ran, and had put something out."""

    async def run(self, calls: Sequence[ReadCall]) -> AsyncGenerator[Finished, None]:
        """Concurrently, yielded in call order, exactly one each; closing it cancels what still runs."""
        self._stopped.clear()
        if len(calls) == 1:  # the usual step needs no task of its own, and waits for no slot
            self._unread = [await self._call(calls[0], None)]
            yield self._unread[0]
            self._unread = []
            return
        slots = asyncio.Semaphore(self._concurrency)
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._call(call, slots)) for call in calls]
        try:
            for task in tasks:
                yield await task
            tasks = []
        finally:
            running = [task for task in tasks if not task.done()]
            for task in running:
                task.cancel()
            if running:
                await asyncio.wait(running, timeout=2 * _GRACE)
            # What they did is done: that the step was cut at another call must not make it unknown.
            ended = [task for task in tasks if task.done() and not task.cancelled() and not task.exception()]
            self._unread = [task.result() for task in ended]

    def take_unread(self) -> list[Finished]:
        """Returns, once, what had ended when its step was cut, yielded or not, and what that stopped."""
        unread = [*self._unread, *self._stopped]
        self._unread, self._stopped = [], []
        return unread

    async def rehearse(self, tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Preview:
        """Runs the tool's own dry run for whoever decides about the call; why it can't is said in its place.

        It is given nothing to record with, and little time; a tool without one says nothing.
        """
        if not tool.has_preview:
            return Preview()
        dry = msgspec.structs.replace(ctx, dry_run=True, progress=unheard, record=unrecorded)
        task = asyncio.get_running_loop().create_task(self._run_guarded(tool, args, dry))
        try:
            done, _ = await asyncio.wait({task}, timeout=_REHEARSAL)
        except asyncio.CancelledError:
            await self._stop(task, tool)
            raise
        if not done:
            await self._stop(task, tool)
            return Preview(f"[the dry run did not finish within {_REHEARSAL:g} s]", failed=True)
        outcome = task.result()
        if isinstance(outcome, Err):
            told = outcome if outcome.kind is not ErrorKind.INTERNAL_ERROR else None
            return Preview(f"[this call would fail: {outcome}]", failed=True, error=told)
        return Preview(str(outcome.value.get("output", ""))) if isinstance(outcome, Ok) else Preview()

    async def _call(self, read: ReadCall, slots: asyncio.Semaphore | None) -> Finished:
        call, begun = read.call, self._clock.monotonic()
        progress = _Progress(call.id, self._scribe)
        try:
            outcome = await self._outcome(read, slots, progress)
        except asyncio.CancelledError:
            if progress.stopped and (left := progress.partial):
                stopped = Err(ErrorKind.INTERRUPTED, _STOPPED, left)
                self._stopped.append(self._finish(call, stopped, begun, progress))
            raise
        return self._finish(call, outcome, begun, progress)

    def _finish(self, call: ToolCall, outcome: Any, begun: float, progress: "_Progress") -> Finished:
        took = int((self._clock.monotonic() - begun - progress.waited) * 1000)
        try:
            return self._share(finish(call, outcome, took))
        except Exception as problem:
            log.warning("the result of %s cannot be used", call.name, exc_info=True)
            return finish(call, broken(call.name, problem), took)

    def _share(self, finished: Finished) -> Finished:
        """Has the log keep the whole of a long output, where that must not lie beside it alone.

        Without an await: what is done is recorded, whoever is cancelled meanwhile.
        """
        shared, id = self._site.shared, finished.call.id
        if shared is None or not finished.spilled:
            return finished
        whole = shared.read_shared(id)
        if whole is None:
            return finished
        return msgspec.structs.replace(finished, whole=self._scribe.keep_output(whole))

    async def _outcome(self, read: ReadCall, slots: asyncio.Semaphore | None, progress: "_Progress") -> Any:
        if read.refused:
            return read.refused
        call = read.call
        site, scribe = self._site, self._scribe
        try:
            if self._tools.arrivals is not None and self._tools.get(call.name) is None:
                await self._tools.arrivals.wait_for(call.name)
            tool = self._tools.get(call.name)
            if tool is not None and tool.max_arguments != read.limit:  # it arrived after the reading
                read = _read(tool, call)
            args = read.args
            if isinstance(args, Err):
                return args
            if tool is None:
                names = self._tools.names()
                hint = did_you_mean_one_of(call.name, names) or f"; you have: {', '.join(names)}"
                text = f"there is no tool named {call.name[:100]!r}{hint}"
                return Err(ErrorKind.UNKNOWN_TOOL, text, {"tools": names})
            arguments.validate(tool, args)
            who = (site.session_id, scribe.agent_id or "", call.id, site.workspace, site.dry_run)
            ctx = ToolContext(
                *who,
                progress=progress.tell,
                record=scribe.record,
                cwd=site.cwd,
                keys=site.keys,
                keep_partial=progress.keep,
                deps=site.deps,
            )
            rights = None
            if not site.dry_run:
                begun = self._clock.monotonic()
                try:
                    rights = await self._permit.decide(tool, args, ctx)
                finally:  # what the user and the hooks take is not the tool's time
                    progress.waited += self._clock.monotonic() - begun
            while rights is not None and not isinstance(rights, Err | Confinement):
                trial = rights
                outcome = await self._in_slot(tool, args, (ctx, trial.confinement), progress, slots)
                begun = self._clock.monotonic()
                try:
                    rights = await trial.settle(outcome)
                finally:
                    progress.waited += self._clock.monotonic() - begun
                if rights is None:
                    return outcome
                if isinstance(rights, Err):
                    return carry_spilled(outcome, rights)
                progress.forget()
            if isinstance(rights, Err):
                return rights
            return await self._in_slot(tool, args, (ctx, rights), progress, slots)
        except PlanckError as failure:
            return failure.err
        except Exception as problem:
            log.exception("%s could not be run", call.name)
            return broken(call.name, problem)
        finally:
            progress.over = True

    async def _in_slot(
        self,
        tool: Tool,
        args: dict[str, Any],
        given: tuple[ToolContext, Confinement | None],
        progress: "_Progress",
        slots: asyncio.Semaphore | None,
    ) -> Any:
        """`given`: the call's context, and the rights that it now has."""
        if slots is None:
            return await self._in_time(tool, args, given, progress)
        async with slots:
            return await self._in_time(tool, args, given, progress)

    async def _in_time(
        self,
        tool: Tool,
        args: dict[str, Any],
        given: tuple[ToolContext, Confinement | None],
        progress: "_Progress",
    ) -> Any:
        """Holds even if the tool swallows its cancellation or blocks in its thread: it is left behind."""
        if self._left_behind >= _MAX_LEFT_BEHIND:
            return Err(
                ErrorKind.LIMIT_EXCEEDED,
                f"{self._left_behind} earlier calls are still running although they were cancelled; "
                "end your turn and report that the session must be restarted",
            )
        loop = asyncio.get_running_loop()
        ctx = msgspec.structs.replace(given[0], confinement=given[1], deadline=loop.time() + tool.timeout)
        task = loop.create_task(self._run_guarded(tool, args, ctx))
        try:
            await asyncio.sleep(0)  # a tool that waits for nothing is done by then, without a timer
            if await self._clock.within(task, tool.timeout, ctx.call_id):
                return task.result()
        except asyncio.CancelledError:
            await self._stop(task, tool)
            progress.stopped = True
            raise
        await self._stop(task, tool)
        fate = "was stopped" if is_async(tool.execute) else "may still be running"  # no thread can be stopped
        return Err(
            ErrorKind.TIMEOUT,
            f"{tool.name} took longer than {tool.timeout:g} s and {fate}; ask for less at a time",
            {"timeout_ms": int(tool.timeout * 1000), "output": progress.text},
        )

    async def _stop(self, task: asyncio.Task[Any], tool: Tool) -> None:
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=_GRACE)
        if not done:
            self._leave_behind(tool.name)
            task.add_done_callback(lambda _: self._late(tool.name))

    async def _run_guarded(self, tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Any:
        """Nothing a tool raises reaches the loop: a `SystemExit` in a task would end the process."""
        function = tool.dry_run if ctx.dry_run else tool.execute
        task = asyncio.current_task()
        try:
            if is_async(function):
                return await cast(Awaitable[Any], function(args, ctx))
            result = await self._in_thread(tool, function, args, ctx)
            return await result if inspect.isawaitable(result) else result
        except BaseException as problem:
            if isinstance(problem, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            return _describe_failure(tool, problem)

    async def _in_thread(self, tool: Tool, function: Execute, args: dict[str, Any], ctx: ToolContext) -> Any:
        """A thread of its own, which can't keep the process alive: a pool would run dry of blocked ones."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any) -> None:
            if answer.cancelled():
                self._late(tool.name)
            else:
                answer.set_result(result)

        def work() -> None:
            result: Any
            try:
                result = function(args, ctx)
            except BaseException as problem:
                result = _describe_failure(tool, problem)
            try:
                loop.call_soon_threadsafe(settle, result)
            except RuntimeError:
                pass  # the loop is closed: nobody waits any more

        here = contextvars.copy_context()
        threading.Thread(target=here.run, args=(work,), name=f"tool-{ctx.call_id}", daemon=True).start()
        try:
            return await answer
        except asyncio.CancelledError:
            self._leave_behind(tool.name)
            raise

    def _leave_behind(self, name: str) -> None:
        log.warning("%s is still running after it was cancelled; its result will be dropped", name)
        self._left_behind += 1

    def _late(self, name: str) -> None:
        self._left_behind -= 1
        log.warning("dropped a late result from %s", name)


def _describe_failure(tool: Tool, problem: BaseException) -> Err:
    if isinstance(problem, PlanckError):
        return problem.err
    log.warning("%s raised", tool.name, exc_info=True)
    return broken(tool.name, problem)


class _Progress:
    """Publishes what a call says of itself at once, from any thread, until it is over, and keeps the end."""

    def __init__(self, call_id: str, scribe: Scribe) -> None:
        self.over = False
        self.waited = 0.0
        """Seconds in which it did not run, because somebody had to say whether it may."""
        self._call_id = call_id
        self._scribe = scribe
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._kept: list[str] = []
        self._left: dict[str, Any] = {}
        self.stopped = False
        """Whether it was cancelled while it ran, rather than while somebody was asked."""

    @property
    def partial(self) -> dict[str, Any]:
        """What there is of the result of a call that was stopped; empty where it has put out nothing."""
        left = self._left or {"output": self.text}
        return left if str(left.get("output", "")).strip() else {}

    def keep(self, details: dict[str, Any]) -> None:
        self._left = details

    @property
    def text(self) -> str:
        return "".join(self._kept)[-DEFAULT_MAX:]

    def forget(self) -> None:
        """It begins anew: what was said until now belongs to another run."""
        self._kept.clear()

    def tell(self, text: str) -> None:
        if threading.get_ident() == self._thread:
            self._publish(text)
            return
        try:
            self._loop.call_soon_threadsafe(self._publish, text)
        except RuntimeError:
            pass  # the loop is closed: nobody listens any more

    def _publish(self, text: str) -> None:
        if self.over:
            return
        self._kept.append(text[-DEFAULT_MAX:])
        del self._kept[:-_KEPT_PROGRESS]
        self._scribe.publish(ToolProgress(id=self._call_id, text=text))
