"""Unified diffs that somebody decides by: every change of bytes is visible, and what is cut is counted.

Lines end at `\\n` and nowhere else, as they do for a shell. A diff that also splits at U+2028 or a form feed
shows a comment and the command after it as the same two lines before and after a change.
"""

import re
from collections.abc import Iterator

from planck.records.visible import spell_out

CONTEXT = 2
"""Unchanged lines that are shown around a change."""
ESCAPED = "\\ Escaped in the line above: invisible characters, and each backslash"
UNENDED = "\\ No newline at end of file"
_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def diff_bytes(before: bytes | None, after: bytes | None, path: str) -> list[str]:
    """Returns the rows of a diff; None is a file that does not exist. A byte outside UTF-8 is `\\udcXX`."""
    # Not "replace": all invalid bytes would look the same, and a change of one would not be seen.
    old, new = (
        None if content is None else content.decode(errors="surrogateescape") for content in (before, after)
    )
    return diff_texts(old, new, path)


def diff_texts(before: str | None, after: str | None, path: str) -> list[str]:
    """Returns the rows of a diff, in which nothing is invisible; none where both are the same.

    Two results of one old content never have the same rows: an escaped line says that it is escaped.
    """
    if before == after:
        return []
    name = name_path(path)
    source = "/dev/null" if before is None else f"a/{name}"
    target = "/dev/null" if after is None else f"b/{name}"
    old, new = before or "", after or ""
    # If every line of both has it, CR LF is not part of the change, and would be noise in every line.
    end = "\r\n" if _has_crlf(old) and _has_crlf(new) else "\n"
    return [f"--- {source}", f"+++ {target}", *_draw_hunks(_split(old, end), _split(new, end))]


def name_path(path: str) -> str:
    """Returns the path on one line; in quotes, with escapes, where it has more than visible characters."""
    escaped = _escape(path).replace("\n", "\\n").replace("\t", "\\t")
    if escaped == path.replace("\\", "\\\\") and path == path.strip() and not path.startswith('"'):
        return path
    return '"' + escaped.replace('"', '\\"') + '"'


def cut_middle(text: str, limit: int) -> tuple[str, int]:
    """Returns a text of about `limit` characters, and how many of its lines are not shown as a whole.

    Both ends stay: what was put at the end of a long file to be overlooked is seen. In a diff, the rows after
    the gap get a head of their own, so that they are read with their numbers and not as names of files.
    """
    if len(text) <= limit:
        return text, 0
    start = text.find("\n", len(text) - limit // 2) + 1 or len(text)
    while text.startswith("\\ ", start):  # a note on a line that is not shown
        start = text.find("\n", start) + 1 or len(text)
    first, last = text[: limit - (len(text) - start)], text[start:]
    left_out = text.count("\n", len(first), start) - (text[len(first)] == "\n")
    left_out += start == len(text) and not text.endswith("\n")
    if not left_out:
        return text, 0
    if text[len(first)] != "\n" and not first.endswith("\n"):
        first += "…"
    note = f"[{left_out} {'line is' if left_out == 1 else 'lines are'} not shown]"
    rows = [note, *_head_of_rest(text[:start], last), *([last] if last else [])]
    return "\n".join([first.removesuffix("\n"), *rows]), left_out


def _has_crlf(text: str) -> bool:
    return 0 < text.count("\n") == text.count("\r\n")


def _split(text: str, end: str) -> list[tuple[str, bool]]:
    """Returns the lines without their ends, each with whether it has one."""
    *lines, last = text.split(end)
    return [*((line, True) for line in lines), *([(last, False)] if last else [])]


def _draw_hunks(old: list[tuple[str, bool]], new: list[tuple[str, bool]]) -> Iterator[str]:
    import difflib  # few sessions show one

    # What is the same at both ends is most of a file, and nothing that has to be searched.
    head = _count_same(old, new)
    tail = _count_same(old[head:][::-1], new[head:][::-1])
    start, spare = max(head - CONTEXT, 0), max(tail - CONTEXT, 0)
    matcher = difflib.SequenceMatcher(None, old[start : len(old) - spare], new[start : len(new) - spare])
    for group in matcher.get_grouped_opcodes(CONTEXT):
        (_, one, _, other, _), (_, _, one_end, _, other_end) = group[0], group[-1]
        yield _make_head(start + one, one_end - one, start + other, other_end - other)
        for kind, i, i_end, j, j_end in group:
            if kind == "equal":
                yield from _draw(" ", old[start + i : start + i_end])
            else:
                yield from _draw("-", old[start + i : start + i_end])
                yield from _draw("+", new[start + j : start + j_end])


def _draw(sign: str, lines: list[tuple[str, bool]]) -> Iterator[str]:
    for line, ended in lines:
        shown = _escape(line)
        if shown == line.replace("\\", "\\\\"):  # nothing is invisible: as it is
            yield sign + line
        else:
            yield sign + shown
            yield ESCAPED
        if not ended:
            yield UNENDED


def _escape(text: str) -> str:
    """Maps one to one: of two texts that are not the same, both escaped, the results are not the same."""
    # One by one at CR LF, which `spell_out` takes for the end of a line.
    return "\\x0d".join(spell_out(part) for part in text.replace("\\", "\\\\").split("\r"))


def _make_head(old: int, removed: int, new: int, added: int) -> str:
    """As `diff -u` writes it: counted from 1, a single line without its count, an empty range from before."""

    def write(start: int, count: int) -> str:
        return f"{start + 1}" if count == 1 else f"{start + (count > 0)},{count}"

    return f"@@ -{write(old, removed)} +{write(new, added)} @@"


def _head_of_rest(before: str, rest: str) -> list[str]:
    """Returns the head for the rows of a hunk that was cut; none where the rest is not within one."""
    old = new = left = right = 0
    for row in before.removesuffix("\n").split("\n"):
        if found := _HEAD.match(row):
            old, new = int(found[1]), int(found[3])
            left, right = int(found[2] or 1), int(found[4] or 1)
            # An empty range names the line before it.
            old, new = old - (left > 0), new - (right > 0)
        elif left > 0 or right > 0:
            removed, added = row[:1] in ("-", " "), row[:1] in ("+", " ")
            old, left, new, right = old + removed, left - removed, new + added, right - added
    return [_make_head(old, left, new, right)] if rest and (left > 0 or right > 0) else []


def _count_same(one: list[tuple[str, bool]], other: list[tuple[str, bool]]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
