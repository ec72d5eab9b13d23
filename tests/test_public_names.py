"""What a program may import from `planck`, and what that costs."""

import subprocess
import sys

import planck

NAMES = [
    *["Tool", "tool", "ToolContext", "Ok", "Err", "ErrorKind", "error", "truncate", "from_file", "load_all"],
    *["Sidecar", "Planck", "worker_tools", "orchestrator_tools"],
]


def test_every_name_of_the_contract_can_be_imported() -> None:
    for name in NAMES:
        assert getattr(planck, name) is not None
    assert set(NAMES) <= set(planck.__all__)


def test_every_name_is_what_its_home_calls_by_that_name() -> None:
    assert [getattr(planck, name).__name__ for name in NAMES] == NAMES


def test_import_planck_loads_nothing_else_of_it() -> None:
    loaded = _loaded("import planck")
    assert loaded == {"planck"}


def test_a_tool_author_loads_neither_a_store_nor_a_provider_nor_a_frontend() -> None:
    packages = {
        name.split(".")[1] for name in _loaded("from planck import Tool, tool, truncate, Ok") if "." in name
    }
    assert packages <= {"records", "toolkit"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(planck, "nonsense")


def _loaded(code: str) -> set[str]:
    program = f"{code}\nimport sys\nprint(*(name for name in sys.modules if name.split('.')[0] == 'planck'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())
