"""`--seed N` reproduces a random test; without it the suite always uses the same one."""

import gc
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from planck import own_code
from tests import fork_server

pytest_plugins = ["tests.leaks", "tests.order"]

# A model server that runs on this machine is none of the suite's business: nothing looks for one.
os.environ.update(OLLAMA_HOST="", LLAMA_CPP_HOST="")

# A shell starts background jobs with Ctrl+C ignored, nohup ignores a hang-up, and processes inherit that:
# a test that sends one of these signals would wait for ever.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# Every run tries the same examples; `make soak` tries more of them.
settings.register_profile("planck", max_examples=50, deadline=None, derandomize=True, database=None)
settings.register_profile("soak", settings.get_profile("planck"), max_examples=1000)
settings.load_profile("planck")

fork_server.install()

DEFAULT_SEED = 20261115
ALL_HEAVY = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.heavy", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=DEFAULT_SEED, help="seed of the random tests")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out files whose tests are all heavy when no heavy test runs: importing them takes seconds."""
    if "not heavy" in config.option.markexpr and collection_path.suffix == ".py":
        return bool(ALL_HEAVY.search(collection_path.read_text())) or None
    return None


def pytest_collection_finish() -> None:
    """Takes what was imported out of the collector's sight: looking through it took 0.3 s each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--seed"))


@pytest.fixture(autouse=True)
def own_roots() -> Iterator[None]:
    """Forgets the workspaces of earlier tests, `/` for example: a process remembers each one for good."""
    before = own_code._roots.copy()
    yield
    if own_code._roots != before:
        own_code._roots.clear()
        own_code._roots.update(before)
        own_code._closed.clear()
        own_code._own.clear()


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """A command that ran in this process leaves no handler behind: Ctrl+C and a kill end the suite."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL that all workers share."""
    from tests.postgres import shared_server

    base = tmp_path_factory.getbasetemp()
    with shared_server(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) as url:
        yield url


@pytest.fixture
def database(postgres: str) -> str:
    """The address of an empty database."""
    from tests.postgres import make_database

    return make_database(postgres)
