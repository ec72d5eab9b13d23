"""By the SDK, any MCP client may call the tools of `planck mcp serve`, and over HTTP a sidecar's."""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

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
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from planck import __version__
from planck.mcp.service import ToolService, explain_no_tools, run_call
from planck.mcp.wire import Wire
from planck.records import codec
from planck.records.messages import ToolCall
from planck.records.outcome import PlanckError
from planck.records.specs import ToolSpec
from planck.workspace.process.duplex import Duplex


class OfferedPrompt(msgspec.Struct, frozen=True):
    name: str
    description: str
    takes: str = ""
    """What may be written behind its name; "": nothing."""


class OfferedText(msgspec.Struct, frozen=True):
    uri: str
    name: str
    description: str
    media: str


class Guide(Protocol):
    """What a server offers beside its tools, and what it says of them."""

    async def settle(self) -> None:
        """Returns when it is known which tools there are, or too much time has passed."""

    def is_read_only(self, tool: str) -> bool:
        """Whether a call of the tool changes nothing."""

    def prompts(self) -> Sequence[OfferedPrompt]: ...

    def say_prompt(self, name: str, words: str) -> str:
        """Returns its text; raises `PlanckError` where there is none of that name."""

    def texts(self) -> Sequence[OfferedText]:
        """What can be read; called in a thread."""

    def read_text(self, uri: str) -> tuple[str, str]:
        """Returns it and its media type, in a thread; raises `PlanckError` where there is none."""


def make_server(name: str, service: ToolService, guide: Guide | None = None) -> Server[Any]:
    answer = _Requests(service, guide)
    own: dict[str, Any] = {"on_list_tools": answer.list_tools, "on_call_tool": answer.call_tool}
    if guide is not None:
        said = _Texts(guide)
        own |= {"on_list_prompts": said.list_prompts, "on_get_prompt": said.get_prompt}
        own |= {"on_list_resources": said.list_resources, "on_read_resource": said.read_resource}
        own |= {"on_list_resource_templates": said.list_templates}
    return Server(name, version=__version__, **own)


async def serve_wire(name: str, service: ToolService, lines: Duplex, guide: Guide | None = None) -> None:
    """Returns when the client closes its side."""
    server = make_server(name, service, guide)
    wire = Wire(lines)
    await server.run(wire.incoming, wire.outgoing, server.create_initialization_options())


class _Requests:
    def __init__(self, service: ToolService, guide: Guide | None) -> None:
        self._service = service
        self._guide = guide

    async def list_tools(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        if self._guide is not None:
            await self._guide.settle()
        try:
            specs = self._service.specs()
        except PlanckError as failure:
            about = explain_no_tools(failure)
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

        async def send(count: int, text: str) -> None:
            await ctx.session.report_progress(count, None, text)

        wants_progress = "progressToken" in meta or "progress_token" in meta
        result = await run_call(self._service, call, meta, send if wants_progress else None)
        return CallToolResult.model_validate(msgspec.to_builtins(result), by_name=False)


class _Texts:
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

    async def list_resources(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        found = await asyncio.to_thread(self._guide.texts)
        return ListResourcesResult(
            resources=[
                Resource(uri=one.uri, name=one.name, description=one.description, mime_type=one.media)
                for one in found
            ]
        )

    async def list_templates(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(
        self, ctx: ServerRequestContext[Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        uri = str(params.uri)
        try:
            text, media = await asyncio.to_thread(self._guide.read_text, uri)
        except PlanckError as failure:
            raise MCPError(code=INVALID_PARAMS, message=failure.err.message, data={"uri": uri}) from failure
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=media)])


_WORDS = "arguments"


def _describe_prompt(prompt: OfferedPrompt) -> Prompt:
    words = [PromptArgument(name=_WORDS, description=prompt.takes, required=False)] if prompt.takes else []
    return Prompt(name=prompt.name, description=prompt.description, arguments=words)
