"""The handlers of the server itself: does it live, who asks, and the page's cookie."""

import os

import planck
from planck.api import shapes
from planck.api.access import COOKIE_SECONDS, Access
from planck.api.errors import ApiError
from planck.api.exchange import Call, Reply
from planck.api.handlers.docs_page import make_docs_page
from planck.api.openapi import make_document
from planck.headless import Planck
from planck.records import codec
from planck.records.outcome import ErrorKind


class ServerHandlers:
    def __init__(self, access: Access, place: Planck, *, secure: bool) -> None:
        self._access = access
        self._planck = place
        self._secure = secure

    async def read_health(self, call: Call) -> shapes.Health:
        return shapes.Health()

    async def read_me(self, call: Call) -> shapes.Me:
        assert call.way
        return shapes.Me(
            version=planck.__version__,
            workspace=str(self._planck.workspace),
            pid=os.getpid(),
            by=call.way,
            locale=self._planck.config.locale,
        )

    async def read_document(self, call: Call) -> Reply:
        return Reply(200, codec.encode(make_document()))

    async def read_docs(self, call: Call) -> Reply:
        return make_docs_page()

    async def redeem_code(self, call: Call) -> Reply:
        body: shapes.RedeemCode = call.body
        key = self._access.redeem(body.code)
        if key is None:
            raise ApiError(
                401,
                ErrorKind.UNAUTHORIZED,
                'This code was already used or has expired. Get a new one with "planck serve --open".',
            )
        return Reply(200, codec.encode(shapes.Acknowledged()), headers=self._cookie(key, COOKIE_SECONDS))

    async def end_cookies(self, call: Call) -> Reply:
        self._access.revoke(call.headers("cookie") if call.way == "cookie" else [])
        return Reply(204, headers=self._cookie("", 0))

    def _cookie(self, key: str, seconds: int) -> dict[str, str]:
        secure = "; Secure" if self._secure else ""
        name = self._access.cookie_name
        return {"set-cookie": f"{name}={key}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}"}
