"""`planck mcp` and `planck sidecar` as a user runs them, both also driven by other programs' clients."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.command import PLAIN, Bench
from tests.mcp.bench import FAKE, WAIT

PLANCK = [sys.executable, "-m", "planck"]
FAKE_COMMAND = (sys.executable, "-S", "-E", str(FAKE))


async def test_a_server_is_added_as_other_agents_write_it_or_told_how(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    (bench.work / "server.py").write_text("")
    assert (await bench.run("mcp", "add", "web", "http://localhost:2/mcp")).code == 0
    assert json.loads((bench.home / "config.json").read_text())["mcpServers"]["web"] == {
        "url": "http://localhost:2/mcp"
    }
    bare = await bench.run("mcp", "add", "own", "python3", "server.py")
    assert (bare.code, bare.err.split("`")[1]) == (2, "planck mcp add own -- python3 server.py")
    added = await bench.run("mcp", "add", "own", "--", "python3", "server.py")
    assert (added.code, f"Use the full path {str(bench.work / 'server.py')!r}" in added.err) == (0, True)


async def test_a_server_is_added_listed_tested_and_removed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    before = json.loads((bench.home / "config.json").read_text())
    added = await bench.run("mcp", "add", "fake", "--env", "TOKEN=secret", "--", *FAKE_COMMAND)
    assert (added.code, added.err) == (0, "")
    config = json.loads((bench.home / "config.json").read_text())
    assert config == {
        **before,
        "mcpServers": {
            "fake": {"command": FAKE_COMMAND[0], "args": list(FAKE_COMMAND[1:]), "env": {"TOKEN": "secret"}}
        },
    }
    again = await bench.run("mcp", "add", "fake", "--url", "http://localhost:2/mcp")
    assert again.code == 2
    assert "not_unique" in again.err

    listed = await bench.run("mcp", "list", "--json")
    assert [row["name"] for row in json.loads(listed.out)["servers"]] == ["fake"]
    assert "secret" not in listed.out

    tested = await bench.run("mcp", "test", "fake", "--json")
    assert tested.code == 0
    peer = json.loads(tested.out)["peers"][0]
    assert (peer["state"], peer["tools"]) == ("connected", ["mcp__fake__echo", "mcp__fake__quiet"])

    removed = await bench.run("mcp", "remove", "fake")
    assert removed.code == 0
    assert json.loads((bench.home / "config.json").read_text())["mcpServers"] == {}
    gone = await bench.run("mcp", "test", "fake")
    assert gone.code == 2
    assert "not_found" in gone.err


async def test_wrong_entries_are_refused_before_they_are_written(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    text = (bench.home / "config.json").read_text()
    for args in (
        ("", "--", "x"),
        ("both", "--url", "http://x", "--", "x"),
        ("none",),
        ("file", "--url", "file:///etc/passwd"),
        ("pair", "--env", "novalue", "--", "x"),
    ):
        done = await bench.run("mcp", "add", *args)
        assert done.code in (1, 2), args
        assert done.error_kind == "invalid_args", args
    assert (bench.home / "config.json").read_text() == text


@pytest.mark.heavy  # it runs the tests of a new sidecar, as the guide does
async def test_a_new_sidecar_works_and_so_does_its_test(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    made = await bench.run("sidecar", "new")
    assert made.code == 0
    assert (await bench.run("sidecar", "new")).code == 2
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ".planck/sidecar"],
        cwd=bench.work,
        capture_output=True,
        text=True,
        timeout=4 * WAIT,  # an interpreter and pytest, on a machine that may have other work
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
    untrusted = await bench.run("sidecar", "status")
    assert untrusted.code == 3
    assert "--trust" in untrusted.err
    status = await bench.run("sidecar", "status", "--trust", "--json")
    assert status.code == 0, status.err
    assert not (bench.home / "cache").exists()  # it needs no package, so nothing is built
    assert json.loads(status.out)["peers"][0]["tools"] == ["count_words"]


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_the_status_of_a_sidecar_counts_no_tool_that_is_left_out(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    text = "from planck import Tool\nfrom planck.sidecar import Sidecar\nclass Mine(Sidecar):\n"
    text += "    def tools(self):\n        names = ('bash', 'ask_agent', 'mine')\n"
    text += "        return [Tool(name, '', {}, lambda a, c, x: '') for name in names]\n"
    (bench.work / ".planck" / "sidecar").mkdir(parents=True)
    (bench.work / ".planck" / "sidecar" / "sidecar.py").write_text(text)
    status = await bench.run("sidecar", "status", "--trust", "--json")
    [peer] = json.loads(status.out)["peers"]
    assert (peer["tools"], peer["left_out"]) == (["mine"], ["bash", "ask_agent"])
    shown = await bench.run("sidecar", "status", "--trust")
    assert "connected  1 tool" in shown.out
    assert "'bash' is left out" in shown.err


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_our_sidecar_is_driven_by_the_official_client_over_stdio_and_http(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    await bench.run("sidecar", "new")
    env = {**PLAIN, "PLANCK_HOME": str(bench.home)}
    command = [*PLANCK, "sidecar", "run"]
    async with Client(_stdio(command, bench.work, env)) as client:
        await _use_count_words(client)
    async with _served(bench, "sidecar", "run", "--http", "0", "--token", "t0ken") as url:
        async with _client(url, "t0ken") as client:
            await _use_count_words(client)
        async with httpx2.AsyncClient() as http:
            for token in ("", "Bearer wrong", "t0ken"):
                headers = {"Authorization": token} if token else {}
                refused = await http.post(url, json={}, headers=headers)
                assert (refused.status_code, refused.json()["error"]["kind"]) == (401, "unauthorized")


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_a_sidecar_s_compactors_are_not_shown_to_other_clients(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    await bench.run("sidecar", "new")
    file = bench.work / ".planck" / "sidecar" / "sidecar.py"
    file.write_text(
        file.read_text() + "\n    def compactors(self):\n        return {'brief': lambda messages: 'x'}\n"
    )
    env = {**PLAIN, "PLANCK_HOME": str(bench.home)}
    async with Client(_stdio([*PLANCK, "sidecar", "run"], bench.work, env)) as client:
        await _use_count_words(client)
    status = await bench.run("sidecar", "status", "--trust", "--json")
    (peer,) = json.loads(status.out)["peers"]
    assert (peer["tools"], peer["compactors"]) == (["count_words"], ["brief"])


async def _use_count_words(client: Client) -> None:
    tools = await client.list_tools()
    assert [tool.name for tool in tools.tools] == ["count_words"]
    told: list[str | None] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    result = await client.call_tool("count_words", {"text": "a b c"}, progress_callback=heard)
    assert (result.is_error, result.content[0].text) == (False, "3 words")  # type: ignore[union-attr]
    assert told == ["counting\n"]
    wrong = await client.call_tool("count_words", {"txt": "a"})
    assert wrong.is_error
    assert wrong.content[0].text.startswith("invalid_args")  # type: ignore[union-attr]


async def test_mcp_serve_offers_our_tools_under_a_mode_and_a_workspace(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    (bench.work / "a.txt").write_text("alpha\n")
    env = {**PLAIN, "PLANCK_HOME": str(bench.home)}
    command = [*PLANCK, "mcp", "serve", "--permission-mode", "read-only"]
    async with Client(_stdio(command, bench.work, env), mode="legacy") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"read", "write", "bash", "grep"} <= set(names)
        read = await client.call_tool("read", {"path": "a.txt"})
        assert "alpha" in read.content[0].text  # type: ignore[union-attr]
        for name, args in (
            ("write", {"path": "b.txt", "content": "x"}),
            ("bash", {"command": "touch c.txt"}),
            ("read", {"path": "/etc/passwd"}),
        ):
            refused = await client.call_tool(name, args)
            assert refused.is_error, name
    assert sorted(entry.name for entry in bench.work.iterdir()) == ["a.txt"]


async def test_mcp_serve_says_what_changes_nothing_and_offers_commands_and_skills(tmp_path: Path) -> None:
    key = "sk-ant-0123456789abcdef"
    bench = Bench(tmp_path, "http://localhost:1")
    for file, text in (
        ("commands/review.md", "---\ndescription: Review a file\x1b[31m\n---\nReview $ARGUMENTS now."),
        ("skills/release/SKILL.md", f"---\nname: release\ndescription: How to release\n---\nTag it. {key}"),
    ):
        place = bench.home / file
        place.parent.mkdir(parents=True)
        place.write_text(text)
    env = {**PLAIN, "PLANCK_HOME": str(bench.home), "ANTHROPIC_API_KEY": key}
    async with Client(_stdio([*PLANCK, "mcp", "serve"], bench.work, env)) as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        changing = {name for name, hint in hints.items() if hint is None or not hint.read_only_hint}
        assert {"read", "grep", "glob", "list_dir"}.isdisjoint(changing)
        assert {"write", "edit", "bash"} <= changing
        prompts = {one.name: one for one in (await client.list_prompts()).prompts}
        assert prompts["review"].description == r"Review a file\x1b[31m"  # visible, not obeyed
        assert [one.name for one in prompts["review"].arguments or ()] == ["arguments"]
        assert prompts["skill:release"].description == "How to release"
        said = await client.get_prompt("review", {"arguments": "a.py"})
        assert said.messages[0].content.text == "Review a.py now."  # type: ignore[union-attr]
        skill = (await client.get_prompt("skill:release")).messages[0].content.text  # type: ignore[union-attr]
        assert "Tag it." in skill
        assert key not in skill
        for name in ("nope", "release", "skill:../release", "skill:"):
            with pytest.raises(MCPError, match="unknown prompt"):
                await client.get_prompt(name)


READ_ONLY = ("--permission-mode", "read-only")
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}


async def test_mcp_serve_over_http_keeps_its_mode_for_every_client_with_the_token(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    (bench.work / "a.txt").write_text("alpha\n")
    serve = ("mcp", "serve", "--http", "0", "--token", "t0ken", *READ_ONLY)
    async with _served(bench, *serve) as url, _client(url, "t0ken") as one, _client(url, "t0ken") as other:
        for client in (one, other):
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"read", "write", "bash", "grep"} <= names
        reads = [client.call_tool("read", {"path": "a.txt"}) for client in (one, other) for _ in range(5)]
        assert {read.content[0].text for read in await asyncio.gather(*reads)} == {"alpha\n"}  # type: ignore[union-attr]
        for name, args, kind in (
            ("write", {"path": "b.txt", "content": "x"}, "permission_denied"),
            ("read", {"path": "/etc/passwd"}, "outside_workspace"),
            ("read", {"path": 7}, "invalid_args"),
            ("nope", {}, "unknown_tool"),
        ):
            refused = await one.call_tool(name, args)
            assert refused.is_error, name
            assert refused.content[0].text.startswith(kind)  # type: ignore[union-attr]
    assert sorted(entry.name for entry in bench.work.iterdir()) == ["a.txt"]


async def test_mcp_serve_over_http_writes_where_its_mode_lets_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    process = await bench.start("mcp", "serve", "--http", "0", "--permission-mode", "full")
    async with _announced(process) as line:
        url, token = line.split()[3], line.split()[-1]
        assert len(token) == 64  # none was given, so it made one
        async with _client(url, token) as client:
            written = await client.call_tool("write", {"path": "b.txt", "content": "x"})
            assert not written.is_error
            ran = await client.call_tool("bash", {"command": "echo hi; exit 3"})
            assert ran.is_error
            assert ran.content[0].text == "hi\n[exit code 3]"  # type: ignore[union-attr]
    assert (bench.work / "b.txt").read_text() == "x"


async def test_mcp_serve_over_http_is_closed_to_who_has_no_token_on_every_path(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    async with _served(bench, "mcp", "serve", "--http", "0", "--token", "t0ken", *READ_ONLY) as url:
        async with httpx2.AsyncClient() as http:
            for path in ("/mcp", "/", "/mcp/", "/docs", "/openapi.json"):
                for method in ("GET", "POST", "DELETE", "PUT"):
                    for token in ("", "Bearer", "Bearer wrong", "t0ken", "Basic t0ken"):
                        headers = {"Authorization": token} if token else {}
                        answer = await http.request(method, url.replace("/mcp", path), headers=headers)
                        assert (answer.status_code, answer.json()["error"]["kind"]) == (401, "unauthorized")
        assert "Server returned an error response" in await _why_not(url, "wrong")


async def test_mcp_serve_over_http_answers_to_its_own_names_and_to_no_foreign_page(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    async with _served(bench, "mcp", "serve", "--http", "0", "--token", "t0ken", *READ_ONLY) as url:
        port = url.split(":")[2].partition("/")[0]
        own = [f"Host: 127.0.0.1:{port}", f"Host: localhost:{port}"]
        allowed = [
            *([host] for host in own),
            [own[0], f"Origin: http://localhost:{port}", "Sec-Fetch-Site: same-origin"],
        ]
        misdirected = [
            [],
            [f"Host: evil.test:{port}"],
            [f"Host: localhost.:{port}"],
            ["Host: 127.0.0.1:1"],
            [own[0], "Host: evil.test"],
        ]
        foreign = [
            [own[0], header]
            for header in (
                "Origin: http://evil.test",
                "Origin: null",
                "Origin: http://localhost.evil.test",
                "Origin: http://localhost:1",
                f"Origin: https://127.0.0.1:{port}",
                "Sec-Fetch-Site: cross-site",
                "Sec-Fetch-Site: same-site",
            )
        ]
        for status, cases in ((200, allowed), (421, misdirected), (403, foreign)):
            for headers in cases:
                assert await _status(int(port), headers) == status, headers
        without_token = [f"Host: evil.test:{port}"]
        assert await _status(int(port), without_token, token="") == 421  # before the token is looked at


async def _status(port: int, headers: list[str], token: str = "Bearer t0ken") -> int:
    """Of a request by hand: a client of HTTP would not send such headers."""
    body = json.dumps(HELLO)
    usual = [
        f"Authorization: {token}",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("\r\n".join(["POST /mcp HTTP/1.1", *headers, *usual, "", body]).encode())
    async with asyncio.timeout(WAIT):
        first = await reader.readline()
    writer.close()
    return int(first.split()[1])


@pytest.mark.parametrize("command", [("mcp", "serve"), ("sidecar", "run")])
async def test_a_port_that_can_t_be_had_is_one_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    await bench.run("sidecar", "new")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = await bench.run(*command, "--http", str(taken.getsockname()[1]))
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "Choose another port, or 0 for any free port." in done.err
    for wrong in ("65536", "-1", "http"):
        refused = await bench.run(*command, "--http", wrong)
        assert refused.code == 2
        assert "Traceback" not in refused.err


async def test_the_token_of_a_sidecar_is_on_no_command_line_and_ctrl_c_is_no_crash(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    await bench.run("sidecar", "new")
    process = await bench.start("sidecar", "run", "--http", "0")
    async with _announced(process) as line:
        token = line.split()[-1]
        assert len(token) == 64
        assert token.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert token.encode() not in Path(f"/proc/{process.pid}/environ").read_bytes()
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        async with asyncio.timeout(WAIT):
            assert await process.wait() == 130
            assert await process.stderr.read() == b""


async def test_ctrl_c_ends_a_sidecar_that_is_still_being_imported(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://localhost:1")
    await bench.run("sidecar", "new")
    file = bench.work / ".planck" / "sidecar" / "sidecar.py"
    file.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n" + file.read_text())
    done = await bench.run("sidecar", "run")
    assert (done.code, done.err) == (130, "")


async def test_mcp_serve_is_driven_by_a_client_that_is_not_the_sdk(tmp_path: Path) -> None:
    """Plain lines, as any program in any language would write them; no `_meta`, no progress token."""
    bench = Bench(tmp_path, "http://localhost:1")
    process = await bench.start("mcp", "serve", "--permission-mode", "full")
    assert process.stdin is not None
    assert process.stdout is not None
    hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {
            "id": 3,
            "method": "tools/call",
            "params": {"name": "bash", "arguments": {"command": "echo hi; exit 3"}},
        },
        {"id": 4, "method": "tools/call", "params": {"name": "nope", "arguments": {}}},
    ]
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    answers: dict[int, dict[str, Any]] = {}
    async with asyncio.timeout(WAIT):
        while len(answers) < 4:
            answer = json.loads(await process.stdout.readline())
            answers[answer["id"]] = answer["result"]
        process.stdin.close()
        await process.wait()
    assert answers[1]["serverInfo"]["name"] == "planck"
    assert "bash" in [tool["name"] for tool in answers[2]["tools"]]
    assert "hi" in answers[3]["content"][0]["text"]
    assert answers[3]["isError"] is True
    assert answers[4]["content"][0]["text"].startswith("unknown_tool")


def _stdio(command: list[str], cwd: Path, env: dict[str, str]) -> StdioServerParameters:
    return StdioServerParameters(command=command[0], args=command[1:], cwd=cwd, env=env)


@asynccontextmanager
async def _client(url: str, token: str) -> AsyncGenerator[Client, None]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def _why_not(url: str, token: str) -> str:
    """What the official client says when it is not let in."""
    try:
        async with _client(url, token) as client:
            await client.list_tools()
    except Exception as problem:
        return "".join(traceback.format_exception(problem))
    return "it was let in"


@asynccontextmanager
async def _served(bench: Bench, *args: str) -> AsyncGenerator[str, None]:
    async with _announced(await bench.start(*args)) as line:
        yield next(word for word in line.split() if word.startswith("http://"))


@asynccontextmanager
async def _announced(process: asyncio.subprocess.Process) -> AsyncGenerator[str, None]:
    """The line that says where it is served, and with which token."""
    assert process.stderr is not None
    try:
        async with asyncio.timeout(WAIT):
            while b"http://" not in (line := await process.stderr.readline()):
                assert line, "it ended"
        yield line.decode()
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def test_a_file_of_any_shape_is_listed_and_its_servers_are_named_before_it_is_trusted(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    servers = {
        "my server": {"command": "npx", "args": ["-y", "a"], "env": {"TOKEN": "secret"}},
        "off": {"command": "x", "enabled": False},
        "far": {"serverUrl": "https://mcp.example/mcp"},
        "list": {"command": ["npx", "-y", "b"], "environment": {"A": "b"}},
        "mcp": {"command": "x", "env": 5, "args": "what", "headers": ["no"]},
    }
    (bench.work / ".mcp.json").write_text(json.dumps(servers))
    untrusted = await bench.run("mcp", "list")
    assert "(MCP servers: my server, off, far, list, mcp)" in untrusted.err
    listed = await bench.run("mcp", "list", "--json", "--trust")
    rows = {row["name"]: row for row in json.loads(listed.out)["servers"]}
    assert {name: (row["how"], row["disabled"], row["env"]) for name, row in rows.items()} == {
        "my server": ("npx -y a", False, ["TOKEN"]),
        "off": ("x", True, []),
        "far": ("https://mcp.example/mcp", False, []),
        "list": ("npx -y b", False, ["A"]),
        "mcp": ("x", False, []),
    }
