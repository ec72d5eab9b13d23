"""What commands get of the user's environment: no keys, what is harmless, and what the user names."""

from pathlib import Path
from typing import Any

import pytest

from tests.command import FULL, Bench, Done
from tests.wire import chat
from tests.wire.server import WireServer

HARMLESS = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "LC_ALL": "C.UTF-8",
    "CI": "true",
    "JAVA_HOME": "/opt/java",
    "CARGO_HOME": "/opt/cargo",
    "HTTPS_PROXY": "http://proxy.example:3128",
    "no_proxy": "localhost",
    "CC": "clang",
}
WITHHELD = {
    "MYVAR": "mine",
    "FOO_API_KEY": "canary-of-foo",
    "NPM_TOKEN": "canary-of-npm",
    "HTTP_PROXY": "http://me:canary@proxy.example:3128",
    "LD_PRELOAD": "",
    "BASH_ENV": "/dev/null",
    "GIT_SSH_COMMAND": "canary",
    "GIT_EXEC_PATH": "canary",
    "PYTHONSTARTUP": "canary",
    "NODE_OPTIONS": "--canary",
}
"""A proxy's address may hold a password; the rest are keys, or start programs."""


async def run(
    tmp_path: Path, command: str, *, config: dict[str, Any] | None = None, env: dict[str, str]
) -> Done:
    async with WireServer([chat.bash(command), chat.text("ran")]) as server:
        bench = Bench(tmp_path, server.url, **(config or {}))
        return await bench.run("run", "go", *FULL, "--output-format", "stream-json", env=env)


def ended(done: Done) -> dict[str, Any]:
    (data,) = [line["data"] for line in done.lines if line["type"] == "tool_end"]
    return dict(data)


async def test_a_command_gets_harmless_variables_and_no_others(tmp_path: Path) -> None:
    env = {**HARMLESS, **WITHHELD}
    end = ended(await run(tmp_path, "env", env=env))
    got = dict(line.partition("=")[::2] for line in end["output"].splitlines() if "=" in line)
    assert {name: got.get(name) for name in HARMLESS} == HARMLESS
    assert not WITHHELD.keys() & got.keys()
    assert "canary" not in end["output"]


async def test_the_user_names_variables_that_commands_get(tmp_path: Path) -> None:
    config = {"permissions": {"environment": ["MYVAR", "NPM_TOKEN", "NOT_SET"]}}
    done = await run(tmp_path, 'echo "${MYVAR-none} ${NOT_SET-none} $NPM_TOKEN"', config=config, env=WITHHELD)
    assert ended(done)["output"].startswith("mine none ")
    assert "canary" not in done.out, "a named key is passed, and stored nowhere"


@pytest.mark.parametrize("place", ["project", "variable"])
async def test_only_the_users_file_names_variables_for_commands(tmp_path: Path, place: str) -> None:
    async with WireServer([chat.bash("echo ${MYVAR-none}"), chat.text("ran")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / ".planck").mkdir()
        theirs = '{"environment": ["MYVAR"]}'
        if place == "project":
            (bench.work / ".planck" / "config.json").write_text(f'{{"permissions": {theirs}}}')
        env = {"MYVAR": "mine", **({"PLANCK_PERMISSIONS": theirs} if place == "variable" else {})}
        done = await bench.run("run", "go", "--trust", *FULL, "--output-format", "stream-json", env=env)
    assert ended(done)["output"] == "none\n"
    assert "'permissions.environment' is ignored" in done.err


@pytest.mark.parametrize(
    "command",
    [
        "set -u; echo $MYVAR",
        "python3 -c 'import os; os.environ[\"MYVAR\"]'",
        "echo 'error: MYVAR is not set' >&2; exit 3",
    ],
)
async def test_a_command_that_misses_a_variable_says_how_the_user_passes_it(
    tmp_path: Path, command: str
) -> None:
    missed = ended(await run(tmp_path, command, env=WITHHELD))
    assert "[environment: commands do not get MYVAR" in missed["output"]
    assert '"permissions.environment"' in missed["output"]


async def test_a_failure_that_is_not_about_the_environment_does_not_mention_it(tmp_path: Path) -> None:
    failed = ended(await run(tmp_path, "echo MYVAR; false", env=WITHHELD))
    assert "[environment" not in failed["output"]
