import os
import stat
from typing import Any

from planck.records.outcome import Ok
from planck.toolkit import schema
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext
from planck.tools.builtin.files import Shared, prose
from planck.workspace.paths.beneath import escape

MAX_ENTRIES = 500
_PARAMETERS = schema.arguments(optional={"path": schema.text("Default: the workspace")})


def list_dir_tool(shared: Shared) -> Tool:
    views = shared.views

    def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        path: str = args.get("path", ".")
        with views.of(ctx).root.under(ctx.confinement).folder(path) as fd:
            names = sorted(os.listdir(fd))
            lines = [_line(name, fd) for name in names[:MAX_ENTRIES]]
        if not names:
            lines = ["[the folder is empty]"]
        if len(names) > MAX_ENTRIES:
            lines.append(f"[showing {MAX_ENTRIES} of {len(names)} entries; use glob to find the others]")
        summary = {} if names else {"summary": "empty folder"}
        return Ok({"output": "\n".join(lines), "count": len(names), **summary})

    return Tool(
        "list_dir",
        prose("list_dir", entries=MAX_ENTRIES),
        _PARAMETERS,
        execute,
        effect=Effect.NONE,
    )


def _line(name: str, folder: int) -> str:
    shown = escape(name)
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return shown
    if stat.S_ISDIR(found.st_mode):
        return f"{shown}/"
    if stat.S_ISLNK(found.st_mode):
        return f"{shown} -> {escape(os.readlink(name, dir_fd=folder))}"
    if not stat.S_ISREG(found.st_mode):
        return f"{shown} (not a regular file)"
    return f"{shown} ({found.st_size} bytes)"
