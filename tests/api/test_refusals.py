"""Who may not: each route of the table, with each way of being a stranger, before anything is read."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest

from planck.api.operations import OPERATIONS, PREFIX, Operation
from tests.api.bench import Served, parse, serving

CLOSED = [operation for operation in OPERATIONS if not operation.open]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Served, None]:
    async with serving(tmp_path) as one:
        yield one


def path_of(operation: Operation) -> str:
    return PREFIX + re.sub(r"\{\w+\}", "0123456789abcdef", operation.path)


async def redeem(server: Served) -> str:
    """A cookie, got as the page gets it."""
    code = server.page.partition("#code=")[2]
    answer = await server.post(f"{PREFIX}/auth/code", {"code": code}, {"Authorization": "none"})
    assert answer.status == 200, answer
    return answer.headers["set-cookie"].partition(";")[0]


def strangers(server: Served, cookie: str) -> dict[str, tuple[int, Mapping[str, str]]]:
    """Every way of being one, and the status that it gets."""
    none = {"Authorization": ""}
    own = f"http://127.0.0.1:{server.port}"
    evil = {"Origin": "http://evil.test"}
    return {
        "no token": (401, none),
        "a wrong token": (401, {"Authorization": f"Bearer {'0' * 64}"}),
        "half of the token": (401, {"Authorization": f"Bearer {server.token[:32]}"}),
        "the token as a password": (401, {"Authorization": f"Basic {server.token}"}),
        "an empty token": (401, {"Authorization": "Bearer "}),
        "a cookie of another origin": (403, {**none, "Cookie": cookie, **evil}),
        "a cookie of another site": (403, {**none, "Cookie": cookie, "Sec-Fetch-Site": "cross-site"}),
        "a cookie of another port": (403, {**none, "Cookie": cookie, "Sec-Fetch-Site": "same-site"}),
        "a cookie without a page": (401, {**none, "Cookie": cookie}),
        "a made-up cookie": (401, {**none, "Cookie": f"planck_{server.port}=x", "Origin": own}),
        "the token from another origin": (403, evil),
        "another host": (421, {"Host": f"evil.test:{server.port}"}),
        "another port": (421, {"Host": "127.0.0.1:1"}),
        "no port": (421, {"Host": "127.0.0.1"}),
        "a trailing dot": (421, {"Host": f"localhost.:{server.port}"}),
    }


async def test_every_route_is_refused_to_strangers_before_anything_is_read(server: Served) -> None:
    """The body is announced and never sent: whoever waits for it has read too much."""
    cookie = await redeem(server)
    for operation in CLOSED:
        for who, (status, headers) in strangers(server, cookie).items():
            unsafe = operation.method != "GET"
            body = {"Content-Type": "application/json", "Content-Length": "1000"} if unsafe else {}
            answer = await server.send(operation.method, path_of(operation), headers={**body, **headers})
            assert answer.status == status, (operation.name, who, answer)
            assert answer.json["ok"] is False
            assert "access-control-allow-origin" not in answer.headers


async def test_without_a_token_the_server_says_only_that_it_lives(server: Served) -> None:
    answer = await server.send("GET", f"{PREFIX}/health", headers={"Authorization": ""})
    assert (answer.status, answer.json) == (200, {"ok": True})
    for path in (f"{PREFIX}/nothing", f"{PREFIX}/sessions/../health", f"{PREFIX}"):
        assert (await server.send("GET", path, headers={"Authorization": ""})).status == 401
    assert (await server.send("GET", "/nothing", headers={"Authorization": ""})).status == 404


async def test_a_code_gives_a_cookie_once_and_the_cookie_serves_its_own_page_only(server: Served) -> None:
    cookie = await redeem(server)
    code = server.page.partition("#code=")[2]
    again = await server.post(f"{PREFIX}/auth/code", {"code": code}, {"Authorization": ""})
    assert (again.status, again.kind) == (401, "unauthorized")
    own = {"Authorization": "", "Cookie": f"other=1; {cookie}", "Sec-Fetch-Site": "same-origin"}
    answer = await server.send("GET", f"{PREFIX}/me", headers=own)
    assert (answer.status, answer.json["by"]) == (200, "cookie")
    ended = await server.send("DELETE", f"{PREFIX}/auth", headers=own)
    assert (ended.status, "Max-Age=0" in ended.headers["set-cookie"]) == (204, True)
    assert (await server.send("GET", f"{PREFIX}/me", headers=own)).status == 401


async def test_a_cookie_is_for_the_browser_alone(server: Served) -> None:
    code = server.page.partition("#code=")[2]
    answer = await server.post(f"{PREFIX}/auth/code", {"code": code}, {"Authorization": ""})
    name, *flags = answer.headers["set-cookie"].split("; ")
    assert name.startswith(f"planck_{server.port}=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} <= set(flags)
    assert server.token not in answer.headers["set-cookie"]


async def test_h2_a_form_of_another_page_changes_nothing(server: Served) -> None:
    for kind, body in (
        ("application/x-www-form-urlencoded", b"name=x"),
        ("text/plain", b'{"name": "x"}'),
        ("multipart/form-data; boundary=x", b"--x--"),
        ("", b'{"name": "x"}'),
        ("text/plain", b""),
    ):
        headers = {"Content-Length": str(len(body)), "X-HTTP-Method-Override": "DELETE", "Content-Type": kind}
        answer = await server.send("POST", f"{PREFIX}/sessions", body, headers)
        assert (answer.status, answer.kind) == (415, "invalid_args"), (kind, body)
    assert (await server.send("GET", f"{PREFIX}/sessions")).json["items"] == []


async def test_h3_a_request_names_this_server_once_and_by_a_name_of_its_own(server: Served) -> None:
    auth, port = f"Authorization: Bearer {server.token}\r\nConnection: close\r\n\r\n", server.port
    own = f"Host: 127.0.0.1:{port}\r\n"
    for head in (
        f"GET {PREFIX}/me HTTP/1.1\r\n",
        f"GET {PREFIX}/me HTTP/1.1\r\n{own}{own}",
        f"GET {PREFIX}/me HTTP/1.1\r\n{own}Host: evil.test\r\n",
        f"GET http://evil.test{PREFIX}/me HTTP/1.1\r\n{own}",
        f"GET http://127.0.0.1:{port}{PREFIX}/me HTTP/1.1\r\nHost: evil.test\r\n",
        f"GET {PREFIX}/me HTTP/1.0\r\n",
    ):
        answer = parse(await server.raw((head + auth).encode()))
        assert (answer.status, answer.kind) == (421, "permission_denied"), head
    for host in (f"127.0.0.1:{port}", f"LocalHost:{port}", f"planck.localhost:{port}", f"[::1]:{port}"):
        assert (await server.send("GET", f"{PREFIX}/me", headers={"Host": host})).status == 200


ORIGINS = [
    "null",
    "http://evil.test",
    "https://evil.test",
    "http://localhost.evil.test",
    "http://127.0.0.1.evil.test",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1:{port}.evil.test",
    "http://127.0.0.1:{port}/",
    "http://user@127.0.0.1:{port}",
    "HTTP://127.0.0.1:{port}",
    "file://",
    "chrome-extension://abc",
    "http://127.0.0.2:{port}",
    "http://0.0.0.0:{port}",
    "http://localhost:{port}0",
    "http://[::1]",
    "",
    "*",
]


async def test_h4_no_origin_but_our_own_is_answered_and_nobody_is_told_that_it_may(server: Served) -> None:
    for origin in (text.format(port=server.port) for text in ORIGINS):
        for method in ("GET", "OPTIONS"):
            headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            answer = await server.send(method, f"{PREFIX}/me", headers=headers)
            assert answer.status == 403, origin
            assert not [name for name in answer.headers if name.startswith("access-control")]
    preflight = await server.send("OPTIONS", f"{PREFIX}/me")
    assert (preflight.status, preflight.headers["allow"]) == (405, "GET")


async def test_h5_streams_and_websockets_are_refused_like_the_rest(server: Served) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22}
    events = f"{PREFIX}/sessions/0123456789abcdef/events"
    for headers in (upgrade, {"Accept": "text/event-stream"}):
        for who, status in (({"Origin": "http://evil.test"}, 403), ({"Authorization": ""}, 401)):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            lines = {"Host": f"127.0.0.1:{server.port}", "Authorization": f"Bearer {server.token}"}
            text = "".join(f"{name}: {value}\r\n" for name, value in {**lines, **headers, **who}.items())
            writer.write(f"GET {events} HTTP/1.1\r\n{text}\r\n".encode())
            assert (await reader.readline()).split()[1] == str(status).encode()
            writer.close()


PATHS = [
    "/..",
    "/../../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/%252e%252e/etc/passwd",
    "/..%5c..%5cetc%5cpasswd",
    "/\\..\\..\\etc\\passwd",
    "/assets//etc/passwd",
    "//etc/passwd",
    "/%00",
    "/index.html%00.js",
    "/static/..%2f..%2fetc/passwd",
    "/....//etc/passwd",
    "/.git/config",
    "/token",
    "/server.json",
    "/web",
    "/web/",
    "/web//index.html",
    "/web/./index.html",
    "/web/../web/index.html",
    "/web/../api/page.py",
    "/web/..%2fapi/page.py",
    "/web/%2e%2e/api/page.py",
    "/web/INDEX.HTML",
    "/web/index.html/",
    "/web/index.html%00",
    "/web/%69ndex.html",
    "/index.html",
    "/api",
    "/api/v1/../../token",
    "/api/v1/%2e%2e/token",
]


async def test_h6_no_path_leads_to_a_file(server: Served) -> None:
    for path in PATHS:
        for headers in ({}, {"Authorization": ""}):
            answer = await server.send("GET", path, headers=headers)
            assert answer.status in (400, 401, 404), path
            assert server.token.encode() not in answer.body
            assert b"root:" not in answer.body


IDS = ["..", "%2e%2e%2fx", "..%2f..%2fetc", "%00", "x" * 4096, "*", "[a-z]*", "a_b", "%ff", "-", "."]


async def test_h13_what_is_no_id_is_not_found(server: Served) -> None:
    for id in IDS:
        for path in (f"/sessions/{id}", f"/sessions/{id}/board", f"/sessions/{id}/events"):
            answer = await server.send("GET", PREFIX + path)
            assert (answer.status, answer.kind) == (404, "not_found"), id
        answer = await server.send("DELETE", f"{PREFIX}/sessions/{id}")
        assert answer.status == 404, id
