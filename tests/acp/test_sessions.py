"""Sessions of `planck acp` through their lives, and what a client may bring into them."""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

from tests.acp.editor import Line, talking
from tests.acp.published import Judge
from tests.command import WAIT, Bench
from tests.teams import write_team
from tests.wire import chat
from tests.wire.server import Reply, WireServer

FAKE = Path(__file__).parent.parent / "mcp" / "fake_server.py"
DOT = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 24).decode()


def say(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


async def begin(line: Line, bench: Bench, **more: Any) -> str:
    await line.ask(0, "initialize", protocolVersion=1)
    new = await line.ask(1, "session/new", cwd=str(bench.work), **{"mcpServers": [], **more})
    return str(new["result"]["sessionId"])


def updates(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    told = [message["params"]["update"] for message in messages if message.get("method") == "session/update"]
    return [update for update in told if update["sessionUpdate"] == kind]


async def test_a_session_is_listed_forked_closed_resumed_and_deleted(tmp_path: Path) -> None:
    async with WireServer([chat.text("one"), chat.text("two"), chat.text("three")]) as server:
        bench = Bench(tmp_path, server.url)
        async with talking(bench) as line:
            session = await begin(line, bench)
            place = {"cwd": str(bench.work), "mcpServers": []}
            await line.ask(2, "session/prompt", sessionId=session, prompt=say("first"))
            fork = await line.ask(3, "session/fork", sessionId=session, **place)
            copy = fork["result"]["sessionId"]
            assert fork["result"]["modes"]["currentModeId"] == "ask"
            await line.ask(4, "session/prompt", sessionId=copy, prompt=say("second"))
            said = [message["content"] for message in server.asked[-1].json["messages"][1:]]
            assert [text for text in ("first", "one", "second") if text in json.dumps(said)] == [
                "first",
                "one",
                "second",
            ]
            listed = await line.ask(5, "session/list", cwd=str(bench.work))
            assert {row["sessionId"] for row in listed["result"]["sessions"]} == {session, copy}
            elsewhere = await line.ask(6, "session/list", cwd=str(tmp_path))
            assert elsewhere["result"]["sessions"] == []

            assert (await line.ask(7, "session/close", sessionId=session))["result"] == {}
            closed = await line.ask(8, "session/prompt", sessionId=session, prompt=say("hello?"))
            assert closed["error"]["code"] == -32002
            before = len(line.judge.said)
            resumed = await line.ask(9, "session/resume", sessionId=session, **place)
            assert "configOptions" in resumed["result"]
            chunks = [
                message["params"]["update"]["sessionUpdate"]
                for message in line.judge.said[before:]
                if message.get("method") == "session/update"
            ]
            assert "agent_message_chunk" not in chunks  # what was said is the client's own to show
            done = await line.ask(10, "session/prompt", sessionId=session, prompt=say("third"))
            assert done["result"]["stopReason"] == "end_turn"
            assert "first" in json.dumps(server.asked[-1].json["messages"])

            wrong = await line.ask(11, "session/load", sessionId=copy, cwd=str(tmp_path), mcpServers=[])
            assert "error" in wrong  # its workspace is another one
            for id in (12, 13):  # deleting what is gone is done already
                assert (await line.ask(id, "session/delete", sessionId=session))["result"] == {}
            listed = await line.ask(14, "session/list")
            await line.send({"id": 15, "method": "session/list", "params": None})
            assert (await line.answer(15))["result"] == listed["result"]
            assert [row["sessionId"] for row in listed["result"]["sessions"]] == [copy]


async def test_a_session_that_another_process_has_is_refused_with_its_kind(tmp_path: Path) -> None:
    async with WireServer([chat.text("one")]) as server:
        bench = Bench(tmp_path, server.url)
        async with talking(bench) as line, talking(bench) as other:
            session = await begin(line, bench)
            await line.ask(2, "session/prompt", sessionId=session, prompt=say("first"))
            await other.ask(0, "initialize", protocolVersion=1)
            refused = await other.ask(
                1, "session/load", sessionId=session, cwd=str(bench.work), mcpServers=[]
            )
            assert refused["error"]["data"]["kind"] == "writer_conflict"


async def test_servers_of_the_client_join_and_those_of_an_untrusted_folder_do_not(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url, peers_wait_ms=30_000)
        trap = {"command": "touch", "args": [str(bench.work / "sprung")]}
        (bench.work / ".mcp.json").write_text(json.dumps({"mcpServers": {"trap": trap}}))
        mine = {"name": "mine", "command": sys.executable, "args": [str(FAKE)], "env": []}
        odd = {**mine, "name": "Ünd 2!"}
        async with talking(bench) as line:
            session = await begin(line, bench, mcpServers=[mine, odd])
            await line.ask(2, "session/prompt", sessionId=session, prompt=say("hi"))
            sse = {"name": "old", "type": "sse", "url": "http://127.0.0.1:9", "headers": []}
            refused = await line.ask(3, "session/new", cwd=str(bench.work), mcpServers=[sse])
            assert refused["error"]["code"] == -32602
        names = [tool["function"]["name"] for tool in server.asked[0].json["tools"]]
        assert "mcp__mine__echo" in names
        assert "mcp___nd_2___echo" in names
        assert not any("trap" in name for name in names)
        assert not (bench.work / "sprung").exists()


async def test_files_images_and_commands_of_the_user_come_with_a_prompt(tmp_path: Path) -> None:
    async with WireServer([chat.text("seen")]) as server:
        bench = Bench(tmp_path, server.url)
        commands = bench.home / "commands"
        commands.mkdir()
        (commands / "review.md").write_text("---\ndescription: looks at it\n---\nReview $1 strictly.\n")
        async with talking(bench) as line:
            session = await begin(line, bench)
            blocks = [
                {"type": "text", "text": "look at "},
                {"type": "resource_link", "uri": "file:///work/a%20b.py", "name": "a b.py"},
                {"type": "resource", "resource": {"uri": "file:///c.py", "text": "print(1)"}},
                {"type": "image", "data": DOT, "mimeType": "image/png"},
            ]
            done = await line.ask(2, "session/prompt", sessionId=session, prompt=blocks)
            assert done["result"]["stopReason"] == "end_turn"
            said = json.dumps(server.asked[0].json["messages"][-1])
            assert "look at  /work/a b.py" in said
            assert "print(1)" in said
            assert DOT in said
            await line.ask(3, "session/prompt", sessionId=session, prompt=say("/review a.py"))
            assert "Review a.py strictly." in json.dumps(server.asked[1].json["messages"][-1])
            bad = [{"type": "image", "data": "bm8gaW1hZ2U=", "mimeType": "image/png"}]
            refused = await line.ask(4, "session/prompt", sessionId=session, prompt=bad)
            assert refused["error"]["code"] == -32602
            sound = [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]
            refused = await line.ask(5, "session/prompt", sessionId=session, prompt=sound)
            assert refused["error"]["code"] == -32602
            await line.ask(6, "session/prompt", sessionId=session, prompt=blocks[3:])
            before = len(line.judge.said)
            await line.ask(7, "session/load", sessionId=session, cwd=str(bench.work), mcpServers=[])
            told = [one["content"] for one in updates(line.judge.said[before:], "user_message_chunk")]
            assert [one["type"] for one in told] == ["text", "image", "text", "image"]
            assert told[3] == {"type": "image", "data": DOT, "mimeType": "image/png"}
        offered = updates(line.judge.said, "available_commands_update")[0]["availableCommands"]
        assert [command["name"] for command in offered] == ["compact", "plan", "review"]


async def test_without_a_model_a_session_is_refused_and_the_way_out_is_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.home / "config.json").write_text("{}")
    async with talking(bench) as line:
        shown = await line.ask(0, "initialize", protocolVersion=7)
        assert shown["result"]["protocolVersion"] == 1
        (method,) = shown["result"]["authMethods"]
        refused = await line.ask(1, "authenticate", methodId=method["id"])
        assert refused["error"]["code"] == -32000
        assert "planck setup" in refused["error"]["message"]
        refused = await line.ask(2, "session/new", cwd=str(bench.work), mcpServers=[])
        assert refused["error"]["code"] == -32000, refused
        (bench.home / "config.json").write_text(
            json.dumps(
                {
                    "default_model": "local/m",
                    "providers": {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}},
                }
            )
        )
        assert "result" in await line.ask(3, "authenticate", methodId=method["id"])
        assert "result" in await line.ask(4, "session/new", cwd=str(bench.work), mcpServers=[])


async def test_a_plan_is_made_and_accepted(tmp_path: Path) -> None:
    script = [
        chat.text("1. write it"),
        chat.calls(("write", {"path": "a.txt", "content": "a"})),
        chat.text("written"),
    ]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url, permissions={"mode": "workspace"})
        async with talking(bench) as line:
            session = await begin(line, bench)
            early = await line.ask(2, "session/prompt", sessionId=session, prompt=say("/plan accept"))
            assert early["error"]["code"] == -32602
            await line.ask(3, "session/set_mode", sessionId=session, modeId="plan")
            await line.ask(4, "session/prompt", sessionId=session, prompt=say("write a"))
            done = await line.ask(5, "session/prompt", sessionId=session, prompt=say("/plan accept"))
            assert done["result"]["stopReason"] == "end_turn"
            async with asyncio.timeout(WAIT):
                assert (bench.work / "a.txt").read_text() == "a"
        modes = [one["currentModeId"] for one in updates(line.judge.said, "current_mode_update")]
        assert modes == ["plan", "workspace"]


def hold(text: str, gate: asyncio.Event) -> Reply:
    whole = chat.text(text, "the rest")
    return Reply([*whole.pieces[:2], gate, *whole.pieces[2:]])


def texts(messages: list[dict[str, Any]]) -> str:
    return "".join(one["content"]["text"] for one in updates(messages, "agent_message_chunk"))


async def test_a_client_that_loads_in_mid_sentence_gets_its_beginning_and_closing_cancels(
    tmp_path: Path,
) -> None:
    async with WireServer([hold("begun, ", asyncio.Event())]) as server:
        bench = Bench(tmp_path, server.url)
        async with talking(bench) as line:
            session = await begin(line, bench)
            prompt = {"sessionId": session, "prompt": say("go")}
            await line.send({"id": 2, "method": "session/prompt", "params": prompt})
            while texts(line.judge.said) != "begun, ":
                await line.next()
            before = len(line.judge.said)
            await line.ask(3, "session/load", sessionId=session, cwd=str(bench.work), mcpServers=[])
            assert texts(line.judge.said[before:]) == "begun, "
            await line.send({"id": 4, "method": "session/close", "params": {"sessionId": session}})
            assert (await line.answer(2))["result"]["stopReason"] == "cancelled"
            assert (await line.answer(4))["result"] == {}


async def test_compacting_is_told_and_a_cancel_ends_it(tmp_path: Path) -> None:
    words = [chat.text("so " * 4000)] * 2
    async with WireServer([*words, hold("in short ", asyncio.Event()), chat.text("here")]) as server:
        bench = Bench(tmp_path, server.url)
        async with talking(bench) as line:
            line.judge = Judge(unstable=True)
            offers: dict[str, Any] = {"session": {"compaction": {}}}
            await line.ask(0, "initialize", protocolVersion=1, clientCapabilities=offers)
            new = await line.ask(1, "session/new", cwd=str(bench.work), mcpServers=[])
            session = new["result"]["sessionId"]
            for id in (2, 3):
                await line.ask(id, "session/prompt", sessionId=session, prompt=say("go on " * 3000))
            prompt = {"sessionId": session, "prompt": say("/compact the end")}
            await line.send({"id": 4, "method": "session/prompt", "params": prompt})
            while not updates(line.judge.said, "compaction_update"):
                await line.next()
            await line.send({"method": "session/cancel", "params": {"sessionId": session}})
            assert (await line.answer(4))["result"] == {"stopReason": "cancelled"}
            states = [one["status"] for one in updates(line.judge.said, "compaction_update")]
            assert states == ["in_progress", "cancelled"]
            done = await line.ask(5, "session/prompt", sessionId=session, prompt=say("there?"))
            assert done["result"]["stopReason"] == "end_turn"


async def test_somebody_who_speaks_something_else_is_told_so_and_left(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    done = await bench.run("acp", stdin=b"GET / HTTP/1.1\n" * 30)
    assert done.code == 1
    assert done.err.startswith("error: The client does not use ACP: ")
    assert done.err.endswith(" [peer_protocol]\n")
    assert [message["error"]["code"] for message in done.lines] == [-32700] * 20


async def test_where_the_user_has_a_default_team_no_other_is_called_none(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9", default_team="pair")
    for name in ("pair", "trio"):
        write_team(bench.home / "teams" / name, {"type": "orchestrator"})
    async with talking(bench) as line:
        await line.ask(0, "initialize", protocolVersion=1)
        new = (await line.ask(1, "session/new", cwd=str(bench.work), mcpServers=[]))["result"]
        team = next(one for one in new["configOptions"] if one["id"] == "team")
        assert team["currentValue"] == "pair"
        assert [one["value"] for one in team["options"]] == ["pair", "trio"]
