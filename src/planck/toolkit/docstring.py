"""What a docstring says of a function and of its parameters, in the three styles in use."""

import re

_GOOGLE = re.compile(r"^(?:Args|Arguments|Parameters):\s*$")
_NUMPY = re.compile(r"^(?:Parameters|Other Parameters)\n-{3,}\s*$", re.MULTILINE)
_SECTION = re.compile(r"^[A-Z][A-Za-z ]*:\s*$|^[A-Z][A-Za-z ]*\n-{3,}\s*$", re.MULTILINE)
_SPHINX = re.compile(r"^:param\s+(?:[^:]*?\s)?\*{0,2}(\w+):[ \t]*(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_FIELD = re.compile(r"^:\w+", re.MULTILINE)
_GOOGLE_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$", re.DOTALL)
_NUMPY_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?::[^\n]*)?(?:\n(.*))?$", re.DOTALL)


def parse_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """Returns the text before the first section, and a text for each parameter that has one."""
    ends = [found.start() for pattern in (_SECTION, _FIELD) if (found := pattern.search(doc))]
    return doc[: min(ends, default=len(doc))].strip(), _google(doc) | _numpy(doc) | _sphinx(doc)


def _google(doc: str) -> dict[str, str]:
    lines = doc.split("\n")
    start = next((i + 1 for i, line in enumerate(lines) if _GOOGLE.match(line)), len(lines))
    body = []
    for line in lines[start:]:
        if line.strip() and not line.startswith((" ", "\t")):
            break
        body.append(line)
    return _entries(_outdent(body), _GOOGLE_ENTRY)


def _numpy(doc: str) -> dict[str, str]:
    found = _NUMPY.search(doc)
    if not found:
        return {}
    rest = doc[found.end() :].lstrip("\n")
    following = _SECTION.search(rest)
    return _entries(rest[: following.start() if following else len(rest)].split("\n"), _NUMPY_ENTRY)


def _sphinx(doc: str) -> dict[str, str]:
    return {name: _join(text) for name, text in _SPHINX.findall(doc)}


def _entries(lines: list[str], shape: re.Pattern[str]) -> dict[str, str]:
    """Each unindented line starts an entry, indented ones go on with it."""
    entries: list[str] = []
    for line in lines:
        if line[:1].strip():
            entries.append(line)
        elif entries and line.strip():
            entries[-1] += "\n" + line
    matches = [match for entry in entries if (match := shape.match(entry))]
    return {match[1]: text for match in matches if (text := _join(match[2] or ""))}


def _outdent(lines: list[str]) -> list[str]:
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[depth:] for line in lines]


def _join(text: str) -> str:
    return " ".join(text.split())
