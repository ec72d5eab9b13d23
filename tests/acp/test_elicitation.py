"""A server's question in an editor: as a form or a page where the client has them, else by two options."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acp.editor import talking
from tests.acp.published import Judge
from tests.command import WAIT, Bench
from tests.mcp.test_elicitation import FORM, PAGE, SERVER
from tests.wire import chat
from tests.wire.server import WireServer

ACCEPT = {"action": "accept", "content": {"name": "Ada", "age": 36}}
ALL: dict[str, Any] = {"form": {}, "url": {}}
ONCE = {"outcome": {"outcome": "selected", "optionId": "once"}}


@pytest.mark.parametrize(
    ("known", "question", "method", "answer", "told"),
    [
        (ALL, FORM, "elicitation/create", ACCEPT, ACCEPT),
        (
            ALL,
            FORM,
            "elicitation/create",
            {"action": "accept", "content": {"name": 5}},
            {"action": "decline"},
        ),
        (ALL, FORM, "elicitation/create", {"action": "decline"}, {"action": "decline"}),
        (ALL, PAGE, "elicitation/create", {"action": "accept"}, {"action": "accept"}),
        (ALL, PAGE, "elicitation/create", {"action": "cancel"}, {"action": "cancel"}),
        (None, PAGE, "session/request_permission", ONCE, {"action": "accept"}),
        (None, FORM, "", None, {"action": "cancel"}),
    ],
)
async def test_a_servers_question_reaches_the_editor(
    tmp_path: Path, known: Any, question: dict[str, Any], method: str, answer: Any, told: dict[str, Any]
) -> None:
    script = [chat.calls(("mcp__asks__ask", {"questions": [question]})), chat.text("done")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url, peers_wait_ms=30_000, permissions={"mode": "full"})
        mine = {
            "name": "asks",
            "command": sys.executable,
            "args": ["-S", "-E", str(SERVER), "new"],
            "env": [],
        }
        async with talking(bench) as line, asyncio.timeout(WAIT):
            offered = {"elicitation": known} if known else {}
            await line.ask(0, "initialize", protocolVersion=1, clientCapabilities=offered)
            new = await line.ask(1, "session/new", cwd=str(bench.work), mcpServers=[mine])
            session = new["result"]["sessionId"]
            prompt = [{"type": "text", "text": "go"}]
            await line.send(
                {"id": 2, "method": "session/prompt", "params": {"sessionId": session, "prompt": prompt}}
            )
            asked: dict[str, Any] = {}
            while (message := await line.next()).get("id") != 2 or "method" in message:
                if message.get("method") in ("elicitation/create", "session/request_permission"):
                    asked = message
                    Judge().see({"jsonrpc": "2.0", **message}, by_agent=True)
                    await line.send({"id": message["id"], "result": answer})
    assert asked.get("method", "") == method
    if method:
        shown = json.dumps(asked["params"], ensure_ascii=False)
        assert question["message"].replace("\x1b", "\\\\x1b") in shown
        assert question.get("url", "") in shown
        assert "\u202e" not in shown
    (said,) = [one["content"] for one in server.asked[-1].json["messages"] if one["role"] == "tool"]
    assert json.loads(said)["q0"] == told
