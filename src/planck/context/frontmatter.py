"""The head of a SKILL.md: the part of YAML that such files use, read leniently (`a: b: c` is a text)."""

import re
from typing import Any

# Compiled by the first file that has a head: most projects have none, and each start waits for this.
_KEY = r"([A-Za-z_][\w.-]*)\s*:(?:\s+|$)(.*)"
_BLOCK = r"([|>])([+-]?)\d?([+-]?)\s*(?:#.*)?"


def split(text: str) -> tuple[dict[str, Any], str] | None:
    """Returns the fields and the body; None where the file has no head."""
    lines = text.removeprefix("\ufeff").removeprefix("\\ufeff").split("\n")
    if lines[0].rstrip() != "---":
        return None
    for end, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return _parse_mapping(lines[1:end]), "\n".join(lines[end + 1 :]).strip("\n")
    return None


def _parse_mapping(lines: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    at = 0
    while at < len(lines):
        found = None if lines[at][:1] in (" ", "\t", "#", "") else re.fullmatch(_KEY, lines[at].rstrip())
        at += 1
        if not found:
            continue
        nested = at
        while nested < len(lines) and (not lines[nested].strip() or lines[nested][0] in " \t-"):
            nested += 1
        fields[found[1]] = _parse_value(found[2].strip(), lines[at:nested])
        at = nested
    return fields


def _parse_value(first: str, below: list[str]) -> Any:
    block = re.fullmatch(_BLOCK, first)
    if block:
        return _parse_block(below, folded=block[1] == ">")
    rest = [line.strip() for line in below if line.strip() and not line.strip().startswith("#")]
    if first[:1] in ("'", '"'):
        return _unquote(" ".join([first, *rest]))
    first = re.split(r"\s#", first, maxsplit=1)[0].rstrip()
    if first.startswith("[") and first.endswith("]"):
        return [_unquote(part.strip()) for part in first[1:-1].split(",") if part.strip()]
    if first or not rest:
        return " ".join([first, *rest])
    if rest[0].startswith("- "):
        return [_unquote(line[2:].strip()) for line in rest if line.startswith("- ")]
    return _parse_nested(below) or " ".join(rest)


def _parse_nested(below: list[str]) -> dict[str, str]:
    pairs = (re.fullmatch(_KEY, line.strip()) for line in below if line.strip())
    return {pair[1]: _unquote(pair[2].strip()) for pair in pairs if pair}


def _parse_block(below: list[str], *, folded: bool) -> str:
    indent = min((len(line) - len(line.lstrip()) for line in below if line.strip()), default=0)
    lines = [line[indent:].rstrip() for line in below]
    if not folded:
        return "\n".join(lines).strip("\n")
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
    return "\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text[:1] == '"':
        closed = re.match(r'"((?:[^"\\]|\\.)*)"', text)
        if closed:
            return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), closed[1])
    return text
