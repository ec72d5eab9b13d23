"""`--seed N` reproduces a random test; without it the suite always uses the same one."""

import os

import pytest

# A model server that runs on this machine is none of the suite's business: nothing looks for one.
os.environ.update(OLLAMA_HOST="", LLAMA_CPP_HOST="")

DEFAULT_SEED = 20261115


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=DEFAULT_SEED, help="seed of the random tests")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--seed"))
