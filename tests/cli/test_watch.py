"""`planck watch`: a session of a server, told on standard error as a terminal is told of its own."""

import asyncio
from pathlib import Path
from typing import Any

from tests.api.bench import serving
from tests.api.test_approvals import wait_for
from tests.command import Bench


async def test_calls_and_questions_are_told_and_the_answer_alone_is_printed(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    bench = Bench(tmp_path / "other", "")
    script: list[Any] = [[("write", {"path": "note", "content": "x\n"})], "it is done"]
    async with serving(tmp_path, script) as server, server.client() as client:
        env = {"PLANCK_SERVER": server.url, "PLANCK_TOKEN_FILE": str(server.token_file)}
        session = await client.start(mode="ask")
        accepted = await session.prompt("go")
        watching = asyncio.ensure_future(bench.run("watch", session.id, env=env))
        (asked,) = await wait_for(client, 1)
        await client.answer(asked, True)
        whole = await watching
        rest = await bench.run("watch", session.id, "--after", str(accepted["seq"]), env=env)
    for watched in (whole, rest):
        lines = [line.strip() for line in watched.err.splitlines()]
        assert (watched.code, watched.out) == (0, "it is done\n"), watched.err
        assert lines[:1] == ["● write note"]
        assert lines[1].startswith("asks to use write: ")
        assert f"Answer with: planck answer {session.id}" in lines
        assert any(line.startswith("✓ write note  +1 -0") for line in lines)
        assert "it is done" not in watched.err
