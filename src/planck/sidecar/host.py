"""The runtime builds a sidecar, starts it contained and watches its files; its tools are made ours."""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from planck.config.project import Project
from planck.mcp import meta
from planck.mcp.instances import EXECUTOR_GRACE, Instances
from planck.mcp.listing import ListedTool
from planck.mcp.transport import FinalError, Launch, Link, open_process
from planck.records.authority import Confinement
from planck.records.outcome import ErrorKind
from planck.sidecar.build import prepare_python, runtime_paths
from planck.sidecar.child import HOSTED, MAX_TIMEOUT_MS
from planck.sidecar.project import digest_files, fingerprint, read_project
from planck.toolkit.schema import integer
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext
from planck.workspace.process.environment import allowed

TIMEOUT_MS = 300_000


class SidecarLaunch(Launch):
    """Builds a sidecar before each start. When its files change, it is started afresh between two calls."""

    kind = "sidecar"
    ours = True
    builds = True
    poll: float = 1.0
    """Seconds between two looks at the sidecar's files."""

    def __init__(
        self,
        name: str,
        path: Path,
        workspace: Path,
        cache: Path,
        environment: Mapping[str, str],
        progress: Callable[[str], None],
        *,
        guarded: Confinement | None = None,
    ) -> None:
        """`progress` hears the build."""
        self.guarded = guarded
        self.name = name
        self._path = path
        self._workspace = workspace
        self._cache = cache
        self._environment = environment
        self._progress = progress
        self._python = ""
        self._started_with: tuple[object, ...] = ()
        self.digest: str = digest_files(path)

    async def prepare(self) -> None:
        self.digest = await asyncio.to_thread(digest_files, self._path)
        self._started_with = await asyncio.to_thread(fingerprint, self._path)
        project = read_project(self._path)
        if project.requirements and self.replaceable:
            raise FinalError(
                ErrorKind.SANDBOX_UNAVAILABLE,
                f"an agent could replace {str(self._path)!r}, whose dependencies are built with your "
                "permissions; move it outside the workspace, or below .planck",
            )
        self._python = await prepare_python(project, self._cache, self._environment, self._progress)

    def open(self) -> AbstractAsyncContextManager[Link]:
        self.hold()
        return open_process(
            sidecar_argv(self._python, self._path, HOSTED, roots=self.guarded.roots if self.guarded else ()),
            cwd=self._workspace,
            environment=allowed(self._environment),
            confinement=self.confinement or self.held,
            made_of=(self._path, self._cache, sys.prefix, sys.base_prefix, *runtime_paths()),
        )

    @property
    def replaceable(self) -> str:
        """What of it a confined command could replace."""
        from planck.workspace.sandbox.programs import is_replaceable

        path = str(self._path)
        return path if self.guarded is not None and is_replaceable(path, self.guarded.roots) else ""

    async def wait_for_change(self) -> None:
        while True:
            await asyncio.sleep(self.poll)
            if await asyncio.to_thread(fingerprint, self._path) != self._started_with:
                return


def sidecar_argv(python: str, path: Path, *more: str, roots: Sequence[str] = ()) -> tuple[str, ...]:
    """Returns what runs a sidecar: its interpreter, with this Planck in it.

    Its own modules may import what lies in the roots, which a `.pth` may have added; ours never do.
    """
    boot = (
        f"import sys; sys.path += [path for path in {runtime_paths()!r} if path not in sys.path]; "
        f"from planck.own_code import keep_out; keep_out(('.', *{tuple(roots)!r})); "
        "from planck.sidecar.child import main; main()"
    )
    # -P: the workspace, where it runs, may hold a module named like one of ours. -B: trust is bound to the
    # files of the folder, and a cache written beside them would be a new one.
    return (python, "-PB", "-c", boot, str(path), *more)


async def prepare_sidecar(path: Path, progress: Callable[[str], None], *more: str) -> tuple[str, ...]:
    """Builds the sidecar at a path if it must be, and returns what runs it in the place of this process."""
    project = Project()
    cache = project.home / "cache" / "sidecars"
    python = await prepare_python(read_project(path), cache, project.environ, progress)
    return sidecar_argv(python, path, *more)


def pipe_secret(secret: str) -> int:
    """Opens a descriptor for the program that takes this one's place: everybody can read a command line."""
    read_end, write_end = os.pipe()
    os.set_inheritable(read_end, True)
    with open(write_end, "w") as pipe:
        pipe.write(secret)
    return read_end


class SidecarTool(Tool):
    """Has `timeout_ms`, which bounds the call; it reaches the sidecar only where its tool declared it."""

    def __init__(self, listed: ListedTool, instances: Instances) -> None:
        parameters = listed.spec.parameters
        self._declares_timeout = "timeout_ms" in parameters.get("properties", {})
        super().__init__(
            listed.spec.name,
            listed.spec.description,
            parameters if self._declares_timeout else _with_timeout(parameters),
            self._call,
            self._call,
            effect=Effect.COMMAND,
            timeout=MAX_TIMEOUT_MS / 1000 + EXECUTOR_GRACE,
            extra_arguments={} if self._declares_timeout else {"timeout_ms": _TIMEOUT},
            confinable=instances.confinable,
        )
        self._listed = listed
        self._instances = instances

    def find_rights(self, given: Confinement) -> Confinement:
        return self._instances.find_rights(given)

    async def _call(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        timeout_ms = _timeout_ms(args)
        if not self._declares_timeout:
            args = {key: value for key, value in args.items() if key != "timeout_ms"}
        ids = {meta.SESSION_ID: ctx.session_id, meta.AGENT_ID: ctx.agent_id, meta.CALL_ID: ctx.call_id}
        about = {**ids, meta.TIMEOUT_MS: timeout_ms, meta.DRY_RUN: ctx.dry_run}
        return await self._instances.call(self._listed, args, ctx, timeout=timeout_ms / 1000, meta=about)


def _timeout_ms(args: Mapping[str, Any]) -> int:
    asked = args.get("timeout_ms")
    if isinstance(asked, bool) or not isinstance(asked, int | float) or asked < 1:
        return TIMEOUT_MS
    return min(int(asked), MAX_TIMEOUT_MS)


_TIMEOUT = integer(f"Timeout in milliseconds, default {TIMEOUT_MS}", minimum=1, maximum=MAX_TIMEOUT_MS)


def _with_timeout(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {**parameters, "properties": {**parameters.get("properties", {}), "timeout_ms": _TIMEOUT}}
