"""`planck serve` as a user starts it: a process that says where it is, and ends as it should."""

import asyncio
import json
import os
import re
import signal
import stat
from pathlib import Path

import pytest

from planck.api.serve import ServeError, ServerConfig, check
from planck.client import Client
from planck.records import codec
from tests.api.bench import free_port, served
from tests.command import WAIT, Bench, finish, until
from tests.wire import chat
from tests.wire.server import Reply, WireServer

NOWHERE = "http://127.0.0.1:9"


async def test_the_first_line_says_where_it_is_and_the_token_is_for_the_user_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path, NOWHERE)
    async with served(bench) as (server, process):
        assert server.pid == process.pid
        assert len(server.token) == 64
        assert re.fullmatch(
            rf"http://(planck\.localhost|127\.0\.0\.1):{server.port}/#code=[0-9a-f]{{32}}", server.page
        )
        assert stat.S_IMODE(server.token_file.stat().st_mode) == 0o600
        async with server.client() as client:
            me = (await client.ask("GET", "/me")).data
            assert (me["workspace"], me["pid"]) == (str(bench.work), process.pid)
        process.terminate()
        done = await finish(process)
    assert (done.code, done.out) == (143, "")
    assert not server.token_file.exists()


async def test_requests_that_can_not_be_read_leave_no_line_behind(tmp_path: Path) -> None:
    """Anybody who reaches the port could fill the log, or the terminal, with them."""
    async with served(Bench(tmp_path, NOWHERE)) as (server, process):
        own = f"Host: 127.0.0.1:{server.port}\r\nConnection: "
        for request in (
            "GARBAGE\r\n\r\n",
            f"GET / HTTP/1.1\r\n{own}close\r\nContent-Length: zz\r\n\r\n",
            f"GET /api/v1/health HTTP/1.1\r\n{own}Upgrade\r\nUpgrade: h2c\r\n\r\n{request_to_close(own)}",
        ):
            assert await server.raw(request.encode())
        process.terminate()
        done = await finish(process)
    assert (done.code, done.err) == (143, "")


def request_to_close(own: str) -> str:
    return f"GET /api/v1/health HTTP/1.1\r\n{own}close\r\n\r\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_a_signal_ends_turns_as_interrupted(tmp_path: Path, number: int, code: int) -> None:
    never = asyncio.Event()
    async with WireServer([Reply([b": wait\n\n", never])]) as model:
        bench = Bench(tmp_path, model.url)
        async with served(bench) as (server, process), server.client() as client:
            session = await client.start()
            await session.prompt("work")
            async for event in session.events():
                if event["type"] == "turn_start":
                    break
            os.kill(server.pid, number)
            assert (await finish(process)).code == code
        shown = await bench.run("sessions", "list", "--json")
        (row,) = json.loads(shown.out)
        assert (row["state"], row["holder"]) == ("interrupted", None)
        # A list says so of a process that was killed too: here the log itself does.
        told = await bench.run("sessions", "export", row["id"])
        ends = [line for line in told.out.splitlines() if '"turn_end"' in line]
        assert [json.loads(line)["data"]["status"] for line in ends] == ["interrupted"]


async def test_a_second_server_says_where_the_first_is(tmp_path: Path) -> None:
    bench = Bench(tmp_path, NOWHERE)
    async with served(bench) as (server, process):
        second = await bench.run("serve", "--port", "0")
        assert second.code == 5
        assert server.url in second.err
        assert str(server.token_file) in second.err
        assert server.token not in second.err
        other = tmp_path / "other"
        other.mkdir()
        async with served(bench, "-C", str(other)) as (elsewhere, _):
            assert elsewhere.url != server.url
        process.kill()
        await process.wait()
    async with served(bench) as (again, _):  # what the killed one left behind is taken over
        assert again.token != server.token


async def test_a_port_that_is_taken_and_an_open_address_are_refused(tmp_path: Path) -> None:
    bench, port = Bench(tmp_path, NOWHERE), free_port()
    squatter = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", port)
    async with squatter:
        taken = await bench.run("serve", "--port", str(port))
    assert (taken.code, str(port) in taken.err) == (2, True)
    for more in ((), ("--allow-host", "x.test"), ("--behind-proxy",)):
        opened = await bench.run("serve", "--port", "0", "--host", "0.0.0.0", *more)
        assert (opened.code, "--allow-host" in opened.err) == (2, True), more


async def test_the_command_line_and_the_server_keep_out_of_each_others_sessions(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    command = f"echo x > started; while ! test -e {gate}; do sleep 0.05; done"

    def script(asked: object) -> Reply:
        return chat.calls(("bash", {"command": command})) if len(model.asked) == 1 else chat.text("done")

    async with WireServer(script) as model:
        bench = Bench(tmp_path, model.url, permissions={"mode": "full"})
        async with served(bench) as (server, _), server.client() as client:
            mine = await client.start()
            refused = await bench.run("run", "hi", "-r", mine.id)
            assert (refused.code, str(server.pid) in refused.err) == (5, True)
            theirs = await bench.start("run", "work", "--name", "theirs")
            assert theirs.stdin
            theirs.stdin.close()
            await until(bench.work / "started")
            row = next(iter([row async for row in client.sessions() if row["name"] == "theirs"]))
            assert row["holder"]["pid"] == theirs.pid
            answer = await server.post(f"/api/v1/sessions/{row['id']}/prompts", {"text": "mine"})
            assert (answer.status, answer.kind) == (409, "writer_conflict")
            assert answer.json["error"]["details"]["pid"] == theirs.pid
            gate.touch()
            assert (await finish(theirs)).code == 0


async def test_h12_the_token_is_in_its_file_and_nowhere_else(tmp_path: Path) -> None:
    async with WireServer([chat.text("hello")]) as model:
        bench = Bench(tmp_path, model.url)
        async with served(bench) as (server, process), server.client() as client:
            code = server.page.partition("#code=")[2]
            session = await client.start()
            await session.run("work")
            await server.send("GET", f"/api/v1/{server.token}?token={server.token}")
            for secret in (server.token, code):  # in the place of a name
                await server.send("GET", f"/api/v1/sessions/{secret}")
                await server.post(f"/api/v1/approvals/{secret}", {})
            await server.send("GET", "/api/v1/me", headers={"Host": "x", "Referer": server.token})
            for secret in (server.token, code):
                for place in ("environ", "cmdline"):
                    assert secret.encode() not in Path(f"/proc/{server.pid}/{place}").read_bytes()
                files = [path for path in tmp_path.rglob("*") if path.is_file()]
                holding = [path for path in files if secret.encode() in path.read_bytes()]
                assert holding == ([server.token_file] if secret == server.token else [])
            process.terminate()
            done = await finish(process)
            assert server.token not in done.out + done.err
            log = next(tmp_path.rglob("access.log")).read_text()
            assert f"GET read_result {session.id} 200" in log
            assert server.token not in log
            assert code not in log


async def test_the_line_of_json_makes_a_client(tmp_path: Path) -> None:
    bench = Bench(tmp_path, NOWHERE)
    async with served(bench) as (server, _):
        line = codec.encode({"url": server.url, "token_file": str(server.token_file)})
        async with Client.from_ready(line) as client:
            assert (await client.ask("GET", "/health")).data == {"ok": True}


def make_browser(folder: Path) -> tuple[Path, Path]:
    """A browser that keeps the address it was given, and the file behind it."""
    program, shown = folder / "browser", folder / "shown"
    keep = f'echo "$1" > {shown}.new; cat "${{1#file://}}" >> {shown}.new; mv {shown}.new {shown}'
    program.write_text(f"#!/bin/sh\n{keep}\n")
    program.chmod(0o755)
    return program, shown


async def test_open_shows_the_page_by_a_file_of_the_users_own(tmp_path: Path) -> None:
    program, shown = make_browser(tmp_path)
    bench, env = Bench(tmp_path, NOWHERE), {"BROWSER": f"{program} %s"}
    async with served(bench, "--open", env=env) as (server, process):
        await until(shown)
        address, file = shown.read_text().split("\n", 1)
        assert server.page in file
        assert server.page.partition("#code=")[2] not in address
        opened = Path(address.removeprefix("file://"))
        assert stat.S_IMODE(opened.stat().st_mode) == 0o600
        process.terminate()
        await finish(process)
    assert not opened.exists()


async def test_without_a_browser_open_says_the_address(tmp_path: Path) -> None:
    bench, env = Bench(tmp_path, NOWHERE), {"BROWSER": "nothing %s", "PATH": "/nowhere"}
    async with served(bench, "--open", env=env) as (server, process):
        assert process.stderr
        async with asyncio.timeout(WAIT):
            line = (await process.stderr.readline()).decode()
        assert server.page in line
        assert "Could not start a browser" in line


async def test_a_code_is_drawn_for_the_name_that_a_phone_can_reach_and_for_no_other(tmp_path: Path) -> None:
    bench = Bench(tmp_path, NOWHERE)
    public = ("--allow-host", "planck.example.org", "--behind-proxy")
    for more, drawn in ((public, True), ((), False)):
        async with served(bench, "--qr", *more) as (server, process):
            process.terminate()
            done = await finish(process)
        assert ("▀" in done.err) == drawn
        assert ("https://planck.example.org/#code=" in done.err) == drawn
        assert ("cannot reach" in done.err) != drawn
        assert server.page not in done.err


async def test_any_address_of_this_machine_is_answered_under_the_address_that_it_printed(
    tmp_path: Path,
) -> None:
    async with served(Bench(tmp_path, NOWHERE), "--host", "127.0.0.2") as (server, _):
        assert server.url == f"http://127.0.0.2:{server.port}"
        async with server.client() as client:
            assert (await client.ask("GET", "/me")).data["pid"] == server.pid


@pytest.mark.parametrize("name", ["", "https://planck.example.org/", "a b", "planck.example.org/x", "*"])
def test_what_is_no_name_of_a_host_is_not_allowed(name: str) -> None:
    with pytest.raises(ServeError, match="is not a host name"):
        check(ServerConfig(names=(name,)))
    check(
        ServerConfig(names=("planck.example.org", "Planck.Example.org:8443", "[2001:db8::1]:1", "10.0.0.1"))
    )
