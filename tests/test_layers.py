"""The layers of docs/architecture.md, held by walking every import of every file, function-local ones too."""

import ast
from collections import Counter
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "planck"

ROWS: tuple[frozenset[str], ...] = (
    frozenset({"records"}),
    frozenset({"http", "shell"}),
    frozenset({"llm", "workspace", "store", "toolkit"}),
    frozenset({"tools", "permissions", "budget", "context", "testing"}),
    frozenset({"agent", "mcp", "acp", "config"}),
    frozenset({"team", "sidecar"}),
    frozenset({"session", "peers", "client"}),
    frozenset({"archive"}),
    frozenset({"headless"}),
    frozenset({"cli", "api", "web", "acp_agent", "mcp_server"}),
)
ROW = {package: number for number, packages in enumerate(ROWS) for package in packages}
FRONTENDS = ROWS[-1]
BESIDE_THE_DOOR = {("acp_agent", "acp")}
"""What a frontend may import although it is not of the door: both ends of one protocol share its records."""


def violations(src: Path) -> list[str]:
    return [
        f"{path.relative_to(src)}:{line} imports {name}: {why}"
        for path in sorted(src.rglob("*.py"))
        for line, name in list_imports(path)
        if name.startswith("planck.")
        and (
            why := _why_not(path.relative_to(src).parts[0].removesuffix(".py"), name.removeprefix("planck."))
        )
    ]


def list_imports(path: Path) -> list[tuple[int, str]]:
    """Returns the line and the full name of each imported module."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            names = [node.module or ""]
            if "." not in names[0]:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
        found += [(getattr(node, "lineno", 0), name) for name in names]
    return found


def _why_not(source: str, target: str) -> str:
    package = target.split(".")[0]
    if source in {"__init__", "__main__"} or package == source or package not in ROW:
        return ""
    if source not in ROW:
        return f"{source} is not in the table of layers"
    if (source, package) in BESIDE_THE_DOOR:
        return ""
    if source in FRONTENDS and package not in {"headless", "records"}:
        return "a frontend knows headless and records only"
    if source in FRONTENDS and target.startswith("headless."):
        return "a frontend imports `planck.headless` itself, not a module in it"
    if ROW[package] > ROW[source]:
        return f"{package} is above {source}"
    if ROW[package] == ROW[source]:
        return f"{package} and {source} share a row"
    return ""


def test_every_import_points_down() -> None:
    assert violations(SRC) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("records/bad.py", "import planck.store.store"),
        ("llm/bad.py", "from planck.workspace import paths"),
        ("agent/bad.py", "def f():\n    from planck.session import bus"),
        ("cli/bad.py", "from planck.agent import turn"),
        ("cli/bad.py", "from planck.headless.planck import Planck"),
        *(
            (f"{frontend}/bad.py", "from planck.acp.schema import Diff")
            for frontend in ("cli", "api", "mcp_server")
        ),
        ("acp_agent/bad.py", "from planck.mcp import peer"),
        ("strange/bad.py", "from planck import records"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, file: str, line: str) -> None:
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(line)
    assert len(violations(tmp_path)) == 1


MOST_FILES = 20
LARGE = {"cli/commands": "one file for each command"}
"""Folders that may have more files, and why."""


def large_folders(src: Path) -> list[str]:
    """Returns the folders with too many Python files of their own; subfolders count for themselves."""
    counts = Counter(path.parent for path in src.rglob("*.py") if path.name != "__init__.py")
    return sorted(str(folder.relative_to(src)) for folder, count in counts.items() if count > MOST_FILES)


def test_no_folder_becomes_a_drawer() -> None:
    assert large_folders(SRC) == sorted(LARGE)


def test_a_drawer_is_found(tmp_path: Path) -> None:
    for folder, count in (("full", MOST_FILES), ("drawer", MOST_FILES + 1)):
        (tmp_path / folder).mkdir()
        for number in range(count):
            (tmp_path / folder / f"m{number}.py").touch()
        (tmp_path / folder / "__init__.py").touch()
    assert large_folders(tmp_path) == ["drawer"]


MOST_IMPORTS = 20
HUBS = {
    "__init__.py": "the table of the library's names",
    "headless/__init__.py": "the door's table",
    "headless/planck.py": "the composition root, with opening, wiring and session_setup",
    "headless/opening.py": "opens a session of all its parts",
    "headless/wiring.py": "builds the agents of a session",
    "headless/session_setup.py": "what a session is made of",
    "headless/open_session.py": "the facade of a session",
    "api/serve.py": "the main of a server",
}
"""Modules that may import more of ours, and why."""


def test_only_what_puts_things_together_imports_many_modules() -> None:
    counts = {
        str(path.relative_to(SRC)): len({name for _, name in list_imports(path) if name.startswith("planck")})
        for path in SRC.rglob("*.py")
    }
    assert {file for file, count in counts.items() if count > MOST_IMPORTS} == HUBS.keys()


def test_the_acp_agent_may_import_the_protocol_that_it_speaks(tmp_path: Path) -> None:
    (tmp_path / "acp_agent").mkdir()
    (tmp_path / "acp_agent/good.py").write_text("from planck.acp.schema import Diff")
    assert violations(tmp_path) == []


def test_records_touch_neither_clock_nor_loop_nor_files() -> None:
    banned = {"asyncio", "time", "os", "random", "uuid", "secrets", "pathlib", "io", "socket", "subprocess"}
    found = [
        (path.name, alias.name)
        for path in (SRC / "records").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (node.module if isinstance(node, ast.ImportFrom) else alias.name) in banned
    ]
    assert found == []
