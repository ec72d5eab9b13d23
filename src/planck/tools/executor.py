"""The only door to a tool: parse, find, validate, permit, run in time, bound. One result per call, always."""

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast

from planck.records.authority import Confinement
from planck.records.events import View
from planck.records.messages import ToolCall
from planck.records.nearest import did_you_mean_one_of
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Clock
from planck.toolkit.tool import Execute, Tool, ToolContext, is_async, unrecorded
from planck.toolkit.toolset import ToolSet
from planck.toolkit.truncate import DEFAULT_MAX, truncate
from planck.tools import arguments
from planck.tools.results import Finished, broken, finished

__all__ = ["Executor", "Finished", "Permit"]

log = logging.getLogger(__name__)

Permit = Callable[[Tool, dict[str, Any], ToolContext], Awaitable[Err | Confinement | None]]
"""An error, or the rights of the call (None: as the tool has them). Asked after validation, before running;
never for a dry run."""

_GRACE = 3.0
"""Seconds a cancelled tool may take to clean up (kill its command) before it is left behind."""
_MAX_LEFT_BEHIND = 64
_KEPT_PROGRESS = 64


def _silent(call_id: str, text: str) -> None:
    pass


class Executor:
    def __init__(
        self,
        tools: ToolSet,
        *,
        clock: Clock,
        permit: Permit,
        session_id: str,
        agent_id: str,
        workspace: Path,
        dry_run: bool = False,
        progress: Callable[[str, str], None] = _silent,
        record: Callable[[View], Awaitable[None]] = unrecorded,
        concurrency: int = 8,
    ) -> None:
        self._tools = tools
        self._clock = clock
        self._permit = permit
        self._session_id = session_id
        self._agent_id = agent_id
        self._workspace = workspace
        self._dry_run = dry_run
        self._progress = progress
        self._record = record
        self._concurrency = concurrency
        self._left_behind = 0

    def arguments(self, call: ToolCall) -> Any:
        """For `tool_start`: parsed, or the text itself (its beginning) where it can't be parsed."""
        try:
            return self._parsed(call)
        except PlanckError:
            return truncate(call.arguments)

    def _parsed(self, call: ToolCall) -> dict[str, Any]:
        tool = self._tools.get(call.name)
        return (
            arguments.parse(call.arguments, tool.max_arguments) if tool else arguments.parse(call.arguments)
        )

    async def run(self, calls: Sequence[ToolCall]) -> AsyncGenerator[Finished, None]:
        """Concurrently, yielded in call order, exactly one each; closing it cancels what still runs."""
        slots = asyncio.Semaphore(self._concurrency)
        if len(calls) == 1:  # the usual step needs no task of its own
            yield await self._call(calls[0], slots)
            return
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._call(call, slots)) for call in calls]
        try:
            for task in tasks:
                yield await task
        finally:
            running = [task for task in tasks if not task.done()]
            for task in running:
                task.cancel()
            if running:
                await asyncio.wait(running, timeout=2 * _GRACE)

    async def _call(self, call: ToolCall, slots: asyncio.Semaphore) -> Finished:
        begun = self._clock.monotonic()
        outcome = await self._outcome(call, slots)
        took = int((self._clock.monotonic() - begun) * 1000)
        try:
            return finished(call, outcome, took)
        except Exception as problem:
            log.warning("the result of %s can't be used", call.name, exc_info=True)
            return finished(call, broken(call.name, problem), took)

    async def _outcome(self, call: ToolCall, slots: asyncio.Semaphore) -> Any:
        said = _Said(call.id, self._progress)
        try:
            if self._tools.arrivals is not None and self._tools.get(call.name) is None:
                await self._tools.arrivals.wait_for(call.name)
            args = self._parsed(call)
            tool = self._find(call.name)
            arguments.validate(tool, args)
            rights = None if self._dry_run else await self._permit(tool, args, self._context(call, said))
            if isinstance(rights, Err):
                return rights
            async with slots:
                deadline = asyncio.get_running_loop().time() + tool.timeout
                ctx = self._context(call, said, deadline, rights)
                return await self._in_time(tool, args, ctx, said)
        except PlanckError as failure:
            return failure.err
        except Exception as problem:
            log.exception("%s could not be run", call.name)
            return broken(call.name, problem)
        finally:
            said.over = True

    def _find(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            names = self._tools.names()
            hint = did_you_mean_one_of(name, names) or f"; there are: {', '.join(names)}"
            raise PlanckError(
                ErrorKind.UNKNOWN_TOOL, f"there is no tool named {name[:100]!r}{hint}", {"tools": names}
            )
        return tool

    def _context(
        self,
        call: ToolCall,
        said: "_Said",
        deadline: float | None = None,
        confinement: Confinement | None = None,
    ) -> ToolContext:
        return ToolContext(
            self._session_id,
            self._agent_id,
            call.id,
            self._workspace,
            self._dry_run,
            deadline,
            said.say,
            self._record,
            confinement,
        )

    async def _in_time(self, tool: Tool, args: dict[str, Any], ctx: ToolContext, said: "_Said") -> Any:
        """Holds even if the tool swallows its cancellation or blocks in its thread: it is left behind."""
        if self._left_behind >= _MAX_LEFT_BEHIND:
            return Err(
                ErrorKind.LIMIT_EXCEEDED,
                f"{self._left_behind} earlier calls ignored their end and still run; restart the session",
            )
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._guarded(tool, args, ctx))
        try:
            done, _ = await asyncio.wait({task}, timeout=tool.timeout)
            if done:
                return task.result()
        except asyncio.CancelledError:
            await self._stop(task, tool)
            raise
        await self._stop(task, tool)
        return Err(
            ErrorKind.TIMEOUT,
            f"{tool.name} did not finish within {tool.timeout:g} s and was stopped",
            {"timeout_ms": int(tool.timeout * 1000), "output": said.text},
        )

    async def _stop(self, task: asyncio.Task[Any], tool: Tool) -> None:
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=_GRACE)
        if not done:
            self._leave_behind(tool.name)
            task.add_done_callback(lambda _: self._late(tool.name))

    async def _guarded(self, tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Any:
        """Nothing a tool raises reaches the loop: a `SystemExit` in a task would end the process."""
        function = tool.dry_run if ctx.dry_run else tool.execute
        task = asyncio.current_task()
        try:
            if is_async(function):
                return await cast(Awaitable[Any], function(args, ctx))
            result = await self._in_thread(tool, function, args, ctx)
            return await result if inspect.isawaitable(result) else result
        except PlanckError as failure:
            return failure.err
        except asyncio.CancelledError as problem:
            if task is not None and task.cancelling():
                raise
            return broken(tool.name, problem)
        except BaseException as problem:
            log.warning("%s raised", tool.name, exc_info=True)
            return broken(tool.name, problem)

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
            except PlanckError as failure:
                result = failure.err
            except BaseException as problem:
                log.warning("%s raised", tool.name, exc_info=True)
                result = broken(tool.name, problem)
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
        log.warning("%s goes on after its end; its result will be dropped", name)
        self._left_behind += 1

    def _late(self, name: str) -> None:
        self._left_behind -= 1
        log.warning("a late result of %s was dropped", name)


class _Said:
    """A call's progress: passed on at once, from any thread, until the call is over; its end is kept."""

    def __init__(self, call_id: str, tell: Callable[[str, str], None]) -> None:
        self.over = False
        self._call_id = call_id
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._kept: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._kept)[-DEFAULT_MAX:]

    def say(self, text: str) -> None:
        if threading.get_ident() == self._thread:
            self._pass_on(text)
            return
        try:
            self._loop.call_soon_threadsafe(self._pass_on, text)
        except RuntimeError:
            pass  # the loop is closed: nobody listens any more

    def _pass_on(self, text: str) -> None:
        if self.over:
            return
        self._kept.append(text[-DEFAULT_MAX:])
        del self._kept[:-_KEPT_PROGRESS]
        self._tell(self._call_id, text)
