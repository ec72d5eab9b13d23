"""A provider whose key may change while a session runs."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.records.outcome import ErrorKind


class Access(Protocol):
    async def current(self) -> Endpoint:
        """The same object for as long as the key is the same."""

    async def renew(self, refused: Endpoint) -> Endpoint | None:
        """Another one than the server has refused; None where there is none. Many may ask at once."""


class Authorized:
    """Sends with the key of the moment; where the server refuses it, once more with a renewed one."""

    def __init__(self, access: Access, open: Callable[[Endpoint], Provider]) -> None:
        self._access = access
        self._open = open
        self._opened: tuple[Endpoint, Provider] | None = None

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        tally = request.tally
        tally.unsent = True  # a token may have to be renewed first
        endpoint = await self._access.current()
        tally.unsent = False
        begun = False
        items = self._provider(endpoint).stream(request)
        try:
            async for item in items:
                begun = True
                yield item
            return
        except ProviderError as failure:
            if begun or failure.err.kind is not ErrorKind.NOT_AUTHENTICATED:
                raise
            tally.unsent = True
            renewed = await self._access.renew(endpoint)
            tally.unsent = False
            if renewed is None:
                raise
        finally:
            await items.aclose()
        async with aclosing(self._provider(renewed).stream(request)) as items:
            async for item in items:
                yield item

    def _provider(self, endpoint: Endpoint) -> Provider:
        if self._opened is None or self._opened[0] is not endpoint:
            self._opened = (endpoint, self._open(endpoint))
        return self._opened[1]
