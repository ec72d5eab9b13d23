"""The rooms of `cli/`, bottom up, without an import cycle; imports within functions count, too."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.test_layers import SRC

ROWS = (
    {"errors", "late_ssl", "output", "parser", "place", "qr", "server", "streams"},
    {"screen"},
    {"tell"},
    {"ask"},
    {"session", "stream_input", "isolated", "work"},
    {"chat"},
    {"commands"},
    {"main"},
)
"""A room imports from its own row and from those before it."""
ROW = {room: number for number, rooms in enumerate(ROWS) for room in rooms}


def read_imports(src: Path) -> dict[str, set[str]]:
    """Returns what each module of `cli/` imports of ours, by whole names."""
    files = {_name(path.relative_to(src)): path for path in sorted((src / "cli").rglob("*.py"))}
    found: dict[str, set[str]] = {module: set() for module in files}
    for module, path in files.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found[module] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                below = {f"{node.module}.{alias.name}" for alias in node.names}
                found[module] |= below & set(files) or {node.module}
    return {module: {name for name in names if name.startswith("planck.")} for module, names in found.items()}


def _name(file: Path) -> str:
    return ".".join(["planck", *file.with_suffix("").parts]).removesuffix(".__init__")


def find_wrong(src: Path) -> list[str]:
    imports = read_imports(src)
    wrong = [
        f"{module} imports {name}"
        for module, names in imports.items()
        for name in sorted(names)
        if _is_wrong(module.split(".")[2:], name.split(".")[1:])
    ]
    try:
        TopologicalSorter({module: names & set(imports) for module, names in imports.items()}).prepare()
    except CycleError as cycle:
        wrong.append(f"a cycle: {' is imported by '.join(cycle.args[1])}")
    return wrong


def _is_wrong(module: list[str], name: list[str]) -> bool:
    if module[:1] == ["screen"]:
        return name[:2] != ["cli", "screen"] and name != ["records", "visible"]
    return name[0] == "cli" and (not module or ROW[name[1]] > ROW[module[0]])


def test_a_room_imports_only_from_its_own_row_and_those_before_it() -> None:
    assert find_wrong(SRC) == []


@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        ({"tell/a.py": "def f():\n    from planck.cli.ask import b", "ask/b.py": ""}, 1),
        ({"errors.py": "import planck.cli.session"}, 1),
        ({"screen/a.py": "from planck.records.nearest import nearest"}, 1),
        ({"screen/a.py": "from planck.cli import errors", "errors.py": ""}, 1),
        ({"chat/a.py": "from planck.cli.chat import b", "chat/b.py": "from planck.cli.chat.a import f"}, 1),
        ({"chat/a.py": "from planck.cli.chat import b", "chat/b.py": ""}, 0),
    ],
)
def test_a_wrong_import_and_a_cycle_are_found(tmp_path: Path, files: dict[str, str], wrong: int) -> None:
    for name, text in files.items():
        (tmp_path / "cli" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cli" / name).write_text(text)
    assert len(find_wrong(tmp_path)) == wrong
