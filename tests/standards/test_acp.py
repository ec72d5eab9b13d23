"""`planck acp` driven by npm's `acpx`, a client that we did not write; all that is said is judged."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.acp.published import Judge
from tests.command import PLAIN, WAIT, Bench
from tests.wire import chat
from tests.wire.server import Reply, WireServer

pytestmark = [pytest.mark.heavy, pytest.mark.standards]
PLAN = {"steps": [{"text": "look", "status": "done"}, {"text": "mend", "status": "doing"}]}
EDIT = {"path": "a.py", "old_string": "one", "new_string": "two"}


class Acpx:
    def __init__(self, npm_env: dict[str, str], bench: Bench) -> None:
        self._argv = [
            "acpx",
            "--cwd",
            str(bench.work),
            "--ttl",
            "1",
            "--format",
            "json",
            "--approve-all",
        ]
        self._argv += ["--agent", f"{sys.executable} -m planck acp"]
        # Not in the test's own folder: its name is too long for the socket that acpx makes in it.
        self._user = tempfile.TemporaryDirectory(prefix="acpx-")
        self._bench = bench
        self._env = {
            **PLAIN,
            "PATH": npm_env["PATH"],
            "HOME": self._user.name,
            "PLANCK_HOME": str(bench.home),
        }

    async def start(self, *args: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._argv,
            *args,
            cwd=self._bench.work,
            env=self._env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 24,
        )

    async def run(self, *args: str) -> list[dict[str, Any]]:
        process = await self.start(*args)
        async with asyncio.timeout(2 * WAIT):
            out, err = await process.communicate()
        assert process.returncode == 0, (out.decode()[-3000:], err.decode())
        return [json.loads(line) for line in out.splitlines() if line.startswith(b"{")]

    def close(self) -> None:
        self._user.cleanup()

    async def rest(self) -> None:
        """Until the process that it keeps for a session has ended: at its end it takes no prompts."""
        async with asyncio.timeout(2 * WAIT):
            while [*Path(self._env["HOME"]).rglob("*.lock")]:
                await asyncio.sleep(0.1)


def judge(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every message against the published schema; returns the updates."""
    seen = Judge()
    requests: dict[Any, bool] = {}
    for message in messages:
        by_agent = message.get("method") in ("session/update", "session/request_permission")
        if "method" not in message:
            # An id is counted on both sides: the newest question of that id is the one that is answered.
            by_agent = not requests.pop(message["id"])
        elif "id" in message:
            requests[message["id"]] = by_agent
        seen.see(message, by_agent=by_agent)
    return [one["params"]["update"] for one in messages if one.get("method") == "session/update"]


async def test_acpx_gets_a_plan_calls_a_diff_and_a_question(npm_env: dict[str, str], tmp_path: Path) -> None:
    script = [
        chat.calls(("update_plan", PLAN), ("edit", EDIT), ("bash", {"command": "echo hi"})),
        chat.text("ok"),
    ]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "a.py").write_text("one\n")
        acpx = Acpx(npm_env, bench)
        messages = await acpx.run("exec", "mend it")
        acpx.close()
        updates = judge(messages)
        assert (bench.work / "a.py").read_text() == "two\n"
    kinds = {update["sessionUpdate"] for update in updates}
    assert {"plan", "tool_call", "tool_call_update", "agent_message_chunk", "usage_update"} <= kinds
    (question,) = [one["params"] for one in messages if one.get("method") == "session/request_permission"]
    diff = {"type": "diff", "path": str(bench.work / "a.py"), "oldText": "one\n", "newText": "two\n"}
    assert question["toolCall"]["content"][0] == diff
    assert messages[-1]["result"]["stopReason"] == "end_turn"


async def test_acpx_goes_on_with_a_loaded_session_changes_its_mode_and_cancels(
    npm_env: dict[str, str], tmp_path: Path
) -> None:
    gate = asyncio.Event()
    held = chat.text("begun ", "the rest")
    script = [
        chat.text("one"),
        chat.calls(("write", {"path": "b.py", "content": "b"})),
        chat.text("two"),
        Reply([*held.pieces[:2], gate, *held.pieces[2:]]),
    ]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        acpx = Acpx(npm_env, bench)
        await acpx.run("sessions", "new")
        judge(await acpx.run("prompt", "first"))
        await acpx.rest()
        second = await acpx.run("prompt", "second")
        judge(second)
        methods = [message.get("method") for message in second]
        assert "session/resume" in methods
        assert "first" in json.dumps(server.asked[-1].json["messages"])
        assert (bench.work / "b.py").read_text() == "b"
        await acpx.rest()
        prompting = await acpx.start("prompt", "third")
        assert prompting.stdout is not None
        async with asyncio.timeout(2 * WAIT):
            while b"begun" not in await prompting.stdout.readline():
                assert not prompting.stdout.at_eof()
        (cancelled,) = await acpx.run("cancel")
        assert cancelled["cancelled"] is True
        async with asyncio.timeout(2 * WAIT):
            out, _ = await prompting.communicate()
        assert json.loads(out.splitlines()[-1])["result"]["stopReason"] == "cancelled"
        await acpx.rest()
        await acpx.run("set-mode", "full")
        await acpx.rest()
        acpx.close()
        done = await bench.run("sessions", "list", "--json")
        assert '"full"' in done.out
    assert os.listdir(bench.work) == ["b.py"]
