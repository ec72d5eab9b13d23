"""Device code and renewal against an authorization server on a real socket."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs

import pytest

from planck.http.errors import AuthError
from planck.http.transport import HttpTransport
from planck.llm.oauth import Client, DeviceCode, Grant, poll, renew, request_code
from planck.records.outcome import ErrorKind
from tests.ports import FixedClock
from tests.wire.server import Asked, Reply, WireServer, json_reply

INVITED = {
    "device_code": "dev-secret",
    "user_code": "ABCD-1234",
    "verification_uri": "https://example.invalid/device",
    "expires_in": 900,
    "interval": 2,
}
TOKEN = {
    "access_token": "at-secret",
    "refresh_token": "rt-secret",
    "expires_in": 3600,
    "token_type": "Bearer",
}


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    transport = HttpTransport()
    yield transport
    await transport.aclose()


class Waiting(FixedClock):
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def now(self) -> str:
        return "2026-01-31T12:00:00.000Z"

    def monotonic(self) -> float:
        return sum(self.slept)


def client(server: WireServer, **fields: Any) -> Client:
    return Client("planck", f"{server.url}/device", f"{server.url}/token", **fields)


def form(asked: Asked) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}


def errors(*names: str) -> list[Reply]:
    return [json_reply({"error": name}, 400) for name in names]


async def test_a_confirmed_code_becomes_a_grant_and_the_server_sets_the_pace(
    transport: HttpTransport,
) -> None:
    replies = [json_reply(INVITED), *errors("authorization_pending", "slow_down"), json_reply(TOKEN)]
    waiting = Waiting()
    async with WireServer(replies) as server:
        told = client(server, scope="models")
        code = await request_code(transport, told)
        grant = await poll(transport, told, code, waiting, waiting.sleep)
        begun, *_, asked = [form(asked) for asked in server.asked]
    assert (code.user_code, code.verification_uri) == (
        "ABCD-1234",
        "https://example.invalid/device",
    )
    assert grant == Grant("at-secret", "rt-secret", 3600)
    assert begun == {"client_id": "planck", "scope": "models"}
    assert asked["grant_type"] == "urn:ietf:params:oauth:grant-type:device_code"
    assert (asked["device_code"], asked["client_id"]) == ("dev-secret", "planck")
    assert waiting.slept == [2, 2, 7]


@pytest.mark.parametrize(
    ("replies", "kind"),
    [
        ([json_reply({}, 404)], ErrorKind.DEVICE_CODE_UNSUPPORTED),
        (errors("unauthorized_client"), ErrorKind.DEVICE_CODE_UNSUPPORTED),
        ([json_reply({}, 500)], ErrorKind.SESSION_START_FAILED),
        ([Reply([b"{"], cut=True)], ErrorKind.SESSION_START_FAILED),
        ([Reply([b"<html>"])], ErrorKind.INVALID_RESPONSE),
        ([json_reply({"device_code": "x"})], ErrorKind.INVALID_RESPONSE),
        ([json_reply({**INVITED, "user_code": ["x"]})], ErrorKind.INVALID_RESPONSE),
    ],
)
async def test_a_sign_in_that_can_not_begin_has_its_kind(
    transport: HttpTransport, replies: list[Reply], kind: ErrorKind
) -> None:
    async with WireServer(replies) as server:
        with pytest.raises(AuthError) as caught:
            await request_code(transport, client(server))
    assert caught.value.err.kind == kind


@pytest.mark.parametrize(
    ("replies", "kind"),
    [
        (errors("access_denied"), ErrorKind.DEVICE_AUTH_FAILED),
        (errors("expired_token"), ErrorKind.DEVICE_AUTH_FAILED),
        (errors("authorization_pending"), ErrorKind.DEVICE_AUTH_FAILED),
        (errors("server_error"), ErrorKind.TOKEN_REQUEST_FAILED),
        ([json_reply({}, 503)], ErrorKind.TOKEN_REQUEST_FAILED),
        ([Reply([b"{"], cut=True)], ErrorKind.TOKEN_REQUEST_FAILED),
        ([json_reply({"token_type": "Bearer"})], ErrorKind.INVALID_RESPONSE),
        ([json_reply({**TOKEN, "access_token": ""})], ErrorKind.INVALID_RESPONSE),
        ([json_reply({**TOKEN, "access_token": {"at-secret": 1}})], ErrorKind.INVALID_RESPONSE),
        ([Reply([b"\xff\xfe"])], ErrorKind.INVALID_RESPONSE),
    ],
)
async def test_a_sign_in_that_fails_has_its_kind_and_shows_no_secret(
    transport: HttpTransport, replies: list[Reply], kind: ErrorKind
) -> None:
    waiting = Waiting()
    code = DeviceCode("dev-secret", "ABCD", "https://example.invalid", expires_in=30)
    async with WireServer(replies) as server:
        with pytest.raises(AuthError) as caught:
            await poll(transport, client(server), code, waiting, waiting.sleep)
    assert caught.value.err.kind == kind
    assert "secret" not in repr(caught.value) + repr(caught.value.err) + repr(code)


def jwt(claims: dict[str, Any]) -> str:
    middle = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"e30.{middle}.c2ln"


@pytest.mark.parametrize(
    "answer",
    [
        {**TOKEN, "account_id": "acc-1"},
        {**TOKEN, "id_token": jwt({"account_id": "acc-1"})},
        {**TOKEN, "access_token": jwt({"account_id": "acc-1"})},
    ],
)
async def test_the_account_is_found_where_servers_put_it(transport: HttpTransport, answer: Any) -> None:
    async with WireServer([json_reply(answer)]) as server:
        grant = await renew(transport, client(server, needs_account=True), "rt")
    assert grant.account_id == "acc-1"


@pytest.mark.parametrize("id_token", ["", "a.b", "a.!.c", jwt({"account_id": 7}), jwt({"sub": "x"})])
async def test_a_token_without_an_account_is_refused_where_one_is_needed(
    transport: HttpTransport, id_token: str
) -> None:
    async with WireServer([json_reply({**TOKEN, "id_token": id_token})]) as server:
        with pytest.raises(AuthError) as caught:
            await renew(transport, client(server, needs_account=True), "rt")
        assert caught.value.err.kind == ErrorKind.NO_ACCOUNT_ID
        assert (await renew(transport, client(server), "rt")).account_id == ""


async def test_a_renewal_keeps_the_refresh_token_that_is_not_replaced(transport: HttpTransport) -> None:
    async with WireServer([json_reply({"access_token": "new"})]) as server:
        assert (await renew(transport, client(server), "rt-old")).refresh_token == "rt-old"
        assert form(server.asked[0]) == {
            "grant_type": "refresh_token",
            "refresh_token": "rt-old",
            "client_id": "planck",
        }


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (lambda: errors("invalid_grant")[0], ErrorKind.NOT_AUTHENTICATED),
        (lambda: json_reply({}, 500), ErrorKind.TOKEN_REQUEST_FAILED),
    ],
)
async def test_a_renewal_that_fails_says_whether_to_sign_in_again(
    transport: HttpTransport, reply: Callable[[], Reply], kind: ErrorKind
) -> None:
    async with WireServer([reply()]) as server:
        with pytest.raises(AuthError) as caught:
            await renew(transport, client(server), "rt-secret")
    assert caught.value.err.kind == kind
    assert "rt-secret" not in str(caught.value)
