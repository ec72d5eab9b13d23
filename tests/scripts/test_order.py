"""The order of the tests: tests/order.py."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.order import pytest_collection_modifyitems

ROOT = Path(__file__).parents[2]
NAMES = [f"tests/test_{file}.py::test_{n}" for file in ("one", "two", "three") for n in range(6)]


def shuffle(seed: str, names: list[str]) -> list[str]:
    config: Any = SimpleNamespace(option=SimpleNamespace(order_seed=seed))
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in names]
    pytest_collection_modifyitems(config, items)
    return [item.nodeid for item in items]


def test_a_seed_shuffles_files_and_the_tests_in_them_and_keeps_each_test_once() -> None:
    first, second = shuffle("1", NAMES), shuffle("2", NAMES)
    assert NAMES != first != second
    assert sorted(NAMES) == sorted(first) == sorted(second)
    files = [name.partition("::")[0] for name in first]
    assert [files[at] for at in (0, 6, 12)] == list(dict.fromkeys(files))
    assert shuffle("off", NAMES) == NAMES


def test_a_run_of_some_tests_keeps_the_order_of_the_whole_run() -> None:
    some = NAMES[3:9]
    assert shuffle("5", some) == [name for name in shuffle("5", NAMES) if name in some]


def test_all_workers_compute_the_same_order_for_a_random_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.order"]\n')
    tests = "import pytest\n@pytest.mark.parametrize('n', range(20))\ndef test_it(n): pass\n"
    (tmp_path / "test_some.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", "2", "--order-seed", "random"]
    command += ["--basetemp", str(tmp_path / "base")]
    # pytest-xdist refuses to run if two workers list the tests in different orders.
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert "20 passed" in done.stdout, done.stdout
    assert "test order: --order-seed " in done.stdout


def test_the_suite_itself_is_shuffled(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.pluginmanager.has_plugin("tests.order")
