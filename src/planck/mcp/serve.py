"""Our tools for any MCP client: a sidecar's in its own process, and those of `planck mcp serve`."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

import anyio
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)

from planck.mcp.results import to_result
from planck.mcp.wire import Wire
from planck.records import codec
from planck.records.messages import ToolCall
from planck.records.outcome import Err, PlanckError
from planck.records.specs import ToolSpec
from planck.tools.executor import Finished

_MAX_PROGRESS = 4_000
_KEPT_PROGRESS = 64


class Served(Protocol):
    """What is offered; read at every request."""

    def specs(self) -> Sequence[ToolSpec]:
        """Raises `PlanckError` where there is nothing to offer but an explanation."""

    def run(
        self, call: ToolCall, meta: dict[str, Any], progress: Callable[[str, str], None]
    ) -> AsyncGenerator[Finished, None]:
        """Yields once; `progress(call_id, text)` may be called from any thread. Raises as `specs` does."""


def mcp_server(name: str, version: str, served: Served) -> Server[Any]:
    async def list_tools(
        ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        try:
            specs = served.specs()
        except PlanckError as failure:
            raise _refusal(failure.err) from failure
        tools = [Tool(name=s.name, description=s.description, input_schema=_schema(s)) for s in specs]
        return ListToolsResult(tools=tools)

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        meta = dict(ctx.meta or {})
        call = ToolCall(str(ctx.request_id), "", params.name, codec.encode_str(params.arguments or {}))
        if "progressToken" not in meta and "progress_token" not in meta:
            return await _one(served, call, meta, lambda id, text: None)
        told = _Progress(ctx)
        async with anyio.create_task_group() as group:
            group.start_soon(told.pump)
            result = await _one(served, call, meta, told.say)
            group.cancel_scope.cancel()
        await told.flush()
        return result

    return Server(name, version=version, on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_wire(server: Server[Any], wire: Wire) -> None:
    """Until the client closes its side."""
    await server.run(wire.incoming, wire.outgoing, server.create_initialization_options())


async def _one(
    served: Served, call: ToolCall, meta: dict[str, Any], progress: Callable[[str, str], None]
) -> CallToolResult:
    try:
        results = served.run(call, meta, progress)
    except PlanckError as failure:
        return to_result(failure.err, str(failure.err))
    async with aclosing(results):
        async for finished in results:
            return to_result(finished.outcome, finished.output, finished.images)
    raise AssertionError("a call has one result")


class _Progress:
    """From any thread to the client; what comes faster than it can be sent is joined, then cut."""

    def __init__(self, ctx: ServerRequestContext[Any]) -> None:
        self._ctx = ctx
        self._loop = asyncio.get_running_loop()
        self._texts: deque[str] = deque(maxlen=_KEPT_PROGRESS)
        self._some = asyncio.Event()
        self._count = 0

    def say(self, call_id: str, text: str) -> None:
        self._loop.call_soon_threadsafe(self._put, text[-_MAX_PROGRESS:])

    def _put(self, text: str) -> None:
        self._texts.append(text)
        self._some.set()

    async def pump(self) -> None:
        while True:
            await self._some.wait()
            await self.flush()

    async def flush(self) -> None:
        self._some.clear()
        if self._texts:
            text = "".join(self._texts)[-_MAX_PROGRESS:]
            self._texts.clear()
            self._count += 1
            await self._ctx.session.report_progress(self._count, None, text)


def _refusal(err: Err) -> MCPError:
    return MCPError(code=INTERNAL_ERROR, message=str(err), data={**err.envelope(), "final": True})


def _schema(spec: ToolSpec) -> dict[str, Any]:
    return {"type": "object", **spec.parameters}
