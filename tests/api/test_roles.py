"""What each role may do: by every route, and to a session in every mode."""

import asyncio
import itertools
import json
import re
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from planck.api.operations import OPERATIONS, PREFIX, Operation
from planck.testing import Say
from tests.api.bench import Answer, Served, parse, serving
from tests.api.test_refusals import redeem
from tests.command import WAIT

MODES = ("read-only", "plan", "ask", "workspace", "full")
ROLES = ("view", "submit", "approve", "admin")

TABLE = {
    "anyone": "read_health redeem_code",
    "view": "read_me read_document read_docs list_sessions read_session read_result read_board explain_wait "
    "read_events export list_agents read_agent read_output list_changes list_approvals follow_inbox "
    "list_models list_teams read_team list_skills search list_notices read_metrics list_nodes",
    # Files and tools are the server's own: a role that may work in its folder may read them.
    "submit": "start_session change_session delete_session open_session close_session send_prompt interrupt "
    "compact rewind fork change_agent plan_undo undo list_files read_content check_team list_tools "
    "submit_work",
    "approve": "answer_approval",
    # The configuration and the machine belong to the person who runs the server.
    "admin": "end_cookies test_model run_doctor read_config explain_config set_up drain_node forget_node",
}
"""A new route is decided here, by its name."""

CHANGES: dict[str, list[dict[str, Any]]] = {
    "change_session": [{"name": "other"}, {"mode": "ask"}, {"mode": "workspace"}, {"model": "local/m"}],
    "change_agent": [{"model": "local/m"}],
    "send_prompt": [{"text": "x"}, {"text": "x", "steer": True}],
    "interrupt": [{}, {"agent": "nobody"}],
    "compact": [{}],
    "rewind": [{"to": 1}],
    "fork": [{}, {"at": 1}],
    "plan_undo": [{}],
    "undo": [{"plan_id": "x"}],
    "open_session": [{}],
    "close_session": [{}],
    "delete_session": [{}],
}
"""What changes one session, with bodies; the last two end what the others look at."""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Served, None]:
    async with serving(tmp_path, ["well"] * 50, config={"permissions": {"mode": "full"}}) as one:
        yield one


async def ask(server: Served, role: str, method: str, path: str, body: Any = None, **more: str) -> Answer:
    """Asks as a node does for somebody with this role; of a stream it reads only how it begins."""
    data = b"" if body is None else json.dumps(body).encode()
    given = {"host": f"127.0.0.1:{server.port}", "authorization": f"Bearer {server.token}"}
    given |= {"planck-role": role, "connection": "close", "content-length": str(len(data)), **more}
    given |= {"content-type": "application/json"} if data else {}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(f"{method} {PREFIX}{path} HTTP/1.1\r\n{lines}\r\n".encode() + data)
        async with asyncio.timeout(WAIT):
            head = await reader.readuntil(b"\r\n\r\n")
            return parse(head + (b"" if b"text/event-stream" in head else await reader.read()))
    finally:
        writer.close()


def path_of(operation: Operation, id: str = "0123456789abcdef") -> str:
    return re.sub(r"\{\w+\}", "nobody", operation.path.replace("{id}", id))


def is_refused(answer: Answer) -> bool:
    return answer.status == 403 and answer.kind == "permission_denied"


async def test_every_route_takes_the_role_that_the_table_gives_it(server: Served) -> None:
    assert {one.name: one.role for one in OPERATIONS} == {
        name: role for role, names in TABLE.items() for name in names.split()
    }
    for operation in OPERATIONS:
        needed = 0 if operation.role == "anyone" else ROLES.index(operation.role)
        for role in ROLES:
            body = {"nobody knows": "this"} if operation.body else None
            answer = await ask(server, role, operation.method, path_of(operation), body)
            case = (operation.name, role, answer)
            if ROLES.index(role) < needed:
                assert is_refused(answer), case
                assert repr(operation.role) in answer.json["error"]["message"], case
            else:
                assert answer.status != 403, case


def test_an_operation_without_a_role_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="role"):
        Operation(method="GET", path="/x", name="x", about="x")  # type: ignore[call-arg]


async def test_no_route_changes_a_session_in_a_mode_that_the_role_may_not_use(server: Served) -> None:
    changing = {one.name: one for one in OPERATIONS if path_of(one, "ID").startswith("/sessions/ID")}
    changing = {name: one for name, one in changing.items() if one.method != "GET"}
    assert {*changing} == {*CHANGES}
    cases = [(name, body) for name, bodies in CHANGES.items() for body in bodies]
    for mode, role, may in (
        ("full", "submit", False),
        ("full at rest", "submit", False),
        ("full", "approve", True),
        ("workspace", "submit", True),
    ):
        started = {"mode": mode.partition(" ")[0]}
        path = f"/sessions/{(await ask(server, 'admin', 'POST', '/sessions', started)).json['id']}"
        if mode == "full at rest":
            await ask(server, "admin", "POST", f"{path}/close", {})
        before = await ask(server, "view", "GET", path)
        for name, body in cases:
            if may and "mode" in body:
                continue  # it would be another case from here on
            method = changing[name].method
            sent = None if method == "DELETE" else body
            there = path_of(changing[name], path.rpartition("/")[2])
            answer = await ask(server, role, method, there, sent)
            assert is_refused(answer) is not may, (mode, role, name, body, answer)
            assert may or "'approve'" in answer.json["error"]["message"], (name, answer)
        assert may or (await ask(server, "view", "GET", path)).body == before.body


async def test_nobody_gets_by_a_default_a_key_or_a_header_what_the_role_may_not(server: Served) -> None:
    """The configured mode is `full`; a lasting rule is kept in the configuration."""
    for role, mode in (("submit", "workspace"), ("approve", "full"), ("admin", "full")):
        assert (await ask(server, role, "POST", "/sessions", {})).json["mode"] == mode
    assert is_refused(await ask(server, "submit", "POST", "/sessions", {"mode": "full"}))
    key, body = {"idempotency-key": "k"}, {"prompt": "x"}
    assert (await ask(server, "approve", "POST", "/sessions", body, **key)).json["mode"] == "full"
    assert is_refused(await ask(server, "submit", "POST", "/sessions", body, **key))
    for scope, least in (("once", "approve"), ("session", "approve"), ("rule", "admin")):
        for role in ROLES:
            said = {"digest": "x", "allow": True, "scope": scope}
            answer = await ask(server, role, "POST", "/approvals/0123456789abcdef", said)
            assert is_refused(answer) is (ROLES.index(role) < ROLES.index(least)), (scope, role, answer)
    for role in ("", "root", "ADMIN", "view, admin"):  # what is sent along only takes away
        assert is_refused(await ask(server, role, "GET", "/config")), role


async def test_a_role_that_answers_no_questions_only_narrows_a_session(server: Served) -> None:
    await check_mode_changes(server)


async def check_mode_changes(server: Served, modes: Sequence[str] = MODES) -> None:
    """From every mode to every mode, by every role, in a session that `admin` started."""
    for now in modes:
        path = f"/sessions/{(await ask(server, 'admin', 'POST', '/sessions', {'mode': now})).json['id']}"
        for mode, role in itertools.product(modes, ROLES):
            answer = await ask(server, role, "PATCH", path, {"mode": mode})
            widens = MODES.index(mode) > MODES.index(now)
            may = role in ("approve", "admin") or (role == "submit" and now != "full" and not widens)
            assert is_refused(answer) is not may, (now, mode, role, answer)
            if may:
                assert answer.json["mode"] == mode, (now, mode, role)
                await ask(server, "admin", "PATCH", path, {"mode": now})
            elif role == "submit":
                assert (await ask(server, "view", "GET", path)).json["mode"] == now, (mode, role)


async def test_a_session_at_rest_is_not_widened_either_and_no_part_of_the_request_holds(
    server: Served,
) -> None:
    row = (await ask(server, "admin", "POST", "/sessions", {"mode": "read-only", "name": "fox"})).json
    path = f"/sessions/{row['id']}"
    for body in ({"mode": "workspace"}, {"mode": "plan", "name": "owl"}, {"mode": "ask", "model": "local/m"}):
        await ask(server, "admin", "POST", f"{path}/close", {})
        assert is_refused(await ask(server, "submit", "PATCH", path, body)), body
        now = (await ask(server, "view", "GET", path)).json
        assert (now["mode"], now["name"]) == ("read-only", "fox")
    fork = (await ask(server, "submit", "POST", f"{path}/fork", {})).json
    assert is_refused(await ask(server, "submit", "PATCH", f"/sessions/{fork['id']}", {"mode": "workspace"}))


async def test_what_a_role_asked_for_is_not_given_a_mode_that_it_may_not_use(tmp_path: Path) -> None:
    """Neither what runs nor what is queued behind it."""
    going_on = asyncio.Event()
    script: list[Any] = [Say(text="one", wait=going_on), "two", "three"]
    async with serving(tmp_path, script) as server, asyncio.timeout(WAIT):
        row = (await ask(server, "admin", "POST", "/sessions", {"mode": "workspace", "name": "fox"})).json
        path = f"/sessions/{row['id']}"
        first = await ask(server, "approve", "POST", f"{path}/prompts", {"text": "one"})
        queued = await ask(server, "submit", "POST", f"{path}/prompts", {"text": "two"})
        assert (first.status, queued.status) == (202, 202)
        wide = {"mode": "full", "name": "owl"}
        refused = await ask(server, "admin", "PATCH", path, wide)
        assert is_refused(refused)
        assert "interrupt" in refused.json["error"]["message"]
        now = (await ask(server, "view", "GET", path)).json
        assert (now["mode"], now["name"]) == ("workspace", "fox")
        going_on.set()
        seq = queued.json["seq"]
        while (await ask(server, "view", "GET", f"{path}/result?after={seq}")).json["text"] != "two":
            pass
        now = (await ask(server, "admin", "PATCH", path, wide)).json
        assert (now["mode"], now["name"]) == ("full", "owl")


async def test_a_stream_ends_with_the_cookie_that_began_it(server: Served) -> None:
    cookie = await redeem(server)
    own = f"Host: 127.0.0.1:{server.port}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(f"GET {PREFIX}/inbox/events HTTP/1.1\r\n{own}".encode())
        async with asyncio.timeout(WAIT):
            await reader.readuntil(b"event: live")
            assert (await server.send("DELETE", f"{PREFIX}/auth")).status == 204
            await reader.read()  # to its end
    finally:
        writer.close()
