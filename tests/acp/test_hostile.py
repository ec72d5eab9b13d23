"""Clients of `planck acp` that send too much, nonsense or nothing, and clients that die."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from planck.acp.rpc import Peer
from planck.acp_agent.questions import Asker
from planck.permissions.approver import Approvals
from planck.records.approval import Answer, Question
from planck.workspace.process.duplex import Duplex
from tests.acp.editor import Line, talking
from tests.command import WAIT, Bench, finish, until
from tests.tools.room import processes
from tests.tools.room import until as until_true
from tests.wire import chat
from tests.wire.server import WireServer

MARK = f"4300.{os.getpid()}"
"""Seconds that a command of these tests would sleep: by it the process is found again, and no other's."""
SLEEP = ("bash", {"command": f"touch begun; sleep {MARK}"})
WORDS = [{"type": "text", "text": "go"}]


async def begin(line: Line, bench: Bench) -> str:
    await line.ask(0, "initialize", protocolVersion=1, clientCapabilities={})
    new = await line.ask(1, "session/new", cwd=str(bench.work), mcpServers=[])
    return str(new["result"]["sessionId"])


async def find_state(bench: Bench, session: str) -> str:
    done = await bench.run("sessions", "list", "--json")
    rows: Any = json.loads(done.out)
    rows = rows["sessions"] if isinstance(rows, dict) else rows
    return str(next(row["state"] for row in rows if row["id"] == session))


async def test_a_huge_line_nonsense_and_wrong_parameters_are_refused_and_the_work_goes_on(
    tmp_path: Path,
) -> None:
    async with WireServer([chat.text("still here")]) as server:
        bench = Bench(tmp_path, server.url)
        async with talking(bench) as line:
            session = await begin(line, bench)
            stdin = line.process.stdin
            assert stdin is not None
            for _ in range(100):
                stdin.write(b"x" * (1 << 20))
                await stdin.drain()
            await line.send(b"")
            refused = await line.answer(None)
            assert refused["error"]["data"]["kind"] == "limit_exceeded"
            for id, (method, params, code) in enumerate(
                [
                    ("session/dance", {}, -32601),
                    ("fs/read_text_file", {"sessionId": session, "path": "/etc/passwd"}, -32601),
                    ("session/new", {"mcpServers": []}, -32602),
                    ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
                    ("session/new", {"cwd": "/nowhere/at/all", "mcpServers": []}, -32602),
                    ("session/new", {"cwd": 7, "mcpServers": []}, -32602),
                    ("session/new", {"cwd": "/tmp/\0", "mcpServers": []}, -32602),
                    ("session/new", {"cwd": str(bench.work), "mcpServers": [{"name": 1}]}, -32602),
                    ("session/prompt", {"sessionId": session, "prompt": "go"}, -32602),
                    ("session/prompt", {"sessionId": session, "prompt": [{"type": "smell"}]}, -32602),
                    ("session/prompt", {"sessionId": session, "prompt": []}, -32602),
                    ("session/prompt", {"sessionId": "../../etc", "prompt": WORDS}, -32002),
                    (
                        "session/load",
                        {"sessionId": "x" * 9999, "cwd": str(bench.work), "mcpServers": []},
                        -32002,
                    ),
                    ("session/set_mode", {"sessionId": session, "modeId": "god"}, -32602),
                    ("session/list", {"cursor": "nonsense"}, -32602),
                    ("session/list", [1, 2], -32602),
                    ("authenticate", {"methodId": "nobody"}, -32602),
                ],
                start=10,
            ):
                await line.send({"id": id, "method": method, "params": params})
                answer = await line.answer(id)
                assert answer["error"]["code"] == code, (method, params, answer)
            await line.send(
                {"method": "session/cancel"},
                {"method": "session/cancel", "params": {"sessionId": "nobody"}},
                {"method": "nonsense/of/any/kind", "params": [1]},
                {"id": 77, "result": {"nobody": "asked"}},
            )
            done = await line.ask(99, "session/prompt", sessionId=session, prompt=WORDS)
            assert done["result"]["stopReason"] == "end_turn"
            status = Path(f"/proc/{line.process.pid}/status").read_text()
            (peak,) = [row.split()[1] for row in status.splitlines() if row.startswith("VmHWM")]
            assert int(peak) < 250_000  # KiB
        assert line.process.returncode == 0


CLIENT = """
import json, subprocess, sys, time
p = subprocess.Popen([sys.executable, "-m", "planck", "acp", "--permission-mode", "full"],
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def ask(id, method, **params):
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    p.stdin.write(json.dumps(message).encode() + b"\\n")
    p.stdin.flush()
ask(0, "initialize", protocolVersion=1)
p.stdout.readline()
ask(1, "session/new", cwd=sys.argv[1], mcpServers=[])
session = json.loads(p.stdout.readline())["result"]["sessionId"]
ask(2, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
print(p.pid, session, flush=True)
time.sleep(1000)
"""


async def test_a_client_that_is_killed_leaves_no_process_and_a_log_that_says_interrupted(
    tmp_path: Path,
) -> None:
    async with WireServer([chat.calls(SLEEP)]) as server:
        bench = Bench(tmp_path, server.url)
        client = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            CLIENT,
            str(bench.work),
            cwd=bench.work,
            env={
                "PATH": "/usr/bin:/bin",
                "PLANCK_HOME": str(bench.home),
                "OLLAMA_HOST": "",
                "LLAMA_CPP_HOST": "",
            },
            stdout=asyncio.subprocess.PIPE,
        )
        assert client.stdout is not None
        async with asyncio.timeout(WAIT):
            pid, session = (await client.stdout.readline()).decode().split()
        await until(bench.work / "begun")
        assert processes(MARK) != []
        client.kill()
        await client.wait()
        await until_true(lambda: not Path(f"/proc/{pid}").exists() and processes(MARK) == [])
        assert await find_state(bench, session) == "interrupted"


async def test_a_signal_ends_the_work_and_is_the_exit_code(tmp_path: Path) -> None:
    async with WireServer([chat.calls(SLEEP)]) as server:
        bench = Bench(tmp_path, server.url)
        process = await bench.start("acp", "--permission-mode", "full")
        line = Line(process)
        session = await begin(line, bench)
        await line.send(
            {"id": 2, "method": "session/prompt", "params": {"sessionId": session, "prompt": WORDS}}
        )
        await until(bench.work / "begun")
        process.send_signal(signal.SIGTERM)
        done = await finish(process)
        assert done.code == 143
        answers = [message for message in done.lines if message.get("id") == 2]
        assert [answer["error"]["code"] for answer in answers] == [-32800]
        await until_true(lambda: processes(MARK) == [])
        assert await find_state(bench, session) == "interrupted"


async def test_a_cancelled_request_ends_the_turn_it_asked_for(tmp_path: Path) -> None:
    async with WireServer([chat.calls(SLEEP), chat.text("next")]) as server:
        bench = Bench(tmp_path, server.url)
        async with talking(bench, "--permission-mode", "full") as line:
            session = await begin(line, bench)
            prompt = {"sessionId": session, "prompt": WORDS}
            await line.send({"id": 2, "method": "session/prompt", "params": prompt})
            await until(bench.work / "begun")
            await line.send({"method": "$/cancel_request", "params": {"requestId": 2}})
            assert (await line.answer(2))["error"]["code"] == -32800
            await until_true(lambda: processes(MARK) == [])
            done = await line.ask(3, "session/prompt", **prompt)
            assert done["result"]["stopReason"] == "end_turn"


async def test_a_client_that_never_answers_a_question_has_said_no_at_its_deadline() -> None:
    read_end, to_it = os.pipe()
    from_it, write_end = os.pipe()
    peer = Peer(Duplex(read_end, write_end), None)  # type: ignore[arg-type]  # it is asked nothing
    running = asyncio.ensure_future(peer.run())
    question = Question(
        id="q", agent_id="a", agent="builder", tool="bash", text="make", adds="", reason="mode", digest="d"
    )
    async with asyncio.timeout(WAIT):
        answer = await Approvals(Asker(peer), patience=0.05).ask(question)
    assert answer == Answer("q", "d", False, unanswered="nobody answered in time")
    client = Duplex(from_it, to_it)
    asked, taken_back = json.loads(await client.next() or b""), json.loads(await client.next() or b"")
    assert asked["method"] == "session/request_permission"
    assert [option["kind"] for option in asked["params"]["options"]] == ["allow_once", "reject_once"]
    assert (taken_back["method"], taken_back["params"]) == ("$/cancel_request", {"requestId": asked["id"]})
    client.close_output()
    await running
    client.end("done")
    peer.stream.close_output()
