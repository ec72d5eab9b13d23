"""What a command loads: modules are counted here, `make bench` has the times."""

from pathlib import Path

import pytest
import trustme

from planck.cli.commands import COMMANDS
from tests.command import Bench
from tests.llm.raw_server import bundle, server_tls
from tests.wire import chat
from tests.wire.server import WireServer

SLOW = {
    *("regex", "jsonschema_rs", "ssl", "rich", "dataclasses", "difflib", "prompt_toolkit", "planck.shell"),
    *("random", "tempfile", "segno", "uvicorn", "click", "h11"),
}
"""Each costs 1 to 40 ms; one answer over http needs none of them."""
OURS = 209
"""Modules of Planck that one answer may load; many small ones load as fast as a few large ones."""


async def imports(bench: Bench, *args: str, **env: str) -> set[str]:
    """The names of all modules that a command loaded, as `python -v` tells of them."""
    done = await bench.run(*args, env={"PYTHONVERBOSE": "1", **env})
    assert done.code == 0, done.err[-500:]
    return {line.split("'")[1] for line in done.err.splitlines() if line.startswith("import '")}


async def test_one_answer_over_http_loads_nothing_slow_that_it_does_not_use(tmp_path: Path) -> None:
    async with WireServer([chat.text("hello")]) as server:
        loaded = await imports(Bench(tmp_path, server.url), "run", "hi")
    assert loaded & SLOW == set()
    ours = {name for name in loaded if name.partition(".")[0] == "planck"}
    assert len(ours) <= OURS, sorted(ours)


async def test_tls_is_loaded_for_a_model_that_is_reached_by_https(tmp_path: Path) -> None:
    ca = trustme.CA()
    async with WireServer([chat.text("hello")], server_tls(ca, "127.0.0.1")) as server:
        bench = Bench(tmp_path, server.url)
        loaded = await imports(bench, "run", "hi", SSL_CERT_FILE=bundle(ca, tmp_path))
    assert "ssl" in loaded
    assert len(server.asked) == 1


async def test_the_help_of_run_is_read_without_the_runtime(tmp_path: Path) -> None:
    loaded = await imports(Bench(tmp_path, "http://127.0.0.1:9"), "run", "--help")
    assert loaded & {"asyncio", "msgspec", "logging", "typing"} == set()
    assert {name for name in loaded if name.startswith("planck.")} == {
        "planck.cli",
        "planck.cli.commands",
        "planck.cli.commands.run",
        "planck.cli.main",
        "planck.cli.parser",
        "planck.cli.streams",
        "planck.own_code",
    }


@pytest.mark.parametrize("name", COMMANDS)
async def test_no_help_of_a_command_loads_what_only_its_work_needs(tmp_path: Path, name: str) -> None:
    loaded = await imports(Bench(tmp_path, "http://127.0.0.1:9"), name, "--help")
    ours = {module for module in loaded if module.startswith("planck.")}
    assert "asyncio" not in loaded
    assert {module for module in ours if module.split(".")[1] not in ("cli", "records", "own_code")} <= {
        "planck.headless"
    }


async def test_an_editor_waits_for_nothing_that_only_a_session_needs(tmp_path: Path) -> None:
    loaded = await imports(Bench(tmp_path, "http://127.0.0.1:9"), "acp")
    assert loaded & {*SLOW, "mcp", "anyio", "planck.headless.planck", "planck.store.sqlite.store"} == set()
    ours = {name for name in loaded if name.partition(".")[0] == "planck"}
    assert len(ours) <= 30, sorted(ours)
