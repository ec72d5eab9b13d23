import os
from pathlib import Path
from typing import Any

from planck.records.messages import Image
from planck.records.outcome import ErrorKind, Ok
from planck.toolkit import schema
from planck.toolkit.tool import ArgumentError, Effect, Outcome, Tool, ToolContext, ToolError
from planck.tools.builtin.files import MAX_FILE, Shared, prose

MAX_LINES = 2_000
MAX_BYTES = 15_000
"""A page with its footer stays below what the executor cuts."""
MAX_LINE = 4_000
MAX_SCAN = 1 << 28
"""Bytes that are looked through for a far offset of a huge file."""
_CHUNK = 1 << 18
_OUTPUT = "output:"
_PARAMETERS = schema.arguments(
    {"path": schema.text("Relative to the workspace, or output:<call id>")},
    {
        "offset": schema.integer("First line, from 1", minimum=0),
        "limit": schema.integer("Number of lines", minimum=1),
    },
)


def read_tool(shared: Shared) -> Tool:
    views, spills = shared.views, shared.spills

    def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        path: str = args["path"]
        window = _Window(max(1, int(args.get("offset", 1))), int(args.get("limit", MAX_LINES)))
        if path.startswith(_OUTPUT):
            return Ok(_show_spilled(spills.find(path.removeprefix(_OUTPUT)), path, window))
        view = views.of(ctx)
        with view.root.under(ctx.confinement).reading(path) as fd:
            size = os.fstat(fd).st_size
            if size > MAX_FILE:
                return Ok(_page(fd, path, window, size))
            with os.fdopen(fd, "rb", closefd=False) as file:
                content = file.read(size)  # a snapshot: a file that grows meanwhile ends here
            view.seen.note(view.root.place(fd, path), content)
            if path.endswith(".ipynb"):
                from planck.tools.builtin.notebook import show_cells  # few files are notebooks

                content = show_cells(content) or content
            return Ok(_show(content, path, window))

    return Tool(
        "read",
        prose("read", lines=MAX_LINES, bytes=MAX_BYTES),
        _PARAMETERS,
        execute,
        effect=Effect.NONE,
    )


class _Window:
    """Collects the lines from `offset` on until one of the limits is met."""

    def __init__(self, offset: int, limit: int) -> None:
        self.offset = offset
        self.limit = min(limit, MAX_LINES)
        self.lines: list[str] = []
        self.bytes = 0

    def take(self, line: bytes, whole_length: int | None = None) -> bool:
        """False when the line belongs to the next page."""
        text = _line_text(line, whole_length)
        size = len(text.encode()) + 1
        if len(self.lines) >= self.limit or (self.lines and self.bytes + size > MAX_BYTES):
            return False
        self.lines.append(text)
        self.bytes += size
        return True

    def result(self, more: bool, of: str) -> dict[str, Any]:
        last = self.offset + len(self.lines) - 1
        output = "\n".join(self.lines)
        if not more:
            return {"output": output}
        footer = f"[lines {self.offset}-{last} of {of}; continue with offset {last + 1}]"
        part = f"lines {self.offset}-{last} of {of}"
        return {"output": f"{output}\n{footer}", "next_offset": last + 1, "summary": part}


def _line_text(line: bytes, whole_length: int | None) -> str:
    line = line.removesuffix(b"\r")
    length = whole_length if whole_length is not None else len(line)
    if length <= MAX_LINE:
        return line.decode(errors="replace")
    return f"{line[:MAX_LINE].decode(errors='ignore')}…[line truncated, showing {MAX_LINE} of {length} bytes]"


def _show_spilled(file: Path | None, path: str, window: _Window) -> dict[str, Any]:
    try:
        if file is None:
            raise FileNotFoundError
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        raise ToolError(
            ErrorKind.RESOURCE_MISSING,
            f"no output is kept under {path!r}; only output that was too long to show is kept, so look at "
            "the result of that call",
        ) from None
    try:
        return _page(fd, path, window, os.fstat(fd).st_size, binary=True)
    finally:
        os.close(fd)


def _show(content: bytes, path: str, window: _Window) -> dict[str, Any]:
    from planck.toolkit.images import MAX_IMAGE, image_type  # not before the first call

    if media_type := image_type(content):
        if len(content) > MAX_IMAGE:
            raise ToolError(
                ErrorKind.LIMIT_EXCEEDED,
                f"the image {path!r} has {len(content)} bytes, and at most {MAX_IMAGE} can be shown; "
                "make a smaller copy with `bash`",
            )
        import base64

        image = Image(media_type, base64.b64encode(content).decode())
        about = f"{media_type}, {len(content)} bytes"
        return {"output": f"[{about}]", "images": [image], "summary": about}
    _refuse_binary(content, path, len(content))
    if not content:
        return {"output": "[the file is empty]", "summary": "empty file"}
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    if window.offset > len(lines):
        raise _past_end(path, window, len(lines))
    for line in lines[window.offset - 1 :]:
        if not window.take(line):
            return window.result(True, str(len(lines)))
    result = window.result(False, "")
    if content.endswith(b"\n"):
        result["output"] += "\n"
    return result


def _page(fd: int, path: str, window: _Window, size: int, binary: bool = False) -> dict[str, Any]:
    """A huge file: nothing but the window is kept, and a long line only by its beginning."""
    number, held, length, scanned = 1, bytearray(), 0, 0
    of = f"a file with {size} bytes"
    while scanned < size:
        if scanned >= MAX_SCAN:
            raise ToolError(
                ErrorKind.LIMIT_EXCEEDED,
                f"line {window.offset} of {path!r} is too far into the file; use `bash` with sed or tail",
            )
        chunk = os.read(fd, min(_CHUNK, size - scanned))
        if not chunk:
            break
        if scanned == 0 and not binary:
            _refuse_binary(chunk, path, size)
        scanned += len(chunk)
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            if number >= window.offset:
                held += part[: MAX_LINE + 1]
                if not window.take(bytes(held), length + len(part)):
                    return window.result(True, of)
            number, length = number + 1, 0
            held.clear()
        if number >= window.offset:
            held += rest[: max(0, MAX_LINE + 1 - len(held))]
        length += len(rest)
    if length and number >= window.offset and not window.take(bytes(held), length):
        return window.result(True, of)
    if not window.lines:
        raise _past_end(path, window, number - (0 if length else 1))
    result = window.result(False, of)
    return result if length else {**result, "output": result["output"] + "\n"}


def _refuse_binary(content: bytes, path: str, size: int) -> None:
    if b"\0" in content[:8192]:
        raise ToolError(
            ErrorKind.READ_FAILED,
            f"{path!r} is not a text file ({size} bytes); use `bash` with file or xxd to inspect it",
            {"bytes": size},
        )


def _past_end(path: str, window: _Window, lines: int) -> ToolError:
    count = "1 line" if lines == 1 else f"{lines} lines"
    return ArgumentError(
        f"offset {window.offset} is past the end of {path!r}, which has {count}; use a smaller offset"
    )
