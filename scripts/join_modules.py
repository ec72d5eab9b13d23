"""Modules of the page as one scope, so that a minifier can shorten every name, and nothing is looked up.

Ours keep to a few forms of `import` and `export`; any other is refused rather than guessed at.
"""

import posixpath
import re
from collections.abc import Mapping
from typing import NamedTuple

_IMPORT = re.compile(r"^import \{([\w$,\s]+)\} from '(\.[^']+)';\n?", re.M)
_DECLARED = re.compile(
    r"^(export )?(?:(?:async )?function\*? |class |const |let |var )([\w$]+(?:, [\w$]+)*)", re.M
)
_EXPORT = re.compile(r"^export (?=(?:async )?function\b|class\b|(?:const|let) [\w$]+ =)", re.M)
_LIST = re.compile(r"(?<=[;}\n])export ?\{([^}]*)\};?\s*$")
_LEFT = re.compile(r"^\s*(?:import|export)\b(?!\s*[:=(.])|\bimport\s*\(|\bimport\.meta\b", re.M)
_VENDORED = "vendor/"


class JoinError(Exception):
    """The modules use something that can't stand in one scope; the message names it."""


class _Module(NamedTuple):
    body: str
    declared: tuple[str, ...]
    exported: Mapping[str, str]
    """What others may import, and what it is called inside."""
    needs: Mapping[str, tuple[str, ...]]


def join(modules: Mapping[str, str], entry: str) -> str:
    """Returns what `entry` and all it needs declare and do, each once, after what it needs.

    `modules` are texts by path. What is below `vendor/` was not written for this: it keeps its own scope.
    """
    found = _find(modules, entry)
    wanted = _check_imports(found)
    _check_names(found, wanted)
    return "\n".join(_write(path, module, wanted[path]) for path, module in found.items())


def list_names(modules: Mapping[str, str], entry: str) -> list[str]:
    """Returns what is declared in the one scope, and would hide what a browser calls the same."""
    return [name for module in _find(modules, entry).values() for name in module.declared]


def _find(modules: Mapping[str, str], entry: str) -> dict[str, _Module]:
    found: dict[str, _Module] = {}
    _visit(entry, (), modules, found)
    return found


def _visit(path: str, above: tuple[str, ...], modules: Mapping[str, str], found: dict[str, _Module]) -> None:
    if path in above:
        raise JoinError(f"modules need each other: {' needs '.join((*above[above.index(path) :], path))}")
    if path not in modules:
        raise JoinError(f"{' needs '.join((*above, path))}, which is not one of our files")
    if path not in found:
        module = _read(path, modules[path])
        for needed in module.needs:
            _visit(needed, (*above, path), modules, found)
        found[path] = module


def _read(path: str, text: str) -> _Module:
    if path.startswith(_VENDORED):
        listed = _LIST.search(text)
        body, exported = text[: listed.start()] if listed else text, _read_list(listed[1]) if listed else {}
        declared: tuple[str, ...] = ()
    else:
        names = [
            (name, bool(found[1])) for found in _DECLARED.finditer(text) for name in found[2].split(", ")
        ]
        declared = tuple(name for name, _ in names)
        exported = {name: name for name, shown in names if shown}
        body = _EXPORT.sub("", _IMPORT.sub("", text))
    if left := _LEFT.search(body):
        line = body[left.start() :].strip().partition("\n")[0]
        raise JoinError(
            f"{path} has {line[:80]!r}; only `import {{names}} from './file.js';` and `export` before "
            "a function, a class or one constant can be joined"
        )
    needs: dict[str, tuple[str, ...]] = {}
    for found in _IMPORT.finditer(text):
        needed = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[2]))
        needs[needed] = (*needs.get(needed, ()), *(one.strip() for one in found[1].split(",") if one.strip()))
    return _Module(body.strip(), declared, exported, needs)


def _read_list(names: str) -> dict[str, str]:
    pairs = (one.partition(" as ") for one in names.split(","))
    return {(shown or name).strip(): name.strip() for name, _, shown in pairs}


def _check_imports(found: Mapping[str, _Module]) -> dict[str, list[str]]:
    """Returns what is imported of each module."""
    wanted: dict[str, list[str]] = {path: [] for path in found}
    for path, module in found.items():
        for needed, names in module.needs.items():
            if missing := [name for name in names if name not in found[needed].exported]:
                raise JoinError(f"{path} imports {', '.join(missing)}, which {needed} does not export")
            wanted[needed] += [name for name in names if name not in wanted[needed]]
    return wanted


def _check_names(found: Mapping[str, _Module], wanted: Mapping[str, list[str]]) -> None:
    owners: dict[str, str] = {}
    for path, module in found.items():
        for name in wanted[path] if path.startswith(_VENDORED) else module.declared:
            if owners.setdefault(name, path) != path:
                raise JoinError(f"{name} is declared in {owners[name]} and in {path}: rename one of them")


def _write(path: str, module: _Module, wanted: list[str]) -> str:
    if not path.startswith(_VENDORED):
        return module.body
    given = ", ".join(f"{name}: {module.exported[name]}" for name in wanted)
    return f"const {{{', '.join(wanted)}}} = (() => {{\n{module.body}\nreturn {{{given}}};\n}})();"
