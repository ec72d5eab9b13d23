"""Any MCP client may call our tools: a sidecar's in its own process, and those of `planck mcp serve`."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

import anyio
import msgspec
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    Tool,
    ToolAnnotations,
)

from planck import __version__
from planck.mcp.results import encode_outcome
from planck.mcp.wire import Wire
from planck.records import codec
from planck.records.messages import ToolCall
from planck.records.outcome import PlanckError
from planck.records.specs import ToolSpec
from planck.tools.results import Finished

_MAX_PROGRESS = 4_000
_KEPT_PROGRESS = 64


class ToolService(Protocol):
    """What a server of ours offers: it is asked at every request."""

    def specs(self) -> Sequence[ToolSpec]:
        """Raises `PlanckError` where there is nothing to offer but an explanation."""

    def run(
        self, call: ToolCall, meta: dict[str, Any], progress: Callable[[str, str], None] | None
    ) -> AsyncGenerator[Finished, None]:
        """Yields once; `progress(call_id, text)` may come from any thread. Raises as `specs` does."""


class OfferedPrompt(msgspec.Struct, frozen=True):
    name: str
    description: str
    takes: str = ""
    """What may be written behind its name; "": nothing."""


class Guide(Protocol):
    """What a server offers beside its tools, and what it says of them."""

    def is_read_only(self, tool: str) -> bool:
        """Whether a call of the tool changes nothing."""

    def prompts(self) -> Sequence[OfferedPrompt]: ...

    def say_prompt(self, name: str, words: str) -> str:
        """Returns its text; raises `PlanckError` where there is none of that name."""


def make_server(name: str, service: ToolService, guide: Guide | None = None) -> Server[Any]:
    answer = _Requests(service, guide)
    own: dict[str, Any] = {"on_list_tools": answer.list_tools, "on_call_tool": answer.call_tool}
    if guide is not None:
        said = _Prompts(guide)
        own |= {"on_list_prompts": said.list_prompts, "on_get_prompt": said.get_prompt}
    return Server(name, version=__version__, **own)


async def serve_wire(name: str, service: ToolService, wire: Wire, guide: Guide | None = None) -> None:
    """Returns when the client closes its side."""
    server = make_server(name, service, guide)
    await server.run(wire.incoming, wire.outgoing, server.create_initialization_options())


class _Requests:
    def __init__(self, service: ToolService, guide: Guide | None) -> None:
        self._service = service
        self._guide = guide

    async def list_tools(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        try:
            specs = self._service.specs()
        except PlanckError as failure:
            about = {**failure.err.envelope(), "final": True}
            raise MCPError(code=INTERNAL_ERROR, message=str(failure.err), data=about) from failure
        return ListToolsResult(tools=[self._describe(spec) for spec in specs])

    def _describe(self, spec: ToolSpec) -> Tool:
        hints = None
        if self._guide is not None:
            hints = ToolAnnotations(read_only_hint=self._guide.is_read_only(spec.name))
        schema = {"type": "object", **spec.parameters}
        return Tool(name=spec.name, description=spec.description, input_schema=schema, annotations=hints)

    async def call_tool(
        self, ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        meta = dict(ctx.meta or {})
        call = ToolCall(str(ctx.request_id), "", params.name, codec.encode_str(params.arguments or {}))
        if "progressToken" not in meta and "progress_token" not in meta:
            return await self._run(call, meta, None)
        progress = _Progress(ctx)
        async with anyio.create_task_group() as group:
            group.start_soon(progress.pump)
            result = await self._run(call, meta, progress.say)
            group.cancel_scope.cancel()
        await progress.flush()
        return result

    async def _run(
        self, call: ToolCall, meta: dict[str, Any], progress: Callable[[str, str], None] | None
    ) -> CallToolResult:
        try:
            results = self._service.run(call, meta, progress)
        except PlanckError as failure:
            return encode_outcome(failure.err, str(failure.err))
        async with aclosing(results):
            async for finished in results:
                return encode_outcome(finished.outcome, finished.output, finished.images)
        raise AssertionError("a call has exactly one result")


class _Prompts:
    def __init__(self, guide: Guide) -> None:
        self._guide = guide

    async def list_prompts(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return ListPromptsResult(prompts=[_describe_prompt(one) for one in self._guide.prompts()])

    async def get_prompt(
        self, ctx: ServerRequestContext[Any], params: GetPromptRequestParams
    ) -> GetPromptResult:
        try:
            text = self._guide.say_prompt(params.name, (params.arguments or {}).get(_WORDS, ""))
        except PlanckError as failure:
            raise MCPError(code=INVALID_PARAMS, message=failure.err.message) from failure
        said = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(messages=[said])


_WORDS = "arguments"


def _describe_prompt(prompt: OfferedPrompt) -> Prompt:
    words = [PromptArgument(name=_WORDS, description=prompt.takes, required=False)] if prompt.takes else []
    return Prompt(name=prompt.name, description=prompt.description, arguments=words)


class _Progress:
    """Carries progress from any thread to the client; what comes too fast to be sent is joined, then cut."""

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
