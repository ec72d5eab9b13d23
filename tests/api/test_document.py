"""The OpenAPI document: it is one, it is complete, and the server does what it says and nothing else."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from openapi_spec_validator import validate
from schemathesis import GenerationMode, openapi

from planck.api.errors import status_of
from planck.api.openapi import make_document
from planck.api.operations import OPERATIONS, PREFIX
from planck.records.outcome import ErrorKind
from tests.api.bench import Served, served
from tests.command import Bench

_STREAMS = {"follow_inbox"}
"""They do not end; tests/api/test_streams.py and test_approvals.py have them."""


def test_it_is_openapi_and_has_every_operation() -> None:
    document = make_document()
    validate(document)
    described = {
        (method.upper(), path): entry["operationId"]
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
    }
    assert described == {(one.method, PREFIX + one.path): one.name for one in OPERATIONS}


def test_every_kind_has_a_status_and_the_providers_sign_in_is_never_ours() -> None:
    statuses = {kind: status_of(kind) for kind in ErrorKind}
    assert [kind for kind, status in statuses.items() if status == 401] == [ErrorKind.UNAUTHORIZED]
    assert statuses[ErrorKind.NOT_AUTHENTICATED] == 424
    assert (statuses[ErrorKind.LOG_WRITE_FAILED], status_of(ErrorKind.LOG_WRITE_FAILED, full_disk=True)) == (
        500,
        507,
    )
    assert set(statuses.values()) <= {*range(400, 425), 429, 500, 502, 503, 504}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """A server and the id of a session in it; the requests of these tests are made in this thread."""
    folder = tmp_path_factory.mktemp("served")
    with asyncio.Runner() as runner:
        context = served(Bench(folder, "http://127.0.0.1:9", permissions={"mode": "read-only"}))
        server, _ = runner.run(context.__aenter__())

        async def start() -> str:
            async with server.client() as client:
                return (await client.start()).id

        id = runner.run(start())
        try:
            yield server, id
        finally:
            runner.run(context.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return make_document()


@pytest.fixture(scope="module")
def schema(document: dict[str, Any], running: tuple[Served, str]) -> Any:
    """Read once: it takes longer than the requests of an operation."""
    read = openapi.from_dict(document)
    read.config.update(base_url=running[0].url)
    return read


@pytest.mark.serial
@pytest.mark.parametrize("examples", [1, pytest.param(15, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.name not in _STREAMS], ids=lambda one: one.name
)
def test_nothing_that_is_sent_is_answered_with_500_or_a_status_that_is_not_written(
    running: tuple[Served, str], schema: Any, document: dict[str, Any], operation: Any, examples: int
) -> None:
    server, id = running
    entry = schema[PREFIX + operation.path][operation.method]
    written = set(document["paths"][PREFIX + operation.path][operation.method.lower()]["responses"])
    keep = operation.name in ("delete_session", "close_session", "read_result")

    takes = operation.query or operation.body or operation.keyed or "{" in operation.path
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE) if takes else (GenerationMode.POSITIVE,):

        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=entry.as_strategy(generation_mode=mode))
        def check(case: Any) -> None:
            if not keep and "id" in (case.path_parameters or {}):
                case.path_parameters["id"] = id
            headers = {"Authorization": f"Bearer {server.token}"}
            answer = case.call(headers=headers, timeout=60)
            assert answer.status_code != 500, answer.text
            assert str(answer.status_code) in written, (case.as_curl_command(), answer.text)

        check()
