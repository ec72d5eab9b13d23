"""A server of ours speaks MCP over lines, without the SDK: a sidecar's own process, and a team's tools."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec import Raw

from planck.mcp.rpc import (
    CALL_TOOL,
    INITIALIZE,
    LIST_TOOLS,
    PING,
    PROGRESS,
    TOOLS_CHANGED,
    VERSIONS,
    CallParams,
    CallResult,
    Implementation,
    Initialize,
    Initialized,
    Peer,
    Progress,
    ToolList,
)
from planck.mcp.service import ToolService, explain_no_tools, run_call
from planck.records import codec
from planck.records.messages import ToolCall
from planck.records.outcome import PlanckError
from planck.records.specs import ToolSpec
from planck.workspace.process.duplex import Duplex
from planck.workspace.process.rpc import INTERNAL_ERROR, RpcError, UnknownMethod, read_params

_MAX_OPEN = 1024
"""Calls of a client that are not answered yet: as many as a host of ours lets wait."""


async def serve_lines(name: str, service: ToolService, lines: Duplex) -> None:
    """Returns when the client closes its side; what it still waited for is cancelled."""
    await _Server(name, service, lines).run()


class _Server:
    def __init__(self, name: str, service: ToolService, lines: Duplex) -> None:
        self._name = name
        self._service = service
        self._peer = Peer(lines, self, requests=_MAX_OPEN)
        self._calls = 0
        self._listed: Sequence[ToolSpec] | None = None
        """What the client was told last; None: it never asked, and hears of no change."""

    async def run(self) -> None:
        await self._peer.run()

    async def hear(self, method: str, params: Raw) -> None:
        """A client says only that it has begun; what it cancels, the peer below knows."""

    async def answer(self, method: str, params: Raw) -> Any:
        match method:
            case _ if method == INITIALIZE:
                asked = read_params(params, Initialize).protocol_version
                version = asked if asked in VERSIONS else VERSIONS[-1]
                return Initialized(version, Implementation(self._name), {"tools": {"listChanged": True}})
            case _ if method == PING:
                return {}
            case _ if method == LIST_TOOLS:
                return self._list()
            case _ if method == CALL_TOOL:
                return await self._call(read_params(params, CallParams))
        raise UnknownMethod(method)

    def _list(self) -> ToolList | RpcError:
        try:
            specs = self._service.specs()
        except PlanckError as failure:
            return RpcError(INTERNAL_ERROR, str(failure.err), explain_no_tools(failure))
        self._listed = tuple(specs)
        return ToolList([_describe(spec) for spec in specs])

    async def _call(self, params: CallParams) -> CallResult:
        meta = params.meta or {}
        self._calls += 1
        call = ToolCall(str(self._calls), "", params.name, codec.encode_str(params.arguments or {}))
        token = meta.get("progressToken")
        send = partial(self._send_progress, token) if isinstance(token, int | str) else None
        result = await run_call(self._service, call, meta, send)
        await self._tell_changes()
        return result

    async def _send_progress(self, token: int | str, count: int, text: str) -> None:
        await self._peer.tell(PROGRESS, Progress(token, count, message=text))

    async def _tell_changes(self) -> None:
        """A call may change what tools there are; what fails now, the next list or call says."""
        if self._listed is None:
            return
        try:
            specs = tuple(self._service.specs())
        except PlanckError:
            return
        if specs != self._listed:
            self._listed = specs
            await self._peer.tell(TOOLS_CHANGED, {})


def _describe(spec: ToolSpec) -> dict[str, Any]:
    schema = {"type": "object", **spec.parameters}
    return {"name": spec.name, "description": spec.description, "inputSchema": schema}
