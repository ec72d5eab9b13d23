"""The page's files, as a browser gets them: everybody may see them, and nobody else's page may use them."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import planck
from tests.api.bench import Served, serving

WEB = Path(planck.__file__).parent / "web"
NONE = {"Authorization": ""}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Served, None]:
    async with serving(tmp_path) as one:
        yield one


async def test_the_page_and_each_of_its_files_come_without_a_token_as_what_they_are(server: Served) -> None:
    page = await server.send("GET", "/", headers=NONE)
    assert (page.status, page.body) == (200, (WEB / "index.html").read_bytes())
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    types = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
    for path in sorted(WEB.rglob("*")):
        if path.suffix in types:
            answer = await server.send("GET", f"/web/{path.relative_to(WEB).as_posix()}?v=1", headers=NONE)
            assert (answer.status, answer.body) == (200, path.read_bytes()), path
            assert answer.headers["content-type"].startswith(types[path.suffix])
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "access-control-allow-origin" not in answer.headers


async def test_a_file_says_that_nothing_but_this_server_may_act_in_it(server: Served) -> None:
    headers = (await server.send("GET", "/", headers=NONE)).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["frame-ancestors"] == policy["trusted-types"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"


async def test_a_file_is_sent_again_only_where_it_changed(server: Served) -> None:
    tag = (await server.send("GET", "/", headers=NONE)).headers["etag"]
    for known in (tag, f'"other", W/{tag}', "*"):
        again = await server.send("GET", "/", headers={**NONE, "If-None-Match": known})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert "content-security-policy" in again.headers
    assert (await server.send("GET", "/", headers={**NONE, "If-None-Match": '"other"'})).status == 200
    head = await server.send("HEAD", "/", headers=NONE)
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) == (WEB / "index.html").stat().st_size


async def test_files_are_looked_at_and_nothing_else(server: Served) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = await server.send(method, "/", headers=NONE)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD"), method
        assert answer.kind == "invalid_args"


async def test_a_link_leads_to_the_page_and_a_foreign_page_gets_no_part_of_it(server: Served) -> None:
    link = {**NONE, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await server.send("GET", "/", headers={**link, "Sec-Fetch-Dest": "document"})).status == 200
    strangers = (
        {"Host": "evil.test"},
        {"Host": "127.0.0.1:1", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Origin": "http://evil.test"},
        {**link, "Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "script"},
    )
    for stranger in strangers:
        answer = await server.send("GET", "/", headers={**NONE, **stranger})
        assert answer.status == (421 if "Host" in stranger else 403), stranger
        assert b"<html" not in answer.body
