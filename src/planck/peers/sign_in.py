"""Signing in to an MCP server: OAuth by the SDK's own module, with tokens in a file that only the user reads.

The browser may run on another machine: what it is sent to in the end can be pasted back.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import httpx2
from mcp import Client
from mcp.client.auth import (
    AuthorizationCodeResult,
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
)
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import issuers_match
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken
from mcp.shared.auth_utils import calculate_token_expiry
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation
from pydantic import AnyUrl, ValidationError

from planck import __version__
from planck.mcp.challenge import read_wanted_scope
from planck.peers.tokens import OwnClient, TokenFile, join_scopes
from planck.records.outcome import ErrorKind, PlanckError, say_exception
from planck.records.visible import fit_line

_TIMEOUT = 600.0
"""Seconds that a person may take in the browser."""


class SignInError(PlanckError):
    """Nobody was signed in; the message says why."""


class Screen(Protocol):
    """Whoever sits before the browser."""

    def show(self, url: str) -> None:
        """Has the person open an address, here or elsewhere."""

    async def wait_for_paste(self) -> str:
        """Returns the address that the browser was sent to, as the person pasted it back."""


class _Storage:
    """The SDK's own way to the tokens of one server."""

    def __init__(self, file: TokenFile) -> None:
        self._file = file

    async def get_tokens(self) -> OAuthToken | None:
        found: OAuthToken | None = _read(self._file.read().get("tokens"), OAuthToken)
        return found

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._file.update("tokens", tokens.model_dump(mode="json", exclude_none=True))
        self._file.update("expires_at", calculate_token_expiry(tokens.expires_in))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._file.client is not None:
            return _describe_own(self._file.client, _read(self._file.read().get("authority"), OAuthMetadata))
        found: OAuthClientInformationFull | None
        found = _read(self._file.read().get("client"), OAuthClientInformationFull)
        return found

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        if (own := self._file.client) is not None:
            raise OAuthFlowError(_explain_issuer(own))
        self._file.update("client", client_info.model_dump(mode="json", exclude_none=True))


def make_auth(file: TokenFile) -> httpx2.Auth | None:
    """Signs what is sent to the server, and renews what is too old; it asks no person.

    None: the tokens are an authority's that may not hear the secret that is configured now.
    """
    known = file.read()
    authority: OAuthMetadata | None = _read(known.get("authority"), OAuthMetadata)
    own = file.client
    if own and own.issuer and not (authority and issuers_match(str(authority.issuer), own.issuer)):
        return None
    auth = _Renewing(file)
    # The SDK keeps neither beside the tokens: in another process it would send what has long ended.
    auth.context.token_expiry_time = known.get("expires_at")
    auth.context.oauth_metadata = authority
    return auth


class _Renewing(OAuthClientProvider):
    """Keeps what a server wants to be allowed beyond the tokens, for the next sign-in to ask for."""

    def __init__(self, file: TokenFile) -> None:
        super().__init__(file.url, _describe_client(_NOWHERE), _Storage(file))
        self._file = file

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super().async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                wanted = read_wanted_scope(response) if outgoing is request else None
                if wanted is not None:
                    granted = self.context.current_tokens.scope if self.context.current_tokens else ""
                    self._file.add_scopes(granted or "", wanted)
                    return
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


_NOWHERE = "http://127.0.0.1:0/callback"


async def sign_in(name: str, file: TokenFile, screen: Screen) -> None:
    """Registers us at the server's own authority, has the person agree there, and keeps the tokens.

    Those of an earlier sign-in stay until this one has succeeded.
    """
    tokens = file.begin()
    async with _Callback() as callback:
        flow = _Flow(callback, screen, tokens)
        metadata = _describe_client(callback.address)

        async def redirect(url: str) -> None:
            await flow.redirect(url, auth.context)

        auth = OAuthClientProvider(tokens.url, metadata, _Storage(tokens), redirect, flow.wait)
        me = Implementation(name="planck", version=__version__)
        try:
            async with (
                asyncio.timeout(_TIMEOUT),
                httpx2.AsyncClient(auth=auth, timeout=30.0) as http,
                Client(
                    streamable_http_client(tokens.url, http_client=http), client_info=me, cache=None
                ) as client,
            ):
                await client.session.list_tools()
            if tokens.known and auth.context.oauth_metadata:
                tokens.update("authority", auth.context.oauth_metadata.model_dump(mode="json"))
        except TimeoutError:
            raise SignInError(
                ErrorKind.TIMEOUT, f"The sign-in was not completed within {_TIMEOUT:g} s. Try again."
            ) from None
        except (
            ExceptionGroup,
            OAuthFlowError,
            httpx2.HTTPError,
            httpx2.InvalidURL,
            OSError,
            MCPError,
            RuntimeError,
            ValueError,
        ) as problem:
            raise _explain(name, problem, tokens.client) from problem
    if not tokens.known:
        raise SignInError(
            ErrorKind.INVALID_ARGS,
            f"MCP server {name!r} does not require a sign-in. Use it without one; nothing was saved.",
        )
    tokens.keep()


class _Flow:
    """Sends the person to the browser; what comes back first counts, from the browser or by hand."""

    def __init__(self, callback: "_Callback", screen: Screen, tokens: TokenFile) -> None:
        self._callback = callback
        self._screen = screen
        self._tokens = tokens

    async def redirect(self, url: str, context: OAuthContext) -> None:
        """Asks also for what was wanted before; a second consent in one sign-in waits for its own answer."""
        if self._tokens.client is not None:
            context.client_info = _describe_own(self._tokens.client, context.oauth_metadata)
        if self._tokens.scopes:
            context.client_metadata.scope = join_scopes(self._tokens.scopes, context.client_metadata.scope)
            url = _set_scope(url, context.client_metadata.scope)
        self._callback.expect(url)
        self._screen.show(url)

    async def wait(self) -> AuthorizationCodeResult:
        pasted = asyncio.ensure_future(self._screen.wait_for_paste())
        called = asyncio.ensure_future(self._callback.wait())
        try:
            done, _ = await asyncio.wait({pasted, called}, return_when=asyncio.FIRST_COMPLETED)
            address = next(iter(done)).result()
        finally:
            for task in (pasted, called):
                task.cancel()
            await asyncio.wait({pasted, called})
        return _read_code(address)


class _Callback:
    """Hears on this machine where the browser was sent to: one request, and no more than its first line.

    Any program or web page here can send requests too, so only one with the state of this sign-in counts.
    """

    async def __aenter__(self) -> "_Callback":
        self._state: list[str] = []
        self._found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=16_384)
        port = self._server.sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{port}/callback"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._found.cancel()

    def expect(self, url: str) -> None:
        """Takes the state that a real answer repeats from the address that the person is sent to."""
        if self._found.done():
            self._found = asyncio.get_running_loop().create_future()
        self._state = parse_qs(urlsplit(url).query).get("state", [])

    async def wait(self) -> str:
        return await asyncio.shield(self._found)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                words = (await reader.readline()).decode("latin-1").split()
        except (TimeoutError, ValueError, OSError):
            words = []
        path = words[1] if len(words) == 3 and words[0] == "GET" else ""
        good = path.startswith("/callback?") and self._is_answer(path)
        text = "You can close this page and return to Planck." if good else "Not found."
        head = f"HTTP/1.1 {200 if good else 404} X\r\ncontent-type: text/plain\r\ncontent-length: {len(text)}"
        writer.write(f"{head}\r\nconnection: close\r\n\r\n{text}".encode())
        with suppress(OSError):
            await writer.drain()
        writer.close()
        if good and not self._found.done():
            self._found.set_result(path)

    def _is_answer(self, path: str) -> bool:
        """Returns whether it has the state, once, and a code or an error."""
        values = parse_qs(urlsplit(path).query)
        has_state = bool(self._state) and values.get("state") == self._state
        return has_state and ("code" in values or "error" in values)


def _read_code(address: str) -> AuthorizationCodeResult:
    values = {name: found[0] for name, found in parse_qs(urlsplit(address.strip()).query).items()}
    if error := values.get("error"):
        said = values.get("error_description", "")
        raise OAuthFlowError(f"{error}{f': {said}' if said else ''}")
    if not values.get("code"):
        raise OAuthFlowError("the pasted text has no `code`; paste the whole address that the browser shows")
    return AuthorizationCodeResult(code=values["code"], state=values.get("state"), iss=values.get("iss"))


def _describe_client(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(
        client_name="Planck",
        redirect_uris=[AnyUrl(redirect)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )


def _describe_own(client: OwnClient, authority: OAuthMetadata | None) -> OAuthClientInformationFull:
    """Returns the configured client, with a way to say its secret that the authority takes."""
    method = "none"
    if client.secret:
        taken = (authority and authority.token_endpoint_auth_methods_supported) or ["client_secret_basic"]
        only_post = "client_secret_post" in taken and "client_secret_basic" not in taken
        method = "client_secret_post" if only_post else "client_secret_basic"
    return OAuthClientInformationFull.model_validate(
        {
            "client_id": client.id,
            "client_secret": client.secret or None,
            "redirect_uris": None,
            "token_endpoint_auth_method": method,
            "issuer": client.issuer or None,
        }
    )


def _explain_issuer(client: OwnClient) -> str:
    return (
        f"the server names another authority than {client.issuer or 'before'}, which alone may hear the "
        "configured client; set `issuer` in its mcpServers entry to the authority that you registered with"
    )


def _set_scope(url: str, scope: str) -> str:
    parts = urlsplit(url)
    query = {**{key: found[0] for key, found in parse_qs(parts.query).items()}, "scope": scope}
    return urlunsplit(parts._replace(query=urlencode(query)))


def _explain(name: str, problem: BaseException, client: OwnClient | None) -> SignInError:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    if isinstance(problem, OAuthRegistrationError):
        said = fit_line(str(problem), 300).rstrip(".")
        step = "register Planck there, and set `client_id` (and `client_secret`) in its mcpServers entry"
        why = f"MCP server {name!r} did not register Planck: {said}. If it registers nobody, {step}."
        if client is not None:
            why = f"Sign-in to MCP server {name!r} failed: {_explain_issuer(client)}."
        return SignInError(ErrorKind.NOT_AUTHENTICATED, why)
    if isinstance(problem, OAuthFlowError):
        said = str(problem).rstrip(".")
        why = f'Sign-in to MCP server {name!r} failed: {said}. Run "planck mcp login {name}" again.'
        return SignInError(ErrorKind.NOT_AUTHENTICATED, why)
    if isinstance(problem, httpx2.TransportError | OSError):
        said = say_exception(problem).rstrip(".")
        why = f"Cannot reach MCP server {name!r}: {said}. Check its `url`."
        return SignInError(ErrorKind.NETWORK, why)
    if isinstance(
        problem, MCPError | ValidationError | ValueError | RuntimeError | httpx2.HTTPError | httpx2.InvalidURL
    ):
        said = str(problem).rstrip(".")
        why = (
            f"MCP server {name!r} sent an invalid response: {said}. Check that its `url` is the MCP endpoint."
        )
        return SignInError(ErrorKind.PEER_PROTOCOL, why)
    raise problem


def _read(raw: Any, kind: Any) -> Any:
    try:
        return kind.model_validate(raw) if raw else None
    except ValidationError:
        return None
