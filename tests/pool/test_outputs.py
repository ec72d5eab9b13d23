"""An output that was too long for the model, read where another node goes on with the session."""

import re
from pathlib import Path
from typing import Any

import pytest

from planck.config.keys.credentials import CredentialFile, Saved
from planck.records.outcome import ErrorKind
from tests.pool.nodes import Machine, hall, make_repository, until
from tests.pool.test_pool import read_log, said, submit, wait_for_state
from tests.postgres import run_sql
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

pytestmark = pytest.mark.heavy

KEY = "sk-canary-0123456789abcdef"
SHORT = f"seq -f 'line %06.0f' 20000; echo {KEY[:10]}''{KEY[10:]}; seq -f 'after %06.0f' 20000"
LONG = "seq -f 'row %012.0f' 100000"


def find_calls(asked: Asked) -> list[str]:
    text = " ".join(str(message["content"]) for message in said(asked) if message["role"] == "tool")
    return re.findall(r"read path output:([\w.-]+)\]", text)


def prints_then_reads(asked: Asked) -> Reply:
    last = said(asked)[-1]
    if last["role"] == "tool":
        return chat.text("done")
    if "look" in str(last["content"]):
        reads = (("read", {"path": f"output:{call}", "offset": 15000}) for call in find_calls(asked))
        return chat.calls(*reads)
    return chat.calls(("bash", {"command": SHORT}), ("bash", {"command": LONG}))


async def read_output(machine: Machine, id: str, call: str, offset: int = 0) -> dict[str, Any]:
    async with machine.client() as client:
        found: dict[str, Any] = await client.session(id).ask("GET", f"/calls/{call}/output", offset=offset)
        return found


async def test_an_output_that_was_cut_is_read_on_the_node_that_goes_on(tmp_path: Path, database: str) -> None:
    repo = make_repository(tmp_path / "repo")
    async with WireServer(prints_then_reads) as model, hall(tmp_path, database, model.url) as nodes:
        for name in ("north", "south"):
            CredentialFile(tmp_path / name).put("local", Saved(key=KEY))
        gate = await nodes.start("gate", "--work", "0")
        north = await nodes.start("north", "--work", "1")
        made = await submit(gate, repo)
        await wait_for_state(gate, made["id"], "done")
        ends = [event["data"] for event in await read_log(gate, made["id"]) if event["type"] == "tool_end"]
        short, long = (end["id"] for end in ends)
        north.kill()
        await north.process.wait()

        whole = await read_output(gate, made["id"], short, offset=300_000)
        assert (whole["size"], whole["missing"]) == (
            20_000 * 12 + 20_000 * 13 + len("[redacted]\n"),
            None,
        )
        assert whole["output"].endswith("after 020000\n")
        cut = await read_output(gate, made["id"], long)
        assert cut["missing"]["kind"] == ErrorKind.RESOURCE_MISSING
        assert "safe to run the command again" in cut["missing"]["message"]
        assert "truncated" in cut["output"]

        south = await nodes.start("south", "--work", "1")
        async with gate.client() as client:
            await client.session(made["id"]).prompt("now look")

            async def has_read() -> Any:
                log = await read_log(gate, made["id"])
                ends = [event["data"] for event in log if event["type"] == "tool_end"]
                return [end for end in ends if end["name"] == "read"][1:] and ends[2:]

            first, second = await until(has_read, "it reads")
        assert first["output"].startswith("line 015000\nline 015001\n")
        assert (second["ok"], second["error"]["kind"]) == (False, ErrorKind.RESOURCE_MISSING)
        assert "1 MiB" in second["output"]

        await wait_for_state(gate, made["id"], "done")
        kept = [*south.home.rglob("*.output/*.txt"), *gate.home.rglob("*.output/*.txt")]
        assert [file.name for file in kept] == [f"{short}.txt"] * 2
        assert not [file for file in kept if KEY.encode() in file.read_bytes()]
        assert run_sql(
            database, f"SELECT count(*) FROM blobs WHERE strpos(encode(bytes, 'escape'), '{KEY}') > 0"
        ) == [[0]]

        async with gate.client() as client:
            await client.ask("DELETE", f"/sessions/{made['id']}")
        assert run_sql(database, "SELECT count(*) FROM blobs") == [[0]]
        assert not [*gate.home.rglob("*.output")]
        async with south.client() as client:
            await client.ask("GET", "/sessions")
        assert not [*(south.home / "copies").rglob(f"{made['id']}*")]
