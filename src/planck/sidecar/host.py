"""The runtime's side of a sidecar: built, started contained, watched; its tools are made ours."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from planck.mcp import meta
from planck.mcp.listing import Listed
from planck.mcp.peer import Reach, Way
from planck.mcp.transport import Link, process_link
from planck.records.authority import Confinement
from planck.records.outcome import Err
from planck.sidecar.build import python_for, runtime_paths
from planck.sidecar.child import HOSTED, MAX_TIMEOUT_MS
from planck.sidecar.project import fingerprint, read_project
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext
from planck.workspace.process import allowed

TIMEOUT_MS = 300_000
_POLL = 1.0
"""Seconds between two looks at the sidecar's files."""
_LATER = 10.0
"""The executor's clock stands behind ours, which knows the partial output and tells the sidecar to stop."""


def way_to(
    path: Path,
    workspace: Path,
    *,
    cache: Path,
    environment: Mapping[str, str],
    progress: Callable[[str], None] = lambda text: None,
    poll: float = _POLL,
    confinement: Confinement | None = None,
) -> Way:
    """`progress` hears the build. When the sidecar's files change, it is started afresh between two calls."""
    host = _Host(path, workspace, cache, environment, progress, poll, confinement)
    return Way(host.open, prepare=host.prepare, changed=host.changed)


class _Host:
    def __init__(
        self,
        path: Path,
        workspace: Path,
        cache: Path,
        environment: Mapping[str, str],
        progress: Callable[[str], None],
        poll: float,
        confinement: Confinement | None,
    ) -> None:
        self._path = path
        self._workspace = workspace
        self._cache = cache
        self._environment = environment
        self._progress = progress
        self._poll = poll
        self._confinement = confinement
        self._python = ""
        self._started_with: tuple[object, ...] = ()

    async def prepare(self) -> None:
        self._started_with = await asyncio.to_thread(fingerprint, self._path)
        project = read_project(self._path)
        self._python = await python_for(project, self._cache, self._environment, self._progress)

    def open(self) -> AbstractAsyncContextManager[Link]:
        argv = command(self._python, self._path, HOSTED)
        return process_link(
            argv,
            cwd=self._workspace,
            environment=allowed(self._environment),
            confinement=self._confinement,
            made_of=(self._path, self._cache, sys.prefix, sys.base_prefix, *runtime_paths()),
        )

    async def changed(self) -> None:
        while True:
            await asyncio.sleep(self._poll)
            if await asyncio.to_thread(fingerprint, self._path) != self._started_with:
                return


def command(python: str, path: Path, *more: str) -> tuple[str, ...]:
    """What runs a sidecar: its interpreter, with this Planck in it."""
    boot = (
        f"import sys; sys.path += [path for path in {runtime_paths()!r} if path not in sys.path]; "
        "from planck.sidecar.child import main; main()"
    )
    # -P: the workspace, where it runs, may hold a module named like one of ours. -B: trust is bound to the
    # files of the folder, and a cache written beside them would be a new one.
    return (python, "-PB", "-c", boot, str(path), *more)


def sidecar_tool(reach: Reach, listed: Listed, *, confinable: bool = False) -> Tool:
    """With `timeout_ms`, which bounds the call; it reaches the tool only where the tool declared it."""
    parameters = listed.spec.parameters
    declared = "timeout_ms" in parameters.get("properties", {})

    async def call(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        timeout_ms = _timeout_ms(args)
        if not declared:
            args = {key: value for key, value in args.items() if key != "timeout_ms"}
        ids = {meta.SESSION_ID: ctx.session_id, meta.AGENT_ID: ctx.agent_id, meta.CALL_ID: ctx.call_id}
        told = {**ids, meta.TIMEOUT_MS: timeout_ms, meta.DRY_RUN: ctx.dry_run}
        peer = await reach(ctx.confinement)
        if isinstance(peer, Err):
            return peer
        return await peer.call(listed.name, args, timeout=timeout_ms / 1000, meta=told, progress=ctx.progress)

    return Tool(
        listed.spec.name,
        listed.spec.description,
        parameters if declared else _with_timeout(parameters),
        call,
        call,
        effect=Effect.COMMAND,
        timeout=MAX_TIMEOUT_MS / 1000 + _LATER,
        always=() if declared else ("timeout_ms",),
        confinable=confinable,
    )


def _timeout_ms(args: Mapping[str, Any]) -> int:
    asked = args.get("timeout_ms")
    if isinstance(asked, bool) or not isinstance(asked, int | float) or asked < 1:
        return TIMEOUT_MS
    return min(int(asked), MAX_TIMEOUT_MS)


def _with_timeout(parameters: Mapping[str, Any]) -> dict[str, Any]:
    text = f"Milliseconds to wait at most, default {TIMEOUT_MS}"
    added = {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS, "description": text}
    return {**parameters, "properties": {**parameters.get("properties", {}), "timeout_ms": added}}
