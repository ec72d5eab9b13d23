"""A pytest plugin that runs the tests in a shuffled order: `--order-seed N`, `random`, or `off`.

Files are shuffled, and the tests in each file, so a module's fixtures are made once. A test's place depends
only on the seed and its name: all workers of pytest-xdist compute the same order, and so does a smaller run.

pytest-randomly and pytest-random-order do this too, but an installed plugin also joins the pytest runs that
our tests start in other folders: it would shuffle those, and pytest-randomly would seed `random` there.
"""

import hashlib
import random
from typing import Any

import pytest

DEFAULT = "20261115"


def pytest_addoption(parser: pytest.Parser) -> None:
    help = 'seed of the order of the tests: a number, "random", or "off" for the order of the files'
    parser.addoption("--order-seed", default=DEFAULT, metavar="N", help=help)


def pytest_configure(config: pytest.Config) -> None:
    if config.option.order_seed == "random":
        chosen = getattr(config, "workerinput", {}).get("order_seed") or str(random.randrange(10**6))
        config.option.order_seed = chosen


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    # A worker of pytest-xdist reads the command line anew: it must not choose another seed.
    node.workerinput["order_seed"] = node.config.option.order_seed


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    # pytest_report_header would be silent with -q. Workers have no terminal.
    if reporter := session.config.pluginmanager.get_plugin("terminalreporter"):
        seed = session.config.option.order_seed
        reporter.write_line(f"test order: --order-seed {seed} (the same option repeats it)")


# First, because pytest itself then brings together the tests that share a parametrized fixture of a module.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.option.order_seed
    if seed != "off":
        items.sort(key=lambda item: (_draw(seed, item.nodeid.partition("::")[0]), _draw(seed, item.nodeid)))


def _draw(seed: str, name: str) -> bytes:
    return hashlib.md5(f"{seed} {name}".encode(), usedforsecurity=False).digest()
