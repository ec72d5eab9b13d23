"""Signing in as a client that the user registered by hand, and again when a server wants more."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl

from planck.mcp.peer import State
from planck.peers.server import ServerLaunch, read_server, tool_prefix
from planck.peers.tokens import TokenFile, join_scopes
from planck.records.outcome import Err, ErrorKind
from tests.command import Bench, finish
from tests.mcp.bench import watched
from tests.mcp.test_at_home import guarded_server, read_address, sign_in
from tests.mcp.test_http import OK, Scripted, answered, raw_server

SECRET = "s3cr:t/of mine"


class Mine(OAuthClientInformationFull):
    """Of a program on the user's machine, so of any port of it."""

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        assert redirect_uri is not None
        return redirect_uri


def mine(method: str = "client_secret_basic") -> Mine:
    described = {"client_id": "mine", "client_secret": SECRET, "redirect_uris": ["http://127.0.0.1/callback"]}
    return Mine.model_validate({**described, "token_endpoint_auth_method": method})


def bench_for(tmp_path: Path, **entry: Any) -> Bench:
    tmp_path.mkdir(exist_ok=True)
    return Bench(tmp_path, "http://127.0.0.1:9", mcpServers={"docs": entry})


async def test_a_configured_client_signs_in_where_nobody_is_registered(tmp_path: Path) -> None:
    async with guarded_server(registers=False) as (url, authority, _):
        authority.clients["mine"] = mine()
        unknown = await bench_for(tmp_path / "a", url=url).run("mcp", "login", "docs")
        assert (unknown.code, "set `client_id`" in unknown.err) == (1, True), unknown.err
        assert "Traceback" not in unknown.err
        bench = bench_for(tmp_path / "b", url=url, client_id="mine", client_secret=SECRET)
        assert await sign_in(bench, paste=False) == 0
        tested = await bench.run("mcp", "test", "docs")
        assert (tested.code, "mcp__docs__secret" in tested.out) == (0, True), tested.err
        assert SECRET not in (bench.home / "mcp-auth.json").read_text()
        kept = bench.home / "mcp-auth.json"
        ((key, entry),) = json.loads(kept.read_text()).items()
        kept.write_text(json.dumps({key: {**entry, "expires_at": 1.0}}))
        authority.tokens.clear()
        renewed = await bench.run("mcp", "test", "docs")
        assert (renewed.code, len(authority.tokens)) == (0, 1), renewed.err


async def test_a_configured_secret_is_said_to_no_other_authority(tmp_path: Path) -> None:
    async with guarded_server() as (url, authority, _):
        authority.clients["mine"] = mine()
        entry = {"url": url, "client_id": "mine", "client_secret": SECRET}
        bench = bench_for(tmp_path / "a", **entry, issuer="http://127.0.0.1:9")
        refused = await bench.run("mcp", "login", "docs")
        assert (refused.code, "set `issuer`" in refused.err) == (1, True), refused.err
        assert (authority.codes, authority.tokens) == ({}, {})
        # What was signed in with before the authority changed is not renewed with the secret either.
        bench = bench_for(tmp_path / "b", **entry)
        await sign_in(bench, paste=True)
        kept = bench.home / "mcp-auth.json"
        kept.write_text(kept.read_text().replace('"expires_at":', '"expires_at":1.0,"was":'))
        config = bench.home / "config.json"
        given = json.loads(config.read_text())
        given["mcpServers"]["docs"]["issuer"] = "http://127.0.0.1:9"
        config.write_text(json.dumps(given))
        before = dict(authority.tokens)
        tested = await bench.run("mcp", "test", "docs")
        assert (tested.code, authority.tokens) == (1, before)
        assert "planck mcp login docs" in tested.err


@pytest.mark.parametrize("file", [".mcp.json", ".planck/config.json"])
async def test_a_project_sets_no_client_not_even_one_that_is_trusted(tmp_path: Path, file: str) -> None:
    async with guarded_server(registers=False) as (url, authority, _):
        authority.clients["mine"] = mine()
        bench = Bench(tmp_path, "http://127.0.0.1:9")
        place = bench.work / file
        place.parent.mkdir(exist_ok=True)
        entry = {"url": url, "client_id": "mine", "client_secret": SECRET, "issuer": url.removesuffix("/mcp")}
        place.write_text(json.dumps({"mcpServers": {"docs": entry}}))
        done = await bench.run("mcp", "login", "docs", "--trust")
        assert (done.code, authority.codes) == (1, {})
        for key in ("client_id", "client_secret", "issuer"):
            assert f"'mcpServers.docs.{key}'" in done.err


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"client_secret": "x"}, "need a `client_id`"),
        ({"issuer": "https://x"}, "need a `client_id`"),
        ({"client_id": "x", "issuer": "x"}, "`issuer` must start with"),
    ],
)
async def test_a_client_that_says_too_little_is_refused(
    tmp_path: Path, entry: dict[str, str], words: str
) -> None:
    done = await bench_for(tmp_path, url="http://127.0.0.1:9/mcp", **entry).run("mcp", "login", "docs")
    assert words in done.err


async def test_a_call_that_may_do_too_little_fails_alone_and_the_next_sign_in_asks_for_more(
    tmp_path: Path,
) -> None:
    challenge = 'WWW-Authenticate: Bearer error="insufficient_scope", scope="write \x1b[31madmin"'
    refused = answered("403 Forbidden", b'{"error": "no"}', challenge, "Content-Type: application/json")
    async with raw_server(Scripted(refused)) as url:
        file = TokenFile(tmp_path, "web", url)
        file.update("tokens", {"access_token": "a", "token_type": "Bearer", "scope": "read"})
        launch = ServerLaunch("web", read_server("web", {"url": url}, {}), Path("/"), {}, sign_in=file)
        async with watched("web", launch, prefix=tool_prefix("web")) as one:
            await one.until(State.CONNECTED)
            failed = await one.peer.call("up", {}, timeout=10)
            assert isinstance(failed, Err)
            assert failed.kind is ErrorKind.PEER_FAILED
            assert "run `planck mcp login web` to allow the scope" in failed.message
            assert "\x1b" not in failed.message
            assert await one.peer.call("up", {}, timeout=10) == OK
            assert one.peer.starts == 1
    assert file.scopes == "read write"


async def test_a_sign_in_asks_for_what_was_wanted_before(tmp_path: Path) -> None:
    async with guarded_server() as (url, _, _):
        bench = bench_for(tmp_path, url=url)
        TokenFile(bench.home, "docs", url).add_scopes("read", "write read")
        process = await bench.start("mcp", "login", "docs")
        asked = parse_qs(urlsplit(await read_address(process)).query)
        await finish(process, b"nonsense\n")
        assert asked["scope"] == ["read write"]
        assert TokenFile(bench.home, "docs", url).scopes == "read write"  # also for the one after that


@pytest.mark.parametrize("paste", [True, False])
async def test_a_second_consent_in_one_sign_in_is_shown_and_waits_for_its_own_answer(
    tmp_path: Path, paste: bool
) -> None:
    async with guarded_server() as (url, authority, app), httpx2.AsyncClient() as browser:
        app.refused_by = 'Bearer error="insufficient_scope", scope="write"'
        authority.clients["mine"] = mine()
        authority.clients["mine"].scope = "write"
        bench = bench_for(tmp_path, url=url, client_id="mine", client_secret=SECRET)
        process = await bench.start("mcp", "login", "docs")
        assert process.stdin is not None
        states, scopes = set(), []
        for _ in range(2):
            asked = await read_address(process)
            query = parse_qs(urlsplit(asked).query)
            states.update(query["state"])
            scopes.append(query.get("scope", [""])[0])
            if len(scopes) == 2:  # the server is content with what the second consent gives
                app.refused_by = ""
            sent_to = (await browser.get(asked)).headers["location"]
            if paste:
                process.stdin.write(f"{sent_to}\n".encode())
            else:
                assert (await browser.get(sent_to)).status_code == 200
        done = await finish(process)
        assert (done.code, "Signed in" in done.out) == (0, True), done.err
        assert len(states) == 2
        assert "write" not in scopes[0].split()
        assert "write" in scopes[1].split()
        assert len(authority.codes) == 2


def test_scopes_are_bounded_and_hold_nothing_that_no_scope_may() -> None:
    assert join_scopes("a b", None, "b  c\x1b d\n \u202e ä", "e") == "a b e"
    assert len(join_scopes(" ".join(map(str, range(10_000)))).split()) == 100
