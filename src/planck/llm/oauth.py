"""OAuth 2.0 for a model server: the device code of RFC 8628, and the renewal of a token.

Failures are `AuthError`; none of them carries a token, a code or a server's whole answer.
"""

import asyncio
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from planck.http.errors import AuthError
from planck.http.transport import Transport, read_all
from planck.llm.provider import ProviderError
from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.records.ports import Clock

T = TypeVar("T")

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_INTERVAL, _SLOWER = 5.0, 5.0
"""Seconds, as RFC 8628 has them where the server says nothing, and for each `slow_down`."""
_LONGEST_WAIT = 1800.0


class Client(msgspec.Struct, frozen=True):
    """What an authorization server must be told; none of it is secret."""

    client_id: str
    device_url: str
    token_url: str
    scope: str = ""
    needs_account: bool = False
    """A token that names no account is useless to this server."""


class DeviceCode(msgspec.Struct, frozen=True):
    """What the user does in a browser: open the address and confirm the code."""

    device_code: str
    user_code: str
    verification_uri: str
    expires_in: float = 600.0
    interval: float = _INTERVAL
    verification_uri_complete: str = ""

    def __repr__(self) -> str:
        return f"DeviceCode({self.verification_uri!r})"


class Grant(msgspec.Struct, frozen=True):
    access_token: str
    refresh_token: str = ""
    expires_in: float = 0.0
    """Seconds from now; 0: the server did not say."""
    account_id: str = ""

    def __repr__(self) -> str:
        return "Grant()"


async def request_code(transport: Transport, client: Client) -> DeviceCode:
    """Begin a sign-in; the user has `expires_in` seconds to confirm it."""
    fields = {"client_id": client.client_id, **({"scope": client.scope} if client.scope else {})}
    try:
        status, answer = await _post(transport, client.device_url, fields)
    except ProviderError as failure:
        raise AuthError(
            ErrorKind.SESSION_START_FAILED, f"Cannot start the sign-in: {failure.err.message}"
        ) from None
    if status == 404 or answer.get("error") in ("unsupported_grant_type", "unauthorized_client"):
        raise AuthError(
            ErrorKind.DEVICE_CODE_UNSUPPORTED,
            f"{client.device_url!r} does not support sign-in with a device code. Store an API key instead: "
            'run "planck auth login PROVIDER" without --device.',
        )
    if status != 200:
        raise AuthError(
            ErrorKind.SESSION_START_FAILED,
            f"{client.device_url!r} returned HTTP {_describe_refusal(status, answer)}. Try again.",
        )
    return _convert(answer, DeviceCode, client.device_url)


async def poll(
    transport: Transport,
    client: Client,
    code: DeviceCode,
    clock: Clock,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Grant:
    """Wait until the user has confirmed, refused or forgotten; asks no oftener than the server allows."""
    interval = max(code.interval, 0.0)
    ends = clock.monotonic() + min(code.expires_in, _LONGEST_WAIT)
    fields = {"grant_type": _GRANT, "device_code": code.device_code, "client_id": client.client_id}
    while clock.monotonic() < ends:
        await sleep(interval)
        status, answer = await _ask_for_token(transport, client, fields)
        if status == 200:
            return _grant(answer, client)
        match answer.get("error"):
            case "authorization_pending":
                continue
            case "slow_down":
                interval += _SLOWER
            case "access_denied":
                raise AuthError(
                    ErrorKind.DEVICE_AUTH_FAILED,
                    'The sign-in was denied in the browser. Run "planck auth login PROVIDER" to try again.',
                )
            case "expired_token":
                break
            case _:
                raise _token_failure(client, status, answer)
    raise AuthError(
        ErrorKind.DEVICE_AUTH_FAILED,
        'The sign-in was not confirmed in time. Run "planck auth login PROVIDER" again.',
    )


async def renew(transport: Transport, client: Client, refresh_token: str) -> Grant:
    """A new token for an old one; a server that sends no new refresh token keeps the old one valid."""
    fields = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": client.client_id}
    status, answer = await _ask_for_token(transport, client, fields)
    if status == 200:
        grant = _grant(answer, client)
        return grant if grant.refresh_token else msgspec.structs.replace(grant, refresh_token=refresh_token)
    if answer.get("error") in ("invalid_grant", "invalid_token"):
        raise AuthError(
            ErrorKind.NOT_AUTHENTICATED,
            'The sign-in has expired. Run "planck auth login PROVIDER" to sign in again.',
        )
    raise _token_failure(client, status, answer)


async def _ask_for_token(
    transport: Transport, client: Client, fields: dict[str, str]
) -> tuple[int, dict[str, Any]]:
    try:
        return await _post(transport, client.token_url, fields)
    except ProviderError as failure:
        raise AuthError(
            ErrorKind.TOKEN_REQUEST_FAILED,
            f"Cannot get a token from {client.token_url!r}: {failure.err.message}",
        ) from None


async def _post(transport: Transport, url: str, fields: dict[str, str]) -> tuple[int, dict[str, Any]]:
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    response = await transport.send("POST", url, headers, urlencode(fields).encode())
    async with aclosing(response):
        body = await read_all(response)
    try:
        answer = codec.decode(body)
    except codec.DecodeError:
        answer = None
    if not isinstance(answer, dict):
        if response.status == 200:
            raise AuthError(
                ErrorKind.INVALID_RESPONSE, f"{url!r} did not return a JSON object. Check the address."
            )
        answer = {}
    return response.status, answer


def _grant(answer: dict[str, Any], client: Client) -> Grant:
    grant = _convert(answer, Grant, client.token_url)
    if not grant.access_token:
        raise AuthError(
            ErrorKind.INVALID_RESPONSE, f"{client.token_url!r} returned an empty token. Try again."
        )
    account = grant.account_id or _read_account(answer.get("id_token")) or _read_account(grant.access_token)
    if client.needs_account and not account:
        raise AuthError(
            ErrorKind.NO_ACCOUNT_ID,
            "The token does not name an account, which this provider requires. Sign in with another account.",
        )
    return msgspec.structs.replace(grant, account_id=account)


def _read_account(token: Any) -> str:
    """The account in a JWT's own words; unverified, since it only says which header to send back."""
    parts = token.split(".") if isinstance(token, str) else []
    if len(parts) != 3:
        return ""
    try:
        claims = codec.decode(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:  # no base64, or no JSON in it
        return ""
    found = claims.get("account_id") if isinstance(claims, dict) else None
    return found if isinstance(found, str) else ""


def _convert(answer: dict[str, Any], type_: type[T], url: str) -> T:
    known = {key: value for key, value in answer.items() if value is not None}
    try:
        return msgspec.convert(known, type_, strict=False)
    except msgspec.ValidationError as problem:
        shape = str(problem).split(":")[0]  # without the value, which may be a token
        raise AuthError(
            ErrorKind.INVALID_RESPONSE, f"{url!r} returned an invalid response: {shape}. Check the address."
        ) from None


def _token_failure(client: Client, status: int, answer: dict[str, Any]) -> AuthError:
    return AuthError(
        ErrorKind.TOKEN_REQUEST_FAILED,
        f"{client.token_url!r} returned HTTP {_describe_refusal(status, answer)}. "
        "Try again, or sign in again.",
    )


def _describe_refusal(status: int, answer: dict[str, Any]) -> str:
    error = answer.get("error")
    return f"{status} {error[:80]!r}" if isinstance(error, str) else str(status)
