"""A notebook as a model reads it: cell by cell, what was written and what came out, without pictures."""

import json
from collections.abc import Iterator
from typing import Any

_MAX_OUTPUT = 2_000
"""Characters of one output: the rest is in the file."""


def show_cells(content: bytes) -> bytes | None:
    """Returns the cells as text; None: it is no notebook, and is shown as it is."""
    try:
        notebook = json.loads(content)
        cells = notebook["cells"]
        if not isinstance(cells, list):
            return None
        rows = [row for number, cell in enumerate(cells, 1) for row in _show_cell(number, cell)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    count = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
    head = f"[notebook with {count}; to change a cell, edit the file's JSON]"
    return "\n".join([head, *rows, ""]).encode("utf-8", "replace")


def _show_cell(number: int, cell: dict[str, Any]) -> Iterator[str]:
    kind = cell.get("cell_type", "raw")
    count = cell.get("execution_count")
    ran = f", run {count}" if isinstance(count, int) else ""
    yield f"\n[cell {number}: {kind}{ran}]"
    yield _join(cell.get("source", ""))
    for output in cell.get("outputs") or ():
        text = _show_output(output).rstrip()
        if len(text) > _MAX_OUTPUT:
            left = len(text) - _MAX_OUTPUT
            more = "1 more character" if left == 1 else f"{left} more characters"
            text = f"{text[:_MAX_OUTPUT]}\n[{more}]"
        if text:
            yield f"[output]\n{text}"


def _show_output(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    if "text" in output:
        return _join(output["text"])
    data = output.get("data") or {}
    if "text/plain" in data:
        return _join(data["text/plain"])
    return f"[{', '.join(sorted(data))}, not shown]" if data else ""


def _join(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
