"""A sidecar's own process loads the user's module and serves its tools over MCP.

Nothing that user code prints can reach the protocol: the two descriptors are taken before it is imported.
"""

import asyncio
import importlib
import importlib.util
import logging
import os
import pkgutil
import sys
import threading
import time
import traceback
from collections.abc import AsyncGenerator, Callable, Sequence
from copy import copy
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from planck.mcp import meta as meta_keys
from planck.mcp.line_server import serve_lines
from planck.mcp.standard import claim_standard_streams, open_standard
from planck.records.messages import ToolCall
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import ToolSpec
from planck.sidecar.compacting import compacting_tool
from planck.sidecar.discovery import SidecarError, discover, read_compactors, read_tools
from planck.sidecar.project import SidecarProject, read_project
from planck.toolkit.clock import SystemClock
from planck.toolkit.journal import Unrecorded
from planck.toolkit.permit import Allowed
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet

if TYPE_CHECKING:
    from planck.tools.results import Finished

MAX_TIMEOUT_MS = 3_600_000
_GRACE = 1.0
"""Seconds from the end of the client until the process ends, whatever still runs in it."""
HOSTED = "hosted"


def main() -> None:
    """The host adds `HOSTED` to the path; `planck sidecar run` may add a port and where to read the token."""
    path, *more = sys.argv[1:]
    logging.raiseExceptions = False  # a log that can't be written (theirs may close stderr) fails no call
    try:
        if more in ([], [HOSTED]):
            read_end, write_end = claim_standard_streams()
            asyncio.run(_serve(LoadedSidecar(Path(path), hosted=bool(more)), read_end, write_end))
        else:
            port, descriptor = map(int, more)
            with open(descriptor) as handed:
                token = handed.read()
            asyncio.run(_serve_http(LoadedSidecar(Path(path)), port, token))
    except KeyboardInterrupt:
        sys.exit(130)
    except PlanckError as failure:
        sys.exit(f"error: {failure.err.full_message} [{failure.err.kind}]")


class LoadedSidecar:
    """Offers a folder's tools, or says why it has none; its compactors to the runtime alone (`hosted`)."""

    def __init__(self, path: Path, *, hosted: bool = False) -> None:
        self._hosted = hosted
        self._problem: PlanckError | None = None
        try:
            _load(read_project(path))
            discover()
        except PlanckError as failure:
            self._problem = failure
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # theirs, sys.exit too
            self._problem = _failed(f"cannot import the sidecar at {str(path)!r}", problem)

    def tools(self) -> list[Tool]:
        if self._problem is not None:
            raise self._problem
        try:
            entry = discover()
            tools = [] if entry is None else read_tools(entry)
            if self._hosted and entry is not None and (compactors := read_compactors(entry)):
                tools.append(compacting_tool(compactors))
        except (PlanckError, KeyboardInterrupt):
            raise
        except BaseException as problem:  # theirs, sys.exit too
            raise _failed("cannot list the sidecar's tools", problem) from problem
        names = [tool.name for tool in tools]
        if twice := {name for name in names if names.count(name) > 1}:
            raise SidecarError(
                ErrorKind.NOT_UNIQUE,
                f"two of the sidecar's tools have the same name: {', '.join(sorted(twice))}; rename one",
            )
        return tools

    def specs(self) -> Sequence[ToolSpec]:
        return [tool.to_ai_tool() for tool in self.tools()]

    def run(
        self, call: ToolCall, meta: dict[str, Any], progress: Callable[[str, str], None] | None
    ) -> "AsyncGenerator[Finished, None]":
        """Runs it through an executor of its own: a foreign client's arguments are checked like a model's."""
        from planck.tools.executor import Executor, Site, read_calls

        tools = ToolSet(_with_timeout(tool, meta.get(meta_keys.TIMEOUT_MS)) for tool in self.tools())
        site = Site(_text(meta, meta_keys.SESSION_ID), Path.cwd(), meta.get(meta_keys.DRY_RUN) is True)
        scribe = Scribe(Unrecorded(progress), _text(meta, meta_keys.AGENT_ID))
        executor = Executor(tools, site, permit=Allowed(), scribe=scribe, clock=SystemClock())
        call_id = _text(meta, meta_keys.CALL_ID) or call.id
        return executor.run(read_calls(tools, [ToolCall(call_id, "", call.name, call.arguments)]))


async def _serve(sidecar: LoadedSidecar, read_end: int, write_end: int) -> None:
    await serve_lines("planck-sidecar", sidecar, open_standard(read_end, write_end))
    # Python waits for threads that user code started, which nothing can cancel: nobody wants their results.
    threading.Thread(target=_leave_soon, daemon=True).start()


def _leave_soon() -> None:
    time.sleep(_GRACE)
    os._exit(0)


async def _serve_http(sidecar: LoadedSidecar, port: int, token: str) -> None:
    from planck.mcp.http import serve_http

    def ready(url: str) -> None:
        sys.stderr.write(f"planck: serving the sidecar at {url} with the token {token}\n")
        sys.stderr.flush()

    await serve_http("planck-sidecar", sidecar, port, token, ready)


def _load(project: SidecarProject) -> None:
    sys.path.insert(0, str(project.source))
    if project.module is not None:
        spec = importlib.util.spec_from_file_location(project.module.stem, project.module)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[project.module.stem] = module
        spec.loader.exec_module(module)
        return
    for name in project.packages:
        _import_all(importlib.import_module(name))


def _import_all(package: ModuleType) -> None:
    """Every module of it: the entry class may be in any."""
    for found in pkgutil.iter_modules(getattr(package, "__path__", ())):
        if found.name != "__main__" and not found.name.startswith("test"):
            _import_all(importlib.import_module(f"{package.__name__}.{found.name}"))


def _failed(what: str, problem: BaseException) -> SidecarError:
    """With the line of theirs that did it; a syntax error says its own."""
    text = "".join(traceback.format_exception_only(problem)).strip()
    frames = traceback.extract_tb(problem.__traceback__)
    theirs = [f for f in frames if "importlib" not in f.filename and not f.filename.startswith(_OURS)]
    where = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
    return SidecarError(ErrorKind.PEER_FAILED, f"{what}: {text}{where}; fix it and save the file")


_OURS = str(Path(__file__).parents[1])


def _with_timeout(tool: Tool, timeout_ms: Any) -> Tool:
    """Gives the tool the caller's deadline, where there is one: the caller is the one who waits."""
    if not isinstance(timeout_ms, int):
        return tool
    timed = copy(tool)
    timed.timeout = min(timeout_ms, MAX_TIMEOUT_MS) / 1000
    return timed


def _text(meta: dict[str, Any], key: str) -> str:
    value = meta.get(key)
    return value if isinstance(value, str) else ""


if __name__ == "__main__":
    main()
