"""Modules of the page as one script: a file that is opened from disk can't load a second one."""

import posixpath
import re
from pathlib import Path

_IMPORT = re.compile(
    r"""^import\s*(?:(?P<what>\{[^}]*\}|\*\s*as\s+[\w$]+|[\w$]+)\s*from\s*)?["'](?P<path>[^"']+)["'];?""",
    re.M,
)
_EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?function\b|class\b|const\b)", re.M)
_DECLARED = re.compile(r"(?:(?:async\s+)?function\s*\*?|class|const)\s+([\w$]+)")
_LIST = re.compile(r"(?:^|(?<=[;}]))export\s*\{([^}]*)\}(?!\s*from\b);?", re.M)
_RENAMED = re.compile(r"([\w$]+)\s+as\s+([\w$]+)")
_LEFT = re.compile(r"^\s*(?:import|export)\b(?!\s*[:=(.])|\bimport\s*\(|\bimport\.meta\b", re.M)
_ENDS = re.compile(r"</?script|<!--", re.I)


class LinkError(Exception):
    """The modules use something that this can't put into one script; ours do not, and a test holds that."""


def link(folder: Path, entry: str, name: str) -> str:
    """Returns a script that runs each module once, those it needs first, and leaves `entry` as `name`.

    Each is a function of its own, so that what it does not export stays its own. Names are bound
    where they are imported: modules that need each other, or export a variable, are refused.
    """
    linked = _Linked(folder)
    linked.add(entry, ())
    script = "\n".join(['"use strict";', *linked.parts, f"const {name} = {linked.names[entry]};"])
    if _ENDS.search(script):
        raise LinkError("a module has the beginning or the end of a script element in it")
    return script


class _Linked:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.names: dict[str, str] = {}
        self.parts: list[str] = []

    def add(self, path: str, above: tuple[str, ...]) -> str:
        """Returns the name under which a module's exports are known."""
        if path in above:
            raise LinkError(f"{' needs '.join((*above[above.index(path) :], path))}")
        if path not in self.names:
            text = (self._folder / path).read_text()
            body = _IMPORT.sub(lambda found: self._bind(found, path, (*above, path)), text)
            body, exports = _strip_exports(body)
            if left := _LEFT.search(body):
                raise LinkError(f"{path} has {left[0].strip()!r}, which can't be linked")
            self.names[path] = f"$planck{len(self.names)}"
            end = f"return {{{', '.join(exports)}}};"
            self.parts.append(f"const {self.names[path]} = (() => {{\n{body.strip()}\n{end}\n}})();")
        return self.names[path]

    def _bind(self, found: re.Match[str], path: str, above: tuple[str, ...]) -> str:
        wanted = found["path"]
        if not wanted.startswith("."):
            raise LinkError(f"{path} imports {wanted!r}, which is not one of our files")
        module = self.add(posixpath.normpath(posixpath.join(posixpath.dirname(path), wanted)), above)
        what = found["what"]
        if not what:
            return ""
        if what.startswith("{"):
            names = _RENAMED.sub(r"\1: \2", what)
            return f"const {names} = {module};"
        if what.startswith("*"):
            return f"const {what.split()[-1]} = {module};"
        raise LinkError(f"{path} imports the default of {wanted!r}: name what it is")


def _strip_exports(text: str) -> tuple[str, list[str]]:
    names = []
    for found in _EXPORT.finditer(text):
        declared = _DECLARED.match(text, found.end())
        if declared is None:
            raise LinkError(f"what is exported has no plain name: {text[found.start() : found.end() + 40]!r}")
        names.append(declared[1])
    for found in _LIST.finditer(text):
        for one in filter(None, map(str.strip, found[1].split(","))):
            local, _, shown = one.partition(" as ")
            names.append(f"{shown.strip()}: {local.strip()}" if shown else local)
    return _LIST.sub("", _EXPORT.sub("", text)), names
