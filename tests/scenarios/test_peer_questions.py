"""A question about a tool of a server says where its call happens, as `/mcp` does."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.mcp.http import serve_http
from planck.records.approval import Answer, Question, Scope
from planck.testing.scripted import ScriptedProvider
from planck.workspace.sandbox.sandbox import find
from tests.command import Bench
from tests.mcp.bench import FAKE
from tests.mcp.test_http import Up
from tests.recorded import recorded
from tests.terminal import leave, talk
from tests.wire import chat
from tests.wire.server import WireServer

sandbox = find().sandbox
pytestmark = [
    pytest.mark.skipif(sandbox is None or not sandbox.writes, reason="bubblewrap is not installed"),
]


def entry(place: Path) -> dict[str, Any]:
    """A server whose program lies there."""
    quiet = '    if name == "quiet":'
    told = 'text(globals().setdefault("TOKEN", os.urandom(8).hex()))'
    token = f'    if "token" in arguments:\n        return say({{"id": id, "result": {told}}})\n'
    place.write_text(FAKE.read_text().replace(quiet, token + quiet))
    return {"command": sys.executable, "args": ["-S", "-E", str(place)]}


class Person:
    def __init__(self, scope: Scope = Scope.ONCE) -> None:
        self.asked: list[Question] = []
        self._scope = scope

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(question.id, question.digest, True, self._scope)


async def ask(
    folder: Path, servers: dict[str, Any], *calls: tuple[str, dict[str, Any]], scope: Scope = Scope.ONCE
) -> tuple[list[Question], list[Any]]:
    """Returns the questions in mode `ask`, and what the calls then put out."""
    person = Person(scope)
    app = Planck(
        folder / "home",
        folder / "work",
        environ={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        flags={"default_model": "double/m", "mcpServers": servers},
        providers={"double": ScriptedProvider([*([call] for call in calls), "done"])},
        approver=person,
        trust=True,
    )
    async with app:
        session = await app.start(mode="ask")
        await session.run("go")
        ends = [event.data["output"] for event in await recorded(session) if event.type == "tool_end"]
    return person.asked, ends


@pytest.mark.parametrize("place", ["work", "outside"])
async def test_the_question_names_the_rights_that_the_servers_process_has(tmp_path: Path, place: str) -> None:
    for folder in ("work", "outside"):
        (tmp_path / folder).mkdir()
    servers = {"fake": entry(tmp_path / place / "server.py")}
    calls = [("mcp__fake__echo", {"n": number}) for number in (1, 2)]
    (first, second), ends = await ask(tmp_path, servers, *calls)
    assert ends == [json.dumps({"n": 1}), json.dumps({"n": 2})]
    assert first.adds == second.adds
    if place == "work":  # an agent could replace it
        assert first.adds.startswith("runs in the sandbox: it may write in the workspace, without network")
        assert (first.rights, first.rule) == (("write",), "mcp__fake__echo")
    else:
        assert first.adds.startswith("runs outside the sandbox")
        assert (first.rights, first.rule) == (
            ("write", "network", "outside"),
            "mcp__fake__echo (outside the sandbox)",
        )


@pytest.mark.parametrize("place", ["work", "outside"])
async def test_a_yes_for_the_session_goes_on_with_the_process_that_runs(tmp_path: Path, place: str) -> None:
    for folder in ("work", "outside"):
        (tmp_path / folder).mkdir()
    servers = {"fake": entry(tmp_path / place / "server.py")}
    calls = [("mcp__fake__echo", {"token": True})] * 3
    asked, ends = await ask(tmp_path, servers, *calls, scope=Scope.SESSION)
    assert (len(asked), len({*ends})) == (1, 1)


async def test_the_question_about_a_remote_server_names_its_address(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve_http("up", Up(), 0, "t0ken", ready.set_result))
    url = await ready
    servers = {"web": {"url": url, "headers": {"Authorization": "Bearer t0ken"}}}
    calls: list[tuple[str, dict[str, Any]]] = [("mcp__web__up", {"t": "abc"}), ("mcp__web__up", {"t": "d"})]
    asked, ends = await ask(tmp_path, servers, *calls, scope=Scope.SESSION)
    serving.cancel()
    await asyncio.wait({serving})
    (question,) = asked
    origin = url.removesuffix("/mcp")
    assert question.adds == f"sends this call to {origin}, which may do anything with it there"
    assert (question.rights, question.rule) == ((), "mcp__web__up")
    assert ends == ["ABC", "D"]


async def test_the_box_and_the_list_of_servers_say_the_same(tmp_path: Path) -> None:
    script = [chat.calls(("mcp__fake__echo", {"n": 7})), chat.text("it echoed")]
    async with WireServer(script) as server:
        servers: dict[str, Any] = {}
        bench = Bench(tmp_path, server.url, mcpServers=servers)
        config = json.loads((bench.home / "config.json").read_text())
        config["mcpServers"] = {"fake": entry(bench.work / "server.py")}
        (bench.home / "config.json").write_text(json.dumps(config))
        run = await talk(bench, "go", columns=140, ready="n e o")
        at = await run.until("effect", 0)
        await run.until_seen(
            lambda rows: any("runs in the sandbox: it may write in the workspace" in row for row in rows)
        )
        run.type("y")
        at = await run.until("it echoed", at)
        at = await run.until("? keys", at)
        run.type("/mcp\r")
        await run.until("runs in the sandbox, because an agent could replace", at)
        assert "outside the sandbox" not in run.text
        await leave(run)
