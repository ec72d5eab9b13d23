"""A request that was cancelled before it left costs nothing; from then on it may cost something."""

import asyncio
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest

from planck.agent.metered import Metered
from planck.agent.seat import Tariff
from planck.budget.accounts import Accounts, Purse
from planck.budget.budget import UNLIMITED
from planck.http.transport import HttpTransport
from planck.llm.authorized import Authorized
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Provider
from planck.llm.retry import Retrying
from planck.records.amounts import Allowance
from planck.records.specs import ModelSpec
from planck.records.usage import Usage
from tests.budgets import Always
from tests.command import WAIT
from tests.llm.raw_server import Peer, raw_server
from tests.wire.known import KNOWN, Known, request
from tests.wire.script import SHOW


class ByToken:
    def cost_usd(self, usage: Usage) -> float:
        return usage.context_tokens / 100


class Waiting:
    """A token that is being renewed, or a quota that somebody else holds: it says when it is asked."""

    def __init__(self, reached: asyncio.Event) -> None:
        self._reached = reached

    async def current(self) -> Endpoint:
        self._reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def renew(self, refused: Endpoint) -> Endpoint | None:
        return await self.current()

    def counts_usd(self, provider: str) -> bool:
        return True

    async def hold(self, provider: str, micro_usd: int, tokens: int) -> None:
        await self.current()

    def close(self) -> None: ...


class Refused(Waiting):
    """A key that the server refuses, and whose successor does not come."""

    def __init__(self, reached: asyncio.Event, endpoint: Endpoint) -> None:
        super().__init__(reached)
        self._endpoint = endpoint

    async def current(self) -> Endpoint:
        return self._endpoint

    async def renew(self, refused: Endpoint) -> Endpoint | None:
        return await super().current()


STAGES = {
    "a quota is asked": 0,
    "a token is renewed": 0,
    "a refused key is renewed": 0,
    "the connection is made": 0,
    "the model's length is asked": 0,
    "the answer is awaited": 1,
}
"""What a request waits for when it is cancelled, and how many facts say that it may have cost something."""


async def serve(stage: str, reached: asyncio.Event, peer: Peer) -> None:
    if stage == "the connection is made":  # it never answers the client's hello
        reached.set()
        await peer.gone()
    while line := (await peer.request())[0]:
        if stage == "a refused key is renewed":
            await peer.send(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
        elif SHOW in line and stage != "the model's length is asked":
            await peer.send(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
        else:
            reached.set()
            await peer.gone()


async def cancel_at(stage: str, known: Known, *, limited: bool) -> tuple[list[Any], Accounts]:
    """Returns what is recorded of the request, and the accounts."""
    reached, asked = asyncio.Event(), request()
    accounts = Accounts(run=Allowance(usd=100).amount if limited else UNLIMITED)
    async with raw_server(partial(serve, stage, reached)) as server:
        root = f"{'https' if stage == 'the connection is made' else 'http'}://127.0.0.1:{server.port}"
        transport = HttpTransport()
        provider: Provider = known.provider(root, transport)

        def opened(endpoint: Endpoint) -> Provider:
            return known.provider(root, transport)

        if stage == "a token is renewed":
            provider = Authorized(Waiting(reached), opened)
        elif stage == "a refused key is renewed":
            provider = Authorized(Refused(reached, Endpoint("here", known.type)), opened)
        quotas = Waiting(reached) if stage == "a quota is asked" else None
        if limited or quotas:
            tariff: Tariff = ByToken()
            model = ModelSpec("p", "m", max_output=5)
            provider = Metered(Always(provider), Purse(accounts, accounts.run), tariff, model, quotas=quotas)
        task = asyncio.ensure_future(drain(Retrying(provider, lambda: 0.0, retries=0), asked))
        async with asyncio.timeout(WAIT):
            await reached.wait()
            task.cancel()
            await asyncio.wait({task})
        await transport.aclose()
    return asked.tally.take()[1], accounts


async def drain(provider: Provider, asked: Any) -> None:
    async with aclosing(provider.stream(asked)) as stream:
        async for _ in stream:
            pass


CASES = [
    (known, stage)
    for known in KNOWN
    for stage in STAGES
    if stage != "the model's length is asked" or known.type == "ollama"
]


@pytest.mark.parametrize("limited", [True, False])
@pytest.mark.parametrize(("known", "stage"), CASES, ids=lambda one: getattr(one, "name", one))
async def test_a_cancelled_request_costs_nothing_until_it_leaves(
    known: Known, stage: str, limited: bool
) -> None:
    recorded, accounts = await cancel_at(stage, known, limited=limited)
    assert len(recorded) == STAGES[stage]
    assert all(one.estimated and one.usage.input_tokens > 0 for one in recorded)
    spent = sum(one.usage.context_tokens for one in recorded) if limited else 0
    assert (accounts.run.spent.tokens, accounts.run.held.tokens) == (spent, 0)
