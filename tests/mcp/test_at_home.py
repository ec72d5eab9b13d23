"""Servers as other programs describe them; more tools than a window holds; resources, prompts, sign-ins."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from planck import Planck
from planck.headless import read_servers
from planck.mcp.transport import PeerError
from planck.peers.server import ServerSpec, read_server
from planck.records.outcome import PlanckError
from tests.command import WAIT, Bench, finish
from tests.wire import chat
from tests.wire.server import WireServer

PLAIN = Path(__file__).parent / "plain_server.py"


def serve(count: int) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(PLAIN), str(count)]}


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        ({"command": "x", "enabled": True, "alwaysAllow": ["a"], "autoApprove": []}, ServerSpec(command="x")),
        ({"command": "x", "enabled": False}, ServerSpec(command="x", disabled=True)),
        (
            {"type": "local", "command": ["x", "-y"], "environment": {"A": 1}},
            ServerSpec(type="local", command="x", args=["-y"], env={"A": "1"}),
        ),
        ({"serverUrl": "https://a.example/mcp"}, ServerSpec(url="https://a.example/mcp")),
        ({"httpUrl": "https://a.example/mcp", "trust": True}, ServerSpec(url="https://a.example/mcp")),
        (
            {"type": "streamable-http", "url": "https://a.example", "note": 5},
            ServerSpec(type="streamable-http", url="https://a.example"),
        ),
        (
            {"command": "x", "env": {"DEBUG": True}, "tool_timeout_sec": 5},
            ServerSpec(command="x", env={"DEBUG": "true"}, timeout=5000),
        ),
    ],
)
def test_an_entry_of_another_program_means_the_same_here(entry: dict[str, Any], wanted: ServerSpec) -> None:
    assert read_server("My Server", entry, {}) == wanted


@pytest.mark.parametrize(
    ("name", "entry", "words"),
    [
        ("a", {"type": "sse", "url": "https://a.example"}, "SSE"),
        ("a", {"comand": "x"}, "command"),
        ("a", {"command": "x", "url": "https://a.example"}, "either"),
        ("a", {"command": 5}, "str"),
        ("a\nb", {"command": "x"}, "not a valid name"),
        (" a", {"command": "x"}, "not a valid name"),
        ("a", "npx x", "object"),
    ],
)
def test_an_entry_that_is_none_says_what_to_change(name: str, entry: Any, words: str) -> None:
    with pytest.raises(PeerError, match=words):
        read_server(name, entry, {})


@pytest.mark.parametrize("key", ["mcpServers", "servers", "mcp", ""])
def test_servers_stand_under_a_key_or_as_a_bare_map(key: str) -> None:
    servers = {"time": {"command": "uvx"}, "docs": {"url": "https://a.example"}}
    assert read_servers(json.dumps({key: servers} if key else servers)) == servers


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 5}', '{"mcpServers": []}', "{}" * 2])
def test_what_holds_no_servers_is_refused(text: str) -> None:
    with pytest.raises(PlanckError):
        read_servers(text if text.startswith("{") else "/dev/null")


async def test_of_300_tools_the_first_request_shows_a_search_and_one_that_is_found_is_called(
    tmp_path: Path,
) -> None:
    replies = [
        chat.calls(("search_tools", {"query": "what will the sky do"})),
        chat.calls(("mcp__many_things__weather_forecast", {"place": "Rome"})),
        chat.text("sunny"),
    ]
    async with WireServer(replies) as server:
        bench = Bench(tmp_path, server.url, mcpServers={"many things": serve(300)}, peers_wait_ms=60_000)
        done = await bench.run(
            *("run", "weather?", "--permission-mode", "full", "--output-format", "stream-json")
        )
    assert done.code == 0, done.err
    first, second, _ = server.asked
    assert len(first.body) <= 20_000
    shown = [{tool["function"]["name"] for tool in asked.json["tools"]} for asked in (first, second)]
    assert "search_tools" in shown[0]
    assert not any(name.startswith("mcp__") for name in shown[0])
    assert "mcp__many_things__weather_forecast" in shown[1]
    assert len(shown[1]) < 40
    ends = [line["data"] for line in done.lines if line["type"] == "tool_end"]
    assert [end["ok"] for end in ends] == [True, True]
    assert ends[1]["output"] == "weather_forecast: sunny in Rome"
    changed = [line["data"]["added"] for line in done.lines if line["type"] == "tools_changed"]
    assert "mcp__many_things__weather_forecast" in changed[-1]
    assert len(changed[-1]) <= 8


async def test_a_few_tools_are_shown_as_they_are_with_resources_beside_them(tmp_path: Path) -> None:
    replies = [
        chat.calls(
            ("mcp__few__list_resources", {}),
            ("mcp__few__read_resource", {"uri": "note://one"}),
            ("mcp__few__read_resource", {}),
        ),
        chat.text("milk"),
    ]
    async with WireServer(replies) as server:
        bench = Bench(tmp_path, server.url, mcpServers={"few": serve(3)}, peers_wait_ms=60_000)
        done = await bench.run("run", "go", "--permission-mode", "full", "--output-format", "stream-json")
    shown = {tool["function"]["name"] for tool in server.asked[0].json["tools"]}
    assert "search_tools" not in shown
    assert {"mcp__few__tool_0", "mcp__few__weather_forecast", "mcp__few__read_resource"} <= shown
    ends = [line["data"] for line in done.lines if line["type"] == "tool_end"]
    assert "note://one" in ends[0]["output"]
    assert ends[1]["output"] == "buy milk"
    assert ends[2]["error"]["kind"] == "invalid_args"


async def test_a_prompt_of_a_server_is_a_command(tmp_path: Path) -> None:
    async with WireServer([chat.text("Hello!")]) as server:
        bench = Bench(tmp_path, server.url, mcpServers={"few": serve(1)})
        done = await bench.run("run", "/few:greet Ada very kindly")
    assert done.code == 0, done.err
    (asked,) = server.asked
    assert asked.json["messages"][-1]["content"] == "Greet {'who': 'Ada', 'how': 'very kindly'}"


async def test_prompts_of_servers_are_listed_and_one_that_is_none_says_what_there_is(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path, "http://127.0.0.1:9", mcpServers={"few": serve(1), "lost": {"command": "/nowhere"}}
    )
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    async with Planck(bench.home, bench.work, environ=environ) as planck:
        (prompt,) = await planck.list_prompts()
        assert (prompt.command, prompt.arguments, prompt.required) == ("few:greet", ("who", "how"), ("who",))
        assert (
            await planck.say_prompt("few:greet", "how=well 'Ada L'")
            == "Greet {'how': 'well', 'who': 'Ada L'}"
        )
        for command, words, said in (
            ("few:nonsense", "", "greet"),
            ("few:greet", "", "requires this argument: who"),
            ("nobody:x", "", "MCP server not found"),
        ):
            with pytest.raises(PlanckError, match=said):
                await planck.say_prompt(command, words)


class Authority(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Agrees to everybody, and keeps what it gave."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.renewable: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        assert client.client_id is not None
        code = f"code-{len(self.codes)}-{os.urandom(16).hex()}"
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            expires_at=4e9,
            scopes=params.scopes or [],
            code_challenge=params.code_challenge,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        assert client.client_id is not None
        return self._give(client.client_id)

    def _give(self, client_id: str) -> OAuthToken:
        token, renewal = (f"{kind}-{os.urandom(16).hex()}" for kind in ("token", "renewal"))
        self.tokens[token] = AccessToken(token=token, client_id=client_id, scopes=[], expires_at=None)
        self.renewable = {renewal: RefreshToken(token=renewal, client_id=client_id, scopes=[])}
        return OAuthToken(access_token=token, token_type="Bearer", expires_in=3600, refresh_token=renewal)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.renewable.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        assert client.client_id is not None
        return self._give(client.client_id)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.tokens.pop(token.token, None)


class Counted:
    """The application, and how often it was asked for what it serves."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.asked = 0
        self.refused_by = ""
        """A challenge: who comes with a token hears this and 403 while it is set."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        wanted = scope["type"] == "http" and scope["path"] == "/mcp"
        self.asked += wanted
        if wanted and self.refused_by and any(name == b"authorization" for name, _ in scope["headers"]):
            head = (b"www-authenticate", self.refused_by.encode())
            await send({"type": "http.response.start", "status": 403, "headers": [head]})
            await send({"type": "http.response.body"})
            return
        await self._app(scope, receive, send)


class Connection(HttpToolsProtocol):
    """A connection that leaves no timer where the other side resets it, as uvicorn's own one does."""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()


@asynccontextmanager
async def guarded_server(*, registers: bool = True) -> AsyncGenerator[tuple[str, Authority, Counted], None]:
    import socket

    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    authority = Authority()
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(url),
        resource_server_url=AnyHttpUrl(f"{url}/mcp"),
        client_registration_options=ClientRegistrationOptions(enabled=registers),
        validate_token_resource=False,
    )
    served = MCPServer("guarded", auth_server_provider=authority, auth=settings)

    @served.tool()
    def secret() -> str:
        """Tells it."""
        return "xyzzy"

    app = Counted(served.streamable_http_app())
    config = uvicorn.Config(app, log_level="error", lifespan="on", http=Connection)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    task = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(WAIT):
            while not server.started:
                await asyncio.sleep(0.01)
        yield f"{url}/mcp", authority, app
    finally:
        server.should_exit = True
        # What sends events looks every half second whether a server stops, and outlives the server.
        watchers = {one for one in asyncio.all_tasks() if "_shutdown_watcher" in repr(one.get_coro())}
        for one in watchers:
            one.cancel()
        await asyncio.wait({task, *watchers}, timeout=10)
        listener.close()


async def read_address(process: asyncio.subprocess.Process) -> str:
    """The address that a person is to open, as it is printed."""
    assert process.stderr is not None
    async with asyncio.timeout(WAIT):
        while line := await process.stderr.readline():
            if found := re.search(rb"http://127\.0\.0\.1:\d+/authorize\S+", line):
                return found[0].decode()
    raise AssertionError("no address was printed")


async def sign_in(bench: Bench, *, paste: bool) -> int:
    process = await bench.start("mcp", "login", "docs")
    address = await read_address(process)
    async with httpx2.AsyncClient() as browser:
        sent_to = (await browser.get(address)).headers["location"]
        if not paste:
            assert (await browser.get(sent_to)).status_code == 200
    done = await finish(process, f"{sent_to}\n".encode() if paste else b"")
    assert "Signed in" in done.out, (done.out, done.err)
    return done.code


@pytest.mark.parametrize("paste", [True, False])
async def test_a_person_signs_in_in_a_browser_here_or_elsewhere_and_out_again(
    tmp_path: Path, paste: bool
) -> None:
    async with guarded_server() as (url, authority, app):
        bench = Bench(tmp_path, "http://127.0.0.1:9", mcpServers={"docs": {"url": url}})
        before = await bench.run("mcp", "test", "docs")
        assert before.code == 1
        assert "planck mcp login docs" in before.err
        assert app.asked <= 2  # one that refuses us is not asked again and again
        assert await sign_in(bench, paste=paste) == 0
        tested = await bench.run("mcp", "test", "docs")
        assert (tested.code, "mcp__docs__secret" in tested.out) == (0, True), tested.err
        kept = bench.home / "mcp-auth.json"
        assert kept.stat().st_mode & 0o777 == 0o600
        (token,) = authority.tokens
        assert token in kept.read_text()
        out = await bench.run("mcp", "logout", "docs")
        assert (out.code, token in kept.read_text()) == (0, False)
        again = await bench.run("mcp", "logout", "docs")
        assert again.code == 2


async def test_a_sign_in_that_is_not_completed_keeps_the_tokens_from_before(tmp_path: Path) -> None:
    async with guarded_server() as (url, _, _):
        bench = Bench(tmp_path, "http://127.0.0.1:9", mcpServers={"docs": {"url": url}})
        await sign_in(bench, paste=True)
        kept = bench.home / "mcp-auth.json"
        before = kept.read_bytes()
        process = await bench.start("mcp", "login", "docs")
        await read_address(process)
        assert kept.read_bytes() == before
        process.kill()
        await process.communicate()
        assert kept.read_bytes() == before
        tested = await bench.run("mcp", "test", "docs")
        assert tested.code == 0, tested.err
        assert await sign_in(bench, paste=True) == 0
        assert kept.read_bytes() != before


async def test_what_has_ended_is_renewed_by_a_later_process_without_a_person(tmp_path: Path) -> None:
    async with guarded_server() as (url, authority, _):
        bench = Bench(tmp_path, "http://127.0.0.1:9", mcpServers={"docs": {"url": url}})
        await sign_in(bench, paste=True)
        kept = bench.home / "mcp-auth.json"
        ((key, entry),) = json.loads(kept.read_text()).items()
        assert entry["expires_at"] > 0
        kept.write_text(json.dumps({key: {**entry, "expires_at": 1.0}}))
        (first,) = authority.tokens
        authority.tokens.clear()
        tested = await bench.run("mcp", "test", "docs")
        assert (tested.code, "mcp__docs__secret" in tested.out) == (0, True), tested.err
        (second,) = authority.tokens
        assert first != second
        assert second in kept.read_text()


async def test_a_token_goes_to_no_other_address_under_the_same_name(tmp_path: Path) -> None:
    async with guarded_server() as (url, _, _), WireServer([chat.error(401, "who are you?")]) as other:
        bench = Bench(tmp_path, "http://127.0.0.1:9", mcpServers={"docs": {"url": url}})
        await sign_in(bench, paste=True)
        config = json.loads((bench.home / "config.json").read_text())
        config["mcpServers"]["docs"]["url"] = f"{other.url}/mcp"
        (bench.home / "config.json").write_text(json.dumps(config))
        await bench.run("mcp", "test", "docs")
    assert other.asked
    assert all("authorization" not in asked.headers for asked in other.asked)


async def test_requests_that_do_not_know_the_state_neither_end_nor_spoil_a_sign_in(tmp_path: Path) -> None:
    """Any page in any browser on this machine can send them."""
    async with guarded_server() as (url, authority, _):
        bench = Bench(tmp_path, "http://127.0.0.1:9", mcpServers={"docs": {"url": url}})
        process = await bench.start("mcp", "login", "docs")
        address = await read_address(process)
        async with httpx2.AsyncClient() as browser:
            sent_to = (await browser.get(address)).headers["location"]
            callback, _, query = sent_to.partition("?")
            state = dict(parse_qsl(query))["state"]
            for forged in (
                "code=x",
                "code=x&state=",
                "code=x&state=guessed",
                f"code=x&state={state[:-1]}",
                f"code=x&state={state.upper()}x",
                f"code=x&state=guessed&state={state}",
                f"code=x&state={state}&state=guessed",
                "code=x&state=%ff",
                "error=access_denied",
                "error=access_denied&state=guessed",
                f"state={state}",
            ):
                assert (await browser.get(f"{callback}?{forged}")).status_code == 404, forged
            assert (await browser.post(sent_to)).status_code == 404
            assert (await browser.get(sent_to)).status_code == 200
        done = await finish(process)
    assert (done.code, "Signed in" in done.out) == (0, True), done.err
    assert len(authority.tokens) == 1


async def test_a_person_who_declines_in_the_browser_ends_the_sign_in(tmp_path: Path) -> None:
    async with guarded_server() as (url, authority, _):
        bench = Bench(tmp_path, "http://127.0.0.1:9", mcpServers={"docs": {"url": url}})
        process = await bench.start("mcp", "login", "docs")
        asked = dict(parse_qsl((await read_address(process)).partition("?")[2]))
        async with httpx2.AsyncClient() as browser:
            declined = f"{asked['redirect_uri']}?error=access_denied&state={asked['state']}"
            assert (await browser.get(declined)).status_code == 200
        done = await finish(process)
    assert (done.code, "access_denied" in done.err) == (1, True), done
    assert authority.tokens == {}


async def test_what_is_pasted_wrongly_signs_nobody_in(tmp_path: Path) -> None:
    async with guarded_server() as (url, authority, _):
        bench = Bench(tmp_path, "http://127.0.0.1:9", mcpServers={"docs": {"url": url}, "prog": serve(1)})
        process = await bench.start("mcp", "login", "docs")
        await read_address(process)
        done = await finish(process, b"http://127.0.0.1/callback?code=guessed&state=guessed\n")
        program = await bench.run("mcp", "login", "prog")
        lost = await bench.run("mcp", "login", "nobody")
    assert done.code == 1
    assert "not_authenticated" in done.err
    assert authority.tokens == {}
    assert (program.code, lost.code) == (2, 2)
