"""A server that does not start is one line, in a run and in a conversation, and it says what to do."""

import json
from pathlib import Path

import pytest

from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer

DIES = "import sys; print('line one\\nboom', file=sys.stderr); sys.exit(3)"


@pytest.mark.parametrize(
    ("args", "stdin"),
    [(("run", "--trust", "hi"), b""), (("run", "--trust", "--verbose", "hi"), b""), (("--trust",), b"hi\n")],
    ids=["run", "verbose", "conversation"],
)
@pytest.mark.parametrize(
    ("command", "reason"),
    [(["python3", "-c", DIES], "exit code 3"), (["no-such-program"], "program not found")],
    ids=["dies", "missing"],
)
async def test_a_dead_server_is_one_line_with_what_to_do(
    tmp_path: Path, args: tuple[str, ...], stdin: bytes, command: list[str], reason: str
) -> None:
    async with WireServer([chat.text("hello")]) as server:
        bench = Bench(tmp_path, server.url)
        entry = {"command": command[0], "args": command[1:]}
        (bench.work / ".mcp.json").write_text(json.dumps({"mcpServers": {"dead": entry}}))
        done = await bench.run(*args, stdin=stdin)
    said = " ".join(f"{done.out} {done.err}".split())
    assert done.code == 0
    assert said.count(reason) == 1, said
    assert 'To check it, run "planck mcp test dead"' in said
