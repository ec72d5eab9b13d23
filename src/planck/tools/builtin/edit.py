import asyncio
from typing import Any

from planck.records.outcome import ErrorKind, Ok
from planck.toolkit import schema
from planck.toolkit.tool import ArgumentError, Effect, Outcome, Tool, ToolContext, ToolError, describe_plan
from planck.tools.builtin.files import FILE, MAX_FILE, Shared, bind_to_file, diff, prose, replace

_MAX_COMPARED = 20_000
"""Lines looked at for the nearest one."""
_MAX_LINES_NAMED = 10
_MAX_LINE = 500
"""Characters of a line near to the text."""
_PARAMETERS = schema.arguments(
    {"path": FILE, "old_string": {"type": "string", "minLength": 1}, "new_string": {"type": "string"}},
    {"replace_all": {"type": "boolean"}},
)


def edit_tool(shared: Shared) -> Tool:
    views = shared.views

    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        path: str = args["path"]
        view = views.of(ctx)
        with view.root.under(ctx.confinement).writing(path, create=False) as slot:
            async with view.seen.alone(slot, ctx) as old:
                if old is None:
                    raise ToolError(ErrorKind.NOT_FOUND, f"{path!r} does not exist{slot.suggest()}")
                content, count = await asyncio.to_thread(_apply_edit, old, args)
                await replace(slot, old, content, view.seen, ctx)
        return Ok({"output": f"Edited {path} ({_times(count)}).", "replaced": count})

    def dry_run(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        view = views.of(ctx)
        old = view.seen.peek(view.root.under(ctx.confinement), args["path"])
        content, count = _apply_edit(old, args)
        change = diff(old[0] if old else None, content, args["path"])
        from planck.records.diffs import name_path  # not before the first call

        said = f"Would edit {name_path(args['path'])} ({_times(count)})."
        return describe_plan("edit", args, f"{said}\n{change}" if change else said)

    return Tool(
        "edit",
        prose("edit"),
        _PARAMETERS,
        execute,
        dry_run,
        effect=Effect.FILES,
        basis=bind_to_file(views),
        max_arguments=2 * MAX_FILE,
    )


def _apply_edit(old: tuple[bytes, int] | None, args: dict[str, Any]) -> tuple[bytes, int]:
    """Only the bytes that are replaced change, whatever the encoding and the line ends of the rest."""
    path: str = args["path"]
    if old is None:
        raise ToolError(ErrorKind.NOT_FOUND, f"{path!r} does not exist; create it with `write`")
    if args["old_string"] == args["new_string"]:
        raise ArgumentError("old_string and new_string are the same; pass the changed text as new_string")
    content = old[0]
    wanted, new = args["old_string"].encode(), args["new_string"].encode()
    count = content.count(wanted)
    if not count and b"\r\n" in content:
        wanted, new = (text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for text in (wanted, new))
        count = content.count(wanted)
    if not count:
        raise _no_match(content, args["old_string"], path)
    if count > 1 and not args.get("replace_all", False):
        raise _not_unique(content, wanted, count, path)
    if b"\r\n" in content and b"\r\n" not in new and content.count(b"\n") == content.count(b"\r\n"):
        new = new.replace(b"\n", b"\r\n")
    if (size := len(content) + count * (len(new) - len(wanted))) > MAX_FILE:
        raise ToolError(
            ErrorKind.LIMIT_EXCEEDED,
            f"{path!r} would have {size} bytes, and at most {MAX_FILE} can be edited here; use `bash`",
        )
    return content.replace(wanted, new), count


def _no_match(content: bytes, wanted: str, path: str) -> ToolError:
    message = f"old_string is not in {path}"
    lines = content.decode(errors="replace").splitlines()
    nearest = _nearest(lines, wanted)
    if not nearest:
        return ToolError(ErrorKind.NO_MATCH, f"{message}; read the file and copy the text exactly")
    places: list[dict[str, Any]] = [{"line": number, "text": line[:_MAX_LINE]} for number, line in nearest]
    number = _find_difference(lines, wanted, nearest[0][0])
    first = max(1, min(number - 2, len(lines) - 4))
    around = [_cut_line(line) for line in lines[first - 1 : first + 4]]
    places[0] |= {"first": first, "lines": around}
    return ToolError(
        ErrorKind.NO_MATCH,
        f"{message}; the closest match is at line {number}, so copy the text from the lines below",
        {"nearest": places},
    )


def _find_difference(lines: list[str], wanted: str, number: int) -> int:
    """Returns the first line from there on that is not the text's: a long text may begin as the file."""
    texts = wanted.lstrip("\n").splitlines()
    for at, text in enumerate(texts[:-1], number):
        if at > len(lines) or lines[at - 1] != text:
            return min(at, len(lines))
    return min(number + len(texts) - 1, len(lines))


def _cut_line(line: str) -> str:
    return (
        line
        if len(line) <= _MAX_LINE
        else f"{line[:_MAX_LINE]}…[line truncated, showing {_MAX_LINE} of {len(line)} characters]"
    )


def _nearest(lines: list[str], wanted: str) -> list[tuple[int, str]]:
    """The three lines most like the first line of the text, best first."""
    first = next((line.strip() for line in wanted.splitlines() if line.strip()), "")[:500]
    if not first:
        return []
    import difflib  # for a text that is not there

    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(first)
    scored = []
    for number, line in enumerate(lines[:_MAX_COMPARED], 1):
        matcher.set_seq1(line.strip()[:500])
        if (
            matcher.real_quick_ratio() > 0.5
            and matcher.quick_ratio() > 0.5
            and (score := matcher.ratio()) > 0.5
        ):
            scored.append((-score, number, line))
    return [(number, line) for _, number, line in sorted(scored)[:3]]


def _not_unique(content: bytes, wanted: bytes, count: int, path: str) -> ToolError:
    lines: list[int] = []
    start = 0
    while len(lines) < _MAX_LINES_NAMED and (at := content.find(wanted, start)) >= 0:
        line = content.count(b"\n", 0, at) + 1
        lines += [line] if line not in lines else []
        start = at + len(wanted)
    named = ", ".join(map(str, lines)) + (", …" if len(lines) == _MAX_LINES_NAMED else "")
    where = f"at lines {named}" if len(lines) > 1 else f"all at line {named}"
    return ToolError(
        ErrorKind.NOT_UNIQUE,
        f"old_string occurs {count} times in {path}, {where}; "
        "add more of the surrounding text to it, or pass replace_all",
        {"count": count, "lines": lines},
    )


def _times(count: int) -> str:
    return "1 replacement" if count == 1 else f"{count} replacements"
