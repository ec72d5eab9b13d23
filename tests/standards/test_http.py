"""The HTTP API, judged by published validators, generators of clients and a fuzzer, over a real server."""

import asyncio
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from planck.api.handlers.streams import Limits
from tests.api.bench import serving
from tests.standards.judges import NOT_APPLICABLE

pytestmark = [pytest.mark.heavy, pytest.mark.standards]
DOCUMENT = Path(__file__).parents[2] / "docs/reference/openapi.json"
WAIT = 300

LEFT_OUT = NOT_APPLICABLE["schemathesis checks"]
EXPECTED = {400, 401, 403, 404, 405, 409, 415, 421, 422, 431}
"""Statuses with which wrong data is refused."""
CONFIG = f"""
[checks.negative_data_rejection]
expected-statuses = {sorted({*EXPECTED, *map(int, NOT_APPLICABLE["schemathesis statuses of wrong data"])})}
"""


def run(*argv: str, env: Mapping[str, str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(argv, env=env, cwd=cwd, capture_output=True, text=True, timeout=WAIT)
    print(f"$ {' '.join(argv)}", *(done.stdout + done.stderr).splitlines()[-8:], sep="\n")
    return done


def test_the_document_is_valid(pypi_env: dict[str, str], npm_env: dict[str, str], tmp_path: Path) -> None:
    validator = run("openapi-spec-validator", str(DOCUMENT), env=pypi_env, cwd=tmp_path)
    assert (validator.returncode, validator.stdout.strip()[-2:]) == (0, "OK"), validator
    # The components of queries, whose fields are parameters, have names that earlier documents published.
    options = ("--format=summary", "--skip-rule=no-unused-components")
    linter = run("redocly", "lint", str(DOCUMENT), *options, env=npm_env, cwd=tmp_path)
    assert linter.returncode == 0, linter
    assert "warning" not in linter.stdout + linter.stderr


def test_a_python_client_is_generated_without_a_warning(pypi_env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("post_hooks: []\n")
    argv = ("openapi-python-client", "generate", "--path", str(DOCUMENT), "--config", "config.yml")
    done = run(*argv, "--fail-on-warning", env=pypi_env, cwd=tmp_path)
    assert done.returncode == 0, done
    assert "WARNING" not in done.stdout + done.stderr


def test_a_typescript_client_passes_the_strict_compiler(npm_env: dict[str, str], tmp_path: Path) -> None:
    assert run("openapi-typescript", str(DOCUMENT), "-o", "api.ts", env=npm_env, cwd=tmp_path).returncode == 0
    done = run("tsc", "--strict", "--noEmit", "--skipLibCheck", "false", "api.ts", env=npm_env, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done


async def test_a_fuzzer_finds_no_failure(pypi_env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    # A session that does nothing has no result: seven requests would each wait 30 s for one.
    config, waits = {"permissions": {"mode": "read-only"}}, Limits(result=0.2)
    # A set-up that names a vendor would ask that vendor: nobody is reached from here.
    environ = {"HTTPS_PROXY": "http://127.0.0.1:9"}
    async with serving(tmp_path, config=config, environ=environ, streams=waits) as server:
        argv = ["schemathesis", "--config-file", "schemathesis.toml", "run", str(DOCUMENT)]
        argv += ["--url", server.url, "-H", f"Authorization: Bearer {server.token}"]
        argv += ["--exclude-path-regex", "|".join(NOT_APPLICABLE["schemathesis paths"])]
        argv += ["--exclude-checks", ",".join(LEFT_OUT)]
        # One worker: in Python 3.11, two threads that parse source at once end with a SystemError.
        argv += ["--phases", "coverage,fuzzing", "--max-examples", "5", "--seed", "1", "--workers", "1"]
        argv += ["--no-color", "--request-timeout", "40"]
        done = await asyncio.to_thread(run, *argv, env=pypi_env, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-4000:]
    assert re.search(r"[1-9]\d+ passed|No issues found", done.stdout)
