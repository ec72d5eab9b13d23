"""Sidecars for tests: written into a folder, started as the host starts them."""

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from planck.sidecar.host import SidecarLaunch
from tests.mcp.bench import Watched, watched

HEAD = """
import asyncio, os, sys, time
from planck import Err, ErrorKind, Ok, Tool, ToolContext, tool
from planck.sidecar import Sidecar
"""

TOOLS = (
    HEAD
    + '''
print("a banner on stdout")
os.write(1, b'{"jsonrpc": "2.0", "id": 1, "result": {}}\\n')

@tool
def echo(text: str, ctx: ToolContext) -> str:
    """Echo a text."""
    print("printing while called")
    return f"{ctx.session_id}/{ctx.agent_id}/{ctx.call_id}/{text}"

@tool
def slow(seconds: float, ctx: ToolContext) -> str:
    """Take a while."""
    ctx.progress("begun\\n")
    time.sleep(seconds)
    return "done"

@tool
async def block(seconds: float) -> str:
    """Block the whole sidecar."""
    time.sleep(seconds)
    return "done"

@tool
def crash(code: int) -> str:
    """End the process."""
    os._exit(code)

@tool
def wrong(kind: str) -> str:
    """Fail in some way."""
    if kind == "exit":
        sys.exit(3)
    return Err(ErrorKind(kind), "as asked", {"why": kind})

def plan(args, ctx):
    return Ok({"output": "would remove it", "dry_run": True})

def really(args, ctx):
    return Ok({"output": "removed", "left": 0})

remove = Tool("remove", "Remove", {"type": "object"}, really, plan)
pid = Tool("pid", "", {"type": "object"}, lambda agent, call, args: str(os.getpid()))
waits = Tool(
    "waits",
    "Declares timeout_ms itself",
    {"type": "object", "properties": {"timeout_ms": {"type": "integer"}}},
    lambda agent, call, args: args,
)

class Mine(Sidecar):
    def tools(self):
        return [echo, slow, block, crash, wrong, remove, pid, waits]
'''
)


def write(folder: Path, text: str = TOOLS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sidecar.py").write_text(text)
    return folder


def sidecar(path: Path, probe_timeout: float = 5.0, **options: Any) -> AbstractAsyncContextManager[Watched]:
    environment = {"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "SECRET_KEY": "do not leak"}
    launch = SidecarLaunch("mine", path, path.parent, path.parent / "cache", environment, lambda text: None)
    launch.poll, launch.probe_timeout = 0.05, probe_timeout
    return watched("mine", launch, **options)
