import asyncio
from typing import Any

from planck.records.outcome import Ok
from planck.toolkit import schema
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext
from planck.tools.builtin.files import Shared, prose
from planck.tools.builtin.search import MAX_SHOWN_LINE, read_lines
from planck.workspace.paths.beneath import escape

LINES = 100
MAX_LINES = 1_000
_PARAMETERS = schema.arguments(
    {"pattern": {"type": "string", "minLength": 1}},
    {
        "path": schema.text("File or folder; default: the workspace"),
        "glob": {"type": "string", "minLength": 1},
        "ignore_case": {"type": "boolean"},
        "limit": schema.integer(f"Default {LINES}, at most {MAX_LINES}", minimum=1, maximum=MAX_LINES),
    },
)


def grep_tool(shared: Shared) -> Tool:
    views, engine = shared.views, shared.engine

    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        from planck.tools.builtin.patterns import matcher  # not before the first call

        root = views.of(ctx).root
        own, start = root.under(ctx.confinement).find_reader(args.get("path", "."))
        place = own.where(start)
        glob = args.get("glob", "")
        accept = matcher(glob, any_depth=True) if glob else lambda path: True
        limit = int(args.get("limit", LINES))
        found = await engine.at(own).lines(
            place, args["pattern"], accept, args.get("ignore_case", False), limit, glob
        )
        hits = await asyncio.to_thread(read_lines, own, found.places)
        lines = [f"{escape(root.name(own, path))}:{number}:{text}" for path, number, text in hits] or [
            "[no lines match; ignored files were not searched]"
        ]
        if found.more:
            lines.append(f"[more than {limit} lines match; narrow the pattern, the path or the glob]")
        if not found.finished:
            lines.append("[the search ran out of time; narrow the path]")
        summary = {} if hits else {"summary": "no matching lines"}
        more = found.more or not found.finished
        return Ok({"output": "\n".join(lines), "count": len(hits), "more": more, **summary})

    return Tool(
        "grep",
        prose("grep", line=MAX_SHOWN_LINE),
        _PARAMETERS,
        execute,
        effect=Effect.NONE,
    )
