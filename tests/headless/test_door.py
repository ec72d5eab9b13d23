"""What frontends may import of the runtime: `planck.headless` lists it, and nothing else."""

import ast
import inspect
import re
from pathlib import Path

from planck import headless

SRC = Path(str(headless.__file__)).parent.parent
FRONTENDS = [
    path for room in ("cli", "mcp_server", "api", "acp_agent") for path in (SRC / room).rglob("*.py")
]
GUIDE = SRC.parent.parent / "docs/guides/embedding.md"
LISTED: list[str] = getattr(headless, "__all__")  # noqa: B009 - checkers see the imports


def imported(path: Path) -> set[str]:
    """The names that a file takes from the door."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "planck.headless"]
    used = [node for node in nodes if isinstance(node, ast.Attribute) and _is_door(node.value)]
    return {alias.name for node in froms for alias in node.names} | {node.attr for node in used}


def _is_door(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "headless"


def test_every_name_is_a_class_or_a_function_that_its_home_calls_so() -> None:
    found = [getattr(headless, name) for name in LISTED]
    assert [it for it in found if not inspect.isclass(it) and not inspect.isfunction(it)] == []
    assert [it.__name__ for it in found] == LISTED


def test_the_list_is_exactly_what_frontends_and_the_guide_for_programs_use() -> None:
    used: set[str] = set()
    used = used.union(*map(imported, FRONTENDS))
    assert used <= set(LISTED)
    named = set(re.findall(r"\w+", GUIDE.read_text()))
    assert set(LISTED) - used - named == set()


def test_no_name_can_be_shadowed_by_a_module_of_the_package() -> None:
    modules = {path.stem for path in (SRC / "headless").glob("*.py")}
    assert modules & set(LISTED) == set()


def test_a_name_that_is_not_listed_is_an_attribute_error() -> None:
    assert not hasattr(headless, "nonsense")
    assert set(LISTED) <= set(dir(headless))


def test_what_the_guide_listed_once_can_still_be_imported() -> None:
    for name in ("Accepted", "FeedClient", "Pending"):
        assert inspect.isclass(getattr(headless, name))
