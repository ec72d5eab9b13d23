from typing import Any

from planck.records.outcome import Ok
from planck.toolkit import schema
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext, describe_plan
from planck.tools.builtin.files import FILE, MAX_FILE, Shared, bind_to_file, diff, prose, replace

_PARAMETERS = schema.arguments({"path": FILE, "content": {"type": "string"}})


def write_tool(shared: Shared) -> Tool:
    views = shared.views

    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        path: str = args["path"]
        view = views.of(ctx)
        with view.root.under(ctx.confinement).writing(path) as slot:
            async with view.seen.alone(slot, ctx) as old:
                content = _with_line_ends_of(old, args["content"])
                await replace(slot, old, content, view.seen, ctx)
        verb = "Created" if old is None else "Wrote"
        return Ok({"output": f"{verb} {path} ({len(content)} bytes)."})

    def dry_run(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        path: str = args["path"]
        view = views.of(ctx)
        old = view.seen.peek(view.root.under(ctx.confinement), path)
        content = _with_line_ends_of(old, args["content"])
        verb = "create" if old is None else "write"
        change = diff(old[0] if old else None, content, path)
        from planck.records.diffs import name_path  # not before the first call

        said = f"Would {verb} {name_path(path)} ({len(content)} bytes)."
        return describe_plan("write", args, f"{said}\n{change}" if change else said)

    return Tool(
        "write",
        prose("write"),
        _PARAMETERS,
        execute,
        dry_run,
        effect=Effect.FILES,
        basis=bind_to_file(views),
        max_arguments=MAX_FILE,
    )


def _with_line_ends_of(old: tuple[bytes, int] | None, text: str) -> bytes:
    """A file whose every line ends with CRLF keeps that, unless the new text has its own."""
    content = text.encode()
    if old is None or b"\r" in content or b"\r\n" not in old[0]:
        return content
    if old[0].count(b"\n") != old[0].count(b"\r\n"):
        return content
    return content.replace(b"\n", b"\r\n")
