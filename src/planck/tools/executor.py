"""The only door to a tool: find, parse, validate, permit, run in time, bound. One result per call, always."""

import asyncio
import inspect
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from planck.records import codec
from planck.records.authority import Confinement
from planck.records.events import View
from planck.records.messages import Image, ToolCall
from planck.records.outcome import Err, ErrorKind, Ok, PlanckError
from planck.records.ports import Clock
from planck.toolkit.tool import Execute, Outcome, Tool, ToolContext
from planck.toolkit.toolset import ToolSet
from planck.tools import arguments

log = logging.getLogger(__name__)

Permit = Callable[[Tool, dict[str, Any], ToolContext], Awaitable[Err | Confinement | None]]
"""An error, or the rights of the call (None: as the tool has them). Asked after validation, before running;
never for a dry run."""

MAX_OUTPUT = 16_000
_MARKER_ROOM = 1_024
"""A tool that bounds its own output adds a marker or a hint; that is not cut a second time."""
_GRACE = 3.0
"""Seconds a cancelled tool may take to clean up (kill its command) before it is left behind."""
_MAX_ABANDONED = 64


class Finished(msgspec.Struct, frozen=True):
    call: ToolCall
    outcome: Outcome
    output: str
    """What the model reads, bounded."""
    exit_code: int | None
    images: tuple[Image, ...]
    duration_ms: int

    @property
    def ok(self) -> bool:
        """False for an error, and for a command that ran and failed."""
        return not isinstance(self.outcome, Err) and self.outcome.value.get("ok", True) is not False


def _silent(call_id: str, text: str) -> None:
    pass


async def _unrecorded(fact: View) -> None:
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
        record: Callable[[View], Awaitable[None]] = _unrecorded,
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
        self._abandoned: set[asyncio.Task[Outcome]] = set()

    def arguments(self, call: ToolCall) -> Any:
        """For `tool_start`: parsed, or the text itself (its beginning) where it can't be parsed."""
        tool = self._tools.get(call.name)
        try:
            return arguments.parse(call.arguments, tool.max_arguments if tool else 1 << 20)
        except PlanckError:
            return call.arguments[:MAX_OUTPUT].encode(errors="replace").decode()

    async def run(self, calls: Sequence[ToolCall]) -> AsyncGenerator[Finished, None]:
        """Concurrently, yielded in call order, exactly one each; closing it cancels what still runs."""
        slots = asyncio.Semaphore(self._concurrency)
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
            return _finished(call, outcome, took)
        except Exception as problem:
            log.exception("the result of %s can't be used", call.name)
            return _finished(call, _broken(call.name, problem), took)

    async def _outcome(self, call: ToolCall, slots: asyncio.Semaphore) -> Any:
        try:
            tool = self._find(call.name)
            args = arguments.parse(call.arguments, tool.max_arguments)
            arguments.validate(tool, args)
            said: list[str] = []
            ctx = self._context(call, said)
            if not self._dry_run:
                rights = await self._permit(tool, args, ctx)
                if isinstance(rights, Err):
                    return rights
                ctx = replace(ctx, confinement=rights)
            async with slots:
                return await self._in_time(tool, args, ctx, said)
        except PlanckError as failure:
            return failure.err
        except Exception as problem:
            log.exception("%s could not be run", call.name)
            return _broken(call.name, problem)

    def _find(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            names = self._tools.names()
            hint = arguments.near(name, names) or f"; there are: {', '.join(names)}"
            raise PlanckError(
                ErrorKind.UNKNOWN_TOOL, f"there is no tool named {name[:100]!r}{hint}", {"tools": names}
            )
        return tool

    def _context(self, call: ToolCall, said: list[str]) -> ToolContext:
        def progress(text: str) -> None:
            said.append(text[-MAX_OUTPUT:])
            del said[:-_KEPT_PROGRESS]
            self._progress(call.id, text)

        return ToolContext(
            session_id=self._session_id,
            agent_id=self._agent_id,
            call_id=call.id,
            workspace=self._workspace,
            dry_run=self._dry_run,
            progress=progress,
            record=self._record,
        )

    async def _in_time(self, tool: Tool, args: dict[str, Any], ctx: ToolContext, said: list[str]) -> Any:
        """Holds even if the tool swallows its cancellation or blocks in its thread: it is left behind."""
        if len(self._abandoned) >= _MAX_ABANDONED:
            return Err(
                ErrorKind.LIMIT_EXCEEDED,
                f"{len(self._abandoned)} earlier calls ignored their end and still run; restart the session",
            )
        loop = asyncio.get_running_loop()
        ctx = replace(ctx, deadline=loop.time() + tool.timeout)
        task = loop.create_task(_guarded(tool, tool.dry_run if ctx.dry_run else tool.execute, args, ctx))
        try:
            done, _ = await asyncio.wait({task}, timeout=tool.timeout)
            if done:
                return task.result()
        except asyncio.CancelledError:
            await self._stop(task, tool)
            raise
        await self._stop(task, tool)
        seconds = f"{tool.timeout:g}"
        return Err(
            ErrorKind.TIMEOUT,
            f"{tool.name} did not finish within {seconds} s and was stopped",
            {"timeout_ms": int(tool.timeout * 1000), "output": "".join(said)[-MAX_OUTPUT:]},
        )

    async def _stop(self, task: asyncio.Task[Outcome], tool: Tool) -> None:
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=_GRACE)
        if not done:
            log.warning("%s ignores its cancellation; its result will be dropped", tool.name)
            self._abandoned.add(task)
            task.add_done_callback(partial(self._late, tool.name))

    def _late(self, name: str, task: asyncio.Task[Outcome]) -> None:
        self._abandoned.discard(task)
        log.warning("a late result of %s was dropped", name)


_KEPT_PROGRESS = 64


async def _guarded(tool: Tool, function: Execute, args: dict[str, Any], ctx: ToolContext) -> Any:
    """Nothing a tool raises reaches the loop: a `SystemExit` in a task would end the process."""
    task = asyncio.current_task()
    try:
        if inspect.iscoroutinefunction(function):
            return await function(args, ctx)
        result = await _in_thread(function, args, ctx)
        return await result if inspect.isawaitable(result) else result
    except PlanckError as failure:
        return failure.err
    except asyncio.CancelledError as problem:
        if task is not None and task.cancelling():
            raise
        return _broken(tool.name, problem)
    except BaseException as problem:
        log.warning("%s raised", tool.name, exc_info=True)
        return _broken(tool.name, problem)


async def _in_thread(function: Execute, args: dict[str, Any], ctx: ToolContext) -> Any:
    """A thread of its own, which can't keep the process alive: a pool would run dry of blocked ones."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, problem: BaseException | None) -> None:
        if answer.done():
            return
        if problem is None:
            answer.set_result(result)
        else:
            answer.set_exception(problem)

    def work() -> None:
        result, problem = None, None
        try:
            result = function(args, ctx)
        except BaseException as found:
            # A future takes neither StopIteration nor, safely, an exit: both travel wrapped.
            problem = (
                found
                if isinstance(found, Exception) and not isinstance(found, StopIteration)
                else _Raised(found)
            )
        try:
            loop.call_soon_threadsafe(settle, result, problem)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    threading.Thread(target=work, name=f"tool-{ctx.call_id}", daemon=True).start()
    return await answer


class _Raised(Exception):
    """What a thread raised that is no `Exception`."""

    def __init__(self, problem: BaseException) -> None:
        super().__init__(f"{type(problem).__name__}: {problem}")


def _broken(name: str, problem: BaseException) -> Err:
    try:
        text = f"{type(problem).__name__}: {problem}" if not isinstance(problem, _Raised) else str(problem)
    except BaseException:
        text = type(problem).__name__
    return Err(ErrorKind.INTERNAL_ERROR, f"{name} failed: {_cut(text, 2000)}")


def _finished(call: ToolCall, outcome: Any, took: int) -> Finished:
    """Whatever a tool returned becomes an outcome that can be stored, and a bounded text."""
    if isinstance(outcome, Err):
        outcome = _storable(outcome)
        return Finished(call, outcome, _error_text(outcome), None, (), took)
    value = _value(call.name, outcome)
    images = tuple(image for image in value.pop("images", ()) if isinstance(image, Image))
    value["output"] = _cut(value["output"], MAX_OUTPUT, _MARKER_ROOM)
    encoded = codec.encode(value)
    if len(encoded) > _MAX_VALUE:
        value = {"output": value["output"]}
    code = value.get("exit_code")
    return Finished(call, Ok(value), value["output"], code if type(code) is int else None, images, took)


_MAX_VALUE = 1 << 20


def _value(name: str, outcome: Any) -> dict[str, Any]:
    value = outcome.value if isinstance(outcome, Ok) else outcome
    if isinstance(value, str):
        return {"output": value}
    if not isinstance(outcome, Ok):
        raise TypeError(f"{name} returned {type(outcome).__name__} instead of Ok or Err")
    if not isinstance(value, dict):
        return {"output": codec.encode_str(value)}
    if not all(isinstance(key, str) for key in value):
        raise TypeError(f"{name} returned a map with a key that is no string")
    if isinstance(value.get("output"), str):
        return dict(value)
    if "output" in value:
        return {**value, "output": codec.encode_str(value["output"])}
    return {
        **value,
        "output": codec.encode_str({key: inner for key, inner in value.items() if key != "images"}),
    }


def _storable(err: Err) -> Err:
    try:
        size = len(codec.encode(err.details))
        message = _cut(err.message, MAX_OUTPUT)
    except (TypeError, ValueError, RecursionError):
        return Err(err.kind, _cut(str(err.message), MAX_OUTPUT), {"lost": "the details could not be stored"})
    details = err.details if size <= 4 * MAX_OUTPUT else {"lost": f"{size} bytes of details"}
    return err if details is err.details and message is err.message else Err(err.kind, message, details)


def _error_text(err: Err) -> str:
    text = f"{err.kind}: {err.message}"
    if err.details:
        text += f"\n{codec.encode_str(err.details)}"
    return _cut(text, MAX_OUTPUT, _MARKER_ROOM)


def _cut(text: str, limit: int, room: int = 0) -> str:
    raw = text.encode(errors="replace")
    if len(raw) <= limit + room:
        return text if text.isascii() else raw.decode()
    return raw[:limit].decode(errors="ignore") + f"\n…[truncated, showing up to {limit} of {len(raw)} bytes]"
