"""What changes on disk is seen by a running agent at its next turn."""

import json
from pathlib import Path
from typing import Any

from planck import Planck
from tests.command import Bench
from tests.teams import Brains, spawned
from tests.wire import chat
from tests.wire.server import WireServer


def put(folder: Path, name: str, description: str) -> Path:
    path = folder / name / "TOOL.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    tool = {
        "name": name,
        "description": description,
        "command": "echo hi",
        "parameters": {"type": "object", "properties": {}},
    }
    path.write_text(json.dumps(tool))
    return path


def described(body: Any) -> dict[str, str]:
    tools = [tool["function"] for tool in body["tools"]]
    return {tool["name"]: tool["description"] for tool in tools if tool["name"] in ("one", "two")}


async def test_tools_come_change_and_go_between_turns(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        one = put(bench.home / "tools", "one", "first")
        async with Planck(bench.home, bench.work, environ={"HOME": str(tmp_path / "nobody")}) as planck:
            session = await planck.start()
            await session.run("a")
            await session.run("unchanged")
            put(bench.home / "tools", "one", "another description")
            put(bench.home / "tools", "two", "new")
            await session.run("b")
            one.unlink()
            await session.run("c")
    seen = [described(asked.json) for asked in server.asked]
    assert seen == [
        {"one": "first"},
        {"one": "first"},
        {"one": "another description", "two": "new"},
        {"two": "new"},
    ]


async def test_a_model_that_is_added_to_the_configuration_can_be_used_at_once(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        async with Planck(bench.home, bench.work, environ={}) as planck:
            session = await planck.start()
            await session.run("a")
            settings = json.loads((bench.home / "config.json").read_text())
            settings["models"] = [{"id": "fast", "model": "m2", "provider": "local"}]
            (bench.home / "config.json").write_text(json.dumps(settings))
            await session.run("b")
            assert (await session.change_model("fast")).label == "fast"
            await session.run("c")
    assert [asked.json["model"] for asked in server.asked] == ["m", "m", "m2"]


async def test_a_tool_that_came_while_it_ran_can_be_granted_to_a_worker(tmp_path: Path) -> None:
    ask = ("ask_agent", {"identifier": "dora", "identifier_type": "name", "question": "go"})
    brains = Brains(
        {
            "orchestrator": [
                chat.text("ok"),
                chat.calls(spawned("dora", tools=["two", "three"])),
                chat.calls(ask),
                chat.text("done"),
            ],
            "dora": [chat.calls(("two", {})), chat.text("I did.")],
        }
    )
    async with WireServer(brains) as server:
        bench = Bench(tmp_path, server.url)
        async with Planck(bench.home, bench.work, environ={"PATH": "/usr/bin:/bin"}) as planck:
            session = await planck.start(mode="full")
            await session.run("a")
            put(bench.home / "tools", "two", "new")
            assert (await session.run("b")).text == "done"
    results = [message for message in brains.last("orchestrator") if message["role"] == "tool"]
    answer = json.loads(results[0]["content"])
    assert ("two" in answer["tools"], answer["ignored"]) == (True, ["three"])
    assert brains.last("dora")[-1]["content"].startswith("hi")
