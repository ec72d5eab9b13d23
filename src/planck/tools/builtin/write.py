import asyncio
from typing import Any

from planck.records.events import FileChanged
from planck.records.outcome import ErrorKind, Ok
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext, ToolError
from planck.tools.builtin.files import MAX_FILE, Seen, digest
from planck.tools.builtin.prose import prose
from planck.workspace.paths import Root, Slot


def write_tool(root: Root, seen: Seen) -> Tool:
    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        path: str = args["path"]
        with root.writing(path) as slot:
            async with seen.alone(slot.place):
                old = await asyncio.to_thread(slot.read, MAX_FILE)
                refuse_unseen_change(slot, old, seen, ctx)
                content = _with_line_ends_of(old, args["content"])
                await replace(slot, old, content, seen, ctx)
        verb = "Created" if old is None else "Wrote"
        return Ok({"output": f"{verb} {path} ({len(content)} bytes)."})

    return Tool(
        "write",
        prose("write"),
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, relative to the workspace"},
                "content": {"type": "string", "description": "The whole new content"},
            },
            "required": ["path", "content"],
        },
        execute,
        effect=Effect.FILES,
        max_arguments=MAX_FILE,
    )


async def replace(
    slot: Slot, old: tuple[bytes, int] | None, content: bytes, seen: Seen, ctx: ToolContext
) -> None:
    """The before-image is durable before anything changes."""
    before, mode = old if old is not None else (None, None)
    after = digest(content)
    await ctx.record(
        FileChanged(call_id=ctx.call_id, path=slot.relative, before=before, mode=mode, after_sha256=after)
    )
    await asyncio.to_thread(slot.replace, content, mode)
    seen.note(ctx.agent_id, slot.place, after)


def refuse_unseen_change(slot: Slot, old: tuple[bytes, int] | None, seen: Seen, ctx: ToolContext) -> None:
    """A file this agent never read may be written; one that changed since may not."""
    last = seen.last(ctx.agent_id, slot.place)
    if last is None or last == digest(old[0] if old is not None else b""):
        return
    raise ToolError(
        ErrorKind.EDIT_CONFLICT,
        f"{slot.path!r} changed since you last read it; read it again, then change what is there now",
    )


def _with_line_ends_of(old: tuple[bytes, int] | None, text: str) -> bytes:
    content = text.encode()
    if (
        old is not None
        and b"\r\n" in old[0]
        and old[0].count(b"\n") == old[0].count(b"\r\n")
        and b"\r" not in content
    ):
        return content.replace(b"\n", b"\r\n")
    return content
