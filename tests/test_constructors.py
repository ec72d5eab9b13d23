"""Constructors are complete: who builds an object does not set its attributes afterwards."""

import ast
from collections.abc import Iterator
from pathlib import Path

import planck

SOURCE = Path(planck.__file__).parent

_READER = "a reader fills what it reads"
_THEIRS = "the class is not ours"
_STATE = "it changes while it lives"
ALLOWED = {
    "app.py: sent.status": _STATE,
    "editing.py: self._app.timeoutlen": _THEIRS,
    "http.py: web.force_exit": _THEIRS,
    "http.py: web.should_exit": _THEIRS,
    "interpreters.py: found.guard": _READER,
    "interpreters.py: found.reads_input": _READER,
    "markdown.py: document.code_theme": _THEIRS,
    "markdown.py: document.parsed": _THEIRS,
    "planck.py: plan.stored": "goes with RunOptions",
    "work.py: options.begun": _THEIRS,
    "work.py: options.no_session": _THEIRS,
    "spans.py: quiet.propagate": _THEIRS,
    "store.py: batch.committed": _STATE,
    "store.py: batch.rows": _STATE,
}
"""Assignments that stay, by the name of their file, and why."""


def find_late(tree: ast.AST) -> Iterator[str]:
    """Yields each `name.attribute = …` in the function that built `name` by a class or a `make_…`.

    In an `__init__` it yields every one that is not of `self`. A copy is exempt: it is made to differ.
    """
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
            built = {name for node in nodes if _builds(node.value) for name in _list_names(node)}
            for node in nodes:
                for target in _list_attributes(node):
                    owner = ast.unparse(target.value)
                    if owner in built or (function.name == "__init__" and owner != "self"):
                        yield ast.unparse(target)


def _builds(value: ast.expr) -> bool:
    if isinstance(value, ast.Await):
        value = value.value
    if not isinstance(value, ast.Call):
        return False
    name = ast.unparse(value.func).rpartition(".")[2].lstrip("_")
    return name[:1].isupper() or name.startswith("make_")


def _list_names(node: ast.Assign) -> Iterator[str]:
    return (target.id for target in node.targets if isinstance(target, ast.Name))


def _list_attributes(node: ast.Assign) -> Iterator[ast.Attribute]:
    for target in node.targets:
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        yield from (part for part in parts if isinstance(part, ast.Attribute))


def test_nothing_is_set_on_an_object_after_it_is_built() -> None:
    late = {
        f"{path.name}: {what}"
        for path in SOURCE.rglob("*.py")
        for what in find_late(ast.parse(path.read_text()))
    }
    assert sorted(late - ALLOWED.keys()) == [], "give it to the constructor"
