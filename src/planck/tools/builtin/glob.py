import asyncio
from typing import Any

from planck.records.outcome import Ok
from planck.toolkit import schema
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext
from planck.tools.builtin.files import Shared, prose
from planck.workspace.paths.beneath import escape

MAX_FILES = 1_000
_PARAMETERS = schema.arguments(
    {"pattern": {"type": "string", "minLength": 1}}, {"path": schema.text("Folder; default: the workspace")}
)


def glob_tool(shared: Shared) -> Tool:
    views, engine = shared.views, shared.engine

    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        from planck.tools.builtin.patterns import matcher  # not before the first call

        root, pattern = views.of(ctx).root, args["pattern"]
        own, start = root.under(ctx.confinement).find_reader(args.get("path", "."))
        folder = own.where(start, folder=True)
        matches = matcher(own.relative(pattern))
        prefix = "" if folder == "." or pattern.startswith("/") else f"{folder}/"
        found = await engine.at(own).files(folder, lambda path: matches(path.removeprefix(prefix)), MAX_FILES)
        paths = await asyncio.to_thread(own.present, [path for path, _ in found.places])
        lines = [escape(root.name(own, path)) for path in paths] or [
            "[no files match; ignored files were not searched]"
        ]
        if found.more:
            lines.append(f"[more than {MAX_FILES} files match; narrow the pattern or the path]")
        if not found.finished:
            lines.append("[the search ran out of time; narrow the path]")
        summary = {} if paths else {"summary": "no matching files"}
        more = found.more or not found.finished
        return Ok({"output": "\n".join(lines), "count": len(paths), "more": more, **summary})

    return Tool(
        "glob",
        prose("glob", files=MAX_FILES),
        _PARAMETERS,
        execute,
        effect=Effect.NONE,
    )
