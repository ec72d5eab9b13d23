"""The OpenAPI document: it is one, it is complete, and the server does what it says and nothing else."""

import asyncio
import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from planck.api.errors import status_of
from planck.api.openapi import make_document
from planck.api.operations import OPERATIONS, PREFIX
from planck.records.outcome import ErrorKind
from tests.api.bench import Served, served, serving
from tests.api.generated import write_client
from tests.command import WAIT, Bench
from tests.wire import chat
from tests.wire.server import WireServer

_STREAMS = {"follow_inbox"}
"""They do not end; tests/api/test_streams.py and test_approvals.py have them."""


def test_it_is_openapi_and_has_every_operation() -> None:
    from openapi_spec_validator import validate  # slow to load, as `schemathesis`: not by who only collects

    document = make_document()
    validate(document)
    described = {
        (method.upper(), path): entry["operationId"]
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
    }
    assert described == {(one.method, PREFIX + one.path): one.name for one in OPERATIONS}


def test_generators_of_clients_understand_every_name_and_every_schema() -> None:
    """openapi-python-client leaves out what refers to a dotted name, or to an enum without a type."""
    document = make_document()
    assert document["servers"]
    assert [name for name in document["components"]["schemas"] if not re.fullmatch(r"\w+", name)] == []
    assert [one for one in _walk(document) if {"enum", "const"} & {*one} and "type" not in one] == []


def _walk(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _walk(value)


async def test_the_documentation_page_names_every_operation_and_loads_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        answer = await server.send("GET", f"{PREFIX}/docs")
        stranger = await server.send("GET", f"{PREFIX}/docs", headers={"Authorization": "Bearer no"})
    assert (answer.status, stranger.status) == (200, 401)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = answer.body.decode()
    assert [one.name for one in OPERATIONS if f'id="{one.name}"' not in page] == []
    assert not re.search(r"<script|<link|<img|https?://|@import|url\(", page)
    [style] = re.findall(r"<style>(.*?)</style>", page)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    references = set(re.findall(r'href="#(\w+)"', page))
    assert references <= set(re.findall(r'id="(\w+)"', page))


def test_what_is_answered_below_the_routes_is_written_for_each() -> None:
    """A request that can't be read, that never ends or has too many headers may be for any of them."""
    for path, methods in make_document()["paths"].items():
        for method, entry in methods.items():
            assert {"400", "408", "431", "503"} <= set(entry["responses"]), (method, path)


def test_every_kind_has_a_status_and_the_providers_sign_in_is_never_ours() -> None:
    statuses = {kind: status_of(kind) for kind in ErrorKind}
    assert [kind for kind, status in statuses.items() if status == 401] == [ErrorKind.UNAUTHORIZED]
    assert statuses[ErrorKind.NOT_AUTHENTICATED] == 424
    assert (statuses[ErrorKind.LOG_WRITE_FAILED], status_of(ErrorKind.LOG_WRITE_FAILED, full_disk=True)) == (
        500,
        507,
    )
    assert set(statuses.values()) <= {*range(400, 425), 429, 500, 502, 503, 504}


_PROGRAM = """
import sys
from generated import Client
client = Client(sys.argv[1], sys.argv[2])
assert client.read_health() == {"ok": True}
row = client.start_session({"name": "fox", "mode": "read-only"}, idempotency_key="k1")
assert client.start_session({"name": "fox", "mode": "read-only"}, idempotency_key="k1")["id"] == row["id"]
taken = client.send_prompt(row["id"], {"text": "go"})
result = client.read_result(row["id"], after=taken["seq"])
while result is None:
    result = client.read_result(row["id"], after=taken["seq"])
assert result["text"] == "hello", result
assert [one["id"] for one in client.list_sessions(q="fox")["items"]] == [row["id"]]
assert client.change_session(row["id"], {"name": "owl"})["name"] == "owl"
assert client.read_board(row["id"])["agents"][0]["name"] == "orchestrator"
copy = client.fork(row["id"], {"name": "hen"})
for id in (row["id"], copy["id"]):
    client.delete_session(id)
assert client.list_sessions()["items"] == []
print("done")
"""


async def test_a_client_that_is_made_from_the_document_alone_does_a_whole_session(tmp_path: Path) -> None:
    document = json.loads((Path(__file__).parents[2] / "docs/reference/openapi.json").read_text())
    (tmp_path / "generated.py").write_text(write_client(document))
    (tmp_path / "program.py").write_text(_PROGRAM)
    async with (
        WireServer([chat.text("hello")]) as model,
        served(Bench(tmp_path, model.url)) as (server, _),
    ):
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            "program.py",
            server.url,
            server.token,
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(2 * WAIT):
            out, err = await program.communicate()
    assert out.decode() == "done\n", err.decode()


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
    from schemathesis import openapi

    read = openapi.from_dict(document)
    read.config.update(base_url=running[0].url)
    return read


@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(1, marks=pytest.mark.heavy),  # schemathesis reads the whole document for each worker
        pytest.param(15, marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.name not in _STREAMS], ids=lambda one: one.name
)
def test_nothing_that_is_sent_is_answered_with_500_or_a_status_that_is_not_written(
    running: tuple[Served, str], schema: Any, document: dict[str, Any], operation: Any, examples: int
) -> None:
    from schemathesis import GenerationMode

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
